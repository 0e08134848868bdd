/**
 * Bytes of a chunk, the unit of allocation: a multiple of the usual row sizes (96, 256, 384, 512, 768,
 * 1024, 1536, 3072 …), so that adjacent chunks can be scanned as one.
 */
export const CHUNK_BYTES = 12_288;
/** The most dimensions: three rows per chunk. */
export const MAX_DIMENSIONS = 4096;
/** The most rows of one scan. */
export const MAX_SCAN_ROWS = 4096;
/** The query's numbers are between plus and minus this, so that no sum overflows. */
export const QUERY_RANGE = 2047;

const PAGE_BYTES = 65_536;
/** The memory begins with the query and the products of the kernel. Chunks follow. */
const QUERY_AT = 0;
const OUT_AT = QUERY_AT + MAX_DIMENSIONS * 2;
const CHUNKS_AT = OUT_AT + MAX_SCAN_ROWS * 4;
/** Memory grows by at least this share of itself, so that it grows rarely. */
const GROWTH = 1 / 8;

type DotRows = (rows: number, count: number, stride: number, query: number, out: number) => void;

/**
 * The memory of all vectors of a thread, with the WebAssembly kernel that scans them. An index takes chunks and returns
 * them when it closes. The memory is reused but never returned to the system, since WebAssembly memory cannot shrink.
 */
export class VectorArena {
  readonly #memory: WebAssembly.Memory;
  readonly #dotRows: DotRows;
  readonly #free: number[] = [];
  #bytes!: Int8Array;
  #products!: Int32Array;

  constructor(kernel: WebAssembly.Module) {
    const { memory, dot_rows } = new WebAssembly.Instance(kernel).exports;
    this.#memory = memory as WebAssembly.Memory;
    this.#dotRows = dot_rows as DotRows;
    this.#refresh();
    for (let chunk = this.#chunkCount() - 1; chunk >= 0; chunk--) this.#free.push(chunk);
  }

  /** Allocates a chunk of zeros and returns its number. @throws {RangeError} when memory is exhausted */
  take(): number {
    if (this.#free.length === 0) {
      const before = this.#chunkCount();
      this.#memory.grow(Math.max(1, Math.ceil((this.#bytes.length / PAGE_BYTES) * GROWTH)));
      this.#refresh();
      for (let chunk = this.#chunkCount() - 1; chunk >= before; chunk--) this.#free.push(chunk);
    }
    return this.#free.pop() as number;
  }

  /** Frees chunks. The caller must not use them again. */
  give(chunks: readonly number[]): void {
    for (const chunk of chunks) {
      this.#bytes.fill(0, addressOf(chunk), addressOf(chunk + 1));
      this.#free.push(chunk);
    }
  }

  /** Returns the bytes of a row, valid until the next `take`. */
  row(chunk: number, row: number, stride: number): Int8Array {
    const at = addressOf(chunk) + row * stride;
    return this.#bytes.subarray(at, at + stride);
  }

  /** Sets the query of the following scans: integers within `QUERY_RANGE`, padded to the stride. */
  setQuery(query: Int16Array): void {
    new Int16Array(this.#memory.buffer, QUERY_AT, query.length).set(query);
  }

  /**
   * Returns the dot products of the query with `count` rows of a chunk, at most `MAX_SCAN_ROWS`, valid
   * until the next call. When rows fill chunks, the rows may continue in the next chunk.
   */
  scan(chunk: number, firstRow: number, count: number, stride: number): Int32Array {
    this.#dotRows(addressOf(chunk) + firstRow * stride, count, stride, QUERY_AT, OUT_AT);
    return this.#products;
  }

  /** Returns how many chunks the memory has room for. */
  #chunkCount(): number {
    return Math.max(0, Math.floor((this.#bytes.length - CHUNKS_AT) / CHUNK_BYTES));
  }

  #refresh(): void {
    this.#bytes = new Int8Array(this.#memory.buffer);
    this.#products = new Int32Array(this.#memory.buffer, OUT_AT, MAX_SCAN_ROWS);
  }
}

function addressOf(chunk: number): number {
  return CHUNKS_AT + chunk * CHUNK_BYTES;
}
