/**
 * Divides a verification among threads: each verifies parts of the log or of an export, and the asking thread joins the
 * parts in order. This is for valid sources. As soon as a part is not valid, all results are dropped, and the plain
 * path diagnoses the whole, so no report depends on the number of threads.
 */
import { statSync } from "node:fs";
import { VOCABULARY } from "../log/event.ts";
import { TILE_WIDTH } from "../log/tiles.ts";
import { type Connection, openConnection } from "../store/connection.ts";
import type { Reader } from "../store/transaction.ts";
import { type ExportReport, ExportVerifier } from "./events/export-read.ts";
import { type FileRange, linesOf, nextLine } from "./events/lines.ts";
import { KeyEvents, type LogPart, type LogRange } from "./log-part.ts";
import type { FileChecker, WorkspaceCheck, WorkspaceVerificationOptions } from "./preparation.ts";
import { checkFile, type FileCheck } from "./rows/schema.ts";
import type { SealFeed } from "./rows/stored-seals.ts";
import { PartThreads } from "./threads.ts";
import type { Trust } from "./trust.ts";
import type { ThreadData } from "./worker.ts";

/** How often {@link withThreads} tries to begin all transactions without a commit between them. */
const MAX_ATTEMPTS = 50;

/**
 * Runs `work` with threads that read the file in the same snapshot as `connection`. Returns null without running
 * it when commits are so frequent that no two connections get the same snapshot.
 *
 * @param patient whether the threads run with low priority
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function withThreads<T>(
  connection: Connection,
  { count, patient }: { count: number; patient: boolean },
  work: (threads: PartThreads) => Promise<T>,
): Promise<T | null> {
  const data = dataOf(connection, patient);
  if (data === null) return null;
  using threads = new PartThreads(count, data);
  try {
    return (await beginTogether(connection, threads)) ? await work(threads) : null;
  } finally {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    await threads.end();
  }
}

function dataOf({ file }: Connection, patient: boolean): ThreadData {
  if (file === null) return null;
  const { path, options } = file;
  const { immutable = false, encryptionKey = null } = options;
  return { path, patient, immutable, encryptionKey: encryptionKey?.reveal() ?? null };
}

/** The fewest events for which a thread is started: a smaller file is checked faster than a thread starts. */
const CHECK_ASIDE_FROM = 50_000;

/** SQLite's check of a file, which runs concurrently with the verification of the log if there are threads. */
export class FileCheckAside implements AsyncDisposable {
  #checked: Promise<FileCheck | null> | null = null;
  #own: PartThreads | null = null;

  constructor(
    private readonly connection: Connection,
    private readonly threads: NonNullable<WorkspaceVerificationOptions["threads"]> = { count: 1 },
  ) {}

  /** Lets one of the threads that verify the log also check the file, in their snapshot. */
  by(threads: FileChecker): void {
    this.#expect(threads.askOne("file"));
  }

  /** Starts a thread for the check, unless the file is small, threads are not wanted, or the check has begun. */
  begin(): void {
    const { count, patient = false } = this.threads;
    const data = count < 2 || this.#checked !== null ? null : dataOf(this.connection, patient);
    if (data === null) return;
    if ((this.connection.value<number>("SELECT count(*) FROM events") ?? 0) < CHECK_ASIDE_FROM) return;
    this.#own = new PartThreads(1, data);
    this.#expect(this.#own.askOne("file"));
  }

  /**
   * Returns the result. Checks the file now if no thread has, or if a thread could not read it, so that the caller's
   * connection reports the error.
   *
   * @throws {Failure} `evidence_unreadable` when the thread died
   */
  async result(): Promise<FileCheck> {
    return (await this.#checked) ?? (await checkFile(this.connection));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.end();
    this.#own?.[Symbol.dispose]();
  }

  #expect(checked: Promise<FileCheck | null>): void {
    checked.catch(() => {}); // awaited later, by `result`
    this.#checked = checked;
  }
}

/** Begins a transaction on all connections. Returns false when there was a commit between them at every attempt. */
async function beginTogether(connection: Connection, threads: PartThreads): Promise<boolean> {
  const { path, options } = connection.file as NonNullable<Connection["file"]>;
  // The data version changes with each commit of another connection:
  // https://www.sqlite.org/pragma.html#pragma_data_version
  using witness = openConnection(path, { ...options, keyFits: true });
  const version = () => witness.value<number>("PRAGMA data_version");
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = version();
    connection.exec("BEGIN");
    connection.get("SELECT seq FROM head");
    const begun = await threads.askAll("snapshot");
    // A thread could not read the file. The calling thread will get the same error, and report it.
    if (begun.includes(null)) return false;
    if (version() === before) return true;
    connection.exec("ROLLBACK");
  }
  return false;
}

/** The most events of a part, since its results wait in memory. */
const MAX_EVENTS = 128 * TILE_WIDTH;
/** The fewest events of a part, since each part has results of its own for every agent. */
const MIN_EVENTS = 16 * TILE_WIDTH;
/** The number of parts of a thread, within these bounds. */
const PARTS_OF_THREAD = 8;
/** The events about keys that are replayed before other work gets a turn. */
const KEY_EVENTS_AT_ONCE = 2_048;

/** The state to which the parts are joined. */
interface LogWhole extends WorkspaceCheck {
  seals: SealFeed;
  /** Sizes of seals that were kept elsewhere. */
  anchored: readonly number[];
}

/** Returns the number of events of a part when `threads` verify a log of `total` events. */
export function eventsOfPart(total: number, threads: number): number {
  const events = Math.ceil(total / (threads * PARTS_OF_THREAD) / TILE_WIDTH) * TILE_WIDTH;
  return Math.min(MAX_EVENTS, Math.max(MIN_EVENTS, events));
}

/** Verifies the log up to event `lastSeq`. Returns false when it is not valid. */
export async function feedInParts(
  { threads, events }: { threads: PartThreads; events: number },
  whole: LogWhole,
  lastSeq: number,
  onProgress: () => void | Promise<void> | undefined,
): Promise<boolean> {
  if (await hasOthers(whole.reader, lastSeq)) return false;
  for await (const part of threads.verify("log", logRanges(whole, lastSeq, events))) {
    if (part === null) return false;
    await takePart(whole, part, onProgress);
  }
  return true;
}

/** Whether there are events that are in no part. */
async function hasOthers(reader: Reader, lastSeq: number): Promise<boolean> {
  const sql = "SELECT EXISTS (SELECT 1 FROM events WHERE seq < 0) OR EXISTS (SELECT 1 FROM events WHERE seq > ?)";
  return (await reader.value(sql, [lastSeq])) !== 0;
}

async function* logRanges(whole: LogWhole, lastSeq: number, events: number): AsyncGenerator<LogRange> {
  for (let firstSeq = 0; firstSeq <= lastSeq; firstSeq += events) {
    const last = Math.min(firstSeq + events - 1, lastSeq);
    const sizes = await whole.seals.upTo(last + 1);
    const within = [...sizes, ...whole.anchored].filter((size) => size > firstSeq && size <= last + 1);
    yield { firstSeq, lastSeq: last, marks: ascending(within) };
  }
}

async function takePart(whole: LogWhole, part: LogPart, onProgress: () => void | Promise<void> | undefined) {
  const { verifier, tiles, census, take } = whole;
  const { segment, roots, ofKeys, events } = part;
  const firstTile = segment.start / TILE_WIDTH;
  for (const [index, root] of roots.entries()) await tiles.addCompared(firstTile + index, root);
  verifier.append(segment);
  let done = 0;
  const followTo = async (end: number) => {
    while (done < end) {
      const next = Math.min(done + KEY_EVENTS_AT_ONCE, end);
      for (const event of KeyEvents.of(ofKeys, done, next)) census.replay.takeKey(event);
      done = next;
      if (next < end) await onProgress();
    }
  };
  for (const { after, event, details } of events) {
    await followTo(after);
    take(event, details);
  }
  await followTo(ofKeys.keys.length);
  await onProgress();
}

/** The approximate size of a part of an export by default, bytes. */
const PART_BYTES = 8 * 1024 * 1024;
/** The size of the end of the file that the asking thread reads itself, bytes. */
const END_BYTES = 256 * 1024;
/** The fewest parts for which threads are started: a smaller file is verified faster than threads start. */
const MIN_PARTS = 4;

/** How an export is divided, and who receives the progress. */
export interface PartRequest {
  /** Called with the number of bytes read so far. */
  onProgress?: (bytes: number) => void | Promise<void>;
  /** The approximate size of a part, bytes. */
  partBytes?: number;
}

/**
 * Returns the report on a valid export; null when anything is wrong with it, when it is small, or when its lines differ
 * from those of this format's own writer.
 *
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function verifyInParts(
  threads: number,
  path: string,
  trust: Trust,
  { onProgress, partBytes = PART_BYTES }: PartRequest,
): Promise<ExportReport | null> {
  const { size } = statSync(path);
  if (threads < 2 || size < MIN_PARTS * partBytes) return null;
  // The threads start while the beginning of the file is read.
  using workers = new PartThreads(threads);
  const whole = new ExportVerifier(trust);
  const start = takeBeginning(whole, path, size);
  if (start === null || whole.form === null || (whole.vocabulary ?? VOCABULARY) > VOCABULARY) return null;
  const ranges = partsOf(path, { from: start, to: size - END_BYTES }, partBytes);
  if (ranges === null) return null;
  const options = {
    form: whole.form,
    scope: whole.scope,
    marks: ascending((trust.anchors ?? []).map((seal) => seal.size)),
  };
  const parts = ranges.map((range) => ({ path, range, options }));
  let done = start;
  for await (const segment of workers.verify("export", parts)) {
    if (segment === null) return null;
    whole.append(segment);
    done += partBytes;
    await onProgress?.(Math.min(done, size));
  }
  for (const piece of linesOf(path, { from: ranges.at(-1)?.to ?? start, to: size })) whole.push(piece);
  const report = whole.finish();
  return report.valid && report.undetermined === null ? report : null;
}

/** Feeds the lines before the events. Returns where they end; null when no events follow. */
function takeBeginning(whole: ExportVerifier, path: string, size: number): number | null {
  for (const piece of linesOf(path, { from: 0, to: size })) {
    whole.push(piece);
    return whole.mayAppend ? piece.length : null;
  }
  return null;
}

/** Divides a range of a file at line ends. The last part may reach a little beyond the range. */
function partsOf(path: string, { from, to }: FileRange, bytes: number): FileRange[] | null {
  const ranges: FileRange[] = [];
  for (let start = from; start < to; ) {
    const end = nextLine(path, Math.min(start + bytes, to));
    if (end === null || end > to + END_BYTES / 2) return null;
    ranges.push({ from: start, to: end });
    start = end;
  }
  return ranges;
}

const ascending = (sizes: readonly number[]): number[] => [...new Set(sizes)].sort((a, b) => a - b);
