import { readFileSync } from "node:fs";
import kernelPath from "./assets/kernel.wasm" with { type: "file" };
import wordsPath from "./assets/words.bin" with { type: "file" };
import { VectorArena } from "./vectors/vector-arena.ts";
import { WordTable } from "./words/word-table.ts";

/** What all indexes of a thread share. */
export interface SearchModel {
  words: WordTable;
  arena: VectorArena;
}

/** The name of the built-in model, for the `model` member of search results. */
export const BUILT_IN_MODEL = "governd-words-1";

let model: SearchModel | undefined;

/** Returns the built-in model of this thread, which is read on first use (docs/search.md has its cost). */
export function loadModel(): SearchModel {
  if (model === undefined) {
    const kernel = new WebAssembly.Module(readFileSync(kernelPath));
    model = { words: new WordTable(kernel, readFileSync(wordsPath)), arena: new VectorArena(kernel) };
  }
  return model;
}
