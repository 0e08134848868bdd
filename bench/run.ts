/**
 * `bun run bench`: compares the built binary with bare Elysia and bare libSQL in one run. The
 * ratios matter; absolute figures depend on the machine. `--seconds N` per load (default 5), `--rounds N` (default 3).
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { type Daemon, startDaemon } from "./daemon.ts";
import { median, option, whole } from "./figures.ts";
import { rawInserts } from "./raw-libsql.ts";
import { ensureWrk, load } from "./wrk.ts";

const ROOT = join(import.meta.dir, "..");
const BINARY = join(ROOT, "dist", "governd");
const AGENTS = 8;
const SMALL = 100;
const LARGE = 100_000;
const CLIENTS = 64;

const seconds = option("seconds", 5);
const rounds = option("rounds", 3);

const row = (name: string, figure: string, note = ""): void =>
  console.log(`${name.padEnd(44)}${figure.padStart(16)}  ${note}`);

async function prepare(daemon: Daemon): Promise<void> {
  for (let agent = 0; agent < AGENTS; agent++) {
    const policies = { block_pii: true, block_secrets: true };
    await daemon.call("PUT", `/v1/config/bench-${agent}`, { policies });
    for (let i = 0; i < 100; i++) {
      await write(daemon, `bench-${agent}`, `known/${i}`);
    }
  }
}

async function write(daemon: Daemon, agent_id: string, key: string): Promise<void> {
  const answer = await daemon.call("POST", "/v1/data/write", { agent_id, key, value: "A note of some length." });
  if (!answer.ok) throw new Error(`a write answered ${answer.status}`);
  await answer.arrayBuffer();
}

/** Alternates governed writes and bare Elysia. */
async function compareWrites(daemon: Daemon): Promise<void> {
  const bare = Bun.spawn([process.execPath, join(import.meta.dir, "bare-elysia.ts"), daemon.dataDir], {
    stdout: "pipe",
  });
  const reader = bare.stdout.getReader();
  const bareUrl = new TextDecoder().decode((await reader.read()).value).trim();
  const figures = { bare: [] as number[], governed: [] as number[], ratio: [] as number[], p99: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const a = await load("write", bareUrl, seconds, daemon.apiKey);
    const b = await load("write", daemon.url, seconds, daemon.apiKey);
    if (a.failed + b.failed > 0) throw new Error(`${a.failed} and ${b.failed} requests failed`);
    figures.bare.push(a.requestsPerSecond);
    figures.governed.push(b.requestsPerSecond);
    figures.ratio.push(b.requestsPerSecond / a.requestsPerSecond);
    figures.p99.push(b.latencyP99Ms);
  }
  bare.kill();
  row("bare Elysia over TLS, requests/s", whole(median(figures.bare)));
  row(
    "governed writes, both policies, /s",
    whole(median(figures.governed)),
    `p99 ${median(figures.p99).toFixed(1)} ms`,
  );
  row("  ratio to bare Elysia", median(figures.ratio).toFixed(2), "at least 0.25");
}

async function measureReads(daemon: Daemon): Promise<void> {
  const reads = await load("read", daemon.url, seconds, daemon.apiKey);
  if (reads.failed > 0) throw new Error(`${reads.failed} reads failed`);
  row("governed reads, /s", whole(reads.requestsPerSecond), `p99 ${reads.latencyP99Ms.toFixed(1)} ms`);
}

async function measureVerification(daemon: Daemon): Promise<void> {
  const began = performance.now();
  const answer = await daemon.call("POST", "/v1/audit/verify", { scope: "workspace" });
  const { valid, events_checked } = (await answer.json()) as { valid: boolean; events_checked: number };
  if (!valid) throw new Error("the trail of the benchmark does not verify");
  const perSecond = events_checked / ((performance.now() - began) / 1_000);
  row("POST /v1/audit/verify, events/s", whole(perSecond), `${whole(events_checked)} events with what they wrote`);
}

async function verifyOffline(daemon: Daemon): Promise<void> {
  const began = performance.now();
  const report = await $`${BINARY} verify --json ${daemon.workspaceFile}`.json();
  const events = (report as { sources: { events: number }[] }).sources[0]?.events ?? 0;
  const perSecond = events / ((performance.now() - began) / 1_000);
  row("governd verify FILE, events/s", whole(perSecond), "at least 250,000; the process's start included");
}

async function fill(daemon: Daemon, agentId: string, entries: number): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < entries) await write(daemon, agentId, `entry/${next++}`);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function checkpointMs(daemon: Daemon, agentId: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 50; i++) {
    const began = performance.now();
    const answer = await daemon.call("POST", "/v1/checkpoints", { agent_id: agentId });
    await answer.arrayBuffer();
    times.push(performance.now() - began);
  }
  return median(times);
}

async function measureCheckpoints(daemon: Daemon): Promise<void> {
  await fill(daemon, "small", SMALL);
  await fill(daemon, "large", LARGE);
  const small = await checkpointMs(daemon, "small");
  const large = await checkpointMs(daemon, "large");
  row(`checkpoint of ${whole(SMALL)} entries, ms`, small.toFixed(2));
  row(`checkpoint of ${whole(LARGE)} entries, ms`, large.toFixed(2));
  row("  ratio", (large / small).toFixed(2), "at most 3");
}

/** After this time the memory of a burst is released. */
const SETTLED_MS = 2_000;

if (!existsSync(BINARY)) await $`bun run build`.cwd(ROOT);
await ensureWrk();
await using daemon = await startDaemon(BINARY);
row("start to first answer, ms", daemon.startMs.toFixed(0), "at most 300");
row("resident after start, MiB", daemon.residentMiB().toFixed(0));
await prepare(daemon);
await compareWrites(daemon);
await measureReads(daemon);
row("resident at the end of the load, MiB", daemon.residentMiB().toFixed(0));
await Bun.sleep(SETTLED_MS);
row("resident after the load, MiB", daemon.residentMiB().toFixed(0), "under 150; two seconds later");
row("libSQL alone, the same rows, writes/s", whole(rawInserts()), "64 to a transaction");
await measureVerification(daemon);
await verifyOffline(daemon);
await measureCheckpoints(daemon);
