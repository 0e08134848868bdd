/**
 * A process of its own that damages workspaces and uses them: `damage-child.ts DIRECTORY SEED…`. It prints each
 * seed before it tries it, so that the last line names the one that ended the process, if one did.
 */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import type { Bytes, Reply } from "../../src/core/writer/contract.ts";
import { systemClock } from "../../src/ids.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { WorkspacePool } from "../../src/serve/threads/pool.ts";
import { openConnection } from "../../src/store/connection.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { anybody, makeWorkspace } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";

const SEAL_KEY = { kind: "pem", pem: newSealKey() } as const;
const PUBLIC_KEY = readSealKey(SEAL_KEY).publicBytes;
const ENTRIES = 120;
/** Workspaces that are damaged, one after another, between two starts of the threads. */
const VICTIMS = 8;
const PAGE_BYTES = 4096;

/** A small generator (mulberry32): a seed is a case. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Flips bytes, writes garbage over a piece, clears a page, moves one, or cuts the file off. */
function damage(bytes: Buffer, seed: number): Buffer {
  const below = generator(seed);
  const pages = Math.floor(bytes.length / PAGE_BYTES);
  switch (below(8)) {
    case 0: {
      const at = below(bytes.length - 200);
      for (let i = 0; i < 200; i++) bytes[at + i] = below(256);
      return bytes;
    }
    case 1:
      return Buffer.from(bytes.fill(0, below(pages) * PAGE_BYTES).subarray(0, bytes.length));
    case 2:
      bytes.copy(bytes, below(pages) * PAGE_BYTES, below(pages) * PAGE_BYTES, (below(pages) + 1) * PAGE_BYTES);
      return bytes;
    case 3:
      return bytes.subarray(0, below(bytes.length));
    default: {
      const count = 1 + below(60);
      for (let i = 0; i < count; i++) bytes[below(bytes.length)] = 0x80 | below(128);
      return bytes;
    }
  }
}

const [root, ...seeds] = process.argv.slice(2) as [string, ...string[]];
const file = (workspaceId: string) => join(root, `${workspaceId}.db`);
const failures: string[] = [];
/** Knows of no event that an earlier one recorded, so a file may be replaced by an older copy. */
const openPool = () =>
  new WorkspacePool(
    poolOptions(root, SEAL_KEY, {
      sealIntervalMs: 1_000,
      onFailure: ({ where, name, frames }) => void failures.push(`${where}: ${name} ${frames[0] ?? ""}`),
    }),
  );
let pool = openPool();
await pool.ready();

async function reopen(): Promise<void> {
  await pool.close();
  pool = openPool();
  await pool.ready();
}

function ask<N extends OperationName>(id: string, name: N, input: OperationInputs[N]): Promise<Reply<Bytes>> {
  return pool.perform({ name, input, principal: anybody(id) });
}

/** Everything that clients can ask for, one after another; answers how often it was not to be had. */
async function useAll(id: string, agentId: string): Promise<number> {
  const page = { limit: 1_000, offset: 0 };
  const scope = { agentId };
  const whole = { scope: "workspace" } as const;
  const replies = [
    await ask(id, "data.read", { agentId, key: "key 3" }),
    await ask(id, "data.read_full", { agentId, key: "key 4" }),
    await ask(id, "data.list", { agentId, prefix: "", page, includeValues: true }),
    await ask(id, "data.search", { agentId, query: "words to find", limit: 9, prefix: "", minSimilarity: 0 }),
    await ask(id, "config.read", { agentId }),
    await ask(id, "config.list_versions", { agentId, page }),
    await ask(id, "checkpoint.list", { agentId, page }),
    await ask(id, "audit.query", { scope: whole, window: {}, page }),
    await ask(id, "audit.query", { scope, window: {}, page, results: ["ok"] }),
    await ask(id, "audit.verify", { scope: whole }),
    await ask(id, "audit.activity", { scope: whole, window: {}, interval: "day" }),
    await ask(id, "audit.seal", {}),
    await ask(id, "audit.key", {}),
    await ask(id, "audit.consistency", { from: 1 }),
    await ask(id, "agent.list", { prefix: "", page }),
    await ask(id, "agent.read", { agentId }),
    await ask(id, "audit.export", { scope: whole, format: "ndjson", window: {} }),
    await ask(id, "data.write", { agentId, key: "new", value: "new", metadata: {} }),
    await ask(id, "config.update", { agentId, config: { policies: { block_pii: true } } }),
    await ask(id, "checkpoint.create", { agentId, label: null, metadata: {} }),
    await ask(id, "data.delete_prefix", { agentId, prefix: "key 1" }),
    await ask(id, "checkpoint.list", { agentId, page }),
  ];
  let failed = 0;
  for (const { answer } of replies) {
    if (answer.kind === "problem" && (answer.code === "unavailable" || answer.code === "internal")) failed++;
    if (answer.kind === "stream") await new Response(answer.body).text().catch(() => failed++);
  }
  const list = replies.at(-1)?.answer;
  const [newest] = list?.kind === "json" ? (JSON.parse(wholeText(list.body)).data as { id: string }[]) : [];
  if (newest === undefined) return failed;
  const { answer: state } = await ask(id, "checkpoint.read", { checkpointId: newest.id });
  if (state.kind === "stream") await new Response(state.body).text().catch(() => failed++);
  await ask(id, "checkpoint.restore", { checkpointId: newest.id, restoreConfig: true, restoreData: true });
  return failed;
}

/** A workspace that is damaged, and its file before that. */
interface Victim {
  id: string;
  bytes: Buffer;
}

async function makeVictim(): Promise<Victim> {
  const id = await makeWorkspace(root, systemClock, PUBLIC_KEY);
  for (let i = 0; i < ENTRIES; i++) {
    const value = `words to find, number ${i}, größer als ${"x".repeat(i)}`;
    await ask(id, "data.write", { agentId: "agent", key: `key ${i}`, value, metadata: { n: i } });
    if (i % 40 === 0) await ask(id, "config.update", { agentId: "agent", config: { instructions: `i ${i}` } });
    if (i % 50 === 0) await ask(id, "checkpoint.create", { agentId: "agent", label: "cp", metadata: {} });
  }
  if ((await useAll(id, "agent")) > 0) throw new Error("the workspace does not work before it is damaged");
  return { id, bytes: serialise(file(id)) };
}

/** The file with what its write-ahead log holds. */
function serialise(path: string): Buffer {
  const copy = join(root, "copy.db");
  rmSync(copy, { force: true });
  const connection = openConnection(path);
  connection.exec(`VACUUM INTO '${copy}'`);
  connection.close();
  return readFileSync(copy);
}

function replace({ id }: Victim, content: Buffer): void {
  // As an operator puts back a file: the old one is gone, with what stands beside it.
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file(id)}${suffix}`, { force: true });
  rmSync(join(root, `${id}.log`), { force: true });
  writeFileSync(file(id), content);
}

const outcomes: { seed: number; fails: boolean; isTampered: boolean }[] = [];

/** Damages the file of a victim that no thread has used since it was whole, and uses it. */
async function useDamaged(victim: Victim, seed: number): Promise<void> {
  console.log(`seed ${seed}`);
  const damaged = damage(Buffer.from(victim.bytes), seed);
  replace(victim, damaged);
  const failed = await useAll(victim.id, "agent");
  const other = await ask(healthy, "data.write", { agentId: "a", key: "k", value: `${seed}`, metadata: {} });
  if (other.answer.kind !== "json") throw new Error(`another workspace suffers: ${JSON.stringify(other)}`);
  const copy = join(root, "verified.db");
  writeFileSync(copy, damaged);
  const { verdict } = await verifyDatabaseFile({ path: copy, immutable: true }, { path: copy });
  outcomes.push({ seed, fails: failed > 0, isTampered: verdict !== "verified" });
}

const healthy = await makeWorkspace(root, systemClock, PUBLIC_KEY);
const victims: Victim[] = [];
for (let i = 0; i < Math.min(VICTIMS, seeds.length); i++) victims.push(await makeVictim());
for (let at = 0; at < seeds.length; at += VICTIMS) {
  await reopen();
  for (const [i, seed] of seeds.slice(at, at + VICTIMS).entries()) await useDamaged(victims[i] as Victim, Number(seed));
}
await reopen();
for (const victim of victims) {
  replace(victim, victim.bytes);
  if ((await useAll(victim.id, "agent")) > 0)
    throw new Error(`a file that was put back is not used again: ${failures.at(-1)}`);
}
if (pool.down.size > 0) throw new Error("a file that was put back is still said to be broken");
const died = failures.filter((text) => text.includes("died"));
if (died.length > 0) throw new Error(`threads died: ${died.join("; ")}`);
await pool.close();
console.log(JSON.stringify(outcomes));
