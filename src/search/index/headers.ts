import type { VectorArena } from "../vectors/vector-arena.ts";
import { VectorRows } from "../vectors/vector-rows.ts";
import { embedWindows } from "../vectors/windows.ts";
import { NONE } from "../words/vocabulary.ts";
import type { WordVectors } from "../words/word-vectors.ts";

/** How much less the meaning of key and metadata counts than the same meaning in the value. */
const DAMPING = 0.7;

/** A header's share of the map and the lists, beside its characters and rows, roughly. */
const HEADER_BYTES = 160;

/**
 * The meaning of keys and metadata. Many entries of an agent share it (`note/1`, `note/2` … from one
 * source), so each is embedded and compared once and entries refer to it by number.
 */
export class HeaderVectors {
  readonly #words: WordVectors;
  readonly #rows: VectorRows;
  readonly #numbers = new Map<string, number>();
  /** header → the rows of the model that it consists of. */
  readonly #content: Int32Array[] = [];
  #bytes = 0;
  #cosines = new Float32Array(0);

  constructor(arena: VectorArena, words: WordVectors) {
    this.#words = words;
    this.#rows = new VectorRows(arena, words.dimensions);
  }

  get memoryBytes(): number {
    return this.#rows.memoryBytes + this.#bytes + this.#cosines.byteLength;
  }

  /** The number of a header, given by the model's rows of its words; `NONE` when the model knows none. */
  intern(rows: readonly number[] | Int32Array): number {
    const known = Int32Array.from(rows.filter((row) => row !== NONE));
    if (known.length === 0) return NONE;
    const identity = known.join();
    const number = this.#numbers.get(identity);
    if (number !== undefined) return number;
    const next = this.#numbers.size;
    this.#numbers.set(identity, next);
    this.#content.push(known);
    this.#bytes += HEADER_BYTES + identity.length + known.byteLength;
    embedWindows(known, this.#words, (vector) => this.#rows.add(vector, next, DAMPING));
    return next;
  }

  /** The rows that a header was made from; none for `NONE`. */
  rowsOf(header: number): Int32Array {
    return header === NONE ? new Int32Array(0) : (this.#content[header] as Int32Array);
  }

  /** The damped cosine of every header with a query; 0 at least. Valid until the next call. */
  cosines(query: Float32Array): Float32Array {
    this.#cosines = new Float32Array(this.#numbers.size);
    if (this.#rows.setQuery(query)) this.#rows.scan(this.#cosines);
    return this.#cosines;
  }

  /** Gives the memory back. */
  close(): void {
    this.#rows.close();
  }
}
