/** An agent's stored entries in pages of bounded size, with the events that they name. */
import type { Reader } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import { decodeText, integer, isOfWrongType, textBytes } from "./columns.ts";
import type { StoredVersion } from "./entry.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "./events-named.ts";

/** Rows read at once, if they are small. */
const ROWS_AT_ONCE = 500;
/** Bytes of values and metadata that are read at once. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;

/** A row of `entries`; `version` is null when a column does not even have its type. */
export interface EntryOfFile {
  live: boolean;
  writtenSeq: number | null;
  version: StoredVersion | null;
}

type Row = [
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
const FROM = `FROM entries e
  LEFT JOIN events w ON w.seq = e.written_seq
  LEFT JOIN events c ON c.seq = e.created_seq AND e.created_seq <> e.written_seq
  LEFT JOIN events f ON f.seq = e.live_from AND e.live_from <> e.written_seq
  LEFT JOIN events t ON t.seq = e.live_to`;
const SELECT = `SELECT ${isOfWrongType("e.live_to", "integer")}, ${TEXTS}, ${INTEGERS}, ${EVENTS}, ${integer("e.live_to")}, e.id ${FROM}`;

/** Present versions in key order, then ended ones in the order in which they ended. */
export async function* pagesOfEntries(reader: Reader, agent: number): AsyncGenerator<EntryOfFile[]> {
  yield* pages(reader, PRESENT, agent, [Buffer.alloc(0)], ({ key }) => (key === null ? null : [key]));
  yield* pages(reader, ENDED, agent, [Number.MIN_SAFE_INTEGER, 0], ({ liveTo, id }) =>
    liveTo === null ? null : [liveTo, id],
  );
}

/** Conditions and order that an index answers; `after` is where the page before ended. */
interface Walk {
  live: boolean;
  condition: string;
  order: string;
}

const PRESENT: Walk = {
  live: true,
  condition: "e.agent = ? AND e.live_to IS NULL AND e.key > CAST(? AS TEXT)",
  order: "ORDER BY e.key",
};
const ENDED: Walk = {
  live: false,
  condition: "e.agent = ? AND e.live_to IS NOT NULL AND (e.live_to, e.id) > (?, ?)",
  order: "ORDER BY e.live_to, e.id",
};

interface Place {
  key: Buffer | null;
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
    const rows: Row[] = await reader.all<Row>(`${SELECT} WHERE ${walk.condition} ${walk.order} LIMIT ?`, [
      ...bound,
      count,
    ]);
    yield rows.map((row) => toEntry(row, walk.live));
    const last = rows.at(-1) as Row;
    after = next({ key: last[1], liveTo: last[18], id: last[19] });
  }
}

/** How many of the next rows are read together; sizes are known without reading the values. */
async function rowsThatFit(reader: Reader, { condition, order }: Walk, bound: SqlValue[]): Promise<number> {
  const sizes = await reader.all<[number | null]>(
    `SELECT octet_length(e.value) + octet_length(e.metadata) FROM entries e WHERE ${condition} ${order} LIMIT ${ROWS_AT_ONCE}`,
    bound,
  );
  let bytes = 0;
  for (const [count, [size]] of sizes.entries()) {
    bytes += size ?? 0;
    if (bytes > BYTES_AT_ONCE) return Math.max(1, count);
  }
  return sizes.length;
}

function toEntry(row: Row, live: boolean): EntryOfFile {
  return { live, writtenSeq: row[4], version: toVersion(row) };
}

function toVersion(row: Row): StoredVersion | null {
  const [wrongTypes, keyBytes, valueBytes, metadataBytes, writtenSeq, createdSeq, liveFrom, liveTo] = row;
  const [createdAt, updatedAt] = [row[8], row[9]];
  const key = decodeText(keyBytes);
  const value = decodeText(valueBytes);
  const metadata = decodeText(metadataBytes);
  if (wrongTypes !== 0 || key === null || value === null || metadata === null) return null;
  if (writtenSeq === null || createdSeq === null || liveFrom === null) return null;
  if (createdAt === null || updatedAt === null) return null;
  const written = readNamedEvent(row[10], row[11]);
  const created = createdSeq === writtenSeq ? written : readNamedEvent(row[12], row[13]);
  const from = liveFrom === writtenSeq ? written : readNamedEvent(row[14], row[15]);
  const to = readNamedEvent(row[16], row[17]);
  return {
    ...{ key, value, metadata, writtenSeq, createdSeq, liveFrom, liveTo, createdAt, updatedAt },
    ...{ written, created, from, to },
  };
}
