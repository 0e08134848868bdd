/** Reads stored entries in pages of bounded size, and the events that entries name. */

import { pageOf } from "../../store/packed.ts";
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { pages } from "../../store/walk.ts";
import { ENTRY, type NamedEvents, type StoredRow } from "./entry.ts";
import { eventColumn, readNamedEvent } from "./events-named.ts";

/** The most rows that are read at once: the allocator returns larger blocks to the system each time. */
const ROWS_AT_ONCE = 48;
/** The most bytes of values and metadata that are read at once, unless a single row has more. */
const BYTES_AT_ONCE = 1024 * 1024;
/** The ids of an agent that are in memory at once. */
const IDS_AT_ONCE = 1 << 18;

/** A row of `entries`. */
export interface StoredEntry {
  live: boolean;
  /** `agents.first_seq` according to the row; null when it is of another type. */
  agent: number | null;
  writtenSeq: number | null;
  /** Null when a column is of another type. */
  row: StoredRow | null;
}

/** A way to read rows in an order, after a position. */
interface Walk {
  /** SQL: the table, and what is joined to it. */
  from: string;
  condition: string;
  order: string;
}

type Position = [liveTo: number, id: number];
type Row = ReturnType<typeof ENTRY.read>;

// By id, which is the order of the table in the file, so that each page of the file is read once, regardless of the
// order of the agents' writes. The driver reads greater numbers inexactly, so no page could begin after them. The count
// of all rows detects such rows.
const PRESENT: Walk = {
  from: "entries e NOT INDEXED",
  condition: `e.live_to IS NULL AND e.id > ? AND e.id <= ${Number.MAX_SAFE_INTEGER}`,
  order: "ORDER BY e.id",
};
const PRESENT_OF_IDS: Walk = {
  from: "(SELECT value AS wanted FROM json_each(?)) i CROSS JOIN entries e NOT INDEXED ON e.id = i.wanted",
  condition: "e.live_to IS NULL AND e.id > ?",
  order: "ORDER BY e.id",
};
const ENDED: Walk = {
  from: "entries e INDEXED BY entries_ended",
  condition: `e.agent = ? AND e.live_to IS NOT NULL AND (e.live_to, e.id) > (?, ?)
    AND e.live_to <= ${Number.MAX_SAFE_INTEGER} AND e.id <= ${Number.MAX_SAFE_INTEGER}`,
  order: "ORDER BY e.live_to, e.id",
};

/** Yields the present versions of all agents. */
export const pagesOfPresent = (reader: Reader): AsyncGenerator<StoredEntry[]> => pagesById(reader, PRESENT, []);

/**
 * Yields the present versions of an agent (`agents.first_seq`). An index has their ids in the order of keys, so they are
 * sorted first.
 */
export async function* pagesOfAgent(reader: Reader, agent: number): AsyncGenerator<StoredEntry[]> {
  const sql = `SELECT id FROM entries INDEXED BY entries_live
    WHERE agent = ? AND live_to IS NULL AND id > ? AND id <= ${Number.MAX_SAFE_INTEGER} ORDER BY id LIMIT ${IDS_AT_ONCE}`;
  const read = (after: number) => reader.all<[number]>(sql, [agent, after]);
  for await (const rows of pages(Number.MIN_SAFE_INTEGER, IDS_AT_ONCE, read, ([id]) => id)) {
    for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
      const ids = rows.slice(start, start + ROWS_AT_ONCE).map(([id]) => id);
      yield* pagesById(reader, PRESENT_OF_IDS, [JSON.stringify(ids)]);
    }
  }
}

/** Yields the ended versions of an agent, in the order in which they ended. */
export async function* pagesOfEnded(reader: Reader, agent: number): AsyncGenerator<StoredEntry[]> {
  const read = (after: Position) => readRows(reader, ENDED, [agent, ...after]);
  // A page may also end because of its bytes, so only a page without rows is the last.
  const start: Position = [Number.MIN_SAFE_INTEGER, 0];
  const positionOf = ({ parts }: Row): Position | null => (parts.live_to == null ? null : [parts.live_to, idOf(parts)]);
  for await (const rows of pages(start, 1, read, positionOf)) yield rows.map((row) => toEntry(row, false));
}

async function* pagesById(reader: Reader, walk: Walk, bound: readonly SqlValue[]): AsyncGenerator<StoredEntry[]> {
  const read = (after: number) => readRows(reader, walk, [...bound, after]);
  for await (const rows of pages(Number.MIN_SAFE_INTEGER, 1, read, ({ parts }) => idOf(parts))) {
    yield rows.map((row) => toEntry(row, true));
  }
}

async function readRows(reader: Reader, walk: Walk, bound: readonly SqlValue[]): Promise<Row[]> {
  const count = await rowsThatFit(reader, walk, bound);
  if (count === 0) return [];
  const { from, condition, order } = walk;
  const page = pageOf(ENTRY.packed, `FROM ${from} WHERE ${condition} ${order} LIMIT ?`);
  const bytes = await reader.value<Buffer | null>(page, [...bound, count]);
  return bytes == null ? [] : ENTRY.readAll(bytes);
}

/** Returns how many of the next rows fit a page. SQLite knows sizes without reading the values. */
async function rowsThatFit(reader: Reader, { from, condition, order }: Walk, bound: readonly SqlValue[]) {
  const sizes = await reader.all<[number | null]>(
    `SELECT octet_length(e.value) + octet_length(e.metadata) FROM ${from} WHERE ${condition} ${order} LIMIT ?`,
    [...bound, ROWS_AT_ONCE],
  );
  let bytes = 0;
  for (const [count, [size]] of sizes.entries()) {
    bytes += size ?? 0;
    if (bytes > BYTES_AT_ONCE) return Math.max(1, count);
  }
  return sizes.length;
}

const idOf = ({ id }: Row["parts"]): number => id as number; // SQLite stores nothing else in it

function toEntry({ row, parts }: Row, live: boolean): StoredEntry {
  return { live, agent: parts.agent ?? null, writtenSeq: parts.written_seq ?? null, row };
}

/** Returns the events at these positions, as far as there are any. */
export async function readNamedEvents(reader: Reader, seqs: readonly number[]): Promise<NamedEvents> {
  if (seqs.length === 0) return new Map();
  const sql = `SELECT e.seq, ${eventColumn("e")} FROM events e WHERE e.seq IN (SELECT value FROM json_each(?))`;
  const found = await reader.all<[number, Buffer]>(sql, [JSON.stringify(seqs)]);
  return new Map(found.map(([seq, column]) => [seq, readNamedEvent(column)]));
}
