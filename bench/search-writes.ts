/**
 * The cost of an index for writers: `bun bench/search-writes.ts [--seconds N] [--rounds N]`. Alternates the
 * same load of governed writes between an agent that is not searched and one whose index a search every tenth
 * of a second keeps up to date. Then measures those searches.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSealKey, readSealKey } from "../src/core/datadir/seal-key.ts";
import { createWorkspaceFile } from "../src/core/writer/file.ts";
import { NO_SITE } from "../src/core/writer/site.ts";
import { IdSource, systemClock } from "../src/ids.ts";
import { verifierKey } from "../src/log/note.ts";
import type { OperationInputs, OperationName } from "../src/operations.ts";
import { AMPLE } from "../src/serve/threads/descriptors.ts";
import { WorkspacePool } from "../src/serve/threads/pool.ts";
import { option } from "./figures.ts";

const CLIENTS = 64;
const SEARCH_EVERY_MS = 100;
const KEYS = 2_000;
const MEMORY_BYTES = 256 * 1024 * 1024;
const WORDS = "the elevator was repaired on monday and wages are paid on the last working day".split(" ");

const seconds = option("seconds", 3);
const rounds = option("rounds", 5);

const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
};

const directory = mkdtempSync(join(tmpdir(), "governd-bench-"));
const pem = newSealKey();
const workspaceId = new IdSource(systemClock).next("ws");
await createWorkspaceFile(join(directory, `${workspaceId}.db`), {
  workspaceId,
  name: "bench",
  actor: "cli",
  sealKey: verifierKey(`localhost/${workspaceId}`, readSealKey({ kind: "pem", pem }).publicBytes),
});
const pool = new WorkspacePool({
  workspacesDir: directory,
  encryptionKey: null,
  server: null,
  quota: null,
  site: NO_SITE,
  answerBytes: 0,
  open: AMPLE,
  clockOffsetMs: 0,
  searchMemoryBytes: MEMORY_BYTES,
  fullTextFrom: Number.MAX_SAFE_INTEGER,
  embeddings: null,
  threads: 1,
  sealing: { sealsDir: directory, key: { kind: "pem", pem }, intervalMs: 10_000 },
  onFailure: ({ where, name }) => {
    throw new Error(`${where}: ${name}`);
  },
});
const principal = { actor: "cli", workspaceId, scope: "full", agents: null } as const;

async function ask<N extends OperationName>(name: N, input: OperationInputs[N]): Promise<void> {
  const { answer } = await pool.perform({ name, input, principal });
  if (answer.kind !== "json") throw new Error(`${name} answered ${answer.kind}`);
}

let written = 0;
function write(agentId: string): Promise<void> {
  const i = written++;
  const value = Array.from({ length: 12 }, (_, k) => WORDS[(i * 7 + k * k) % WORDS.length]).join(" ");
  return ask("data.write", { agentId, key: `note/${i % KEYS}`, value: `${value} ref-${i}`, metadata: {} });
}

/** Loads an agent with writes. Returns writes per second. */
async function load(agentId: string): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  const client = async () => {
    for (; performance.now() < end; count++) await write(agentId);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return count / seconds;
}

/** Searches an agent repeatedly until stopped. Returns the times, ms. */
function keepLive(agentId: string): { stop(): Promise<number[]> } {
  const times: number[] = [];
  let stopped = false;
  const run = async () => {
    while (!stopped) {
      const began = performance.now();
      const input = { agentId, query: "broken elevator", limit: 10, prefix: "", minSimilarity: 0 };
      await ask("data.search", input);
      times.push(performance.now() - began);
      await Bun.sleep(SEARCH_EVERY_MS);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopped = true;
      await running;
      return times;
    },
  };
}

const config = { policies: { block_pii: true, block_secrets: true } };
for (const agentId of ["plain", "searched"]) {
  await ask("config.update", { agentId, config });
  for (let i = 0; i < KEYS; i += CLIENTS) {
    await Promise.all(Array.from({ length: CLIENTS }, () => write(agentId)));
  }
}
const without: number[] = [];
const withIndex: number[] = [];
const searches: number[] = [];
for (let round = 0; round < rounds; round++) {
  without.push(await load("plain"));
  const live = keepLive("searched");
  withIndex.push(await load("searched"));
  searches.push(...(await live.stop()));
}
const ratios = withIndex.map((rate, i) => rate / (without[i] as number));
console.log(`writes/s, no index:            ${Math.round(quantile(without, 0.5))}`);
console.log(`writes/s, index kept live:     ${Math.round(quantile(withIndex, 0.5))}`);
console.log(`  ratio                        ${quantile(ratios, 0.5).toFixed(2)}  at least 0.85`);
console.log(
  `searches under that load, ms:  p50 ${quantile(searches, 0.5).toFixed(1)}, p95 ${quantile(searches, 0.95).toFixed(1)}`,
);
await pool.close();
rmSync(directory, { recursive: true });
