/** Jobs are prepared together, before their turn: the result is the same as without, also when a group runs again. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Reply } from "../../src/core/writer/contract.ts";
import type { Job } from "../../src/core/writer/job.ts";
import type { JsonObject } from "../../src/json.ts";
import { NO_POLICIES, type PolicySettings, policiesOf } from "../../src/screen/policies.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
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
    prepare: (...given: Parameters<NonNullable<Job["prepare"]>>) => ({
      number: ++watching.preparations,
      inner: job.prepare?.(...given),
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
