/**
 * Copies the write-ahead log back into its database, and verifies that every page arrived.
 *
 * SQLite's own checkpoint is not reliable here: the driver (libsql 0.5.29, and 0.6.0-pre.41 too) ignores an error when
 * it reads a frame of the log, writes the old content of its buffer into the database, and reports success. The next
 * commit then restarts the log, and the database is destroyed (docs/upstream.md). So the log is read first, as it
 * grows; the checkpoint runs while a transaction keeps the log from being restarted; every copied page is compared with
 * the digest of its frame; and a page that differs is written again from the log before the transaction ends.
 */
import { fstatSync, fsyncSync, openSync, readdirSync, readSync, statSync, writeSync } from "node:fs";
import { sqliteCode } from "./damage.ts";
import { freeBytesBeside } from "./disk-space.ts";
import { type Steps, toEnd, waitFor } from "./steps.ts";
import type { Row } from "./transaction.ts";
import { digestOfPage, type NewestFrame, UnreadableLog, type WriteAheadLog } from "./wal.ts";

/** How long a checkpoint waits for a writer in another process, ms. */
const PATIENCE_MS = 100;

/** A connection that runs a checkpoint, without an open transaction. */
interface Checkpointer {
  get<R extends Row>(sql: string): R | undefined;
  execBeside(sql: string): Promise<void>;
}

/** Copies as much of the log as its readers allow. */
const COPY = "PRAGMA wal_checkpoint(PASSIVE)";

/** A connection whose transaction keeps the log from being restarted. It prepares no statements. */
interface LogGuard {
  exec(sql: string): void;
  close(): void;
}

/**
 * The result of a checkpoint: the frames in the log, how many are in the database now, and whether the disk has space.
 */
export interface Checkpointed {
  frames: number;
  copied: number;
  fits: boolean;
}

/** The free space that must remain on the disk when a log is copied back, for what is recorded meanwhile. */
const KEPT_FREE_BYTES = 1024 * 1024;

/** Pages of the database that are read at once. */
const PAGES_AT_ONCE = 64;
/** Pages that are compared in one step. */
const PAGES_IN_STEP = 512;

/** A checkpoint whose copies are to be compared with the log. */
interface Unproved {
  /** The identity of the database's file. */
  identity: string | null;
  /** Its open transaction keeps the log as it is. */
  guard: LogGuard;
  done: Checkpointed;
  /** The log, completely read. */
  log: WriteAheadLog;
}

/** Checkpoints of this thread that could not be verified yet, by path of the database. */
const unproved = new Map<string, Unproved>();

/**
 * Copies as much of the log of the database at `path` as its readers allow. No other process can write meanwhile, and
 * so none can restart the log, which would lose commits in SQLite before 3.51.3
 * (https://sqlite.org/wal.html#walresetbug). Copies nothing while the disk lacks the space by which the database would
 * grow. The copying is one step.
 * @param isBeside whether a thread of the driver does the copying
 * @throws {UnreadableLog} when the log could not be read. The database is unchanged, or its pages were written again
 * from the log. When even that failed, the log is kept as it is until {@link proveCopies} succeeds.
 */
export function* checkpointInSteps(
  connection: Checkpointer,
  path: string,
  log: WriteAheadLog,
  openGuard: () => LogGuard,
  isBeside: boolean,
): Steps<Checkpointed> {
  const guard = openGuard();
  try {
    // This throws, and so copies nothing, when the log cannot be read.
    const found = tryToBegin(guard) ? yield* log.readNewInSteps() : 0;
    const isFitting = found === 0 || fits(path, log);
    if (found === 0 || !isFitting) return { frames: log.readNew(), copied: 0, fits: isFitting };
    yield;
    if (isBeside) yield* waitFor(connection.execBeside(COPY));
    // After the copying on the other thread, this returns how much of the log is copied in all, and copies what a
    // reader had prevented.
    const row = connection.get<[busy: number, frames: number, copied: number]>(COPY);
    // The numbers are -1 for a database without a write-ahead log.
    const [, frames, copied] = row ?? [0, 0, 0];
    const done = { frames, copied, fits: true };
    if (copied > 0) unproved.set(path, { identity: identityOf(path), guard, done, log });
  } finally {
    if (!unproved.has(path)) guard.close();
  }
  yield;
  return (yield* proveInSteps(path)) ?? { frames: 0, copied: 0, fits: true };
}

/** Reports whether the disk has the space by which the database at `path` grows when its log is copied back. */
function fits(path: string, log: WriteAheadLog): boolean {
  const growth = log.databaseBytes() - statSync(path).size;
  return growth <= 0 || growth + KEPT_FREE_BYTES <= freeBytesBeside(path);
}

/** Returns the device and inode of the file at a path; null when there is none. */
export function identityOf(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
}

/** Begins the transaction that guards the log. Returns false while another process writes; the checkpoint can wait. */
function tryToBegin(guard: LogGuard): boolean {
  guard.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
  try {
    guard.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (sqliteCode(error).startsWith("SQLITE_BUSY")) return false;
    throw error;
  }
}

/**
 * Verifies the last checkpoint of the database at `path`. Returns null when none is unverified.
 * @throws {UnreadableLog} while the log cannot be read, and once when pages had to be written again
 */
export function proveCopies(path: string): Checkpointed | null {
  return toEnd(proveInSteps(path));
}

function* proveInSteps(path: string): Steps<Checkpointed | null> {
  const proof = unproved.get(path);
  if (proof === undefined) return null;
  // The file has been replaced since the checkpoint.
  const isOther = identityOf(path) !== proof.identity;
  const rewritten = isOther ? 0 : yield* rewriteWrong(path, proof);
  // Another call has verified it meanwhile, when the file was opened.
  if (unproved.get(path) !== proof) return proof.done;
  unproved.delete(path);
  proof.guard.close();
  if (isOther) return null;
  if (rewritten === 0) return proof.done;
  throw new UnreadableLog(
    `The disk failed while the write-ahead log was copied back. ${rewritten} pages were written again from the log; nothing was lost.`,
  );
}

/**
 * Writes the pages again that differ between the database and the log. Returns their number. Reads without SQLite, in
 * which an error of the disk would end the transaction that guards the log.
 */
function* rewriteWrong(path: string, proof: Unproved): Steps<number> {
  const { log, done } = proof;
  const newest = log.newest(done.frames, done.copied);
  const file = descriptorOf(path);
  const wrong = yield* wrongPages(file, log.pageSize, newest);
  if (unproved.get(path) !== proof) return 0;
  for (const page of wrong) {
    const { frame } = newest.get(page) as NewestFrame;
    writeSync(file, log.readContent(frame), 0, log.pageSize, (page - 1) * log.pageSize);
  }
  if (wrong.length > 0) fsyncSync(file);
  return wrong.length;
}

/** Returns the pages of a database that differ from their newest frames. */
function* wrongPages(file: number, pageSize: number, newest: ReadonlyMap<number, NewestFrame>): Steps<number[]> {
  const pages = Uint32Array.from(newest.keys()).sort();
  const buffer = Buffer.allocUnsafe(PAGES_AT_ONCE * pageSize);
  const wrong: number[] = [];
  for (let at = 0, pause = PAGES_IN_STEP; at < pages.length; ) {
    if (at >= pause) {
      yield;
      pause = at + PAGES_IN_STEP;
    }
    const first = pages[at] as number;
    const run = consecutive(pages, at);
    const bytes = readSync(file, buffer, 0, run * pageSize, (first - 1) * pageSize);
    for (let i = 0; i < run; i++) {
      const end = (i + 1) * pageSize;
      // The file may end before the page.
      const digest = end <= bytes ? digestOfPage(buffer.subarray(end - pageSize, end)) : null;
      if (digest !== newest.get(first + i)?.digest) wrong.push(first + i);
    }
    at += run;
  }
  return wrong;
}

/** Counts the pages from index `at` on that are adjacent in the database, up to {@link PAGES_AT_ONCE}. */
function consecutive(pages: Uint32Array, at: number): number {
  const first = pages[at] as number;
  let count = 1;
  while (count < PAGES_AT_ONCE && pages[at + count] === first + count) count++;
  return count;
}

/** Descriptors of databases by path: SQLite's, or our own, which stay open, if the system does not list SQLite's. */
const descriptors = new Map<string, number>();

/** Returns a page of a database that this process has open, as it is on disk. */
export function readPage(path: string, page: number, pageSize: number): Buffer {
  const content = Buffer.alloc(pageSize);
  readSync(descriptorOf(path), content, 0, pageSize, (page - 1) * pageSize);
  return content;
}

/**
 * Returns a writable descriptor of a database that this process has open: SQLite's own, since closing another one would
 * release the locks of all connections of this process.
 */
function descriptorOf(path: string): number {
  const { dev, ino } = statSync(path);
  const isIt = (file: number): boolean => {
    try {
      const stats = fstatSync(file);
      // Writing nothing fails on a read-only descriptor (EBADF).
      return stats.dev === dev && stats.ino === ino && writeSync(file, Buffer.alloc(0), 0, 0, 0) === 0;
    } catch {
      return false; // not writable, or closed meanwhile
    }
  };
  const known = descriptors.get(path);
  if (known !== undefined && isIt(known)) return known;
  const found = openDescriptors().find(isIt) ?? openSync(path, "r+");
  descriptors.set(path, found);
  return found;
}

/**
 * Returns the descriptors of this process, the highest first, since a recently opened file has one of the highest.
 * Returns none if the system does not list them (not Linux).
 */
function openDescriptors(): number[] {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .sort((a, b) => b - a);
  } catch {
    return [];
  }
}
