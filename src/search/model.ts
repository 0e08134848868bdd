import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VectorArena } from "./vectors/vector-arena.ts";
import { WordTable } from "./words/word-table.ts";

/** What every index of a thread shares. */
export interface SearchModel {
  words: WordTable;
  arena: VectorArena;
}

/** The name of the built-in model, for the `model` member of search results. */
export const BUILT_IN_MODEL = "governd-words-1";

/** Running from source, and `bun run build:model` is not done yet. The binary always has its model. */
export class ModelNotBuilt extends Error {
  override readonly name = "ModelNotBuilt";
}

let model: SearchModel | undefined;

/**
 * The built-in model of this thread, read on first use; see docs/search.md for its cost.
 * @throws {ModelNotBuilt} when there is none yet; a later call looks again
 */
export function loadModel(): SearchModel {
  if (model === undefined) {
    const { kernelPath, wordsPath } = assetPaths();
    const kernel = new WebAssembly.Module(readFileSync(kernelPath));
    model = { words: new WordTable(kernel, readFileSync(wordsPath)), arena: new VectorArena(kernel) };
  }
  return model;
}

interface AssetPaths {
  kernelPath: string;
  wordsPath: string;
}

/** From source the assets are files that may still be in the making; the binary has them inside. */
function assetPaths(): AssetPaths {
  if (!import.meta.path.endsWith(".ts")) return require("./embedded.ts") as AssetPaths;
  const directory = join(import.meta.dir, "assets");
  const paths = { kernelPath: join(directory, "kernel.wasm"), wordsPath: join(directory, "words.bin") };
  for (const path of Object.values(paths)) {
    if (!existsSync(path)) throw new ModelNotBuilt("the search model is not built: bun run build:model");
  }
  return paths;
}
