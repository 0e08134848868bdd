/** The orders of lists of entries, in SQL and in memory. */
import type { Sorting } from "../../../operation-facts.ts";
import { BEHIND_ALL_KEYS } from "../entries.ts";

/** An entry's position in an order: its key, or the time of its last write and that event's position in the log. */
export type Position = readonly [key: string] | readonly [updatedAt: number, writtenSeq: number];

export interface Order {
  /** SQL: the columns of a row's position, for SELECT. */
  columns: string;
  /** SQL: the same columns with their directions, for ORDER BY. */
  by: string;
  /** SQL: the condition that a row is after a first and before a second position, with the parameters of both. */
  between: string;
  compare(a: Position, b: Position): number;
  positionOf(entry: { key: string; updatedAt: number; writtenSeq: number }): Position;
}

const KEY = "key";
const UPDATED = "updated_at, written_seq";

/** Positions before and after all others, in ascending order. */
const ENDS: Record<typeof KEY | typeof UPDATED, readonly [Position, Position]> = {
  // No key is empty.
  [KEY]: [[""], [BEHIND_ALL_KEYS]],
  [UPDATED]: [
    [-1, -1],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ],
};

function orderOf(columns: typeof KEY | typeof UPDATED, descending: boolean): Order {
  // The plus keeps SQLite from reading an index from the position on: it must begin at the beginning of a part.
  const [row, position] = columns === KEY ? ["+key", "?"] : ["(+updated_at, +written_seq)", "(?, ?)"];
  const [behind, before] = descending ? ["<", ">"] : [">", "<"];
  return {
    columns,
    by: descending
      ? columns
          .split(", ")
          .map((column) => `${column} DESC`)
          .join(", ")
      : columns,
    between: `${row} ${behind} ${position} AND ${row} ${before} ${position}`,
    positionOf: ({ key, updatedAt, writtenSeq }) => (columns === KEY ? [key] : [updatedAt, writtenSeq]),
    compare: (a, b) => (descending ? comparePositions(b, a) : comparePositions(a, b)),
  };
}

const ORDERS = new Map(
  ([KEY, UPDATED] as const).flatMap((columns) =>
    [false, true].map((descending) => [`${columns} ${descending}`, orderOf(columns, descending)] as const),
  ),
);

/** Returns the order of a list, and its first and its last possible position. */
export function orderBy({ sort, order }: Sorting): { order: Order; start: Position; end: Position } {
  const columns = sort === "updated_at" ? UPDATED : KEY;
  const descending = order === "desc";
  const [start, end] = descending ? ENDS[columns].toReversed() : ENDS[columns];
  return { order: ORDERS.get(`${columns} ${descending}`) as Order, start: start as Position, end: end as Position };
}

function comparePositions(a: Position, b: Position): number {
  if (typeof a[0] === "string") return compareTexts(a[0], b[0] as string);
  return a[0] - (b[0] as number) || (a[1] as number) - (b[1] as number);
}

/** Compares texts by their UTF-8 bytes, which is the order of their code points, as SQLite does. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const one = a.charCodeAt(i);
    const other = b.charCodeAt(i);
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** Returns a number that orders code units as their code points: surrogates stand for code points above U+FFFF. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
