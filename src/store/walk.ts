/** Keyset pagination through the rows of a table: each page begins after the last row of the previous one. */
import type { MaybePromise } from "./transaction.ts";

/** The position of a row in the order of its query. */
type Position = number | string | readonly number[];

/**
 * Yields the pages of a query. `read` returns the page after a position. A page with fewer than `full` rows is the last
 * one, and so is a page whose last row has no position.
 * @throws {OutOfOrder} as {@link goOn}
 */
export async function* pages<R, P extends Position>(
  start: P,
  full: number,
  read: (after: P) => MaybePromise<R[]>,
  positionOf: (row: R) => P | null,
): AsyncGenerator<R[]> {
  for (let after = start; ; ) {
    const rows = await read(after);
    const [last] = rows.slice(-1);
    if (last !== undefined) yield rows;
    const position = last === undefined || rows.length < full ? null : positionOf(last);
    if (position === null) return;
    after = goOn(after, position);
  }
}

/**
 * Yields pages of rows in the order of a number and their id, after the number `start`. Each page takes two queries,
 * since SQLite does not use an index for both members of a row value.
 * @param read returns at most `limit` rows whose number and id meet the condition `sql` with its parameters
 */
export function pagesByTwo<R>(
  start: number,
  full: number,
  read: (sql: string, parameters: number[], limit: number) => MaybePromise<R[]>,
  positionOf: (row: R) => readonly [number: number, id: number],
): AsyncGenerator<R[]> {
  const page = async ([number, id]: readonly [number, number]) => {
    const same = await read("= ? AND id > ?", [number, id], full);
    return [...same, ...(await read("> ?", [number], full - same.length))];
  };
  return pages([start, Number.MAX_SAFE_INTEGER] as const, full, page, positionOf);
}

/** The most rows, and the most bytes of rows, that are changed before other work has a turn. */
export const CHANGED_AT_ONCE = 500;
const BYTES_AT_ONCE = 512 * 1024;

/** Divides rows into steps within these limits. Each step has at least one row. */
export function* inSteps<R>(rows: readonly R[], bytesOf: (row: R) => number): Generator<[R, ...R[]]> {
  let step: R[] = [];
  let bytes = 0;
  for (const row of rows) {
    const own = bytesOf(row);
    if (step.length > 0 && (step.length === CHANGED_AT_ONCE || bytes + own > BYTES_AT_ONCE)) {
      yield step as [R, ...R[]];
      [step, bytes] = [[], 0];
    }
    step.push(row);
    bytes += own;
  }
  if (step.length > 0) yield step as [R, ...R[]];
}

/** Rows are not in their order, so their B-tree is damaged. */
export class OutOfOrder extends Error {
  override readonly name = "OutOfOrder";
  /** SQLite's code for a damaged file. SQLite itself does not check the order. */
  readonly code = "SQLITE_CORRUPT";
}

/**
 * Returns `last`, the position of a page's last row, after which the next page begins. Without its check, a damaged
 * tree, or a number beyond 2^53 that is read inexactly, would repeat the same pages for ever.
 * @throws {OutOfOrder} unless `last` is after `before`, where the page began
 */
export function goOn<T extends Position>(before: T, last: T): T {
  if (!(compare(last, before) > 0)) throw new OutOfOrder("rows do not come in their order");
  return last;
}

/** Compares as SQLite does: texts by their UTF-8 bytes, tuples by their first different members. */
function compare<T extends Position>(one: T, other: T): number {
  if (typeof one === "number") return one - (other as number);
  if (typeof one === "string") return Buffer.compare(Buffer.from(one), Buffer.from(other as string));
  const parts = other as readonly number[];
  const at = one.findIndex((part, index) => part !== parts[index]);
  return at < 0 ? 0 : (one[at] as number) - (parts[at] as number);
}
