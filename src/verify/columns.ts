/**
 * Reads columns of a file that may have been tampered with. The driver aborts the process when a text column has bytes
 * that are not UTF-8, and truncates a text at U+0000. So stored texts are read as bytes, and decoded strictly here.
 */
import { type ColumnType, PackedRows, packed } from "../store/packed.ts";
import type { SqlValue } from "../store/values.ts";

/** SQL: the bytes of a text column; NULL when it does not have text. */
export const textBytes = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) END`;

/** SQL: an integer column; NULL when it does not have an integer. */
export const integer = (column: string): string => `CASE typeof(${column}) WHEN 'integer' THEN ${column} END`;

/** SQL: whether an optional column has a value that is neither NULL nor of its type. */
export const isOfWrongType = (column: string, type: "text" | "integer"): string =>
  `(typeof(${column}) NOT IN ('null', '${type}'))`;

type ColumnTypes = Readonly<Record<string, ColumnType>>;

/** A row whose columns have their types. */
type TypedRow<C extends ColumnTypes> = {
  -readonly [N in keyof C]:
    | (C[N] extends "integer" | "integer?" ? number : string)
    | (C[N] extends `${string}?` ? null : never);
};

/** The row of a form. */
export type RowOf<F> = F extends RowForm<infer C> ? TypedRow<C> : never;

/** Reads rows whose columns should have these types. */
export class RowForm<const C extends ColumnTypes> {
  /** SQL: the packed columns as text, and as one column of a result. */
  readonly packed: string;
  readonly sql: string;
  readonly #columns: { name: string; type: string; optional: boolean }[];

  /** @param table the name of the table in the query */
  constructor(table: string, columns: C) {
    this.#columns = Object.entries(columns).map(([name, type]) => {
      return { name, type: type.replace("?", ""), optional: type.endsWith("?") };
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
      const { name, type, optional } = this.#columns[at] as { name: string; type: string; optional: boolean };
      const value = type === "text" ? rows.text(at) : type === "integer" ? rows.integer(at) : hexOrNull(rows, at);
      if (value !== null) parts[name] = value;
      else if (optional && rows.isNull(at)) parts[name] = null;
      else typed = false;
    }
    return { row: typed ? (parts as TypedRow<C>) : null, parts: parts as Partial<TypedRow<C>> };
  }
}

/** Returns bytes in hex; null for a value of another type. */
const hexOrNull = (rows: PackedRows, at: number): string | null => (rows.isBlob(at) ? rows.hex(at) : null);

interface ReadRow<C extends ColumnTypes> {
  row: TypedRow<C> | null;
  parts: Partial<TypedRow<C>>;
}
