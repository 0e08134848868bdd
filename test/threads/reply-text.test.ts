/** Replies between threads: what is read is what was written, whatever they hold. */
import { expect, test } from "bun:test";
import { REPLIES, readReplies, writeReplies } from "../../src/threads/reply-text.ts";
import { problem, type Reply, unrecorded } from "../../src/workspace/contract.ts";

const AUDIT_ID = "aud_01h455vb4pex5vsknk084sn02q";
const json = (body: string, etag?: string): Reply["answer"] => ({
  ...{ kind: "json", status: 201, body },
  ...(etag === undefined ? {} : { etag }),
});

const REPLY: readonly Reply[] = [
  { answer: json('{"a":"\\t\\n","ü":1}'), auditId: AUDIT_ID, result: "allowed" },
  { answer: json('{"allowed":false}'), auditId: AUDIT_ID, result: "blocked", blockedBy: "policy:block_pii" },
  { answer: json('{"version":"v3"}', "v3"), auditId: AUDIT_ID, result: "ok" },
  { answer: json("{\n}"), auditId: AUDIT_ID, result: "ok" },
  { answer: json(""), auditId: AUDIT_ID, result: "ok" },
  unrecorded(json("{}")),
  problem("unavailable", "Busy.\tTry\nagain."),
  {
    answer: { kind: "problem", code: "restore_blocked", detail: "No.", extra: { findings: [] } },
    auditId: AUDIT_ID,
    result: "blocked",
    blockedBy: "policy:block_pii",
  },
  { answer: { kind: "text", contentType: "text/plain", body: "a\nb" }, auditId: AUDIT_ID, result: "ok" },
  {
    answer: {
      ...{ kind: "stream", contentType: "text/event-stream", live: true },
      body: { kind: "tail", agentId: null, after: 3 },
    },
    auditId: AUDIT_ID,
    result: "ok",
  },
];

test("any group of replies", () => {
  const operations = REPLY.map((_, i) => ({ id: i * 1_000_003 }));
  const [text = "", ...more] = writeReplies(operations, REPLY);
  expect(more).toEqual([]);
  expect(text).toStartWith(REPLIES);
  expect(readReplies(text)).toEqual(REPLY.map((reply, i) => ({ id: i * 1_000_003, reply })));
  expect([...writeReplies([], [])].flatMap(readReplies)).toEqual([]);
});

test("long replies travel one by one", () => {
  const sizes = [10, 300_000, 10, 10, 2_000_000, 400_000];
  const replies = sizes.map((size): Reply => ({ answer: json("x".repeat(size)), auditId: AUDIT_ID, result: "ok" }));
  const texts = [
    ...writeReplies(
      sizes.map((_, id) => ({ id })),
      replies,
    ),
  ];
  expect(texts.map((text) => readReplies(text).length)).toEqual([2, 3, 1]);
  expect(texts.flatMap(readReplies)).toEqual(replies.map((reply, id) => ({ id, reply })));
});

test("a JSON body is neither wrapped in JSON nor parsed", () => {
  const body = '{"a":"quoted"}';
  for (const etag of [undefined, "v1"]) {
    expect(
      [...writeReplies([{ id: 7 }], [{ answer: json(body, etag), auditId: AUDIT_ID, result: "ok" }])].join(""),
    ).toContain(body);
  }
});
