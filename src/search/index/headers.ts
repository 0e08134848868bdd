import type { VectorArena } from "../vectors/vector-arena.ts";
import { VectorRows } from "../vectors/vector-rows.ts";
import { embedWindows } from "../vectors/windows.ts";
import { NONE } from "../words/vocabulary.ts";
import type { WordVectors } from "../words/word-vectors.ts";

/** The factor of the cosine of key and metadata, compared with that of the value. */
const DAMPING = 0.7;

/** Approximate memory of a header in the map and the lists, without its characters and rows. */
const HEADER_BYTES = 160;

/**
 * Vectors of headers, which are keys with metadata. Many entries of an agent share a header (`note/1`,
 * `note/2` … from one source), so each is embedded and compared once, and entries refer to it by number.
 */
export class HeaderVectors {
  readonly #rows: VectorRows;
  readonly #numbers = new Map<string, number>();
  /** header → the rows of the model for its words. */
  readonly #content: Int32Array[] = [];
  #bytes = 0;
  #cosines = new Float32Array(0);

  constructor(
    arena: VectorArena,
    private readonly words: WordVectors,
  ) {
    this.#rows = new VectorRows(arena, words.dimensions);
  }

  get memoryBytes(): number {
    return this.#rows.memoryBytes + this.#bytes + this.#cosines.byteLength;
  }

  /** Returns the number of a header, given as rows of the model; `NONE` when the model knows no word. */
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
    embedWindows(known, this.words, (vector) => this.#rows.add(vector, next, DAMPING));
    return next;
  }

  /** Returns the rows of a header; none for `NONE`. */
  rowsOf(header: number): Int32Array {
    return header === NONE ? new Int32Array(0) : (this.#content[header] as Int32Array);
  }

  /** Returns the damped cosine of every header with a query, at least 0. Valid until the next call. */
  cosines(query: Float32Array): Float32Array {
    this.#cosines = new Float32Array(this.#numbers.size);
    if (this.#rows.setQuery(query)) this.#rows.scan(this.#cosines);
    return this.#cosines;
  }

  /** Frees the memory. */
  close(): void {
    this.#rows.close();
  }
}
