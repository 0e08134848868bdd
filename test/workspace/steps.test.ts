/**
 * Operations on many entries, or on large ones, are done in steps of bounded size: other workspaces on the thread have
 * their turn in between. Counted here, not timed: the slice is over whenever it is looked at.
 */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { statSync } from "node:fs";
import { sweepWorkspace } from "../../src/core/writer/sweep.ts";
import { TimeSlice } from "../../src/core/writer/time-slice.ts";
import { CHANGED_AT_ONCE, inSteps } from "../../src/store/walk.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ENTRIES = 40;
const VALUE = "A note about the harbour. ".repeat(2_500);
/** A step concerns half a megabyte at most. */
const STEPS = Math.floor((ENTRIES * VALUE.length) / (512 * 1024));

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;
let turns = 0;
/** Those after the commit. */
let turnsAfterCommit = 0;
let nowMs = Date.UTC(2026, 0, 1);

beforeAll(async () => {
  directory = temporaryDirectory();
  let calls = 0;
  const slice = new TimeSlice(
    () => 1_000 * calls++,
    async () => {
      turns++;
      if (!workspace.connection.inTransaction) turnsAfterCommit++;
    },
  );
  workspace = await OpenWorkspace.make(directory.path, () => nowMs, slice);
});
afterAll(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});
beforeEach(async () => {
  for (let i = 0; i < ENTRIES; i++) await workspace.perform("data.write", large(i));
});

const large = (i: number) => ({ agentId: "a", key: `large/${i}`, value: VALUE, metadata: {} });

/** Returns how often others had their turn. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  turns = 0;
  await work();
  return turns;
}

const deletePrefix = () => workspace.perform("data.delete_prefix", { agentId: "a", prefix: "large/" });
const checkpoint = async (): Promise<string> =>
  bodyOf(await workspace.perform("checkpoint.create", { agentId: "a", label: null, metadata: {} })).id;

test("a deletion by prefix", async () => {
  expect(await turnsOf(async () => expect(bodyOf(await deletePrefix()).deleted).toBe(ENTRIES))).toBeGreaterThan(STEPS);
});

test("a deletion by prefix of what a checkpoint sees, and the sweep after the deletion of the checkpoint", async () => {
  const checkpointId = await checkpoint();
  expect(await turnsOf(deletePrefix)).toBeGreaterThan(STEPS);
  await workspace.perform("checkpoint.delete", { checkpointId });
  await workspace.perform("config.update", { agentId: "a", config: { policies: { history_days: 0 } } });
  expect(await turnsOf(() => sweepWorkspace(workspace.connection, workspace.writer))).toBeGreaterThan(STEPS);
  expect(workspace.connection.value<number>("SELECT count(*) FROM entries")).toBe(0);
});

test("a list, with values and without, by key and sorted", async () => {
  const escaped = { ...large(0), value: VALUE.replaceAll(".", "\n") };
  for (let i = 0; i < ENTRIES; i++) await workspace.perform("data.write", { ...escaped, key: `large/${i}` });
  for (const includeValues of [true, false])
    for (const sort of [undefined, "updated_at"] as const) {
      const page = { limit: ENTRIES, offset: 0 };
      const input = { agentId: "a", prefix: "large/", includeValues, page, ...(sort && { sort }) };
      const list = () => workspace.perform("data.list", input as never);
      expect(await turnsOf(async () => expect(bodyOf(await list()).data.length).toBe(ENTRIES))).toBeGreaterThan(STEPS);
    }
});

test("an erasure by prefix", async () => {
  await checkpoint();
  await deletePrefix();
  const erasure = () => workspace.perform("data.erase", { agentId: "a", prefix: "large/" });
  expect(await turnsOf(async () => expect((await erasure()).result).toBe("ok"))).toBeGreaterThan(STEPS);
});

test("the removal of what is past its retention", async () => {
  await workspace.perform("config.update", { agentId: "a", config: { policies: { retention_days: 1 } } });
  nowMs += 3 * 86_400_000;
  expect(await turnsOf(() => sweepWorkspace(workspace.connection, workspace.writer))).toBeGreaterThan(STEPS);
  expect(workspace.connection.value<number>("SELECT count(*) FROM entries")).toBe(0);
});

test("a sweep gives way between the transactions of its agents", async () => {
  const agents = ["b", "c", "d", "e"];
  for (const agentId of agents) {
    await workspace.perform("config.update", { agentId, config: { policies: { retention_days: 1 } } });
    await workspace.perform("data.write", { agentId, key: "k", value: "v", metadata: {} });
  }
  nowMs += 3 * 86_400_000;
  let turns = 0;
  await sweepWorkspace(workspace.connection, workspace.writer, async () => void turns++);
  expect(turns).toBeGreaterThan(agents.length);
});

test("the answer of a batch of reads is in pieces", async () => {
  const parts = Array.from({ length: ENTRIES }, (_, i) => {
    return { name: "data.read" as const, input: { agentId: "a", key: large(i).key } };
  });
  const { answer } = await workspace.perform("data.batch", { agentId: "a", atomic: true, parts });
  if (answer.kind !== "json" || typeof answer.body === "string") throw new Error("one text");
  expect(answer.body.length).toBeGreaterThan(STEPS);
  expect(JSON.parse(answer.body.join("")).results).toHaveLength(ENTRIES);
});

test("the log of a large transaction is read, copied back and compared in turns", async () => {
  await checkpoint();
  await deletePrefix();
  turnsAfterCommit = 0;
  await workspace.perform("data.erase", { agentId: "a", prefix: "large/" });
  expect(turnsAfterCommit).toBeGreaterThanOrEqual(3);
  const { connection } = workspace;
  expect(statSync(`${connection.file?.path}-wal`).size).toBe(0);
  expect(connection.value<string>("PRAGMA integrity_check")).toBe("ok");
  // A copy that is due by the length of the log takes as many turns.
  for (let i = 0; i < ENTRIES; i++) await workspace.perform("data.write", large(i));
  let steps = 0;
  for (const beside of connection.checkpointIfDueBeside(0)) {
    await beside;
    steps++;
  }
  expect(steps).toBeGreaterThanOrEqual(3);
  expect(connection.value<string>("PRAGMA integrity_check")).toBe("ok");
});

test("replies are let out before the log is copied back, but for those to an erasure", async () => {
  const { writer } = workspace;
  const performed = async (job: ReturnType<OpenWorkspace["job"]>) => {
    const told: [result: string | undefined, turns: number][] = [];
    turnsAfterCommit = 0;
    const [reply] = await writer.perform([job], async ([first]) => void told.push([first?.result, turnsAfterCommit]));
    return { told, result: reply?.result, turns: turnsAfterCommit };
  };
  const written = await performed(workspace.job("data.write", large(0)));
  expect(written.told).toEqual([["allowed", 0]]);
  const erased = await performed(workspace.job("data.erase", { agentId: "a", prefix: "large/" }));
  expect(erased).toMatchObject({ told: [], result: "ok" });
  expect(erased.turns).toBeGreaterThanOrEqual(3);
});

test("a step has few rows, or few bytes, and one row at least", () => {
  const sizes = (rows: readonly number[]) => [...inSteps(rows, (bytes) => bytes)].map(({ length }) => length);
  expect(sizes([])).toEqual([]);
  expect(sizes(Array.from({ length: 2 * CHANGED_AT_ONCE + 1 }, () => 1))).toEqual([
    CHANGED_AT_ONCE,
    CHANGED_AT_ONCE,
    1,
  ]);
  expect(sizes([2 ** 20, 2 ** 20, 10, 2 ** 18, 2 ** 18, 1])).toEqual([1, 1, 2, 2]);
});

test("what is settled has an empty log, copied in turns, so that closing copies nothing", async () => {
  await workspace.perform("data.write", large(0));
  const log = `${workspace.path}-wal`;
  expect(statSync(log).size).toBeGreaterThan(0);
  expect(await turnsOf(() => workspace.writer.settle())).toBeGreaterThan(0);
  expect(statSync(log).size).toBe(0);
  expect(await turnsOf(() => workspace.writer.settle())).toBe(0);
});
