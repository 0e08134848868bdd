/** The orders in which entries are listed, as SQL and in memory. */
import type { Sorting } from "../../operation-facts.ts";
import { BEHIND_ALL_KEYS } from "../entries.ts";

/** Where an entry is in an order: its key, or the time and the position in the log of its last write. */
export type Position = readonly [key: string] | readonly [updatedAt: number, writtenSeq: number];

export interface Order {
  /** The columns that are a row's position, for SELECT. */
  columns: string;
  /** The same with their directions, for ORDER BY. */
  by: string;
  /** That a row is behind the first of two positions and before the second: a condition with the parameters of both. */
  between: string;
  compare(a: Position, b: Position): number;
  positionOf(entry: { key: string; updatedAt: number; writtenSeq: number }): Position;
}

const KEY = "key";
const UPDATED = "updated_at, written_seq";

/** Positions before and behind all others, in ascending order. */
const ENDS: Record<typeof KEY | typeof UPDATED, readonly [Position, Position]> = {
  // No key is empty.
  [KEY]: [[""], [BEHIND_ALL_KEYS]],
  [UPDATED]: [
    [-1, -1],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ],
};

function orderOf(columns: typeof KEY | typeof UPDATED, descending: boolean): Order {
  // With the plus no index is read from a position of the list on, instead of from the beginning of a part.
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

/** Orders code units as the code points that they begin: surrogates stand for those above U+FFFF. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
