import { QUERY_RANGE } from "../vectors/vector-arena.ts";
import { readLayout, WordVectors } from "./word-vectors.ts";

const PAGE_BYTES = 65_536;
/** Rows per call of the kernel. */
const BATCH = 1024;
/** The most words of a query that are compared at once. */
export const MAX_COMPARED = 64;

type DotNamed = (
  table: number,
  names: number,
  count: number,
  stride: number,
  queries: number,
  queryCount: number,
  out: number,
) => void;

/** The word vectors of a thread, in the memory of the WebAssembly kernel that compares words. */
export class WordTable {
  readonly vectors: WordVectors;
  readonly #dotNamed: DotNamed;
  readonly #rowsAt: number;
  readonly #queries: Int16Array;
  readonly #names: Int32Array;
  readonly #products: Int32Array;
  /** row → 1 / length. */
  readonly #inverseNorm: Float32Array;

  /** Copies a word vector file. @throws when it is none, or its rows are not a multiple of 16 bytes */
  constructor(kernel: WebAssembly.Module, file: Uint8Array) {
    const { memory, dot_named } = new WebAssembly.Instance(kernel).exports;
    this.#dotNamed = dot_named as DotNamed;
    const { dimensions } = readLayout(file);
    if (dimensions % 16 !== 0) throw new Error("word vectors must have a multiple of 16 dimensions");
    const queryBytes = MAX_COMPARED * dimensions * 2;
    const namesAt = queryBytes;
    const productsAt = namesAt + BATCH * 4;
    const fileAt = productsAt + BATCH * MAX_COMPARED * 4;
    const pages = Math.ceil((fileAt + file.length) / PAGE_BYTES);
    (memory as WebAssembly.Memory).grow(pages);
    const { buffer } = memory as WebAssembly.Memory;
    const copy = new Uint8Array(buffer, fileAt, file.length);
    copy.set(file);
    this.vectors = new WordVectors(copy);
    this.#rowsAt = this.vectors.rows.byteOffset;
    this.#queries = new Int16Array(buffer, 0, MAX_COMPARED * dimensions);
    this.#names = new Int32Array(buffer, namesAt, BATCH);
    this.#products = new Int32Array(buffer, productsAt, BATCH * MAX_COMPARED);
    this.#inverseNorm = inverseNorms(this.vectors);
  }

  /**
   * Compares words with others, all given as rows. Calls `visit` with the indexes in both lists of each
   * pair whose cosine is above `threshold`.
   */
  compare(
    rows: readonly number[],
    others: Int32Array,
    threshold: number,
    visit: (place: number, other: number, cosine: number) => void,
  ): void {
    const compared = Math.min(rows.length, MAX_COMPARED);
    if (compared === 0) return;
    const scales = rows.slice(0, compared).map((row, place) => this.#setQuery(row, place));
    for (let from = 0; from < others.length; from += BATCH) {
      const batch = others.subarray(from, from + BATCH);
      this.#names.set(batch);
      const { dimensions } = this.vectors;
      const { byteOffset } = this.#names;
      this.#dotNamed(this.#rowsAt, byteOffset, batch.length, dimensions, 0, compared, this.#products.byteOffset);
      let at = 0;
      for (let i = 0; i < batch.length; i++) {
        const inverse = this.#inverseNorm[batch[i] as number] as number;
        for (let place = 0; place < compared; place++, at++) {
          const cosine = (this.#products[at] as number) * inverse * (scales[place] as number);
          if (cosine > threshold) visit(place, from + i, cosine);
        }
      }
    }
  }

  /** Writes a row as a query. Returns the factor that makes cosines of its products with unit rows. */
  #setQuery(row: number, place: number): number {
    const { rows, dimensions } = this.vectors;
    const factor = Math.floor(QUERY_RANGE / 127);
    for (let k = 0; k < dimensions; k++) {
      this.#queries[place * dimensions + k] = (rows[row * dimensions + k] as number) * factor;
    }
    return (this.#inverseNorm[row] as number) / factor;
  }
}

function inverseNorms({ rows, size, dimensions }: WordVectors): Float32Array {
  return Float32Array.from({ length: size }, (_, row) => {
    let squares = 0;
    for (let i = row * dimensions; i < (row + 1) * dimensions; i++) squares += (rows[i] as number) ** 2;
    return squares === 0 ? 0 : 1 / Math.sqrt(squares);
  });
}
