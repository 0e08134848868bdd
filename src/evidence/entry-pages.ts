/** An agent's stored entries in pages of bounded size, with the events that they name. */
import type { Reader } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import { decodeText, integer, isOfWrongType, textBytes } from "./columns.ts";
import type { StoredRow, StoredVersion } from "./entry.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "./events-named.ts";

/** Rows read at once, if they are small. */
const ROWS_AT_ONCE = 500;
/** Bytes of values and metadata that are read at once. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;

/** A row of `entries`; `version` is null when a column does not even have its type. */
export interface EntryOfFile {
  live: boolean;
  /** The log alone proved all of the row: the events that it names were not read. */
  proved: boolean;
  writtenSeq: number | null;
  version: StoredVersion | null;
}

/** Whether the log proves all of a present row, so that the events that it names need not be read. */
export type Proves = (row: StoredRow) => boolean;

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
  ...position: [number | null, number],
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
const PLACE = `${integer("e.live_to")}, e.id`;
const SELECT_ALONE = `SELECT ${COLUMNS}, ${PLACE}`;
const SELECT = `SELECT ${COLUMNS}, ${EVENTS}, ${PLACE}`;

type RowAlone = [...Columns, liveTo: number | null, id: number];

/**
 * Present versions in the order in which they were written, so that the events that they name are read in
 * the order in which they stand in the file; then ended ones in the order in which they ended.
 */
export async function* pagesOfEntries(
  reader: Reader,
  agent: number,
  proves: Proves,
): AsyncGenerator<EntryOfFile[]> {
  const walk = { ...PRESENT, proves };
  yield* pages(reader, walk, agent, [Number.MIN_SAFE_INTEGER, 0], ({ updatedAt, id }) =>
    updatedAt === null ? null : [updatedAt, id],
  );
  yield* pages(reader, ENDED, agent, [Number.MIN_SAFE_INTEGER, 0], ({ liveTo, id }) =>
    liveTo === null ? null : [liveTo, id],
  );
}

/** Conditions and order that an index answers; `after` is where the page before ended. */
interface Walk {
  live: boolean;
  index: string;
  condition: string;
  order: string;
  proves?: Proves;
}

const PRESENT: Walk = {
  live: true,
  index: "entries_by_age",
  condition: "e.agent = ? AND e.live_to IS NULL AND (e.updated_at, e.id) > (?, ?)",
  order: "ORDER BY e.updated_at, e.id",
};
const ENDED: Walk = {
  live: false,
  index: "entries_ended",
  condition: "e.agent = ? AND e.live_to IS NOT NULL AND (e.live_to, e.id) > (?, ?)",
  order: "ORDER BY e.live_to, e.id",
};

interface Place {
  updatedAt: number | null;
  liveTo: number | null;
  id: number;
}

async function* pages(
  reader: Reader,
  walk: Walk,
  agent: number,
  start: SqlValue[],
  next: (place: Place) => SqlValue[] | null,
): AsyncGenerator<EntryOfFile[]> {
  for (let after: SqlValue[] | null = start; after !== null; ) {
    const bound: SqlValue[] = [agent, ...after];
    const count = await rowsThatFit(reader, walk, bound);
    if (count === 0) return;
    const proved = walk.proves && (await readProved(reader, walk, [...bound, count], walk.proves));
    if (proved) {
      yield proved.entries;
      after = next(proved.last);
      continue;
    }
    const rows: Row[] = await reader.all<Row>(
      `${SELECT} FROM entries e INDEXED BY ${walk.index} ${JOINS} WHERE ${walk.condition} ${walk.order} LIMIT ?`,
      [...bound, count],
    );
    yield rows.map((row) => ({
      ...{ live: walk.live, proved: false },
      ...{ writtenSeq: row[4], version: toVersion(row) },
    }));
    const last = rows.at(-1) as Row;
    after = next({ updatedAt: last[9], liveTo: last[18], id: last[19] });
  }
}

/** A page of rows of which the log alone proves every one; null when it does not. */
async function readProved(
  reader: Reader,
  { index, condition, order }: Walk,
  bound: SqlValue[],
  proves: Proves,
): Promise<{ entries: EntryOfFile[]; last: Place } | null> {
  const rows = await reader.all<RowAlone>(
    `${SELECT_ALONE} FROM entries e INDEXED BY ${index} WHERE ${condition} ${order} LIMIT ?`,
    bound,
  );
  const entries: EntryOfFile[] = [];
  for (const row of rows) {
    const stored = toStored(row);
    if (stored === null || !proves(stored)) return null;
    const version = { ...stored, written: null, created: null, from: null, to: null };
    entries.push({ live: true, proved: true, writtenSeq: stored.writtenSeq, version });
  }
  const last = rows.at(-1);
  if (last === undefined) return null;
  return { entries, last: { updatedAt: last[9], liveTo: last[10], id: last[11] } };
}

/** How many of the next rows are read together; sizes are known without reading the values. */
async function rowsThatFit(
  reader: Reader,
  { index, condition, order }: Walk,
  bound: SqlValue[],
): Promise<number> {
  const sizes = await reader.all<[number | null]>(
    `SELECT octet_length(e.value) + octet_length(e.metadata) FROM entries e INDEXED BY ${index} WHERE ${condition} ${order} LIMIT ${ROWS_AT_ONCE}`,
    bound,
  );
  let bytes = 0;
  for (const [count, [size]] of sizes.entries()) {
    bytes += size ?? 0;
    if (bytes > BYTES_AT_ONCE) return Math.max(1, count);
  }
  return sizes.length;
}

function toStored(row: Readonly<Columns> | RowAlone | Row): StoredRow | null {
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
