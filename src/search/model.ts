import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { IS_COMPILED } from "../compiled.ts";
import { VectorArena } from "./vectors/vector-arena.ts";
import { WordTable } from "./words/word-table.ts";

/** What all indexes of a thread share. */
export interface SearchModel {
  words: WordTable;
  arena: VectorArena;
}

/** The name of the built-in model, for the `model` member of search results. */
export const BUILT_IN_MODEL = "governd-words-1";

/** The model is not built yet. This happens only when running from source. */
export class ModelNotBuilt extends Error {
  override readonly name = "ModelNotBuilt";
}

let model: SearchModel | undefined;

/**
 * Returns the built-in model of this thread, which is read on first use (docs/search.md has its cost).
 * @throws {ModelNotBuilt} when it is not built yet; a later call tries again
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

/** Returns the paths of the assets. From source they are files, which may not be complete yet. */
function assetPaths(): AssetPaths {
  if (IS_COMPILED) return require("./embedded.ts") as AssetPaths;
  const directory = join(import.meta.dir, "assets");
  const paths = { kernelPath: join(directory, "kernel.wasm"), wordsPath: join(directory, "words.bin") };
  for (const path of Object.values(paths)) {
    if (!existsSync(path)) throw new ModelNotBuilt("the search model is not built: bun run build:model");
  }
  return paths;
}
