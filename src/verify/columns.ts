/**
 * Reads columns of a file that may have been tampered with. The driver aborts the process when a text column has bytes
 * that are not UTF-8, and truncates a text at U+0000. So stored texts are read as bytes, and decoded strictly here.
 */
import { isAscii, isUtf8 } from "node:buffer";
import type { SqlValue } from "../store/values.ts";

/** SQL: the bytes of a text column; NULL when it does not have text. */
export const textBytes = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) END`;

/** SQL: an integer column; NULL when it does not have an integer. */
export const integer = (column: string): string => `CASE typeof(${column}) WHEN 'integer' THEN ${column} END`;

/** SQL: whether an optional column has a value that is neither NULL nor of its type. */
export const isOfWrongType = (column: string, type: "text" | "integer"): string =>
  `(typeof(${column}) NOT IN ('null', '${type}'))`;

/** Decodes UTF-8; null when the bytes are not UTF-8, and for null. */
export function decodeText(bytes: Buffer | null): string | null {
  if (bytes === null || !isUtf8(bytes)) return null;
  return bytes.toString("utf8");
}

/** The type of a column, followed by `?` when it may be NULL. */
type ColumnType = "text" | "integer" | "text?" | "integer?";
type ColumnTypes = Readonly<Record<string, ColumnType>>;

/** A row whose columns have their types. */
type TypedRow<C extends ColumnTypes> = {
  -readonly [N in keyof C]:
    | (C[N] extends "text" | "text?" ? string : number)
    | (C[N] extends `${string}?` ? null : never);
};

/** The row of a form. */
export type RowOf<F> = F extends RowForm<infer C> ? TypedRow<C> : never;

/** The first letters of SQLite's names of types. */
const [TEXT, INTEGER, NULL] = ["t", "i", "n"].map((letter) => letter.charCodeAt(0));
const [SPACE, ZERO] = [0x20, 0x30];

/**
 * SQL: the values of columns as one text, since the driver's cost is per value: the type and the length of each, and
 * then all of them. Any value can be in it.
 */
export const packed = (columns: readonly string[]): string =>
  `concat(${[...columns.map((column) => `typeof(${column}), octet_length(${column}), ' '`), ...columns].join(", ")})`;

/** SQL: the packed rows of a page as one value. @param rest the query after its columns, with its limit */
export const pageOf = (piece: string, rest: string): string =>
  `SELECT CAST(group_concat(piece, '') AS BLOB) FROM (SELECT ${piece} AS piece ${rest})`;

/** Reads packed rows one after the other. */
export class PackedRows {
  readonly #types: Uint8Array;
  readonly #ends: Float64Array;
  /** The whole page with a character for each byte, of which the texts are parts; whether all of it is ASCII. */
  readonly #page: string;
  readonly #isAscii: boolean;
  #first = 0;
  #at = 0;

  /** @param count the number of columns */
  constructor(
    private readonly bytes: Buffer,
    count: number,
  ) {
    this.#types = new Uint8Array(count);
    this.#ends = new Float64Array(count);
    this.#page = bytes.toString("latin1");
    this.#isAscii = isAscii(bytes);
  }

  /** Goes to the next row. Returns false when there is none. */
  next(): boolean {
    const { bytes } = this;
    let at = this.#at;
    if (at >= bytes.length) return false;
    for (let index = 0; index < this.#types.length; index++) {
      this.#types[index] = bytes[at] as number;
      let length = 0;
      for (; bytes[at] !== SPACE; at++) {
        const digit = (bytes[at] as number) - ZERO;
        if (digit <= 9) length = length * 10 + digit; // letters, which name the type, come after the digits in ASCII
      }
      this.#ends[index] = length;
      at += 1;
    }
    this.#first = at;
    for (let index = 0; index < this.#ends.length; index++) {
      at += this.#ends[index] as number;
      this.#ends[index] = at;
    }
    this.#at = at;
    return true;
  }

  isNull(index: number): boolean {
    return this.#types[index] === NULL;
  }

  isText(index: number): boolean {
    return this.#types[index] === TEXT;
  }

  /** Returns an integer; null for a value of another type. */
  integer(index: number): number | null {
    return this.#types[index] === INTEGER ? Number(this.latin1(index)) : null;
  }

  /** Returns a text; null for a value of another type, and for bytes that are not UTF-8. */
  text(index: number): string | null {
    if (!this.isText(index)) return null;
    return this.#isAscii ? this.latin1(index) : decodeText(this.bytes.subarray(this.#start(index), this.#ends[index]));
  }

  /** Returns the bytes of any value, each as a character. */
  latin1(index: number): string {
    return this.#page.slice(this.#start(index), this.#ends[index]);
  }

  /** {@link latin1} as a text of its own, which does not keep the page in memory. */
  copy(index: number): string {
    return this.bytes.toString("latin1", this.#start(index), this.#ends[index]);
  }

  #start(index: number): number {
    return index === 0 ? this.#first : (this.#ends[index - 1] as number);
  }
}

/** Reads rows whose columns should have these types. */
export class RowForm<const C extends ColumnTypes> {
  /** SQL: the packed columns as text, and as one column of a result. */
  readonly packed: string;
  readonly sql: string;
  readonly #columns: { name: string; isText: boolean; optional: boolean }[];

  /** @param table the name of the table in the query */
  constructor(table: string, columns: C) {
    this.#columns = Object.entries(columns).map(([name, type]) => {
      return { name, isText: type.startsWith("text"), optional: type.endsWith("?") };
    });
    this.packed = packed(this.#columns.map(({ name }) => `${table}.${name}`));
    this.sql = `CAST(${this.packed} AS BLOB)`;
  }

  /** Returns the columns that can be read, and the whole row; null when a column is not of its type. */
  read([bytes]: readonly SqlValue[]): ReadRow<C> {
    return this.readAll(bytes as Buffer)[0] as ReadRow<C>;
  }

  /** {@link read} for all rows of a page. */
  readAll(bytes: Buffer): ReadRow<C>[] {
    const rows = new PackedRows(bytes, this.#columns.length);
    const read: ReadRow<C>[] = [];
    while (rows.next()) read.push(this.#next(rows));
    return read;
  }

  #next(rows: PackedRows): ReadRow<C> {
    let typed = true;
    const parts: Record<string, SqlValue> = {};
    for (let at = 0; at < this.#columns.length; at++) {
      const { name, isText, optional } = this.#columns[at] as { name: string; isText: boolean; optional: boolean };
      const value = isText ? rows.text(at) : rows.integer(at);
      if (value !== null) parts[name] = value;
      else if (optional && rows.isNull(at)) parts[name] = null;
      else typed = false;
    }
    return { row: typed ? (parts as TypedRow<C>) : null, parts: parts as Partial<TypedRow<C>> };
  }
}

interface ReadRow<C extends ColumnTypes> {
  row: TypedRow<C> | null;
  parts: Partial<TypedRow<C>>;
}
