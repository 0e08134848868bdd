/**
 * Reads columns of a file that may have been tampered with. The driver aborts the process when a text column has bytes
 * that are not UTF-8, and truncates a text at U+0000. So stored texts are read as bytes, and decoded strictly here.
 */
import { isUtf8 } from "node:buffer";
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

/** Reads rows whose columns should have these types. */
export class RowForm<const C extends ColumnTypes> {
  /** SQL: whether an optional column is of another type, and then the columns. */
  readonly sql: string;
  readonly #columns: { name: string; isText: boolean; optional: boolean }[];

  /** @param table the name of the table in the query */
  constructor(table: string, columns: C) {
    this.#columns = Object.entries(columns).map(([name, type]) => {
      return { name, isText: type.startsWith("text"), optional: type.endsWith("?") };
    });
    const wrong = this.#columns.filter(({ optional }) => optional);
    const types = wrong.map(({ name, isText }) => isOfWrongType(`${table}.${name}`, isText ? "text" : "integer"));
    const values = this.#columns.map(({ name, isText }) => (isText ? textBytes : integer)(`${table}.${name}`));
    this.sql = [types.join(" OR "), ...values].join(", ");
  }

  /** Returns the columns that can be read, and the whole row; null when a column is not of its type. */
  read([wrong, ...values]: readonly SqlValue[]): { row: TypedRow<C> | null; parts: Partial<TypedRow<C>> } {
    let typed = wrong === 0;
    const parts: Record<string, SqlValue> = {};
    for (const [at, { name, isText, optional }] of this.#columns.entries()) {
      const stored = values[at] as SqlValue;
      const value = isText ? decodeText(stored as Buffer | null) : stored;
      if (value !== null) parts[name] = value;
      else if (optional && stored === null) parts[name] = null;
      else typed = false;
    }
    return { row: typed ? (parts as TypedRow<C>) : null, parts: parts as Partial<TypedRow<C>> };
  }
}
