/**
 * The word vectors: format `governd.words/1`, little-endian.
 *
 *     8 bytes   "GVWORDS1"
 *     u32       V, the number of words
 *     u32       D, dimensions
 *     u32       B, bytes of the word list, padded with line feeds to a multiple of 4
 *     B bytes   the words, ASCII, most frequent first, each followed by a line feed
 *     V × f32   the weight of each word's row: its quantisation step times its SIF weight
 *     V × D i8  the rows
 *
 * A word's vector is weight × row. Its frequency is in the weight: a text's vector is the plain sum
 * of its words' vectors (smooth inverse frequency, Arora et al. 2017).
 */
import { hashOf, hashOfBytes } from "../../fnv.ts";

export const MAGIC = "GVWORDS1";
export const HEADER_BYTES = 20;
export const LINE_FEED = 10;

/** The hash table has at least this many places per word. */
const TABLE_FACTOR = 2;
const EMPTY = -1;

/** Reads the header of a word vector file. @throws when it is none, or incomplete */
export function readLayout(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = bytes.byteLength < HEADER_BYTES ? "" : String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new Error("not a word vector file (governd.words/1)");
  const size = view.getUint32(8, true);
  const dimensions = view.getUint32(12, true);
  const wordBytes = view.getUint32(16, true);
  if (wordBytes % 4 !== 0 || bytes.byteLength !== HEADER_BYTES + wordBytes + size * (4 + dimensions)) {
    throw new Error("the word vector file is cut short or damaged; rebuild it");
  }
  return { size, dimensions, wordBytes };
}

/** The words of the model and their vectors. */
export class WordVectors {
  readonly size: number;
  readonly dimensions: number;
  /** Row weights; see the format. */
  readonly weights: Float32Array;
  readonly rows: Int8Array;
  /** The words as the file lists them. */
  readonly wordBytes: Uint8Array;
  /** row → where its word begins; one more element for the end of the last. */
  readonly #start: Uint32Array;
  /** Open addressing by `hash`; rows or `EMPTY`. */
  readonly #table: Int32Array;

  /** Reads a word vector file in memory, at a multiple of 4. It stays in use. @throws as `readLayout` */
  constructor(bytes: Uint8Array) {
    const { size, dimensions, wordBytes } = readLayout(bytes);
    this.size = size;
    this.dimensions = dimensions;
    const weightsAt = HEADER_BYTES + wordBytes;
    const rowsAt = weightsAt + 4 * size;
    this.wordBytes = bytes.subarray(HEADER_BYTES, weightsAt);
    this.weights = new Float32Array(bytes.buffer, bytes.byteOffset + weightsAt, this.size);
    this.rows = new Int8Array(bytes.buffer, bytes.byteOffset + rowsAt, this.size * this.dimensions);
    this.#start = wordStarts(this.wordBytes, this.size);
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(this.size * TABLE_FACTOR + 1))).fill(EMPTY);
    for (let row = 0; row < this.size; row++) this.#insert(row);
  }

  /** Returns the row of a word as the tokenizer spells it, which is its rank by frequency; -1 for none. */
  find(word: string): number {
    const mask = this.#table.length - 1;
    for (let place = hashOf(word) & mask; ; place = (place + 1) & mask) {
      const row = this.#table[place] as number;
      if (row === EMPTY || this.#spells(row, word)) return row;
    }
  }

  /** Adds the vector of a row to `sum`. */
  addTo(sum: Float32Array, row: number): void {
    const weight = this.weights[row] as number;
    const rows = this.rows;
    const at = row * this.dimensions;
    for (let k = 0; k < this.dimensions; k++) sum[k] = (sum[k] as number) + weight * (rows[at + k] as number);
  }

  #insert(row: number): void {
    const mask = this.#table.length - 1;
    let place = hashOfBytes(this.wordBytes, this.#start[row] as number, (this.#start[row + 1] as number) - 1) & mask;
    while (this.#table[place] !== EMPTY) place = (place + 1) & mask;
    this.#table[place] = row;
  }

  #spells(row: number, word: string): boolean {
    const from = this.#start[row] as number;
    if ((this.#start[row + 1] as number) - 1 - from !== word.length) return false;
    for (let i = 0; i < word.length; i++) if (this.wordBytes[from + i] !== word.charCodeAt(i)) return false;
    return true;
  }
}

function wordStarts(words: Uint8Array, count: number): Uint32Array {
  const start = new Uint32Array(count + 1);
  let next = 0;
  for (let row = 1; row <= count; row++) {
    next = words.indexOf(LINE_FEED, next) + 1;
    if (next === 0) throw new Error("the word vector file has fewer words than vectors; rebuild it");
    start[row] = next;
  }
  return start;
}
