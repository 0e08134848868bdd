/**
 * Searches an agent that is too large for memory: `bun bench/search-large.ts [entries]`. Runs the same queries
 * on its full text and on an index in memory, and compares their cost and their first ten results. The entries
 * and queries are those of `search.ts`, with further queries of words from an entry.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readAgent } from "../src/core/rows/agents.ts";
import { startFullText, stepFullText } from "../src/core/rows/full-text.ts";
import { searchAgent } from "../src/core/rows/search.ts";
import { SearchIndexes } from "../src/core/rows/search-indexes.ts";
import { OpenWorkspace } from "../test/support/open-workspace.ts";
import { entry, quantile, query } from "./search.ts";

const DEFAULT_ENTRIES = 320_000;
const AT_ONCE = 500;
const QUERIES = 150;
const FIRST = 10;
/** Words this long are misspelt in queries. */
const LONG_WORD = 6;
/** A query of an entry's words takes every n-th word. */
const WORD_STEP = 4;
const AGENT = "large";
const MEMORY = 8 * 2 ** 30;

const entries = Number(process.argv[2] ?? DEFAULT_ENTRIES);
const directory = mkdtempSync(join(tmpdir(), "governd-bench-"));
const workspace = await OpenWorkspace.make(directory);
const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1);

let start = performance.now();
const asked: string[] = [];
for (let id = 0; id < entries; id += AT_ONCE) {
  const documents = Array.from({ length: Math.min(AT_ONCE, entries - id) }, (_, i) => entry(id + i));
  const jobs = documents.map(({ key, value, metadata }) =>
    workspace.job("data.write", { agentId: AGENT, key, value, metadata: metadata as Record<string, string> }),
  );
  await workspace.writer.perform(jobs);
  const [first] = documents;
  if (first !== undefined && asked.length < QUERIES) {
    asked.push(
      first.value
        .split(" ")
        .filter((_, i) => i % WORD_STEP === 0)
        .join(" "),
    );
  }
}
console.log(`${entries} entries written in ${seconds(start)} s`);

const inMemory = new SearchIndexes(MEMORY);
const byText = new SearchIndexes(MEMORY, 0);

/** Returns a query with one of its longer words misspelt: two letters are swapped, or one is missing. */
function misspelt(query: string, number: number): string {
  const words = query.split(" ");
  const at = words.findIndex(({ length }) => length >= LONG_WORD);
  const word = words[at];
  if (word === undefined) return query;
  const slip = 1 + (number % (word.length - 2));
  const swapped = number % 2 === 0;
  words[at] =
    `${word.slice(0, slip)}${swapped ? `${word[slip + 1]}${word[slip]}` : ""}${word.slice(slip + (swapped ? 2 : 1))}`;
  return words.join(" ");
}

/** Returns the ids of the first entries that an index in memory or full text finds. */
async function search(indexes: SearchIndexes, query: string): Promise<number[]> {
  const agent = await readAgent(workspace.connection, AGENT);
  if (agent === null) throw new Error("the agent is not there");
  const options = { limit: FIRST, prefix: "", minSimilarity: 0 };
  const workspaceId = workspace.writer.workspaceId;
  const { hits } = await searchAgent(workspace.connection, indexes, { workspaceId, agent, query, options });
  return hits.map(({ id }) => id);
}

start = performance.now();
await search(inMemory, "anything");
console.log(`index in memory: built in ${seconds(start)} s, ${Math.round(inMemory.memoryBytes / 2 ** 20)} MiB`);

start = performance.now();
await workspace.writer.derive((connection) => startFullText(connection, AGENT));
let longest = 0;
for (let working = true; working; ) {
  const step = performance.now();
  working = await workspace.writer.derive(stepFullText);
  longest = Math.max(longest, performance.now() - step);
}
console.log(`full text: built in ${seconds(start)} s, longest step ${longest.toFixed(1)} ms`);

async function compare(name: string, queries: readonly string[]): Promise<void> {
  const times: Record<"memory" | "text", number[]> = { memory: [], text: [] };
  let same = 0;
  let found = 0;
  let first = 0;
  for (const query of queries) {
    let from = performance.now();
    const expected = await search(inMemory, query);
    times.memory.push(performance.now() - from);
    from = performance.now();
    const actual = await search(byText, query);
    times.text.push(performance.now() - from);
    same += actual.filter((id) => expected.includes(id)).length;
    found += expected.length;
    if (actual[0] === expected[0]) first++;
  }
  const spread = (values: number[]): string => {
    values.sort((a, b) => a - b);
    const [p50, p95, max] = [0.5, 0.95, 1].map((share) => quantile(values, share).toFixed(1));
    return `p50 ${p50} ms, p95 ${p95} ms, max ${max} ms`;
  };
  const share = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(0)} %`;
  console.log(`${name}: in memory ${spread(times.memory)}; by full text ${spread(times.text)}`);
  console.log(`  same first ten ${share(same, found)}, same first ${share(first, queries.length)}`);
}

await compare("words of an entry", asked);
await compare(
  "words at random",
  Array.from({ length: QUERIES }, (_, i) => query(3 * i + 1)),
);
await compare("words of an entry, one misspelt", asked.map(misspelt));

inMemory.close();
byText.close();
workspace[Symbol.dispose]();
rmSync(directory, { recursive: true });
