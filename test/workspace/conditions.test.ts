/** Conditions of writes and deletions: what holds when, what a conflict answers and records, and what it keeps silent. */

import { expect, test } from "bun:test";
import { HAS_ID, positionedId } from "../../src/core/rows/log/events.ts";
import type { Reply } from "../../src/core/writer/contract.ts";
import type { JsonObject } from "../../src/json.ts";
import { holds, ifVersion, type VersionCondition } from "../../src/operation-facts.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const PERSONAL = "write to maria.keller@posteo.de about it";
const DAY_MS = 86_400_000;

test("a condition holds for some versions and for none", () => {
  const cases: [VersionCondition | undefined, Record<string, boolean>][] = [
    [undefined, { a: true, b: true, none: true }],
    [{ exists: true }, { a: true, b: true, none: false }],
    [{ exists: false }, { a: false, b: false, none: true }],
    [{ versions: ["a"] }, { a: true, b: false, none: false }],
    [{ versions: ["c", "b"] }, { a: false, b: true, none: false }],
    [{ versions: [] }, { a: false, b: false, none: false }],
    [ifVersion("a"), { a: true, b: false, none: false }],
    [ifVersion(null), { a: false, b: false, none: true }],
  ];
  for (const [condition, expected] of cases) {
    const seen = ["a", "b", "none"].map((name) => [name, holds(condition, name === "none" ? null : name)]);
    expect([condition, Object.fromEntries(seen)]).toEqual([condition, expected]);
  }
});

/** What an operation came to, and what its event says of it. */
function settled(workspace: OpenWorkspace, { answer, auditId, result }: Reply) {
  const sql = `SELECT details, agent_id FROM events WHERE ${HAS_ID}`;
  const row = workspace.connection.get<[string, string | null]>(sql, positionedId(auditId as string));
  const [details, agentId] = row as [string, string | null];
  const { code, extra } = answer.kind === "problem" ? answer : { code: "", extra: undefined };
  return { result, code, current: extra?.current_version, agentId, details: JSON.parse(details) as JsonObject };
}

const conflict = (current: string | null, details: JsonObject, agentId: string | null = "a") => ({
  result: "conflict" as const,
  code: "version_conflict",
  current,
  agentId,
  details: { ...details, code: "version_conflict" },
});

test("a write or a deletion whose condition does not hold changes nothing and names the version", async () => {
  using directory = temporaryDirectory();
  let nowMs = Date.UTC(2026, 0, 1);
  using workspace = await OpenWorkspace.make(directory.path, () => nowMs);
  const write = (condition?: VersionCondition, key = "k", value = "tea", agentId = "a") =>
    workspace.perform("data.write", { agentId, key, value, metadata: {}, ...(condition && { condition }) });
  const remove = (condition: VersionCondition, key = "k") =>
    workspace.perform("data.delete", { agentId: "a", key, condition });
  const value = async () => bodyOf(await workspace.perform("data.read", { agentId: "a", key: "k" })).value;
  const now = async (reply: Promise<Reply>) => settled(workspace, await reply);

  // An agent that never began has no entries, and a conflict does not begin it.
  expect(await now(write({ exists: true }))).toEqual(conflict(null, { agent_id: "a", key: "k" }, null));
  expect(await now(write({ versions: ["aud_1"] }, "k", "tea", "b"))).toMatchObject({ agentId: null, current: null });
  const first = await write({ exists: false });
  const version = first.auditId as string;
  expect(bodyOf(first).audit_id).toBe(version);
  for (const condition of [{ exists: false }, { versions: [] }, { versions: ["aud_1"] }]) {
    expect(await now(write(condition, "k", "coffee"))).toEqual(conflict(version, { key: "k" }));
    expect(await now(remove(condition))).toEqual(conflict(version, { key: "k" }));
  }
  expect(await value()).toBe("tea");
  expect(await now(write({ exists: true }, "other"))).toEqual(conflict(null, { key: "other" }));
  expect(await now(remove({ exists: true }, "other"))).toEqual(conflict(null, { key: "other" }));
  // It must not exist and does not: it is not found.
  expect(await now(remove({ exists: false }, "other"))).toMatchObject({ result: "not_found", code: "entry_not_found" });

  const second = (await write({ versions: ["aud_1", version] }, "k", "coffee")).auditId as string;
  expect(await now(write({ versions: [version] }))).toEqual(conflict(second, { key: "k" }));
  expect(await now(remove({ versions: [version] }))).toEqual(conflict(second, { key: "k" }));
  expect(await now(remove({ versions: [second] }))).toMatchObject({ result: "ok", details: { key: "k" } });
  expect(await now(write({ versions: [second] }))).toEqual(conflict(null, { key: "k" }));

  // What is past its retention does not exist.
  const third = (await write({ exists: false })).auditId as string;
  await workspace.perform("config.update", { agentId: "a", config: { policies: { retention_days: 1 } } });
  expect(await now(write({ exists: false }))).toEqual(conflict(third, { key: "k" }));
  nowMs += 2 * DAY_MS;
  expect(await now(remove({ versions: [third] }))).toEqual(conflict(null, { key: "k" }));
  expect(await now(write({ exists: false }))).toMatchObject({ result: "allowed" });
});

test("a restored entry has the version of the event that wrote it", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const write = async (value: string) =>
    (await workspace.perform("data.write", { agentId: "a", key: "k", value, metadata: {} })).auditId as string;
  const first = await write("one");
  const made = await workspace.perform("checkpoint.create", { agentId: "a", label: null, metadata: {} });
  const second = await write("two");
  const restore = { checkpointId: bodyOf(made).id as string, restoreConfig: true, restoreData: true };
  expect((await workspace.perform("checkpoint.restore", restore)).result).toBe("ok");
  const remove = async (version: string) =>
    settled(
      workspace,
      await workspace.perform("data.delete", { agentId: "a", key: "k", condition: { versions: [version] } }),
    );
  expect(await remove(second)).toMatchObject({ result: "conflict", current: first });
  expect(await remove(first)).toMatchObject({ result: "ok" });
});

test("a conflict comes before screening, whether the write was screened ahead or not", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const policies = { block_pii: true };
  await workspace.perform("config.update", { agentId: "a", config: { policies } });
  const input = { agentId: "a", metadata: {}, value: PERSONAL, condition: { exists: true } };
  for (const known of [true, false]) {
    const job = workspace.job("data.write", { ...input, key: "k" });
    const reply = (await workspace.writer.perform([known ? job : { ...job, prepare: () => undefined }]))[0] as Reply;
    expect(settled(workspace, reply)).toEqual(conflict(null, { key: "k" }));
    expect(JSON.stringify(reply)).not.toContain("findings");
  }
  // A key that no policy has seen is not recorded when one objects to it.
  const secretive = await workspace.perform("data.write", { ...input, key: "maria.keller@posteo.de" });
  expect(settled(workspace, secretive)).toEqual(conflict(null, { redacted: true }));
});

test("operations of one group see the versions of those before them", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const write = (condition: VersionCondition) =>
    workspace.job("data.write", { agentId: "a", key: "k", value: "v", metadata: {}, condition });
  const replies = await workspace.writer.perform([write({ exists: false }), write({ exists: false })]);
  expect(replies.map(({ result }) => result)).toEqual(["allowed", "conflict"]);
  const [first, second] = replies.map(({ auditId }) => auditId as string);
  expect(settled(workspace, replies[1] as Reply).current).toBe(first as string);
  expect(second).not.toBe(first);
});
