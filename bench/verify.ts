/**
 * `bun bench/verify.ts [--events N] [--rounds N]`: compares verification with plain SHA-256 over the same
 * bytes, alternating, with the built binary and its start; and the same workspace verified by a daemon. Prints
 * medians; the ratios matter.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $, SHA256 } from "bun";
import { type Daemon, startDaemon } from "./daemon.ts";
import { median, option, whole } from "./figures.ts";
import { makeSampleLog, type SampleLog } from "./sample-log.ts";

const ROOT = join(import.meta.dir, "..");
const BINARY = join(ROOT, "dist", "governd");
const PIECE_BYTES = 1024 * 1024;

const events = option("events", 1_000_000);
const rounds = option("rounds", 3);

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

/** Computes SHA-256 of a whole file, on one thread. */
async function plainHash(path: string): Promise<void> {
  const hash = new SHA256();
  const { size } = Bun.file(path);
  for (let at = 0; at < size; at += PIECE_BYTES) {
    hash.update(
      await Bun.file(path)
        .slice(at, at + PIECE_BYTES)
        .bytes(),
    );
  }
  hash.digest();
}

/** Times each round of `work` and of plain SHA-256 over a file, and prints the medians. */
async function measure(name: string, file: string, work: () => Promise<unknown>): Promise<void> {
  const [plain, verified]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    plain.push(await secondsOf(() => plainHash(file)));
    verified.push(await secondsOf(work));
  }
  const seconds = median(verified);
  const rate = whole(events / seconds);
  const ratio = (seconds / median(plain)).toFixed(2);
  console.log(`${name.padEnd(32)}${rate.padStart(12)} events/s  ${ratio} times plain SHA-256`);
}

async function verifyByDaemon(daemon: Daemon): Promise<void> {
  const answer = await daemon.call("POST", "/v1/audit/verify", { scope: "workspace" });
  const { valid, events_checked: checked } = (await answer.json()) as Record<string, unknown>;
  if (valid !== true || Number(checked) < events) throw new Error("the daemon did not verify the workspace");
}

const root = mkdtempSync(join(tmpdir(), "governd-bench-"));
try {
  if (!existsSync(BINARY)) await $`bun run build`.cwd(ROOT);
  let sample = null as SampleLog | null;
  await using daemon = await startDaemon(BINARY, {
    fill: async ({ id, file, sealKey }) => {
      sample = await makeSampleLog(root, events, id, sealKey);
      for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
      copyFileSync(sample.database, file);
    },
  });
  const { publicKey, ndjson, json, database, dataDir } = sample as unknown as SampleLog;
  const cases: [name: string, bytes: string, words: string[]][] = [
    ["ndjson, all processors", ndjson, [ndjson]],
    ["ndjson, one thread", ndjson, [ndjson, "--threads", "1"]],
    ["json, all processors", json, [json]],
    ["data directory, all processors", database, [dataDir]],
    ["data directory, one thread", database, [dataDir, "--threads", "1"]],
  ];
  for (const [name, file, words] of cases) {
    await measure(name, file, () => $`${BINARY} verify --quiet --public-key ${publicKey} ${words}`);
  }
  await measure("POST /v1/audit/verify", database, () => verifyByDaemon(daemon));
} finally {
  rmSync(root, { recursive: true });
}
