/** Operations with several parts: against a simple model, and what goes wrong inside them. */

import { expect, test } from "bun:test";
import type { CompositeJob } from "../../src/core/writer/composite.ts";
import type { Reply } from "../../src/core/writer/contract.ts";
import type { Job } from "../../src/core/writer/job.ts";
import type { VersionCondition } from "../../src/operation-facts.ts";
import type { OperationInputs, PartOf, PartRequest } from "../../src/operations.ts";
import { Problem } from "../../src/problem.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { DiskSpace } from "../../src/store/disk-space.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { idAt } from "../support/event-rows.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { temporaryDirectory } from "../temporary.ts";

type Part = PartRequest<PartOf<"data.batch">>;

const PERSONAL = "write to jane.doe@gmail.com";

const put = (key: string, value: string, condition?: VersionCondition): Part => ({
  name: "data.write",
  input: { agentId: "a", key, value, metadata: {}, ...(condition === undefined ? {} : { condition }) },
});
const end = (key: string, condition?: VersionCondition): Part => ({
  name: "data.delete",
  input: { agentId: "a", key, ...(condition === undefined ? {} : { condition }) },
});
const get = (key: string): Part => ({ name: "data.read", input: { agentId: "a", key } });
const batch = (parts: Part[], atomic = true): OperationInputs["data.batch"] => ({ agentId: "a", atomic, parts });

const problemsIn = async ({ connection }: OpenWorkspace) =>
  (await verifyWorkspace(connection, { scope: "workspace" })).problems;

/** Keys with their values and versions. */
type Model = Map<string, { value: string; version: string }>;

function holds(condition: VersionCondition | undefined, version: string | undefined): boolean {
  if (condition === undefined) return true;
  if ("exists" in condition) return condition.exists === (version !== undefined);
  return version !== undefined && condition.versions.includes(version);
}

/** Does a part on the model. Returns the members that its result must have. */
function perform(model: Model, { name, input }: Part): Record<string, unknown> {
  const present = model.get(input.key);
  if (name === "data.read") return present === undefined ? { found: false } : { found: true, value: present.value };
  if (!holds(input.condition, present?.version)) return { conflict: true };
  if (name === "data.delete") return { deleted: model.delete(input.key) ? 1 : 0 };
  if (!("value" in input)) throw new Error("the model does not revert");
  if (input.value === PERSONAL) return { allowed: false };
  model.set(input.key, { value: input.value, version: "new" });
  return { allowed: true };
}

/** Does a batch on the model. Returns what its answer must have. */
function performAll(model: Model, { atomic, parts }: OperationInputs["data.batch"]) {
  const trial: Model = new Map(model);
  const results = parts.map((part) => perform(trial, part));
  const isRefused = (result: Record<string, unknown>) => "conflict" in result || result.allowed === false;
  const applied = !atomic || !results.some(isRefused);
  if (!applied) return { applied, results: results.map((one) => (isRefused(one) ? one : { skipped: true })) };
  model.clear();
  for (const [key, content] of trial) model.set(key, content);
  return { applied, results };
}

/** What the event of a part says came of it; null for no event. */
function lineOf({ name }: Part, result: Record<string, unknown>): string | null {
  if ("skipped" in result) return null;
  if ("conflict" in result) return `a ${name} conflict`;
  if (name === "data.write") return `a ${name} ${result.allowed === true ? "allowed" : "blocked"}`;
  return `a ${name} ${result.found === false || result.deleted === 0 ? "not_found" : "ok"}`;
}

function randomPart(random: Seeded, model: Model): Part {
  const key = `k${random.below(5)}`;
  const condition = random.weighted<VersionCondition | undefined>([
    [14, undefined],
    [1, { exists: true }],
    [1, { exists: false }],
    [2, { versions: [model.get(key)?.version ?? "aud_none"] }],
  ]);
  if (random.chance(0.25)) return get(key);
  if (random.chance(0.35)) return end(key, condition);
  return put(key, random.chance(0.05) ? PERSONAL : `v${random.below(100)}`, condition);
}

test("random batches, several in a transaction, come to what a model says", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  using view = new WorkspaceView(workspace.path);
  await workspace.perform("config.update", { agentId: "a", config: { policies: { block_pii: true } } });
  await workspace.perform("checkpoint.create", { agentId: "a", label: null, metadata: {} });
  const random = new Seeded(SEED);
  const model: Model = new Map();
  let undone = 0;
  for (let round = 0; round < effort({ usual: 60, long: 2_000 }); round++) {
    const inputs = Array.from({ length: random.between(1, 3) }, () => {
      const parts = Array.from({ length: random.between(1, 8) }, () => randomPart(random, model));
      return batch(parts, random.chance(0.7));
    });
    const expected = inputs.map((input) => performAll(model, input));
    const { head } = view;
    const replies = await workspace.writer.perform(inputs.map((input) => workspace.job("data.batch", input)));
    const appended = view.eventsAfter(head);
    expect(replies.map(bodyOf)).toMatchObject(structuredClone(expected));
    const lines = inputs.flatMap(({ parts }, i) =>
      parts.map((part, at) => lineOf(part, expected[i]?.results[at] ?? {})),
    );
    expect(appended.map(({ line }) => line)).toEqual(lines.filter((line) => line !== null));
    expect(replies.at(-1)?.auditId).toBe(appended.at(-1)?.id as string);
    for (const { operation, result, id, details } of appended) {
      const written =
        operation === "data.write" && result === "allowed" ? model.get(details?.key as string) : undefined;
      if (written !== undefined) written.version = id;
    }
    undone += expected.filter(({ applied }) => !applied).length;
  }
  expect(undone).toBeGreaterThan(5);
  const rows = view.connection.all<[string, string]>(
    "SELECT key, value FROM entries WHERE live_to IS NULL ORDER BY key",
  );
  const stored = rows.map(([key, value]) => [key, JSON.parse(value)]);
  expect(stored).toEqual([...model].map(([key, { value }]) => [key, value]).sort());
  expect(view.connection.get("SELECT entries FROM events WHERE agent_id = 'a' ORDER BY seq DESC LIMIT 1")).toEqual([
    model.size,
  ]);
  expect(workspace.failures).toEqual([]);
  expect(await problemsIn(workspace)).toEqual([]);
});

test("a refused batch leaves the counts and chains in memory as they were", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const limits = { quota: { entries: 4, bytes: 0 } };
  const of = (name: "data.write" | "data.batch", input: object) =>
    jobOf({ name, input: input as OperationInputs[typeof name], principal: workspace.principal }, undefined, limits);
  const single = (agentId: string, key: string) => of("data.write", { agentId, key, value: "v", metadata: {} });
  await workspace.writer.perform([single("a", "k1"), single("b", "k1")]);
  // In one transaction, before and behind what else happens to the agent, to another and to one that begins.
  const refused = [put("k2", "v"), end("k1"), put("k3", "v"), put("k2", "w", { exists: false })];
  const replies = await workspace.writer.perform([
    single("b", "k2"),
    of("data.batch", batch(refused)),
    single("a", "k2"),
    single("c", "k1"),
  ]);
  const codes = replies.map(({ answer, result }) => (answer.kind === "problem" ? answer.code : result));
  expect(codes).toEqual(["allowed", "conflict", "allowed", "quota_exceeded"]);
  // A batch that would exceed the quota is refused as a whole, and recorded once.
  const [full] = await workspace.writer.perform([of("data.batch", batch([end("k1"), put("k3", "v"), put("k4", "v")]))]);
  expect(full?.answer).toMatchObject({ kind: "problem", code: "quota_exceeded", extra: { limit: 4, used: 4 } });
  const [swapped] = await workspace.writer.perform([of("data.batch", batch([end("k1"), put("k3", "v")]))]);
  expect(bodyOf(swapped as Reply).applied).toBe(true);
  expect(await problemsIn(workspace)).toEqual([]);
});

test("a read names the version of what is stored now, where a batch that was undone had the same position", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  await workspace.perform("config.update", { agentId: "a", config: { policies: { block_pii: true } } } as never);
  const write = (value: string) => workspace.perform("data.write", { agentId: "a", key: "k", value, metadata: {} });
  const version = async () => {
    const { answer } = await workspace.perform("data.read", { agentId: "a", key: "k" });
    return answer.kind === "json" ? answer.etag : answer.kind;
  };
  const first = await write("one");
  expect(await version()).toBe(first.auditId as string);
  // The second part takes a position, which is read and then used again: the refused part is recorded before it.
  const undone = await workspace.perform(
    "data.batch",
    batch([get("k"), put("k", "two"), get("k"), put("x", PERSONAL)]),
  );
  expect(bodyOf(undone).applied).toBe(false);
  const second = await write("three");
  expect(await version()).toBe(second.auditId as string);
  // So it is when a group fails as a whole.
  const job = (key: string) => workspace.job("data.write", { agentId: "a", key, value: "v", metadata: {} }) as Job;
  const reading = workspace.job("data.read", { agentId: "a", key: "k" }) as Job;
  await workspace.writer.perform([job("k"), reading, workspace.failing(job("y"), new Error("late"))]);
  const written = "SELECT written_seq FROM entries WHERE key = 'k' AND live_to IS NULL";
  expect(await version()).toBe(idAt(workspace.connection, workspace.connection.value<number>(written) as number));
});

test("a part that fails after it wrote: nothing of the batch happened, and the others of the group did", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  using view = new WorkspaceView(workspace.path);
  const single = (key: string) => workspace.job("data.write", { agentId: "a", key, value: "v", metadata: {} }) as Job;
  const failing = (error: Error, atomic: boolean): CompositeJob => {
    const job = workspace.job("data.batch", batch([put("one", "v"), put("broken", "v"), put("three", "v")], atomic));
    return { ...job, parts: job.parts.map((part, i) => (i === 1 ? workspace.failing(part, error) : part)) };
  };
  for (const atomic of [true, false]) {
    const { head } = view;
    const jobs = [failing(new Error("late"), atomic), failing(new Problem("forbidden", "No."), atomic)];
    const replies = await workspace.writer.perform([single(`a${atomic}`), ...jobs, single(`b${atomic}`)]);
    const codes = replies.map(({ answer }) => (answer.kind === "problem" ? answer.code : answer.kind));
    expect(codes).toEqual(["json", "internal", "forbidden", "json"]);
    expect(replies[1]?.auditId).toBeNull();
    expect(view.eventsAfter(head).map(({ details }) => details?.key)).toEqual([`a${atomic}`, `b${atomic}`]);
  }
  expect(workspace.failures.map(({ operation }) => operation)).toEqual(["data.write", "data.write"]);
  const keys = view.connection.all<[string]>("SELECT key FROM entries ORDER BY key");
  expect(keys.flat()).toEqual(["afalse", "atrue", "bfalse", "btrue"]);
  expect(await problemsIn(workspace)).toEqual([]);
});

test("on a full disk what writes is refused as a whole, and what only reads or frees space is not", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  await workspace.perform("data.batch", batch([put("one", "v"), put("two", "v")]));
  const space = DiskSpace.ample();
  space.isFull = true;
  const perform = async (...parts: Part[]) => {
    const request = { name: "data.batch" as const, input: batch(parts, false), principal: workspace.principal };
    const [reply] = await workspace.writer.perform([jobOf(request, undefined, { space })]);
    return reply as Reply;
  };
  expect((await perform(end("one"), put("three", "v"))).answer).toMatchObject({ kind: "problem", code: "unavailable" });
  expect(bodyOf(await perform(get("one"), end("one"), get("one"))).results).toMatchObject([
    { found: true },
    { deleted: 1 },
    { found: false },
  ]);
  expect(await problemsIn(workspace)).toEqual([]);
});

test("a part that cannot be prepared is the answer to the batch", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const job = workspace.job("data.batch", batch([put("one", "v"), put("two", "v")]));
  const [first, second] = job.parts as [Job, Job];
  const prepare = () => {
    throw new TypeError("no");
  };
  const [reply] = await workspace.writer.perform([{ ...job, parts: [first, { ...second, prepare }] }]);
  expect(reply?.answer).toMatchObject({ kind: "problem", code: "internal" });
  expect(workspace.connection.value<number>("SELECT count(*) FROM entries")).toBe(0);
  expect(await problemsIn(workspace)).toEqual([]);
});
