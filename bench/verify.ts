/**
 * `bun bench/verify.ts [--events N] [--rounds N]`: what verification costs beside plain SHA-256 over the same
 * bytes, turn by turn, with the built binary and its start. Medians; what counts are the ratios.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $, SHA256 } from "bun";
import { makeSampleLog } from "./sample-log.ts";

const ROOT = join(import.meta.dir, "..");
const BINARY = join(ROOT, "dist", "governd");
const PIECE_BYTES = 1024 * 1024;

const option = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const events = option("events", 1_000_000);
const rounds = option("rounds", 3);

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
};

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

/** One thread, the whole file. */
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

const root = mkdtempSync(join(tmpdir(), "governd-bench-"));
try {
  if (!existsSync(BINARY)) await $`bun run build`.cwd(ROOT);
  const sample = await makeSampleLog(root, events);
  const cases: [name: string, bytes: string, words: string[]][] = [
    ["ndjson, all processors", sample.ndjson, [sample.ndjson]],
    ["ndjson, one thread", sample.ndjson, [sample.ndjson, "--threads", "1"]],
    ["json, all processors", sample.json, [sample.json]],
    ["data directory with entries", sample.database, [sample.dataDir]],
  ];
  for (const [name, file, words] of cases) {
    const [plain, verified]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      plain.push(await secondsOf(() => plainHash(file)));
      verified.push(
        await secondsOf(() => $`${BINARY} verify --quiet --public-key ${sample.publicKey} ${words}`),
      );
    }
    const seconds = median(verified);
    const rate = Math.round(events / seconds).toLocaleString("en-US");
    const ratio = (seconds / median(plain)).toFixed(2);
    console.log(`${name.padEnd(32)}${rate.padStart(12)} events/s  ${ratio} times plain SHA-256`);
  }
} finally {
  rmSync(root, { recursive: true });
}
