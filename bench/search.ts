/**
 * The cost of search without the daemon: `bun bench/search.ts [entries …] [--json]`.
 * Entries are made-up notes of about 25 words in Zipf's proportions, with a key, an identifier and a
 * metadata string each; queries are a few of their words, every third with a typing error.
 */

import { AgentIndex } from "../src/search/index/agent-index.ts";
import type { SearchDocument } from "../src/search/index/document.ts";
import { loadModel } from "../src/search/model.ts";
import { addRows } from "../src/search/vectors/windows.ts";
import { tokenize } from "../src/search/words/tokenize.ts";

const DEFAULT_SIZES = [1_000, 10_000, 100_000];
const WORDS_PER_ENTRY = 25;
const VOCABULARY = 20_000;
const QUERIES = 500;
/** Searches before the measured ones, to warm up the compiler. */
const WARM_UP = 200;
/** Entries indexed before the measured ones. */
const WARM_UP_ENTRIES = 5_000;

/** A sequence of numbers from 0 to 1, the same at every run. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = sequence(42);
const words: string[] = wordList();

/** Returns the most frequent words of the built-in model, in order. */
function wordList(): string[] {
  const text = new TextDecoder().decode(loadModel().words.vectors.wordBytes);
  return text.split("\n", VOCABULARY);
}

/** Returns a random word by Zipf's law (inversion of its integral). */
function word(): string {
  return words[Math.floor(VOCABULARY ** random()) - 1] as string;
}

export function entry(id: number): SearchDocument {
  const text = Array.from({ length: WORDS_PER_ENTRY }, word).join(" ");
  return { key: `note/${id}`, value: `${text} ref-${id}.`, metadata: { source: "bench", confidence: 0.5 } };
}

export function query(number: number): string {
  const asked = Array.from({ length: 6 }, word);
  if (number % 3 === 0) asked.push(`${word()}${word()}`.slice(0, 9));
  return asked.join(" ");
}

export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}

/** Runs `run` once for each argument. Returns the times in ascending order, ms. */
function timed<T>(args: readonly T[], run: (argument: T) => void): number[] {
  const times = args.map((argument) => {
    const start = performance.now();
    run(argument);
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b);
}

export interface SearchFigures {
  entries: number;
  builtPerSecond: number;
  bytesPerEntry: number;
  searchMs: { p50: number; p95: number; max: number };
}

/** Builds an index to warm up the compiler. */
function warmUp(): void {
  const index = new AgentIndex();
  for (let id = 0; id < WARM_UP_ENTRIES; id++) index.add(id, entry(id));
  index.close();
}

/** Builds an index of that many entries and searches it. */
export function benchIndex(entries: number): SearchFigures {
  const documents = Array.from({ length: entries }, (_, id) => entry(id));
  warmUp();
  const index = new AgentIndex();
  const start = performance.now();
  for (let id = 0; id < entries; id++) index.add(id, documents[id] as SearchDocument);
  const built = performance.now() - start;
  const queries = Array.from({ length: WARM_UP + QUERIES }, (_, i) => query(i));
  for (const asked of queries.slice(0, WARM_UP)) index.search(asked, { limit: 10 });
  const times = timed(queries.slice(WARM_UP), (asked) => index.search(asked, { limit: 10 }));
  const figures = {
    entries,
    builtPerSecond: Math.round((entries / built) * 1000),
    bytesPerEntry: Math.round(index.memoryBytes / entries),
    searchMs: { p50: quantile(times, 0.5), p95: quantile(times, 0.95), max: quantile(times, 1) },
  };
  index.close();
  return figures;
}

/** Returns the p50 of the time to turn a short text into a vector, microseconds. */
export function benchEmbedding(): number {
  const { vectors } = loadModel().words;
  const texts = Array.from({ length: 20_000 }, () => Array.from({ length: 12 }, word).join(" "));
  const times = timed(texts, (text) => {
    const rows = Int32Array.from(tokenize(text), (token) => vectors.find(token));
    addRows(new Float32Array(vectors.dimensions), rows, 0, rows.length, vectors);
  });
  return quantile(times, 0.5) * 1000;
}

if (import.meta.main) {
  const sizes = process.argv.slice(2).map(Number).filter(Number.isInteger);
  const embeddingUs = benchEmbedding();
  const indexes = (sizes.length > 0 ? sizes : DEFAULT_SIZES).map(benchIndex);
  if (process.argv.includes("--json")) {
    console.log(JSON.stringify({ embeddingUs, indexes }));
  } else {
    console.log(`embedding of 12 words: p50 ${embeddingUs.toFixed(1)} us`);
    for (const { entries, builtPerSecond, bytesPerEntry, searchMs } of indexes) {
      const { p50, p95, max } = searchMs;
      console.log(
        `${entries} entries: built at ${builtPerSecond}/s, ${bytesPerEntry} bytes each, ` +
          `search p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms, max ${max.toFixed(2)} ms`,
      );
    }
  }
}
