import { availableParallelism } from "node:os";
import type { EncodedBatches } from "./encoder-worker.ts";
import type { Matrix } from "./whitening.ts";

/** The dimensions of the encoder's vectors. */
export const DIMENSIONS = 512;
const BATCH = 64;
/** Each worker holds the encoder once (about 200 MB). */
const MAX_WORKERS = 8;

/**
 * Returns the vector of each word as a whole text by the Universal Sentence Encoder (lite), of unit length.
 * The inference runs in WebAssembly, whose arithmetic is the same on every machine, in batches that do
 * not depend on how many threads there are. About 100 s of one core.
 */
export async function encodeWords(words: readonly string[]): Promise<Matrix> {
  const data = new Float64Array(words.length * DIMENSIONS);
  const batches = batchesOf(words);
  const workers = Math.min(availableParallelism(), MAX_WORKERS);
  const shares = Array.from({ length: workers }, (_, w) => batches.filter((_batch, i) => i % workers === w));
  await Promise.all(
    shares.map(async (share) => {
      const vectors = await encodeInWorker(share.map((batch) => batch.map((word) => words[word] as string)));
      share.forEach((batch, i) => {
        batch.forEach((word, k) => {
          const from = k * DIMENSIONS;
          data.set((vectors[i] as Float64Array).subarray(from, from + DIMENSIONS), word * DIMENSIONS);
        });
      });
    }),
  );
  return { data, rows: words.length, columns: DIMENSIONS };
}

/** Returns batches of words of similar length, since a batch is padded to its longest. */
function batchesOf(words: readonly string[]): number[][] {
  const length = (word: number) => (words[word] as string).length;
  const order = [...words.keys()].sort((a, b) => length(a) - length(b) || a - b);
  return Array.from({ length: Math.ceil(order.length / BATCH) }, (_, i) => order.slice(i * BATCH, (i + 1) * BATCH));
}

function encodeInWorker(batches: string[][]): Promise<EncodedBatches> {
  const worker = new Worker(new URL("./encoder-worker.ts", import.meta.url).href);
  return new Promise<EncodedBatches>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<EncodedBatches>) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(`the sentence encoder failed: ${message}`));
    worker.postMessage(batches);
  }).finally(() => worker.terminate());
}
