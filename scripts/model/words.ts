import { readGlove, usableRanks } from "./glove.ts";
import { quantise, zipf } from "./quantise.ts";
import { encodeWords } from "./sentence-encoder.ts";
import type { Matrix } from "./whitening.ts";
import { project, unitLength } from "./whitening.ts";
import { encodeWordVectors } from "./word-vector-file.ts";

/** Words in the model: what fits 7 MB at 96 dimensions. */
const WORDS = 60_000;
const DIMENSIONS = 96;
const GLOVE_DIMENSIONS = 100;
const ENCODER_DIMENSIONS = 200;

/**
 * Makes the word vectors of search from two views of each word, laid side by side and reduced
 * together: whitened GloVe (what it occurs with) and the sentence encoder's (what it means as a
 * text of its own). Weighted by word frequency throughout; SIF weights and int8 in the end.
 */
export async function buildWordVectors(gloveJson: Buffer): Promise<Uint8Array> {
  const glove = readGlove(gloveJson);
  const allProbability = zipf(glove.words.length);
  const ranks = usableRanks(glove.words, WORDS);
  const words = ranks.map((rank) => glove.words[rank] as string);
  const probability = Float64Array.from(ranks, (rank) => allProbability[rank] as number);
  const share = normalised(probability);

  const context = project(glove.vectors, allProbability, GLOVE_DIMENSIONS, "full");
  const meaning = project(await encodeWords(words), share, ENCODER_DIMENSIONS, "half");
  const joined = sideBySide(unitLength(selectRows(context, ranks)), unitLength(meaning));
  const { rows, weights } = quantise(project(joined, share, DIMENSIONS, "none"), probability);
  return encodeWordVectors(words, weights, rows);
}

function normalised(probability: Float64Array): Float64Array {
  const sum = probability.reduce((a, b) => a + b, 0);
  return probability.map((p) => p / sum);
}

function selectRows({ data, columns }: Matrix, rows: readonly number[]): Matrix {
  const selected = new Float64Array(rows.length * columns);
  rows.forEach((row, i) => {
    selected.set(data.subarray(row * columns, (row + 1) * columns), i * columns);
  });
  return { data: selected, rows: rows.length, columns };
}

function sideBySide(left: Matrix, right: Matrix): Matrix {
  const columns = left.columns + right.columns;
  const data = new Float64Array(left.rows * columns);
  for (let i = 0; i < left.rows; i++) {
    data.set(left.data.subarray(i * left.columns, (i + 1) * left.columns), i * columns);
    data.set(right.data.subarray(i * right.columns, (i + 1) * right.columns), i * columns + left.columns);
  }
  return { data, rows: left.rows, columns };
}
