import type { Range } from "../index/entry-slots.ts";
import { bytesOf, growColumns } from "../index/growable.ts";
import { CHUNK_BYTES, MAX_DIMENSIONS, MAX_SCAN_ROWS, QUERY_RANGE, type VectorArena } from "./vector-arena.ts";

/** Rows are padded to a multiple of what the kernel reads at once, bytes. */
const STEP = 16;
const I8_RANGE = 127;

/** The vectors of an agent's entries: int8 with one scale each, several per entry. */
export class VectorRows {
  readonly #stride: number;
  readonly #perChunk: number;
  readonly #query: Int16Array;
  #chunks: number[] = [];
  /** The columns of the rows: the factor of their numbers, and the slot of their entry. */
  readonly #columns = { scale: new Float32Array(0), slot: new Uint32Array(0) };
  #count = 0;
  #queryScale = 0;

  /** @throws {RangeError} for dimensions outside 1 to `MAX_DIMENSIONS` */
  constructor(
    private readonly arena: VectorArena,
    readonly dimensions: number,
  ) {
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > MAX_DIMENSIONS) {
      throw new RangeError(`vectors must have 1 to ${MAX_DIMENSIONS} dimensions`);
    }
    this.#stride = Math.ceil(dimensions / STEP) * STEP;
    this.#perChunk = Math.floor(CHUNK_BYTES / this.#stride);
    this.#query = new Int16Array(this.#stride);
  }

  get count(): number {
    return this.#count;
  }

  get memoryBytes(): number {
    return this.#chunks.length * CHUNK_BYTES + bytesOf(this.#columns);
  }

  /**
   * Appends the direction of a vector for an entry, whatever its length. `damping` (0 to 1) scales every
   * similarity to it.
   */
  add(vector: Float32Array, slot: number, damping = 1): void {
    const row = this.#append(slot);
    const { largest, norm } = measure(vector);
    const bytes = this.#row(row);
    const step = I8_RANGE / (largest || 1);
    for (let k = 0; k < vector.length; k++) bytes[k] = Math.round((vector[k] as number) * step);
    this.#columns.scale[row] = norm === 0 ? 0 : damping / (step * norm);
  }

  /** Appends rows of another table with the same dimensions under a new slot. Returns their range. */
  copyFrom(other: VectorRows, { first, count }: Range, slot: number): Range {
    const start = this.#count;
    for (let from = first; from < first + count; from++) {
      const row = this.#append(slot);
      this.#row(row).set(other.#row(from));
      this.#columns.scale[row] = other.#columns.scale[from] as number;
    }
    return { first: start, count };
  }

  /** Prepares `scan`. Returns false for a zero vector, which is similar to nothing. */
  setQuery(vector: Float32Array): boolean {
    const { largest, norm } = measure(vector);
    if (norm === 0) return false;
    const step = QUERY_RANGE / largest;
    for (let k = 0; k < vector.length; k++) this.#query[k] = Math.round((vector[k] as number) * step);
    this.#queryScale = 1 / (step * norm);
    return true;
  }

  /** Raises the values in `best`, by slot, to the cosine of the nearest row, of all or some rows. */
  scan(best: Float32Array, { first, count }: Range = { first: 0, count: this.#count }): void {
    this.arena.setQuery(this.#query);
    const { scale, slot: slots } = this.#columns;
    const queryScale = this.#queryScale;
    const last = first + count;
    for (let row = first; row < last; ) {
      const within = row % this.#perChunk;
      const chunk = (row - within) / this.#perChunk;
      const end = Math.min(last, (chunk + this.#adjacentChunks(chunk)) * this.#perChunk);
      const products = this.arena.scan(this.#chunks[chunk] as number, within, end - row, this.#stride);
      for (let i = 0; row < end; i++, row++) {
        const cosine = (products[i] as number) * (scale[row] as number) * queryScale;
        const slot = slots[row] as number;
        if (cosine > (best[slot] as number)) best[slot] = cosine;
      }
    }
  }

  /** Returns how many chunks from this one can be scanned as one: adjacent in memory, within one scan. */
  #adjacentChunks(first: number): number {
    if (this.#perChunk * this.#stride !== CHUNK_BYTES) return 1;
    const most = Math.min(this.#chunks.length - first, Math.floor(MAX_SCAN_ROWS / this.#perChunk));
    let count = 1;
    while (count < most && this.#chunks[first + count] === (this.#chunks[first] as number) + count) count++;
    return count;
  }

  /** Frees the memory. The rows must not be used afterwards. */
  close(): void {
    this.arena.give(this.#chunks);
    this.#chunks = [];
    this.#count = 0;
  }

  /** Adds a row and returns its number. */
  #append(slot: number): number {
    const row = this.#count;
    if (row === this.#chunks.length * this.#perChunk) this.#chunks.push(this.arena.take());
    growColumns(this.#columns, row + 1);
    this.#columns.slot[row] = slot;
    this.#count = row + 1;
    return row;
  }

  #row(row: number): Int8Array {
    const chunk = this.#chunks[Math.floor(row / this.#perChunk)] as number;
    return this.arena.row(chunk, row % this.#perChunk, this.#stride);
  }
}

function measure(vector: Float32Array): { largest: number; norm: number } {
  let largest = 0;
  let squares = 0;
  for (let k = 0; k < vector.length; k++) {
    const x = vector[k] as number;
    squares += x * x;
    const size = x < 0 ? -x : x;
    if (size > largest) largest = size;
  }
  return { largest, norm: Math.sqrt(squares) };
}
