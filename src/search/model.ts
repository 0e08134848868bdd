import { readFileSync } from "node:fs";
import kernelPath from "./assets/kernel.wasm" with { type: "file" };
import wordsPath from "./assets/words.bin" with { type: "file" };
import { VectorArena } from "./vector-arena.ts";
import { WordTable } from "./word-table.ts";

/** What every index of a thread shares. */
export interface SearchModel {
  words: WordTable;
  arena: VectorArena;
}

/** The name of the built-in model, for the `model` member of search results. */
export const BUILT_IN_MODEL = "governd-words-1";

let model: SearchModel | undefined;

/** The built-in model of this thread, read on first use; see docs/search.md for its cost. */
export function loadModel(): SearchModel {
  if (model === undefined) {
    const kernel = new WebAssembly.Module(readFileSync(kernelPath));
    model = { words: new WordTable(kernel, readFileSync(wordsPath)), arena: new VectorArena(kernel) };
  }
  return model;
}
