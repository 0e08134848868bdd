/**
 * What operations may do with a database. A `Reader` cannot write: a function that takes one proves
 * by its type that it changes nothing. Rows come as tuples in the order of the selected columns.
 *
 * Each call may answer directly (a local file) or later (a server), so callers await.
 */
import type { SqlValue } from "./values.ts";

/** A row as a tuple; name its columns in the type argument of `get` and `all`. */
export type Row = readonly unknown[];

type MaybePromise<T> = T | Promise<T>;

export interface Reader {
  /** The first row, or undefined. */
  get<R extends Row>(sql: string, parameters?: readonly SqlValue[]): MaybePromise<R | undefined>;
  /** All rows. Queries without a bound carry a LIMIT. */
  all<R extends Row>(sql: string, parameters?: readonly SqlValue[]): MaybePromise<R[]>;
}

export interface Transaction extends Reader {
  /** Runs a writing statement; answers the number of rows that it changed. */
  run(sql: string, parameters?: readonly SqlValue[]): MaybePromise<number>;
}
