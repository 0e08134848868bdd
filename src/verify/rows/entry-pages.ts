/** The plain path for entries: pages of bounded size, with the events that the rows name. */
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { goOn } from "../../store/walk.ts";
import { decodeText, integer, isOfWrongType, textBytes } from "../columns.ts";
import type { StoredRow, StoredVersion } from "./entry.ts";
import { boundOf, type EntryRange, presentWalk, type Walk } from "./entry-part.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "./events-named.ts";

/** Rows read at once, if they are small. */
const ROWS_AT_ONCE = 500;
/** Bytes of values and metadata that are read at once. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;

/** A row of `entries`; `version` is null when a column does not even have its type. */
export interface EntryOfFile {
  live: boolean;
  /** `agents.first_seq`, as far as the row says. */
  agent: number | null;
  writtenSeq: number | null;
  version: StoredVersion | null;
}

type Columns = [
  wrongTypes: number,
  key: Buffer | null,
  value: Buffer | null,
  metadata: Buffer | null,
  writtenSeq: number | null,
  createdSeq: number | null,
  liveFrom: number | null,
  liveTo: number | null,
  createdAt: number | null,
  updatedAt: number | null,
];

type Row = [
  ...Columns,
  ...written: EventColumns,
  ...created: EventColumns,
  ...from: EventColumns,
  ...to: EventColumns,
  ...position: [agent: number | null, liveTo: number | null, id: number],
];

const TEXTS = ["key", "value", "metadata"].map((name) => textBytes(`e.${name}`)).join(", ");
const INTEGERS = ["written_seq", "created_seq", "live_from", "live_to", "created_at", "updated_at"]
  .map((name) => integer(`e.${name}`))
  .join(", ");
const EVENTS = ["w", "c", "f", "t"].map(eventColumns).join(", ");
// An event that two columns name is read once.
const JOINS = `LEFT JOIN events w ON w.seq = e.written_seq
  LEFT JOIN events c ON c.seq = e.created_seq AND e.created_seq <> e.written_seq
  LEFT JOIN events f ON f.seq = e.live_from AND e.live_from <> e.written_seq
  LEFT JOIN events t ON t.seq = e.live_to`;
const COLUMNS = `${isOfWrongType("e.live_to", "integer")}, ${TEXTS}, ${INTEGERS}`;
const PLACE = `${integer("e.agent")}, ${integer("e.live_to")}, e.id`;
const SELECT = `SELECT ${COLUMNS}, ${EVENTS}, ${PLACE}`;

// The driver reads greater numbers as other numbers, so no page could begin behind them. The count of all rows
// finds such rows.
const EXACT = `e.live_to <= ${Number.MAX_SAFE_INTEGER} AND e.id <= ${Number.MAX_SAFE_INTEGER}`;
const ENDED: Walk = {
  from: "entries e INDEXED BY entries_ended",
  condition: `e.agent = ? AND e.live_to IS NOT NULL AND (e.live_to, e.id) > (?, ?) AND ${EXACT}`,
  order: "ORDER BY e.live_to, e.id",
};

/** At most `most` of the next present versions of a range, and the id of the last; null when nothing follows. */
export async function presentPage(
  reader: Reader,
  range: EntryRange,
  most: number,
): Promise<{ entries: EntryOfFile[]; last: number | null }> {
  const rows = await readRows(reader, presentWalk(range), boundOf(range, range.after), most);
  return { entries: rows.map((row) => toEntry(row, true)), last: rows.at(-1)?.[20] ?? null };
}

/** The ended versions of an agent, in the order in which they ended. */
export async function* pagesOfEnded(reader: Reader, agent: number): AsyncGenerator<EntryOfFile[]> {
  for (let after: [number, number] = [Number.MIN_SAFE_INTEGER, 0]; ; ) {
    const rows: Row[] = await readRows(reader, ENDED, [agent, ...after], ROWS_AT_ONCE);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map((row) => toEntry(row, false));
    if (last[19] === null) return;
    after = goOn(after, [last[19], last[20]]);
  }
}

async function readRows(reader: Reader, walk: Walk, bound: readonly SqlValue[], most: number): Promise<Row[]> {
  const count = await rowsThatFit(reader, walk, bound, most);
  if (count === 0) return [];
  const { from, condition, order } = walk;
  return await reader.all<Row>(`${SELECT} FROM ${from} ${JOINS} WHERE ${condition} ${order} LIMIT ?`, [
    ...bound,
    count,
  ]);
}

/** How many of the next rows are read together; sizes are known without reading the values. */
async function rowsThatFit(
  reader: Reader,
  { from, condition, order }: Walk,
  bound: readonly SqlValue[],
  most: number,
): Promise<number> {
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

const toEntry = (row: Row, live: boolean): EntryOfFile => ({
  live,
  agent: row[18],
  writtenSeq: row[4],
  version: toVersion(row),
});

function toStored(row: Row): StoredRow | null {
  const [wrongTypes, keyBytes, valueBytes, metadataBytes, writtenSeq, createdSeq, liveFrom, liveTo] = row;
  const [createdAt, updatedAt] = [row[8], row[9]];
  const key = decodeText(keyBytes);
  const value = decodeText(valueBytes);
  const metadata = decodeText(metadataBytes);
  if (wrongTypes !== 0 || key === null || value === null || metadata === null) return null;
  if (writtenSeq === null || createdSeq === null || liveFrom === null) return null;
  if (createdAt === null || updatedAt === null) return null;
  return { key, value, metadata, writtenSeq, createdSeq, liveFrom, liveTo, createdAt, updatedAt };
}

function toVersion(row: Row): StoredVersion | null {
  const stored = toStored(row);
  if (stored === null) return null;
  const { writtenSeq, createdSeq, liveFrom } = stored;
  const written = readNamedEvent(row[10], row[11]);
  const created = createdSeq === writtenSeq ? written : readNamedEvent(row[12], row[13]);
  const from = liveFrom === writtenSeq ? written : readNamedEvent(row[14], row[15]);
  const to = readNamedEvent(row[16], row[17]);
  return { ...stored, written, created, from, to };
}
