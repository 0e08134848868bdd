/** Bytes of a chunk, the unit in which rows are kept, found again and given back. */
export const CHUNK_BYTES = 16_384;
/** Largest number of dimensions: a row must fit a quarter of a chunk, its query half of one. */
export const MAX_DIMENSIONS = 4096;
/** The query's numbers lie between plus and minus this, so that no sum overflows. */
export const QUERY_RANGE = 2047;

const PAGE_BYTES = 65_536;
const CHUNKS_PER_PAGE = PAGE_BYTES / CHUNK_BYTES;
const QUERY_AT = 0;
const OUT_AT = CHUNK_BYTES;
/** The first page is the kernel's own: the query, then the products. */
const FIRST_CHUNK = CHUNKS_PER_PAGE;

type DotRows = (rows: number, count: number, stride: number, query: number, out: number) => void;

/**
 * The memory in which all vectors of a thread lie, with the WebAssembly kernel that scans them. An
 * index takes chunks and gives them back when it is closed; the memory is used again but never
 * returned to the system, since WebAssembly memory cannot shrink.
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
  }

  /** Takes a chunk, filled with zeros, and returns its number. Throws a RangeError when memory is exhausted. */
  take(): number {
    if (this.#free.length === 0) {
      const page = this.#memory.buffer.byteLength / PAGE_BYTES;
      const pages = Math.max(1, page >> 3);
      this.#memory.grow(pages);
      this.#refresh();
      for (let i = (page + pages) * CHUNKS_PER_PAGE - 1; i >= page * CHUNKS_PER_PAGE; i--) this.#free.push(i);
    }
    return this.#free.pop() as number;
  }

  /** Gives chunks back. Whoever does must not use them again. */
  give(chunks: readonly number[]): void {
    for (const chunk of chunks) {
      this.#bytes.fill(0, chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES);
      this.#free.push(chunk);
    }
  }

  /** The bytes of a row, valid until the next `take`. */
  row(chunk: number, row: number, stride: number): Int8Array {
    const at = chunk * CHUNK_BYTES + row * stride;
    return this.#bytes.subarray(at, at + stride);
  }

  /** Sets the query of the scans that follow: whole numbers within `QUERY_RANGE`, padded to the stride. */
  setQuery(query: Int16Array): void {
    new Int16Array(this.#memory.buffer, QUERY_AT, query.length).set(query);
  }

  /** The dot products of the query with `count` rows of a chunk, valid until the next call. */
  scan(chunk: number, firstRow: number, count: number, stride: number): Int32Array {
    this.#dotRows(chunk * CHUNK_BYTES + firstRow * stride, count, stride, QUERY_AT, OUT_AT);
    return this.#products;
  }

  #refresh(): void {
    this.#bytes = new Int8Array(this.#memory.buffer);
    this.#products = new Int32Array(this.#memory.buffer, OUT_AT, CHUNK_BYTES / 16);
    if (this.#bytes.length / CHUNK_BYTES < FIRST_CHUNK)
      throw new Error("the kernel's memory lacks its first page");
  }
}
