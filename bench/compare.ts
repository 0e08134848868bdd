/**
 * `bun bench/compare.ts OLD [NEW]`: compares two builds of the daemon, in turns, in one run. NEW is
 * `dist/governd` unless named. `--rounds N` (default 5), `--seconds N` of each load (default 3), `--events N` to
 * verify (default 1,000,000). Prints the median of each figure and the median ratio NEW/OLD of its rounds.
 */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Daemon, prepareAgents, startDaemon } from "./daemon.ts";
import { median, option } from "./figures.ts";
import { adoptSchema } from "./older-schema.ts";
import { makeSampleLog, type SampleLog } from "./sample-log.ts";
import { ensureWrk, load } from "./wrk.ts";

const [old, fresh = join(import.meta.dir, "..", "dist", "governd")] = process.argv
  .slice(2)
  .filter((word, at, words) => !word.startsWith("--") && !words[at - 1]?.startsWith("--"));
if (old === undefined) throw new Error("usage: bun bench/compare.ts OLD [NEW] [--rounds N] [--seconds N]");
const rounds = option("rounds", 5);
const seconds = option("seconds", 3);
const events = option("events", 1_000_000);

/** The figures of both builds, by name: one value for each round. */
const figures = new Map<string, { old: number[]; fresh: number[] }>();

function note(which: "old" | "fresh", name: string, value: number): void {
  const known = figures.get(name) ?? { old: [], fresh: [] };
  known[which].push(value);
  figures.set(name, known);
}

const LOADS = [
  ["write", "governed writes"],
  ["read", "reads"],
  ["search", "searches"],
] as const;

/** Runs one load on one build. Records requests per second and processor time per request. */
async function measureLoad(which: "old" | "fresh", daemon: Daemon, script: string, name: string) {
  const before = daemon.cpuSeconds();
  const { apiKey } = daemon;
  const { requests, requestsPerSecond, failed, p99Ms } = await load(script, daemon.url, { seconds, apiKey });
  if (failed > 0) throw new Error(`${failed} ${name} failed`);
  note(which, `${name}, /s`, requestsPerSecond);
  note(which, `${name}, p99 ms`, p99Ms);
  note(which, `${name}, CPU us each`, ((daemon.cpuSeconds() - before) / requests) * 1_000_000);
}

async function compareDaemons(): Promise<void> {
  await using first = await startDaemon(old as string);
  await using second = await startDaemon(fresh);
  const daemons = { old: first, fresh: second } as const;
  for (const daemon of Object.values(daemons)) await prepareAgents(daemon);
  for (const [script, name] of LOADS) {
    for (let round = 0; round < rounds; round++) {
      for (const which of round % 2 === 0 ? (["old", "fresh"] as const) : (["fresh", "old"] as const)) {
        await measureLoad(which, daemons[which], script, name);
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

/**
 * Starts a daemon with `events` events in its workspace, and makes the same log as files, in the schema that the build
 * knows. `daemons` stops the daemon.
 */
async function startWithLog(binary: string, root: string, daemons: AsyncDisposableStack) {
  const made = Promise.withResolvers<SampleLog>();
  const daemon = daemons.use(
    await startDaemon(binary, {
      fill: async ({ id, file, sealKey }) => {
        const sample = await makeSampleLog(root, events, id, sealKey, []);
        adoptSchema(sample.database, file);
        for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
        copyFileSync(sample.database, file);
        made.resolve(sample);
      },
    }),
  );
  const sample = await made.promise;
  // Each build verifies its own export: an older build may not know a newer format.
  const answer = await daemon.call("POST", "/v1/audit/export", { scope: "workspace", format: "ndjson" });
  if (!answer.ok) throw new Error(`an export answered ${answer.status}`);
  await Bun.write(sample.ndjson, answer);
  return { daemon, sample };
}

async function compareVerification(): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "governd-bench-"));
  try {
    await using daemons = new AsyncDisposableStack();
    const started = {
      old: await startWithLog(old as string, mkdtempSync(join(root, "old-")), daemons),
      fresh: await startWithLog(fresh, mkdtempSync(join(root, "new-")), daemons),
    };
    for (let round = 0; round < rounds; round++) {
      for (const which of ["old", "fresh"] as const) await verifyEverything(which, started[which]);
    }
  } finally {
    rmSync(root, { recursive: true });
  }
}

async function verifyEverything(
  which: "old" | "fresh",
  { daemon, sample }: { daemon: Daemon; sample: SampleLog },
): Promise<void> {
  const binary = which === "old" ? (old as string) : fresh;
  for (const [name, path] of [
    ["verify an export", sample.ndjson],
    ["verify a data directory", sample.dataDir],
  ] as const) {
    const began = performance.now();
    const child = Bun.spawnSync([binary, "verify", "--quiet", "--public-key", sample.publicKey, path]);
    if (child.exitCode !== 0) throw new Error(`verify ended with exit code ${child.exitCode}`);
    note(which, `${name}, ms`, performance.now() - began);
  }
  const began = performance.now();
  const answer = await daemon.call("POST", "/v1/audit/verify", { scope: "workspace" });
  // No event of the sample states the daemon's API key, which a newer build reports.
  if (!((await answer.json()) as { chain_intact: boolean }).chain_intact) throw new Error("the log does not verify");
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
