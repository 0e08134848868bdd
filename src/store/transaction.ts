/**
 * The interface of a database for operations. A `Reader` cannot write, so a function that takes a `Reader` changes
 * nothing. Rows are tuples in the order of the selected columns.
 *
 * A call may return its result directly or as a promise, so callers must await it.
 */
import type { SqlValue } from "./values.ts";

/** A row as a tuple. The type argument of `get` and `all` names its columns. */
export type Row = readonly unknown[];

export type MaybePromise<T> = T | Promise<T>;

/**
 * Calls `next` with a result, at once if it is not a promise. Every operation passes here, and a promise would cost
 * memory and a microtask.
 */
export const after = <T, R>(result: MaybePromise<T>, next: (result: T) => MaybePromise<R>): MaybePromise<R> =>
  result instanceof Promise ? result.then(next) : next(result);

export interface Reader {
  /** Returns the first row, or undefined. */
  get<R extends Row>(sql: string, parameters?: readonly SqlValue[]): MaybePromise<R | undefined>;
  /** Returns the first column of the first row, or undefined. */
  value<V>(sql: string, parameters?: readonly SqlValue[]): MaybePromise<V | undefined>;
  /** Returns all rows. Unbounded queries need a LIMIT. */
  all<R extends Row>(sql: string, parameters?: readonly SqlValue[]): MaybePromise<R[]>;
}

/** Whether the database has a table with this name. */
export async function hasTable(reader: Reader, name: string): Promise<boolean> {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  return (await reader.value(sql, [name])) !== undefined;
}

export interface Transaction extends Reader {
  /** Runs a writing statement. */
  run(sql: string, parameters?: readonly SqlValue[]): MaybePromise<void>;
  /** Runs a writing statement. Returns the number of rows that it changed, which costs a third of a short statement. */
  change(sql: string, parameters?: readonly SqlValue[]): MaybePromise<number>;
}

/** Runs `work` in one transaction, which is rolled back when it throws. */
export function transact<T>(
  connection: { exec(sql: string): void; readonly inTransaction: boolean },
  work: () => T,
): T {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    connection.exec("COMMIT");
    return result;
  } catch (error) {
    // Some failures end the transaction already.
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}
