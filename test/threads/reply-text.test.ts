/** Replies between threads: what is read is what was written, whatever they hold. */
import { expect, test } from "bun:test";
import { type LongText, textOfItems, wholeText } from "../../src/core/long-text.ts";
import { problem, type Reply, unrecorded } from "../../src/core/writer/contract.ts";
import { inPieces } from "../../src/serve/http/pipeline/large-body.ts";
import { isOfReplies, ReplyReader, writeReplies } from "../../src/serve/threads/reply-text.ts";

const AUDIT_ID = "aud_01h455vb4pex5vsknk084sn02q";
const json = (body: LongText, etag?: string): Reply["answer"] => ({
  ...{ kind: "json", status: 201, body },
  ...(etag === undefined ? {} : { etag }),
});

const REPLY: readonly Reply[] = [
  { answer: json('{"a":"\\t\\n","ü":1}'), auditId: AUDIT_ID, result: "allowed" },
  { answer: json('{"allowed":false}'), auditId: AUDIT_ID, result: "blocked", blockedBy: "policy:block_pii" },
  { answer: json('{"version":"v3"}', "v3"), auditId: AUDIT_ID, result: "ok" },
  { answer: json("{\n}"), auditId: AUDIT_ID, result: "ok" },
  { answer: { ...json('{"data":[]}'), itemsAt: 9 } as Reply["answer"], auditId: AUDIT_ID, result: "ok" },
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

/** Reads texts one after another. */
function read(texts: Iterable<string>): { id: number; reply: Reply }[] {
  const reader = new ReplyReader();
  return [...texts].flatMap((text) => reader.read(text));
}

test("any group of replies", () => {
  const operations = REPLY.map((_, i) => ({ id: i * 1_000_003 }));
  const [text = "", ...more] = writeReplies(operations, REPLY);
  expect(more).toEqual([]);
  expect(isOfReplies(text)).toBe(true);
  expect(read([text])).toEqual(REPLY.map((reply, i) => ({ id: i * 1_000_003, reply })));
  expect(read(writeReplies([], []))).toEqual([]);
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
  expect(texts.map((text) => read([text]).length)).toEqual([2, 3, 1]);
  expect(read(texts)).toEqual(replies.map((reply, id) => ({ id, reply })));
});

test("a JSON body is neither wrapped in JSON nor parsed", () => {
  const body = '{"a":"quoted"}';
  for (const etag of [undefined, "v1"]) {
    expect(
      [...writeReplies([{ id: 7 }], [{ answer: json(body, etag), auditId: AUDIT_ID, result: "ok" }])].join(""),
    ).toContain(body);
  }
});

test("a long list travels in pieces, from the entries to the response", async () => {
  const entry = `{"key":"k","value":"${"😀 a value ".repeat(1_000)}"}`;
  const items = Array.from({ length: 700 }, () => entry);
  const body = textOfItems('{"data":[', items, "]}");
  const whole = `{"data":[${items.join(",")}]}`;
  const long: Reply = { answer: json(body, "v1"), auditId: AUDIT_ID, result: "ok" };
  const short: Reply = { answer: json("{}"), auditId: AUDIT_ID, result: "ok" };
  const ids = [{ id: 3 }, { id: 4 }, { id: 5 }];
  const texts = [...writeReplies(ids, [long, short, { ...long, auditId: null }])];
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(128 * 1024);
  expect(texts.length).toBeGreaterThan((2 * whole.length) / (128 * 1024));
  expect(texts.every(isOfReplies)).toBe(true);
  const replies = read(texts);
  expect(replies.map(({ id }) => id)).toEqual([3, 4, 5]);
  const [first, second, third] = replies.map(({ reply: { answer } }) => (answer.kind === "json" ? answer.body : ""));
  expect([first, second, third]).toEqual([body, "{}", body]);
  const sent = inPieces(first as LongText);
  expect(sent).toBeInstanceOf(ReadableStream);
  expect((await new Response(sent).text()) === whole).toBe(true);
});

test.each([0, 1, 2, 5_000])("a list of %i items is the text that it would be in one piece", (count) => {
  const items = Array.from({ length: count }, (_, i) => JSON.stringify({ i, text: "ü".repeat(i % 50) }));
  const text = textOfItems('{"data":[', items, '],"has_more":false}');
  expect(wholeText(text)).toBe(`{"data":[${items.join(",")}],"has_more":false}`);
  expect(typeof text === "string").toBe(count < 10);
});
