/** Search indexes that follow the trail: the same answers as new ones, within memory, each agent's own. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { readAgent } from "../../src/core/rows/agents.ts";
import { WITH_IDS_OF_AGENT } from "../../src/core/rows/entries.ts";
import { SearchIndexes } from "../../src/core/rows/search-indexes.ts";
import { sweepWorkspace } from "../../src/core/writer/sweep.ts";
import type { SearchHit } from "../../src/search/index/ranking.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const RUNS = effort({ usual: 25, long: 600 });
const MEMORY = 256 * 1024 * 1024;
const START_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const AGENTS = ["one", "two"];
const KEYS = ["a", "ab", "b", "c", "d"];
const TEXTS = [
  "the elevator was repaired",
  "wages are paid monthly",
  "order ERR-1093 failed",
  "green tea in the morning",
  "the elevator failed again",
];
const QUERIES = ["broken lift", "salary", "err-1093", "tea elevatr"];

const agentId = fc.constantFrom(...AGENTS);
const key = fc.constantFrom(...KEYS);
const kind = <K extends string>(name: K) => fc.constant(name);
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: kind("write"), agentId, key, value: fc.constantFrom(...TEXTS) }) },
  { weight: 4, arbitrary: fc.record({ kind: kind("delete"), agentId, key }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("delete prefix"), agentId, prefix: kind("a") }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("checkpoint"), agentId }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("restore"), pick: fc.nat({ max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("configure"), agentId, days: fc.constantFrom(1, 30) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("pass time"), hours: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("sweep") }) },
  { weight: 3, arbitrary: fc.record({ kind: kind("search") }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class History {
  nowMs = START_MS;
  readonly #checkpoints: string[] = [];

  constructor(readonly workspace: OpenWorkspace) {}

  async take(step: Step): Promise<void> {
    const { workspace } = this;
    switch (step.kind) {
      case "write":
        return void (await workspace.perform("data.write", { ...step, metadata: {} }));
      case "delete":
        return void (await workspace.perform("data.delete", step));
      case "delete prefix":
        return void (await workspace.perform("data.delete_prefix", step));
      case "checkpoint": {
        const input = { agentId: step.agentId, label: null, metadata: {} };
        this.#checkpoints.push(bodyOf(await workspace.perform("checkpoint.create", input)).id);
        return;
      }
      case "restore": {
        const checkpointId = this.#checkpoints[step.pick % Math.max(1, this.#checkpoints.length)];
        if (checkpointId === undefined) return;
        const input = { checkpointId, restoreConfig: false, restoreData: true };
        return void (await workspace.perform("checkpoint.restore", input));
      }
      case "configure": {
        const config = { policies: { retention_days: step.days } };
        return void (await workspace.perform("config.update", { agentId: step.agentId, config }));
      }
      case "pass time":
        this.nowMs += step.hours * HOUR_MS;
        return;
      case "sweep":
        return sweepWorkspace(workspace.connection, workspace.writer);
    }
  }
}

/** What an agent's index answers, or null before the agent began. */
async function answers(indexes: SearchIndexes, workspace: OpenWorkspace, agentId: string) {
  const agent = await readAgent(workspace.connection, agentId);
  if (agent === null) return null;
  return indexes.with(workspace.connection, workspace.writer.workspaceId, agent, (index): SearchHit[][] =>
    QUERIES.map((query) => index.search(query, { limit: 10 })),
  );
}

test(
  "an index that followed the log returns what a rebuilt one returns",
  async () => {
    using directory = temporaryDirectory();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: "max" }), async (steps) => {
        let history: History | null = null;
        using workspace = await OpenWorkspace.make(directory.path, () => history?.nowMs ?? START_MS);
        history = new History(workspace);
        const following = new SearchIndexes(MEMORY);
        for (const one of [...steps, { kind: "search" } as const]) {
          await history.take(one);
          if (one.kind !== "search") continue;
          for (const agent of AGENTS) {
            const rebuilt = new SearchIndexes(MEMORY);
            expect(await answers(following, workspace, agent)).toEqual(await answers(rebuilt, workspace, agent));
            rebuilt.close();
          }
        }
        following.close();
        expect(workspace.failures).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
  PROCESS_TEST_MS,
);

test("a row's id that went to another key is followed", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const agentId = "one";
  const write = (key: string, value: string) => workspace.perform("data.write", { agentId, key, value, metadata: {} });
  const indexes = new SearchIndexes(MEMORY);
  // With a history, the row of an entry that ended keeps its id.
  await workspace.perform("config.update", { agentId, config: { policies: { history_days: 0 } } });
  await write("first", "nothing");
  await write("a", "green tea");
  await answers(indexes, workspace, agentId);
  await write("b", "draft");
  await workspace.perform("data.delete", { agentId, key: "b" });
  await workspace.perform("data.delete", { agentId, key: "a" });
  await write("b", "broken lift");
  const [lift] = (await answers(indexes, workspace, agentId)) ?? [];
  expect(lift?.[0]?.id).toBe(2);
  indexes.close();
});

test("an agent's answers depend on no other agent", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const write = (agentId: string, key: string, value: string) =>
    workspace.perform("data.write", { agentId, key, value, metadata: {} });
  const indexes = new SearchIndexes(MEMORY);
  for (const [i, text] of TEXTS.entries()) await write("one", `${i}`, text);
  const before = await answers(indexes, workspace, "one");
  for (let i = 0; i < 50; i++) await write("two", `${i}`, `elevator wages tea err-1093 ${i}`);
  await answers(indexes, workspace, "two");
  expect(await answers(indexes, workspace, "one")).toEqual(before);
  expect(await answers(new SearchIndexes(MEMORY), workspace, "one")).toEqual(before);
});

test("indexes past the memory are dropped, the longest unused first, and built again when asked", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const agents = ["one", "two", "three"];
  for (const agentId of agents) {
    for (let i = 0; i < 40; i++) {
      const value = `${TEXTS[i % TEXTS.length]} ${agentId} ${i}`;
      await workspace.perform("data.write", { agentId, key: `${i}`, value, metadata: {} });
    }
  }
  const roomy = new SearchIndexes(MEMORY);
  const expected = [];
  for (const agentId of agents) expected.push(await answers(roomy, workspace, agentId));
  const name = (agentId: string) => `${workspace.writer.workspaceId}/${agentId}`;
  expect(roomy.loaded).toEqual(agents.map(name));

  // Room for two of the three.
  const tight = new SearchIndexes(Math.floor(roomy.memoryBytes * 0.8));
  for (const [i, agentId] of agents.entries()) {
    expect(await answers(tight, workspace, agentId)).toEqual(expected[i] ?? null);
  }
  expect(tight.loaded).toEqual(["two", "three"].map(name));
  expect(tight.memoryBytes).toBeLessThanOrEqual(roomy.memoryBytes * 0.8);
  expect(await answers(tight, workspace, "one")).toEqual(expected[0] ?? null);
  expect(tight.loaded).toEqual(["three", "one"].map(name));

  // The one in use is kept even when it alone is too large.
  const none = new SearchIndexes(0);
  for (const [i, agentId] of agents.entries()) {
    expect(await answers(none, workspace, agentId)).toEqual(expected[i] ?? null);
    expect(none.loaded).toEqual([name(agentId)]);
  }
  for (const indexes of [roomy, tight, none]) indexes.close();
});

test("the entries of a result are found by their ids, not among all entries of the agent", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const sql = `EXPLAIN QUERY PLAN SELECT key FROM entries WHERE ${WITH_IDS_OF_AGENT} AND live_to IS NULL`;
  const [first] = workspace.connection.all<[number, number, number, string]>(sql, ["[]", 0]);
  expect(first?.[3]).toBe("SEARCH entries USING INTEGER PRIMARY KEY (rowid=?)");
});
