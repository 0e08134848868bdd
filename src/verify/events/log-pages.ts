/**
 * Feeds the stored events of a file to a verifier. A page of events is read as one value, since the driver's cost is
 * per value, and takes the fast path. Events that the fast path does not accept are read row by row for the plain path,
 * so that no content of a row can stop the reading.
 */
import { isUtf8 } from "node:buffer";
import type { StoredEvent } from "../../log/rows.ts";
import type { Reader } from "../../store/transaction.ts";
import { pages } from "../../store/walk.ts";
import { PART_END, type StoredPage, storedPage } from "./fast/stored-event.ts";
import type { LogVerifier } from "./log-verifier.ts";

/** The events of a page: a quarter of a tile. */
const PAGE_EVENTS = 64;

// A text with U+0000 cannot be written in SQL.
const END = "char(0)";
const PART = `'${String.fromCharCode(PART_END)}'`;
// One call, since each || would copy its left side. concat treats NULL as empty.
const TEXT = `concat(body, ${PART}, hash, ${PART}, details_salt, ${PART}, details)`;

// Every text sorts before every blob, which distinguishes them without a call.
const PAGE = `SELECT max(seq), count(*),
  sum(body < x'' AND hash < x'' AND coalesce(details < x'', 1) AND coalesce(details_salt < x'', 1)),
  CAST(${END} || group_concat(${TEXT}, ${END}) AS BLOB)
  FROM events WHERE seq >= ? AND seq <= ? ORDER BY seq`;

type PageRow = [lastSeq: number | null, count: number, typed: number | null, bytes: Buffer | null];

/** SQLite's result code for a value that is too long. */
const SQLITE_TOOBIG = 18;

/** Callbacks for each page. */
interface FeedSteps {
  /** Called before the events up to number `lastSeq` are fed. */
  before?(lastSeq: number): Promise<void>;
  /** Called after they were fed. */
  after?(): void | Promise<void>;
}

/** Several times the memory of a page, bytes. */
const LARGE_BLOCK = 1024 * 1024;
const TAKE_BLOCK = "SELECT length(CAST(zeroblob(?) AS TEXT) || 'x')";
let isPageMemoryKept = false;

/**
 * Makes the allocator keep the memory of a page for the next one. Otherwise the C library returns such blocks to the
 * system each time, which costs more than reading, until a larger block was freed once
 * (https://man7.org/linux/man-pages/man3/mallopt.3.html, M_MMAP_THRESHOLD). To be called before pages are read; only
 * the first call in a process has an effect.
 */
export async function keepPageMemory(reader: Reader): Promise<void> {
  if (isPageMemoryKept) return;
  await reader.get(TAKE_BLOCK, [LARGE_BLOCK]);
  isPageMemoryKept = true;
}

/** Feeds the events from `firstSeq` to `lastSeq`. Any of them may be missing. */
export async function feedLog(
  reader: Reader,
  verifier: LogVerifier,
  { firstSeq, lastSeq }: { firstSeq: number; lastSeq: number },
  steps: FeedSteps,
): Promise<void> {
  for (let first: number | null = await nextSeq(reader, firstSeq - 1, lastSeq); first !== null; ) {
    const inTile = ((first % PAGE_EVENTS) + PAGE_EVENTS) % PAGE_EVENTS;
    const last = Math.min(lastSeq, first - inTile + PAGE_EVENTS - 1);
    const page = await readPage(reader, first, last);
    if (page === "nothing") {
      first = await nextSeq(reader, last, lastSeq);
      continue;
    }
    await steps.before?.(last);
    if (page === "unclear") await feedRows(reader, verifier, first, last);
    else await feedPage(reader, verifier, page);
    await steps.after?.();
    first = last < lastSeq ? last + 1 : null;
  }
}

/** Returns the number of the first event after `last`; null when there is none up to `lastSeq`. */
async function nextSeq(reader: Reader, last: number, lastSeq: number): Promise<number | null> {
  const sql = "SELECT min(seq) FROM events WHERE seq > ? AND seq <= ?";
  return (await reader.value<number>(sql, [last, lastSeq])) ?? null;
}

async function readPage(reader: Reader, first: number, last: number): Promise<StoredPage | "nothing" | "unclear"> {
  let row: PageRow | undefined;
  try {
    row = await reader.get<PageRow>(PAGE, [first, last]);
  } catch (error) {
    if (((error as { rawCode?: number }).rawCode ?? 0) !== SQLITE_TOOBIG) throw error;
    return "unclear";
  }
  if (row === undefined || row[1] === 0) return "nothing";
  const [lastSeq, count, typed, bytes] = row;
  if (bytes === null || typed !== count || lastSeq !== first + count - 1) return "unclear";
  return storedPage(bytes, first, count) ?? "unclear";
}

async function feedPage(reader: Reader, verifier: LogVerifier, page: StoredPage): Promise<void> {
  let rows = 1;
  for (let at = verifier.addStored(page, 0); at < page.count; ) {
    // If many events in a row take the plain path, more of them are read together.
    const end = Math.min(at + rows, page.count);
    await feedRows(reader, verifier, page.firstSeq + at, page.firstSeq + end - 1);
    const next = verifier.addStored(page, end);
    rows = next === end ? 2 * rows : 1;
    at = next;
  }
}

async function feedRows(reader: Reader, verifier: LogVerifier, first: number, last: number): Promise<void> {
  for await (const rows of pagesOfLog(reader, last, first)) addRows(verifier, rows);
}

/** Feeds a page of rows to the plain path. */
export function addRows(verifier: LogVerifier, rows: FileEvent[]): void {
  verifier.add(rows);
  for (const { typed, seq } of rows) {
    if (!typed) verifier.report("row_mismatch", null, seq, "an event has a column that is not of its type");
  }
}

/** The events that are read at once. */
const EVENTS_AT_ONCE = 1_000;

/** An event in the file. */
export interface FileEvent extends StoredEvent {
  canonical: string;
  details: string | null;
  seq: number;
  /** False when a column has another type than its declared one. */
  typed: boolean;
}

type Row = [seq: number, typed: number, body: number, details: number | null, salt: number | null, all: Buffer];
type ChainRow = [...Row, agentSeq: number];

// One value for all texts of a row, since the driver's cost is per value. Every text sorts before every blob, which
// distinguishes them without a call.
const COLUMNS = `seq,
  body < x'' AND hash < x'' AND coalesce(details < x'', 1) AND coalesce(details_salt < x'', 1),
  coalesce(octet_length(body), 0), octet_length(details), octet_length(details_salt),
  CAST(coalesce(body, '') || coalesce(hash, '') || coalesce(details, '') || coalesce(details_salt, '') AS BLOB)`;

/** Yields all events from position `firstSeq` to position `lastSeq`, in the order of the rows' numbers. */
export async function* pagesOfLog(reader: Reader, lastSeq: number, firstSeq = Number.MIN_SAFE_INTEGER + 1) {
  const sql = `SELECT ${COLUMNS} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${EVENTS_AT_ONCE}`;
  const read = (after: number) => reader.all<Row>(sql, [after, lastSeq]);
  for await (const rows of pages(firstSeq - 1, EVENTS_AT_ONCE, read, ([seq]) => seq)) yield rows.map(toEvent);
}

/** Yields all events of one agent's chain up to position `lastSeq`, in the order of the chain. */
export async function* pagesOfChain(
  reader: Reader,
  agentId: string | null,
  lastSeq: number,
  firstSeq = Number.MIN_SAFE_INTEGER,
): AsyncGenerator<FileEvent[]> {
  // A file that was tampered with may have a chain number twice, so the row's number is the second key.
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

/**
 * Decodes UTF-8. Other bytes are decoded as Latin-1; that text does not match the commitment, which is then reported.
 */
function utf8(bytes: Buffer, start: number, end: number): string {
  return isUtf8(bytes.subarray(start, end)) ? bytes.toString("utf8", start, end) : bytes.toString("latin1", start, end);
}
