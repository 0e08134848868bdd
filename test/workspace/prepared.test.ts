/** Jobs are prepared together, before their turn: the result is the same as without, also when a group runs again. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { Versions } from "../../src/core/rows/events.ts";
import type { Reply } from "../../src/core/writer/contract.ts";
import type { Job } from "../../src/core/writer/job.ts";
import type { PreparedJob } from "../../src/core/writer/perform.ts";
import { RandomPool } from "../../src/ids.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { newSalt } from "../../src/log/hash.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { NO_POLICIES, type PolicySettings, policiesOf } from "../../src/screen/policies.ts";
import { jobOf, preparationOf } from "../../src/serve/threads/registry.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const PERSONAL = "write to maria.keller@posteo.de about it";

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;

beforeEach(async () => {
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path);
});
afterEach(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const writing = (agentId: string, key: string) =>
  workspace.job("data.write", { agentId, key, value: PERSONAL, metadata: {} });
const policies = (agentId: string, asked: JsonObject) =>
  workspace.job("config.update", { agentId, config: { policies: asked } });
const allowed = (settled: Reply[]) =>
  settled.map((one) => (one.answer.kind === "json" ? bodyOf(one).allowed : one.answer.kind));

test("policies count from the operation on that brought them into force, also within a group", async () => {
  const [on, off] = [{ block_pii: true }, { block_pii: false }];
  for (let round = 0; round < 2; round++) {
    const settled = await workspace.writer.perform([
      policies("a", off),
      writing("a", "1"),
      policies("a", on),
      writing("a", "2"),
      policies("b", on),
      writing("b", "3"),
      policies("a", off),
      writing("a", "4"),
      writing("b", "5"),
    ]);
    // In the second round the agents are in memory, with the policies of the first.
    expect(allowed(settled).filter((_, i) => ![0, 2, 4, 6].includes(i))).toEqual([true, false, false, true, false]);
  }
});

test("another process's policies count from the next group on", async () => {
  await workspace.writer.perform([writing("a", "1")]);
  {
    using beside = new OpenWorkspace(workspace.path);
    await beside.perform("config.update", { agentId: "a", config: { policies: { block_pii: true } } });
  }
  expect(allowed(await workspace.writer.perform([writing("a", "2")]))).toEqual([false]);
});

test("a large text that another thread screened under policies that are not in force any more is screened again", async () => {
  const large = { agentId: "a", key: "large", value: "A note. ".repeat(2_000), metadata: {} };
  const { id } = bodyOf(await remember(large));
  const decision = { allowed: true };
  const blocking = policiesOf({ policies: { block_pii: true, block_secrets: true } });
  const asked = (settings: PolicySettings, more: JsonObject = {}) => {
    const under = settings as unknown as JsonObject;
    const found: JsonObject = { policies: under, decision: { ...decision, ...more }, elsewhere: true };
    const { principal } = workspace;
    const parts = [
      { name: "data.write", input: { ...large, key: "small", value: "" } },
      { name: "data.write", input: large },
    ];
    const restored = { checkpointId: id, restoreConfig: false, restoreData: true };
    return [
      jobOf({ name: "data.write", input: large, principal } as never, found),
      jobOf({ name: "policy.check", input: { ...large, policies: null }, principal } as never, found),
      jobOf({ name: "data.batch", input: { agentId: "a", atomic: true, parts }, principal } as never, [null, found]),
      jobOf({ name: "data.batch", input: { agentId: "a", atomic: false, parts }, principal } as never, [null, found]),
      jobOf({ name: "checkpoint.restore", input: restored, principal } as never, { policies: under, decisions: [] }),
    ];
  };
  const { writer } = workspace;
  const repeated = async (jobs: ReturnType<typeof asked>) => {
    const replies: Reply[] = [];
    for (const job of jobs) replies.push(...(await writer.perform([job])));
    return replies.map(({ again }) => again === true);
  };
  const before = writer.headSeq;
  expect(await repeated(asked(NO_POLICIES))).toEqual([true, true, true, true, true]);
  // An exception has ended that the decision rests on.
  expect(await repeated(asked(blocking, { validUntilMs: 1 }).slice(0, -1))).toEqual([true, true, true, true]);
  expect(writer.headSeq).toBe(before);
  expect(await repeated(asked(blocking).slice(0, -1))).toEqual([false, false, false, false]);
});

/** Writes an entry under no policies, makes a checkpoint, deletes the entry and turns policies on. Returns the checkpoint. */
async function remember(entry: { agentId: string; key: string; value: string; metadata: object }) {
  const { agentId, key } = entry;
  await workspace.perform("data.write", entry as never);
  const checkpoint = await workspace.perform("checkpoint.create", { agentId, label: null, metadata: {} });
  await workspace.perform("data.delete", { agentId, key } as never);
  await workspace.writer.perform([policies(agentId, { block_pii: true, block_secrets: true })]);
  return checkpoint;
}

/** Passes a job on and counts its calls. Each preparation has a number, and `run` must get the newest one. */
function watched(job: Job): Job & { preparations: number; runs: number; stale: number } {
  const watching = {
    ...job,
    preparations: 0,
    runs: 0,
    stale: 0,
    prepare: (context: Parameters<NonNullable<Job["prepare"]>>[0]) => ({
      number: ++watching.preparations,
      inner: job.prepare?.(context),
    }),
    run: (...[tx, context, prepared]: Parameters<Job["run"]>) => {
      const { number, inner } = prepared as { number: number; inner: unknown };
      watching.runs++;
      if (number !== watching.preparations) watching.stale++;
      return job.run(tx, context, inner);
    },
  };
  return watching;
}

test("a job that fails after it wrote: all others run again, each with a preparation of its own", async () => {
  for (const agent of ["a", "b"]) await workspace.writer.perform([policies(agent, { block_pii: true })]);
  const before = workspace.writer.headSeq;
  const plain = (key: string) => workspace.job("data.write", { agentId: "b", key, value: "tea", metadata: {} });
  // In the middle, so that jobs stand before it, which wrote already, and behind it, which did not.
  const half = workspace.failing(plain("broken"), new Error("after the write"));
  const jobs = [
    policies("a", { block_pii: false }),
    writing("a", "1"),
    plain("1"),
    writing("b", "2"),
    half,
    policies("b", { block_pii: false }),
    writing("b", "3"),
    workspace.job("data.delete", { agentId: "b", key: "1" }),
    plain("4"),
  ].map(watched);
  const settled = await workspace.writer.perform(jobs);
  expect(settled.map((one) => (one.answer.kind === "problem" ? one.answer.code : one.result))).toEqual([
    "ok",
    "allowed",
    "allowed",
    "blocked",
    "internal",
    "ok",
    "allowed",
    "ok",
    "allowed",
  ]);
  expect(jobs.map(({ preparations }) => preparations)).toEqual(jobs.map(() => 2));
  // The jobs behind the broken one were not run before the rollback.
  expect(jobs.map(({ runs }) => runs)).toEqual([2, 2, 2, 2, 2, 1, 1, 1, 1]);
  expect(jobs.map(({ stale }) => stale)).toEqual(jobs.map(() => 0));
  // One event for each job that did not fail, one row for each entry, and both agree.
  expect(workspace.writer.headSeq - before).toBe(jobs.length - 1);
  const rows = workspace.connection.all<[string]>("SELECT key FROM entries WHERE live_to IS NULL ORDER BY key, agent");
  expect(rows.flat()).toEqual(["1", "3", "4"]);
  expect((await verifyWorkspace(workspace.connection, { scope: "workspace" })).problems).toEqual([]);
});

test("a job that fails while it is prepared fails alone, and writes nothing", async () => {
  const broken: Job = {
    ...writing("a", "broken"),
    prepare() {
      throw new TypeError(PERSONAL);
    },
  };
  const settled = await workspace.writer.perform([writing("a", "1"), broken, writing("a", "2")]);
  expect(settled.map(({ answer }) => (answer.kind === "problem" ? answer.code : answer.kind))).toEqual([
    "json",
    "internal",
    "json",
  ]);
  expect(JSON.stringify(settled)).not.toContain(PERSONAL);
  expect(workspace.failures.map(({ operation }) => operation)).toEqual(["data.write"]);
  expect((await workspace.perform("data.read", { agentId: "a", key: "broken" })).answer.kind).toBe("problem");
});

test("what is prepared while another transaction is open serves once, and only under the policies of its turn", async () => {
  await workspace.writer.perform([policies("a", { block_pii: true })]);
  const [blocked, again] = [watched(writing("a", "1")), watched(writing("a", "2"))];
  const part = { name: "data.write", input: { agentId: "a", key: "3", value: PERSONAL, metadata: {} } } as const;
  const parts = workspace.job("data.batch", { agentId: "a", atomic: false, parts: [part] });
  const change = watched(policies("a", { block_pii: false }));
  const { run } = change;
  let ahead: PreparedJob[] = [];
  change.run = (...given) => {
    ahead = [blocked, again, parts].map((job) => ({ job, preparations: [] }));
    for (const one of ahead) while (workspace.writer.prepareNext(one));
    return run(...given);
  };
  await workspace.writer.perform([change]);
  // They were screened under the policies before.
  expect(allowed(await workspace.writer.perform(ahead.slice(0, 2)))).toEqual([true, true]);
  expect([blocked.preparations, again.preparations]).toEqual([1, 1]);
  await workspace.writer.perform([policies("a", { block_pii: true })]);
  expect(allowed(await workspace.writer.perform([again]))).toEqual([false]);
  expect(again.preparations).toBe(2);
  const [batch] = await workspace.writer.perform(ahead.slice(2));
  expect(JSON.stringify(batch)).toContain("blocked");
});

/** Returns what another thread finds out about a batch, as it arrives from there. */
async function screenedElsewhere(input: OperationInputs["data.batch"], nowMs = Date.now()): Promise<JsonValue> {
  const { connection, principal } = workspace;
  const versions = new Versions(connection);
  const found = await preparationOf("data.batch")(connection, input, {
    nowMs,
    versions,
    principal,
    newSalt: () => newSalt(new RandomPool()),
  });
  return JSON.parse(JSON.stringify(found));
}

const batchOf = (parts: OperationInputs["data.batch"]["parts"]) => ({ agentId: "a", atomic: false, parts });
const performBatch = async (input: OperationInputs["data.batch"], found?: JsonValue) => {
  const { principal, writer } = workspace;
  const [reply] = await writer.perform([jobOf({ name: "data.batch", input, principal }, found)]);
  return bodyOf(reply as Reply).results as JsonObject[];
};
const withoutIds = (results: JsonObject[]) =>
  results.map(({ audit_id: _, created_at: __, updated_at: ___, ...rest }) => rest);

test("a batch that another thread has screened comes to what it comes to without that", async () => {
  const random = new Seeded(SEED);
  const settings: JsonObject[] = [
    {},
    { block_pii: true },
    { screening: { pii: { mode: "redact" } } },
    { screening: { pii: { mode: "audit" }, patterns: [{ name: "word", regex: "note", mode: "block" }] } },
    { block_pii: true, screening: { exceptions: [{ detector: "email", ends_with: "@posteo.de", reason: "our own" }] } },
  ];
  for (let round = 0; round < effort({ usual: 40, long: 1_000 }); round++) {
    await workspace.writer.perform([policies("a", random.pick(settings))]);
    const texts = [PERSONAL, "a note", "plain", "\u{1F600} caf\u00e9", 'with "quotes"'];
    const parts = Array.from({ length: random.between(1, 12) }, () => {
      const key = `k${random.below(6)}`;
      if (random.chance(0.2)) return { name: "data.read" as const, input: { agentId: "a", key } };
      const input = { agentId: "a", key, value: random.pick(texts), metadata: { [random.pick(texts)]: [1, null] } };
      return { name: "data.write" as const, input };
    });
    const found = await screenedElsewhere(batchOf(parts));
    if (random.chance(0.3)) await workspace.writer.perform([policies("a", random.pick(settings))]);
    const results = await performBatch(batchOf(parts), found);
    // The same once more, by this thread alone. Reads may now find what the first time has written.
    const writes = (all: JsonObject[]) => withoutIds(all.filter((_, at) => parts[at]?.name === "data.write"));
    expect(writes(results), `seed ${SEED}, round ${round}`).toEqual(writes(await performBatch(batchOf(parts))));
  }
  // Every digest in the log is that of what is stored.
  const { problems } = await verifyWorkspace(workspace.connection, { scope: "workspace" });
  expect(problems).toEqual([]);
});

test("of a batch, another thread tells only the writes in which nothing was found, and none under patterns", async () => {
  const write = (value: string) => ({
    name: "data.write" as const,
    input: { agentId: "a", key: "k", value, metadata: {} },
  });
  const input = batchOf([write("plain"), write(PERSONAL), { name: "data.read", input: { agentId: "a", key: "k" } }]);
  await workspace.writer.perform([policies("a", { screening: { pii: { mode: "audit" } } })]);
  const { digests } = (await screenedElsewhere(input)) as { digests: JsonValue[] };
  expect(digests).toEqual([
    { digest: expect.stringMatching(/^[0-9a-f]{64}$/), salt: expect.stringMatching(/^[0-9a-f]{32}$/) },
    null,
    null,
  ]);
  const patterns = [{ name: "word", regex: "x", mode: "block" }];
  await workspace.writer.perform([policies("a", { screening: { patterns } })]);
  expect(await screenedElsewhere(input)).toEqual([]);
});
