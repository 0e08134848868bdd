/** The plain path for entries: pages of bounded size, with the events that the rows name. */
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { pages } from "../../store/walk.ts";
import { integer } from "../columns.ts";
import { ENTRY, type StoredVersion } from "./entry.ts";
import { boundOf, type EntryRange, presentWalk, tablesOf, type Walk } from "./entry-part.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "./events-named.ts";

/** The most rows that are read at once. */
const ROWS_AT_ONCE = 500;
/** The most bytes of values and metadata that are read at once, unless a single row has more. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;

/** A row of `entries`. `version` is null when a column is of another type. */
export interface EntryOfFile {
  live: boolean;
  /** `agents.first_seq` according to the row; null when it is of another type. */
  agent: number | null;
  writtenSeq: number | null;
  version: StoredVersion | null;
}

type Position = [liveTo: number, id: number];
type Row = [
  liveTo: number | null,
  id: number,
  agent: number | null,
  ...written: EventColumns,
  ...created: EventColumns,
  ...from: EventColumns,
  ...to: EventColumns,
  ...columns: SqlValue[],
];

const EVENTS = ["w", "c", "f", "t"].map(eventColumns).join(", ");
// An event that two columns name is read only once.
const JOINS = `LEFT JOIN events w ON w.seq = e.written_seq
  LEFT JOIN events c ON c.seq = e.created_seq AND e.created_seq <> e.written_seq
  LEFT JOIN events f ON f.seq = e.live_from AND e.live_from <> e.written_seq
  LEFT JOIN events t ON t.seq = e.live_to`;
const SELECT = `SELECT ${integer("e.live_to")}, e.id, ${integer("e.agent")}, ${EVENTS}, ${ENTRY.sql}`;

// The driver reads greater numbers inexactly, so no page could begin after them. The count of all rows detects such
// rows.
const EXACT = `e.live_to <= ${Number.MAX_SAFE_INTEGER} AND e.id <= ${Number.MAX_SAFE_INTEGER}`;
const ENDED: Walk = {
  hint: "INDEXED BY entries_ended",
  condition: `e.agent = ? AND e.live_to IS NOT NULL AND (e.live_to, e.id) > (?, ?) AND ${EXACT}`,
  order: "ORDER BY e.live_to, e.id",
};

/** Returns the next present versions of a range, at most `most`, and the id of the last; null at the end. */
export async function presentPage(reader: Reader, range: EntryRange, most: number) {
  const rows = await readRows(reader, presentWalk(range), boundOf(range, range.after), most);
  return { entries: rows.map((row) => toEntry(row, true)), last: rows.at(-1)?.[1] ?? null };
}

/** Yields the ended versions of an agent, in the order in which they ended. */
export async function* pagesOfEnded(reader: Reader, agent: number): AsyncGenerator<EntryOfFile[]> {
  const read = (after: Position) => readRows(reader, ENDED, [agent, ...after], ROWS_AT_ONCE);
  // A page may also end because of its bytes, so only a page without rows is the last.
  const start: Position = [Number.MIN_SAFE_INTEGER, 0];
  const positionOf = ([liveTo, id]: Row): Position | null => (liveTo === null ? null : [liveTo, id]);
  for await (const rows of pages(start, 1, read, positionOf)) yield rows.map((row) => toEntry(row, false));
}

async function readRows(reader: Reader, walk: Walk, bound: readonly SqlValue[], most: number): Promise<Row[]> {
  const count = await rowsThatFit(reader, walk, bound, most);
  if (count === 0) return [];
  const { condition, order } = walk;
  const from = tablesOf(walk);
  const sql = `${SELECT} FROM ${from} ${JOINS} WHERE ${condition} ${order} LIMIT ?`;
  return await reader.all<Row>(sql, [...bound, count]);
}

/** Returns how many of the next rows fit a page. SQLite knows sizes without reading the values. */
async function rowsThatFit(reader: Reader, walk: Walk, bound: readonly SqlValue[], most: number) {
  const { condition, order } = walk;
  const from = tablesOf(walk);
  const sizes = await reader.all<[number | null]>(
    `SELECT octet_length(e.value) + octet_length(e.metadata) FROM ${from} WHERE ${condition} ${order} LIMIT ?`,
    [...bound, most],
  );
  let bytes = 0;
  for (const [count, [size]] of sizes.entries()) {
    bytes += size ?? 0;
    if (bytes > BYTES_AT_ONCE) return Math.max(1, count);
  }
  return sizes.length;
}

function toEntry([, , agent, ...rest]: Row, live: boolean): EntryOfFile {
  const { row, parts } = ENTRY.read(rest.slice(8) as SqlValue[]);
  const named = (at: number) => readNamedEvent(...(rest.slice(at, at + 2) as EventColumns));
  const written = row && named(0);
  const version = row && {
    ...row,
    written,
    created: row.created_seq === row.written_seq ? written : named(2),
    from: row.live_from === row.written_seq ? written : named(4),
    to: named(6),
  };
  return { live, agent, writtenSeq: parts.written_seq ?? null, version };
}
