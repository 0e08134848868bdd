/**
 * Rows that arrive as one value. The driver's cost is per value and per row, so a query that returns many columns packs
 * them in SQL: the type and the length of each, and then all of them. The texts of a damaged file may be anything, and
 * are decoded strictly here.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { OF_BYTES } from "./statements.ts";

/** Decodes UTF-8; null when the bytes are not UTF-8, and for null. */
export function decodeText(bytes: Buffer | null): string | null {
  if (bytes === null || !isUtf8(bytes)) return null;
  return bytes.toString("utf8");
}

/** The first letters of SQLite's names of types. */
const [TEXT, INTEGER, NULL, BLOB] = ["t", "i", "n", "b"].map((letter) => letter.charCodeAt(0));
/** The lengths of `integer`, and of SQLite's other names of types: `text`, `blob`, `null` and `real`. */
const [LONG_NAME, SHORT_NAME] = [7, 4];
const [SPACE, ZERO] = [0x20, 0x30];

/** The type of a column, followed by `?` when it may be NULL. */
export type ColumnType = "text" | "integer" | "blob" | "text?" | "integer?" | "blob?";

/** In the code of a type: NULL will do, too. */
const OPTIONAL = 0x80;

/** Returns the types of columns for {@link PackedRows.areOf}. */
export const typesOf = (types: readonly ColumnType[]): Uint8Array =>
  Uint8Array.from(types, (type) => type.charCodeAt(0) | (type.endsWith("?") ? OPTIONAL : 0));

/** SQL: the values of columns as one text, which may hold any value. */
export const packed = (columns: readonly string[]): string =>
  `concat(${[...columns.map((column) => `typeof(${column}), octet_length(${column}), ' '`), ...columns].join(", ")})`;

/** SQL: the packed rows of a page as one value. @param rest the query after its columns, with its limit */
export const pageOf = (piece: string, rest: string): string =>
  `${OF_BYTES}SELECT CAST(group_concat(piece, '') AS BLOB) FROM (SELECT ${piece} AS piece ${rest})`;

/** Reads packed rows one after the other. */
export class PackedRows {
  readonly #types: Uint8Array;
  readonly #ends: Float64Array;
  readonly #isAscii: boolean;
  /** The values of the row with a character for each byte, of which the texts are parts: they keep no more in memory. */
  #row = "";
  #first = 0;
  #at = 0;
  /** The hex of columns of bytes beside each other, which are converted at once, and where they are. */
  #hex = { text: "", start: 0, end: 0 };

  /** @param count the number of columns */
  constructor(
    private readonly bytes: Buffer,
    count: number,
  ) {
    this.#types = new Uint8Array(count);
    this.#ends = new Float64Array(count);
    this.#isAscii = isAscii(bytes);
  }

  /** Goes to the next row. Returns false when there is none. */
  next(): boolean {
    const { bytes } = this;
    let at = this.#at;
    if (at >= bytes.length) return false;
    for (let index = 0; index < this.#types.length; index++) {
      const type = bytes[at] as number;
      this.#types[index] = type;
      let length = 0;
      for (at += type === INTEGER ? LONG_NAME : SHORT_NAME; bytes[at] !== SPACE; at++)
        length = length * 10 + (bytes[at] as number) - ZERO;
      this.#ends[index] = length;
      at += 1;
    }
    this.#first = at;
    for (let index = 0; index < this.#ends.length; index++) {
      at += this.#ends[index] as number;
      this.#ends[index] = at;
    }
    this.#at = at;
    this.#row = bytes.toString("latin1", this.#first, at);
    this.#hex.end = 0;
    return true;
  }

  isNull(index: number): boolean {
    return this.#types[index] === NULL;
  }

  isText(index: number): boolean {
    return this.#types[index] === TEXT;
  }

  isBlob(index: number): boolean {
    return this.#types[index] === BLOB;
  }

  /** Whether the columns have these types. @param types as {@link typesOf} returns them */
  areOf(types: Uint8Array): boolean {
    for (let index = 0; index < types.length; index++) {
      const [found, wanted] = [this.#types[index] as number, types[index] as number];
      if (found !== (wanted & ~OPTIONAL) && !(found === NULL && wanted >= OPTIONAL)) return false;
    }
    return true;
  }

  /** Returns an integer; null for a value of another type. */
  integer(index: number): number | null {
    return this.#types[index] === INTEGER ? Number(this.latin1(index)) : null;
  }

  /** Returns a text; null for a value of another type, and for bytes that are not UTF-8. */
  text(index: number): string | null {
    if (!this.isText(index)) return null;
    if (this.#isAscii) return this.latin1(index);
    const bytes = this.bytesOf(index);
    return isAscii(bytes) ? this.latin1(index) : decodeText(bytes);
  }

  /** Returns the bytes of any value, each as a character. */
  latin1(index: number): string {
    return this.#row.slice(this.#start(index) - this.#first, (this.#ends[index] as number) - this.#first);
  }

  /** Returns the bytes of any value. */
  bytesOf(index: number): Buffer {
    return this.bytes.subarray(this.#start(index), this.#ends[index]);
  }

  /** Returns the bytes of any value in lower-case hex. */
  hex(index: number): string {
    const [start, end] = [this.#start(index), this.#ends[index] as number];
    const known = this.#hex;
    if (start < known.start || end > known.end) {
      let last = index;
      while (this.isBlob(last + 1)) last++;
      known.start = start;
      known.end = this.#ends[last] as number;
      known.text = this.bytes.toString("hex", start, known.end);
    }
    return known.text.slice(2 * (start - known.start), 2 * (end - known.start));
  }

  #start(index: number): number {
    return index === 0 ? this.#first : (this.#ends[index - 1] as number);
  }
}
