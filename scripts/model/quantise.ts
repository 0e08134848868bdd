import type { Matrix } from "./whitening.ts";

const I8_RANGE = 127;
/** Arora et al.'s parameter a: how fast a word's weight falls with its probability. */
const SIF_PARAMETER = 1e-3;

/** Returns int8 rows with one step each, and each step multiplied by its word's smooth inverse frequency weight. */
export function quantise(vectors: Matrix, probability: Float64Array): { rows: Int8Array; weights: Float32Array } {
  const rows = new Int8Array(vectors.data.length);
  const weights = new Float32Array(vectors.rows);
  const { columns } = vectors;
  for (let i = 0; i < vectors.rows; i++) {
    const row = vectors.data.subarray(i * columns, (i + 1) * columns);
    let largest = 0;
    for (const x of row) largest = Math.max(largest, Math.abs(x));
    const step = largest / I8_RANGE || 1;
    for (let k = 0; k < columns; k++) rows[i * columns + k] = Math.round((row[k] as number) / step);
    weights[i] = (step * SIF_PARAMETER) / (SIF_PARAMETER + (probability[i] as number));
  }
  return { rows, weights };
}

/** Returns the probability of each word of a list ordered by frequency, by Zipf and Mandelbrot's law. */
export function zipf(count: number): Float64Array {
  const probability = Float64Array.from({ length: count }, (_, rank) => 1 / (rank + 3.7));
  const sum = probability.reduce((a, b) => a + b, 0);
  return probability.map((p) => p / sum);
}
