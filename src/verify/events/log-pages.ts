/** The plain path for stored events: pages of rows, read so that no content of a row can stop the reading. */
import { isUtf8 } from "node:buffer";
import type { StoredEvent } from "../../log/rows.ts";
import type { Reader } from "../../store/transaction.ts";
import { pages } from "../../store/walk.ts";

/** Events read at once. */
const EVENTS_AT_ONCE = 1_000;

/** An event in the file. */
export interface FileEvent extends StoredEvent {
  canonical: string;
  details: string | null;
  seq: number;
  /** False when a column holds another type than it is declared with. */
  typed: boolean;
}

type Row = [seq: number, typed: number, body: number, details: number | null, salt: number | null, all: Buffer];
type ChainRow = [...Row, agentSeq: number];

// One value for all texts of a row: the driver's cost is by value. Every text sorts before every
// blob, which tells them apart without a call.
const COLUMNS = `seq,
  body < x'' AND hash < x'' AND coalesce(details < x'', 1) AND coalesce(details_salt < x'', 1),
  coalesce(octet_length(body), 0), octet_length(details), octet_length(details_salt),
  CAST(coalesce(body, '') || coalesce(hash, '') || coalesce(details, '') || coalesce(details_salt, '') AS BLOB)`;

/** Every event from position `firstSeq` up to position `lastSeq`, in order of the rows' numbers. */
export async function* pagesOfLog(
  reader: Reader,
  lastSeq: number,
  firstSeq = Number.MIN_SAFE_INTEGER + 1,
): AsyncGenerator<FileEvent[]> {
  const sql = `SELECT ${COLUMNS} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${EVENTS_AT_ONCE}`;
  const read = (after: number) => reader.all<Row>(sql, [after, lastSeq]);
  for await (const rows of pages(firstSeq - 1, EVENTS_AT_ONCE, read, ([seq]) => seq)) yield rows.map(toEvent);
}

/** Every event of one agent's chain up to position `lastSeq`, in the order of the chain. */
export async function* pagesOfChain(
  reader: Reader,
  agentId: string | null,
  lastSeq: number,
  firstSeq = Number.MIN_SAFE_INTEGER,
): AsyncGenerator<FileEvent[]> {
  // Chain numbers may be there twice in a file that was tampered with: the row's number decides then.
  const sql = `SELECT ${COLUMNS}, agent_seq FROM events
    WHERE agent_id IS ? AND (agent_seq, seq) > (?, ?) AND seq <= ? AND seq >= ? ORDER BY agent_seq, seq LIMIT ${EVENTS_AT_ONCE}`;
  const read = (after: [number, number]) => reader.all<ChainRow>(sql, [agentId, ...after, lastSeq, firstSeq]);
  const start: [number, number] = [0, -1];
  const positionOf = (row: ChainRow): [number, number] => [row[6], row[0]];
  for await (const rows of pages(start, EVENTS_AT_ONCE, read, positionOf)) yield rows.map(toEvent);
}

function toEvent([seq, typed, bodyLength, detailsLength, saltLength, all]: Row | ChainRow): FileEvent {
  const saltStart = all.length - (saltLength ?? 0);
  const detailsStart = saltStart - (detailsLength ?? 0);
  return {
    seq,
    typed: typed === 1,
    canonical: all.toString("latin1", 0, bodyLength),
    hash: all.toString("latin1", bodyLength, detailsStart),
    details: detailsLength === null ? null : utf8(all, detailsStart, saltStart),
    salt: saltLength === null ? null : all.toString("latin1", saltStart),
  };
}

/** Bytes that are not UTF-8 are read as Latin-1. That text does not fit the commitment, which is then reported. */
function utf8(bytes: Buffer, start: number, end: number): string {
  return isUtf8(bytes.subarray(start, end)) ? bytes.toString("utf8", start, end) : bytes.toString("latin1", start, end);
}
