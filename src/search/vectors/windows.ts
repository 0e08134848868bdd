import { NONE } from "../words/vocabulary.ts";
import type { WordVectors } from "../words/word-vectors.ts";

/** Windows begin this many tokens apart and are twice as long: about one thought. */
const WINDOW_STEP = 8;
/** A text up to this long is one window. */
const SINGLE_WINDOW_TOKENS = 24;
/** The most windows of a text. 2,048 windows of 16 tokens are about 100 KB; longer texts get longer windows. */
const MAX_WINDOWS = 2048;

/**
 * Calls `emit` with the vector of each window of a text, given as rows of the model (`NONE` for unknown
 * words). The vector is reused between calls. Windows without a known word are skipped.
 */
export function embedWindows(rows: Int32Array, words: WordVectors, emit: (vector: Float32Array) => void): void {
  const length = rows.length;
  if (length <= SINGLE_WINDOW_TOKENS) {
    const sum = new Float32Array(words.dimensions);
    if (addRows(sum, rows, 0, length, words)) emit(sum);
    return;
  }
  const step = Math.max(WINDOW_STEP, Math.ceil(length / MAX_WINDOWS));
  const blocks = Math.round(length / step);
  let previous = new Float32Array(words.dimensions);
  let current = new Float32Array(words.dimensions);
  let knownBefore = addRows(previous, rows, 0, step, words);
  for (let block = 1; block < blocks; block++) {
    const end = block === blocks - 1 ? length : (block + 1) * step;
    current.fill(0);
    const known = addRows(current, rows, block * step, end, words);
    for (let k = 0; k < current.length; k++) previous[k] = (previous[k] as number) + (current[k] as number);
    if (known || knownBefore) emit(previous);
    [previous, current] = [current, previous];
    knownBefore = known;
  }
}

/** Adds the vectors of tokens `from` to `to`. Reports whether any is known. */
export function addRows(sum: Float32Array, rows: Int32Array, from: number, to: number, words: WordVectors): boolean {
  let known = false;
  for (let i = from; i < to; i++) {
    const row = rows[i] as number;
    if (row === NONE) continue;
    known = true;
    words.addTo(sum, row);
  }
  return known;
}
