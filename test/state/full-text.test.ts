/** Full text of large agents: it follows the trail, finds what an index finds, and proves nothing. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { readAgent } from "../../src/core/rows/agents.ts";
import { ensureEmbeddingTables, nextBatch, storeVectors } from "../../src/core/rows/embeddings.ts";
import { hasFullText, readFullText, startFullText, stepFullText } from "../../src/core/rows/full-text.ts";
import { searchAgent } from "../../src/core/rows/search.ts";
import { SearchIndexes } from "../../src/core/rows/search-indexes.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { OutOfOrder } from "../../src/store/walk.ts";
import { verifyDatabase } from "../../src/verify/sources.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const RUNS = effort({ usual: 16, long: 400 });
const MEMORY = 256 * 1024 * 1024;
const AGENTS = ["one", "two"];
const KEYS = ["a", "ab", "b", "c"];
const WORDS = [
  "elevator",
  "wages",
  "err-1093",
  "tea",
  "москва",
  "绿茶",
  'quo"te',
  "서버에서는",
  "책을",
  "🥐",
  "❤️",
  "1️⃣",
];
const MAX_STEPS = 10_000;

const write = (workspace: OpenWorkspace, agentId: string, key: string, value: string) =>
  workspace.perform("data.write", { agentId, key, value, metadata: {} });
const start = (workspace: OpenWorkspace, agentId: string) =>
  workspace.writer.derive((connection) => startFullText(connection, agentId));
const step = (workspace: OpenWorkspace) => workspace.writer.derive(stepFullText);

async function finish(workspace: OpenWorkspace): Promise<void> {
  for (let i = 0; i < MAX_STEPS; i++) if (!(await step(workspace))) return;
  throw new Error("full text never ends");
}

async function search(workspace: OpenWorkspace, indexes: SearchIndexes, agentId: string, query: string) {
  const agent = await readAgent(workspace.connection, agentId);
  if (agent === null) return null;
  return searchAgent(workspace.connection, indexes, {
    workspaceId: workspace.writer.workspaceId,
    agent,
    query,
    options: { limit: 10, prefix: "", minSimilarity: 0 },
  });
}

const phaseOf = async (workspace: OpenWorkspace, agentId: string) => {
  const agent = await readAgent(workspace.connection, agentId);
  return agent === null ? undefined : (await readFullText(workspace.connection, agent))?.phase;
};

const agentId = fc.constantFrom(...AGENTS);
const key = fc.constantFrom(...KEYS);
const action = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant("write"), agentId, key, fc.constantFrom(...WORDS)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant("delete"), agentId, key, fc.constant("")) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("prefix"), agentId, fc.constant("a"), fc.constant("")) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("checkpoint"), agentId, key, fc.constant("")) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("restore"), agentId, key, fc.constant("")) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("step"), agentId, key, fc.constant("")) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("search"), agentId, key, fc.constantFrom(...WORDS)) },
);

async function take(
  workspace: OpenWorkspace,
  indexes: SearchIndexes,
  checkpoints: string[],
  [kind, agentId, key, word]: [string, string, string, string],
): Promise<void> {
  if (kind === "write") await write(workspace, agentId, key, word);
  if (kind === "delete") await workspace.perform("data.delete", { agentId, key });
  if (kind === "prefix") await workspace.perform("data.delete_prefix", { agentId, prefix: key });
  if (kind === "step") await step(workspace);
  if (kind === "checkpoint") {
    const made = await workspace.perform("checkpoint.create", { agentId, label: null, metadata: {} });
    checkpoints.push(bodyOf(made).id);
  }
  const checkpointId = checkpoints.at(-1);
  if (kind === "restore" && checkpointId !== undefined) {
    await workspace.perform("checkpoint.restore", { checkpointId, restoreConfig: false, restoreData: true });
  }
  if (kind === "search") await expectFound(workspace, indexes, agentId, word);
}

/** Exactly the entries with the word are found, whatever the full text has or lacks at that time. */
async function expectFound(workspace: OpenWorkspace, indexes: SearchIndexes, agentId: string, word: string) {
  const found = await search(workspace, indexes, agentId, word);
  if (found === null) return;
  const rows = workspace.connection.all<[number]>(
    `SELECT e.id FROM entries e JOIN agents a ON a.first_seq = e.agent
     WHERE a.agent_id = ? AND e.live_to IS NULL AND e.value = ? ORDER BY e.id`,
    [agentId, JSON.stringify(word)],
  );
  const held = rows.map(([id]) => id);
  const best = found.hits.slice(0, held.length).map(({ id }) => id);
  expect(best.sort((a, b) => a - b)).toEqual(held);
}

test(
  "whatever happens, what is committed is found, and in the end just the live entries are in it",
  async () => {
    using directory = temporaryDirectory();
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 50, size: "max" }), async (actions) => {
        using workspace = await OpenWorkspace.make(directory.path);
        const indexes = new SearchIndexes(MEMORY, -1);
        const checkpoints: string[] = [];
        for (const agentId of AGENTS) {
          await write(workspace, agentId, "z", "first");
          await start(workspace, agentId);
        }
        for (const one of actions) await take(workspace, indexes, checkpoints, one);
        // An agent that shrank lost it, and gets it again.
        for (const agentId of AGENTS) {
          await finish(workspace);
          await start(workspace, agentId);
        }
        await finish(workspace);
        const inIt = workspace.connection.all("SELECT entry, agent, key, written_seq FROM search_rows ORDER BY 1");
        const live = workspace.connection.all(
          "SELECT id, agent, key, written_seq FROM entries WHERE live_to IS NULL ORDER BY 1",
        );
        expect(inIt).toEqual(live);
        const texts = workspace.connection.all("SELECT rowid FROM search_texts ORDER BY 1");
        expect(texts).toEqual(live.map(([id]) => [id]));
        for (const agentId of AGENTS) {
          for (const word of WORDS) await expectFound(workspace, indexes, agentId, word);
        }
        indexes.close();
        expect(workspace.failures).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
  PROCESS_TEST_MS,
);

test("it begins when a large agent is searched, answers when it is complete, and ends when the agent shrinks", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const indexes = new SearchIndexes(MEMORY, 100);
  for (let i = 0; i < 250; i++) await write(workspace, "one", `k${i}`, `order err-${i} failed`);
  await write(workspace, "two", "k", "order err-7 failed");
  expect(await search(workspace, indexes, "two", "err-7")).toMatchObject({ wantsFullText: false });
  const before = await search(workspace, indexes, "one", "err-7");
  expect(before?.wantsFullText).toBe(true);
  expect(await hasFullText(workspace.connection)).toBe(false);
  await start(workspace, "one");
  expect(await phaseOf(workspace, "one")).toBe("adding");
  await step(workspace);
  expect((await search(workspace, indexes, "one", "err-7"))?.hits).toEqual(before?.hits ?? []);
  expect(indexes.loaded).toHaveLength(2);
  await finish(workspace);
  expect(await phaseOf(workspace, "one")).toBe("complete");
  const after = await search(workspace, indexes, "one", "err-7");
  expect(after).toMatchObject({ wantsFullText: false });
  expect(after?.hits[0]?.id).toBe(before?.hits[0]?.id as number);
  expect(indexes.loaded).toEqual([`${workspace.writer.workspaceId}/two`]);
  for (let i = 0; i < 200; i++) await workspace.perform("data.delete", { agentId: "one", key: `k${i}` });
  await finish(workspace);
  expect(await hasFullText(workspace.connection)).toBe(false);
  expect(workspace.connection.all("SELECT * FROM search_rows")).toEqual([]);
});

test("an index whose words an older version made is not searched, and is made anew", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const indexes = new SearchIndexes(MEMORY, 3);
  for (const agentId of AGENTS) {
    for (let i = 0; i < 5; i++) await write(workspace, agentId, `k${i}`, `${i === 3 ? "서버가" : "주문"} err-${i} 🥐`);
    await start(workspace, agentId);
  }
  await finish(workspace);
  const now = await search(workspace, indexes, "one", "서버");
  expect(now?.hits).toHaveLength(1);
  // As an older version left it: these words are there, but not as they are looked for now.
  await workspace.writer.derive(async (connection) => {
    connection.run("UPDATE search_agents SET after = 'begun'");
    connection.run("INSERT INTO search_texts (search_texts) VALUES ('delete-all')");
  });
  for (const agentId of AGENTS) {
    expect(await phaseOf(workspace, agentId)).toBe("dropping");
    expect((await search(workspace, indexes, agentId, "서버"))?.hits.map(({ id }) => id)).toHaveLength(1);
  }
  await finish(workspace);
  expect(await hasFullText(workspace.connection)).toBe(false);
  for (const agentId of AGENTS) await start(workspace, agentId);
  await finish(workspace);
  for (const agentId of AGENTS) expect(await phaseOf(workspace, agentId)).toBe("complete");
  expect((await search(workspace, indexes, "one", "서버"))?.hits).toEqual(now?.hits ?? []);
});

test("words and numbers of another agent have no part in it", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const indexes = new SearchIndexes(MEMORY, -1);
  for (let i = 0; i < 30; i++) await write(workspace, "one", `k${i}`, `${WORDS[i % 5]} ${WORDS[i % 3]} ${i}`);
  await start(workspace, "one");
  await finish(workspace);
  const before = await search(workspace, indexes, "one", "tea elevator 7");
  for (let i = 0; i < 60; i++) await write(workspace, "two", `k${i}`, `tea ${i}`);
  await start(workspace, "two");
  await finish(workspace);
  expect(await search(workspace, indexes, "one", "tea elevator 7")).toEqual(before);
});

test("an index that does not fit asks for full text, and the prefix holds there too", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const indexes = new SearchIndexes(0);
  await write(workspace, "one", "x/1", "green tea");
  await write(workspace, "one", "y/1", "green tea");
  expect((await search(workspace, indexes, "one", "tea"))?.wantsFullText).toBe(false);
  expect((await search(workspace, indexes, "one", "tea"))?.wantsFullText).toBe(true);
  await start(workspace, "one");
  await finish(workspace);
  const agent = await readAgent(workspace.connection, "one");
  if (agent === null) throw new Error("the agent is gone");
  const options = { limit: 10, prefix: "y/", minSimilarity: 0 };
  const { workspaceId } = workspace.writer;
  const found = await searchAgent(workspace.connection, indexes, { workspaceId, agent, query: "tea", options });
  expect(found.hits.map(({ id }) => id)).toEqual([2]);
  expect(indexes.loaded).toEqual([]);
});

test("a workspace with full text verifies, and a changed table beside it does not", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  await write(workspace, "one", "a", "green tea");
  await start(workspace, "one");
  await finish(workspace);
  const verdict = async () => (await verifyDatabase(workspace.connection, { path: "w.db" })).verdict;
  expect(await verdict()).toBe("verified");
  workspace.connection.exec("CREATE TABLE search_more (x)");
  expect(await verdict()).toBe("tampered");
});

test("vectors of a model outside count among the candidates, too", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const indexes = new SearchIndexes(MEMORY, -1);
  for (let i = 0; i < 20; i++) await write(workspace, "one", `k${i}`, `order number ${i}`);
  await start(workspace, "one");
  await finish(workspace);
  const { writer, connection } = workspace;
  await writer.derive((tx) => ensureEmbeddingTables(tx, "m"));
  for (let batch = await nextBatch(connection); batch !== null; batch = await nextBatch(connection)) {
    const made = batch.entries.map(({ id }) => [Float32Array.from(id === 14 ? [1, 0] : [0, 1])]);
    const next = batch;
    await writer.derive((tx) => storeVectors(tx, "m", next, made));
  }
  const agent = await readAgent(connection, "one");
  if (agent === null) throw new Error("the agent is gone");
  const { hits } = await searchAgent(connection, indexes, {
    workspaceId: writer.workspaceId,
    agent,
    query: "order",
    options: { limit: 1, prefix: "", minSimilarity: 0 },
    queryVector: { model: "m", vector: Float32Array.from([1, 0]) },
  });
  expect(hits[0]?.id).toBe(14);
  expect(indexes.loaded).toEqual([]);
});

/** Writes many entries of one agent, in a few groups. */
async function writeAll(
  workspace: OpenWorkspace,
  count: number,
  entryOf: (
    index: number,
  ) => Pick<Extract<OperationInputs["data.write"], { value: string }>, "key" | "value" | "metadata">,
): Promise<void> {
  const jobs = Array.from({ length: count }, (_, i) => workspace.job("data.write", { agentId: "one", ...entryOf(i) }));
  for (let at = 0; at < jobs.length; at += 500) await workspace.writer.perform(jobs.slice(at, at + 500));
}

test("a filter selects before the best are chosen", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const indexes = new SearchIndexes(MEMORY, -1);
  const { connection } = workspace;
  await writeAll(workspace, 3_000, (n) => {
    // Those that match are found last: their texts are the longest.
    const value = n % 300 === 7 ? `tea ${"and more ".repeat(40)}` : "tea";
    return { key: `k${n}`, value, metadata: { rare: n % 300 === 7 } };
  });
  await start(workspace, "one");
  await finish(workspace);
  await workspace.perform("data.write", { agentId: "one", key: "new", value: "tea", metadata: { rare: true } });
  const agent = await readAgent(connection, "one");
  if (agent === null) throw new Error("the agent is gone");
  const conditions = [{ path: ["rare"], operator: "$eq" as const, operand: true }];
  const options = {
    limit: 20,
    prefix: "k",
    minSimilarity: 0,
    filter: { conditions, nowMs: Date.now(), seesSetAside: false },
  };
  const { workspaceId } = workspace.writer;
  const found = await searchAgent(connection, indexes, { workspaceId, agent, query: "tea", options });
  expect(found.hits.map(({ id }) => id % 300)).toEqual(new Array(10).fill(8));
  expect(indexes.loaded).toEqual([]);
});

test("the words of entries that were removed together leave the file", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  for (let i = 0; i < 300; i++) {
    await write(workspace, "one", `${i % 3 === 0 ? "gone" : "kept"}/${i}`, `word${i % 3}secret${i} order`);
  }
  await start(workspace, "one");
  await finish(workspace);
  const remnants = () =>
    workspace.connection.all<[Uint8Array]>("SELECT block FROM search_texts_data").reduce(
      (sum, [block]) =>
        sum +
        (Buffer.from(block)
          .toString("latin1")
          .match(/word0secret/g)?.length ?? 0),
      0,
    );
  expect(remnants()).toBeGreaterThan(0);
  await workspace.perform("data.delete_prefix", { agentId: "one", prefix: "gone/" });
  await finish(workspace);
  expect(await phaseOf(workspace, "one")).toBe("complete");
  expect(remnants()).toBe(0);
  await workspace.perform("data.delete_prefix", { agentId: "one", prefix: "kept/" });
  await finish(workspace);
  expect(await hasFullText(workspace.connection)).toBe(false);
  const words = workspace.connection.all("SELECT count(*) FROM search_terms");
  expect(words).toEqual([[0]]);
});

test("a misspelt word is looked for among the agent's words, wherever the slip is", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const indexes = new SearchIndexes(MEMORY, -1);
  await write(workspace, "one", "target", "The elevator complained about its maintenance.");
  await write(workspace, "one", "other", "Payment of wages");
  // More words with one beginning than are read for it.
  await writeAll(workspace, 3_500, (i) => ({ key: `k${i}`, value: `ele-${i} gone`, metadata: {} }));
  await start(workspace, "one");
  await finish(workspace);
  const first = async (query: string) => (await search(workspace, indexes, "one", query))?.hits[0]?.id;
  const target = await first("elevator");
  const misspelt = ["elevtaor", "elevtor", "xelevator", "elevatro", "complaned", "maintenence"];
  for (const query of misspelt) expect([query, await first(query)]).toEqual([query, target]);
  // Nothing of another agent's words helps or harms.
  await write(workspace, "two", "target", "The escalator");
  await start(workspace, "two");
  await finish(workspace);
  expect(await search(workspace, indexes, "two", "elevtaor")).toMatchObject({ hits: [] });
});

test("a pass over entries that damage brought out of order ends, and says what it met", async () => {
  using directory = temporaryDirectory();
  const made = await OpenWorkspace.make(directory.path);
  const jobs = Array.from({ length: 400 }, (_, i) =>
    made.job("data.write", { agentId: "one", key: `note/${1000 + i}`, value: "tea", metadata: {} }),
  );
  await made.writer.perform(jobs);
  await start(made, "one");
  made.writer.close();
  // The last row of the second page would send the third one back to the beginning, for ever.
  const file = readFileSync(made.path, "latin1");
  const damaged = file.replaceAll("note/1199", "note/1000");
  expect(damaged).not.toBe(file);
  writeFileSync(made.path, damaged, "latin1");
  using workspace = new OpenWorkspace(made.path);
  await expect(finish(workspace)).rejects.toThrow(OutOfOrder);
});
