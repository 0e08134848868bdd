/**
 * `bun bench/compare.ts OLD [NEW]`: compares two builds of the daemon, in turns, in one run. NEW is
 * `dist/governd` unless named. `--rounds N` (default 5), `--seconds N` of each load (default 3), `--events N` to
 * verify (default 200,000). Prints the median of each figure and the median ratio NEW/OLD of its rounds.
 */
import { join } from "node:path";
import { type Daemon, prepareAgents, startDaemon, succeed } from "./daemon.ts";
import { median, option } from "./figures.ts";
import { ensureWrk, type LoadOptions, load } from "./wrk.ts";

const [old, fresh = join(import.meta.dir, "..", "dist", "governd")] = process.argv
  .slice(2)
  .filter((word, at, words) => !word.startsWith("--") && !words[at - 1]?.startsWith("--"));
if (old === undefined) throw new Error("usage: bun bench/compare.ts OLD [NEW] [--rounds N] [--seconds N]");
const rounds = option("rounds", 5);
const seconds = option("seconds", 3);
const events = option("events", 200_000);

/** The figures of both builds, by name: one value for each round. */
const figures = new Map<string, { old: number[]; fresh: number[] }>();

function note(which: "old" | "fresh", name: string, value: number): void {
  const known = figures.get(name) ?? { old: [], fresh: [] };
  known[which].push(value);
  figures.set(name, known);
}

const LOADS: readonly (readonly [script: string, name: string, options: Partial<LoadOptions>])[] = [
  ["write", "governed writes", {}],
  ["write", "writes of one client", { clients: 1 }],
  ["batch", "batches of 50 writes", { entries: 50 }],
  ["read", "reads", {}],
  ["search", "searches", {}],
];

/** Runs one load on one build. Records requests per second and processor time per request. */
async function measureLoad(
  which: "old" | "fresh",
  daemon: Daemon,
  [script, name, options]: (typeof LOADS)[number],
): Promise<void> {
  const before = daemon.cpuSeconds();
  const { apiKey } = daemon;
  const measured = await load(script, daemon.url, { seconds, apiKey, ...options });
  const { requests, requestsPerSecond, failed, p50Ms, p99Ms } = measured;
  if (failed > 0) throw new Error(`${failed} ${name} failed`);
  note(which, `${name}, /s`, requestsPerSecond);
  note(which, `${name}, p50 ms`, p50Ms);
  note(which, `${name}, p99 ms`, p99Ms);
  note(which, `${name}, CPU us each`, ((daemon.cpuSeconds() - before) / requests) * 1_000_000);
}

async function compareDaemons(): Promise<void> {
  await using first = await startDaemon(old as string);
  await using second = await startDaemon(fresh);
  const daemons = { old: first, fresh: second } as const;
  for (const daemon of Object.values(daemons)) await prepareAgents(daemon);
  for (const one of LOADS) {
    for (let round = 0; round < rounds; round++) {
      for (const which of round % 2 === 0 ? (["old", "fresh"] as const) : (["fresh", "old"] as const)) {
        await measureLoad(which, daemons[which], one);
      }
    }
  }
  for (const which of ["old", "fresh"] as const) {
    note(which, "resident at the end of the load, MiB", daemons[which].residentMiB());
  }
  await Bun.sleep(3_000);
  for (const which of ["old", "fresh"] as const) {
    note(which, "resident after the load, MiB", daemons[which].residentMiB());
  }
}

async function compareStarts(): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const [which, binary] of [
      ["old", old as string],
      ["fresh", fresh],
    ] as const) {
      await using daemon = await startDaemon(binary);
      note(which, "start to first answer, ms", daemon.startMs);
      note(which, "resident after start, MiB", daemon.residentMiB());
    }
  }
}

/** The writes of one batch while a log is filled, and the number of batches at once. */
const BATCH = 100;
const AT_ONCE = 8;

/** Starts a daemon and has it write `events` events, so that each build verifies a log of its own. */
async function startWithLog(binary: string, daemons: AsyncDisposableStack): Promise<Verified> {
  const daemon = daemons.use(await startDaemon(binary));
  await prepareAgents(daemon);
  let batches = Math.ceil(events / BATCH);
  const fill = async (client: number) => {
    while (batches-- > 0) {
      const value = "The customer prefers a morning delivery.";
      const entry = (_: unknown, at: number) => ({ op: "write", key: `notes/${batches}/${at}`, value });
      const operations = Array.from({ length: BATCH }, entry);
      await succeed(daemon.call("POST", "/v1/data/batch", { agent_id: `bench-${client}`, operations }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, client) => fill(client)));
  const answer = await daemon.call("POST", "/v1/audit/export", { scope: "workspace", format: "ndjson" });
  if (!answer.ok) throw new Error(`an export answered ${answer.status}`);
  const exported = join(daemon.dataDir, "export.ndjson");
  await Bun.write(exported, answer);
  return { binary, daemon, exported };
}

/** A build, its daemon, and the export of its workspace. */
interface Verified {
  binary: string;
  daemon: Daemon;
  exported: string;
}

async function compareVerification(): Promise<void> {
  await using daemons = new AsyncDisposableStack();
  const started = { old: await startWithLog(old as string, daemons), fresh: await startWithLog(fresh, daemons) };
  for (let round = 0; round < rounds; round++) {
    for (const which of ["old", "fresh"] as const) await verifyEverything(which, started[which]);
  }
}

async function verifyEverything(which: "old" | "fresh", { binary, daemon, exported }: Verified): Promise<void> {
  const publicKey = join(daemon.dataDir, "keys", "seal.pub");
  for (const [name, path] of [
    ["verify an export", exported],
    ["verify a workspace's file", daemon.workspaceFile],
  ] as const) {
    const began = performance.now();
    const child = Bun.spawnSync([binary, "verify", "--quiet", "--public-key", publicKey, path]);
    if (child.exitCode !== 0) throw new Error(`verify ended with exit code ${child.exitCode}`);
    note(which, `${name}, ms`, performance.now() - began);
  }
  const began = performance.now();
  const answer = await daemon.call("POST", "/v1/audit/verify", { scope: "workspace" });
  if (!((await answer.json()) as { valid: boolean }).valid) throw new Error("the log does not verify");
  note(which, "POST /v1/audit/verify, ms", performance.now() - began);
}

await ensureWrk();
// The figures of the other parts are kept when one fails.
for (const part of [compareStarts, compareDaemons, compareVerification]) {
  try {
    await part();
  } catch (error) {
    console.error(`${part.name} failed:`, error);
    process.exitCode = 1;
  }
}
console.log(`${"".padEnd(40)}${"old".padStart(12)}${"new".padStart(12)}${"new/old".padStart(10)}`);
for (const [name, { old: before, fresh: after }] of figures) {
  // A part that failed may have measured one build more often than the other.
  const pairs = Math.min(before.length, after.length);
  const ratios = after.slice(0, pairs).map((value, at) => value / (before[at] as number));
  const cells = [before, after].map((values) => (values.length === 0 ? "" : median(values).toFixed(1)).padStart(12));
  console.log(`${name.padEnd(40)}${cells.join("")}${(pairs === 0 ? "" : median(ratios).toFixed(2)).padStart(10)}`);
}
