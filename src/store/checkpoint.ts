/**
 * Copying the write-ahead log back into its database, and proof that every page arrived.
 *
 * SQLite's own checkpoint cannot be trusted alone here: the driver (libsql 0.5.29, and 0.6.0-pre.41 too) ignores an
 * error when it reads a frame of the log, writes whatever its buffer held into the database, and reports success. The
 * next commit then starts the log over, and the database is destroyed (docs/upstream.md). So the log is read first, as
 * it grows; the checkpoint runs while a transaction keeps the log from being started over; every page that was copied
 * is compared with the digest of its frame; and a page that differs is written again from the log before the
 * transaction ends.
 */
import {
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { sqliteCode } from "./damage.ts";
import { freeBytes } from "./disk-space.ts";
import type { Row } from "./transaction.ts";
import { digestOfPage, type NewestFrame, UnreadableLog, type WriteAheadLog } from "./wal.ts";

/** How long a checkpoint waits for another process that writes. */
const PATIENCE_MS = 100;

/** A connection that runs a checkpoint. It has no transaction open. */
export interface Checkpointer {
  get<R extends Row>(sql: string): R | undefined;
}

/** A connection whose transaction keeps the log from being started over. It prepares no statement. */
export interface LogGuard {
  exec(sql: string): void;
  close(): void;
}

/** What a checkpoint did: frames in the log, how many of them are in the database now, and whether the disk has the space. */
export interface Checkpointed {
  frames: number;
  copied: number;
  fits: boolean;
}

/** What must stay free on the disk when a log is copied back, so that what is recorded meanwhile has space. */
const KEPT_FREE_BYTES = 1024 * 1024;

/** Pages of the database that are read at once. */
const PAGES_AT_ONCE = 64;

/** Checkpoints of this thread whose copies could not be proved yet, by path of the database. */
const unproved = new Map<string, CopyProof>();

/**
 * Copies as much of the log of the database at `path` as its readers allow. No other process can write meanwhile, so
 * none starts the log over, which SQLite before 3.51.3 does not survive (https://sqlite.org/wal.html#walresetbug).
 * Copies nothing while the disk has no space for what the database would grow.
 * @throws {UnreadableLog} when the log could not be read. The database is as it was, or its pages were written again
 *   from the log. When even that failed, the log stays as it is until {@link proveCopies} succeeds.
 */
export function checkpoint(
  connection: Checkpointer,
  path: string,
  log: WriteAheadLog,
  openGuard: () => LogGuard,
): Checkpointed {
  const guard = openGuard();
  try {
    // Also, a log that cannot be read is not copied.
    const found = tryToBegin(guard) ? log.readNew() : 0;
    const isFitting = found === 0 || fits(path, log);
    if (found === 0 || !isFitting) return { frames: log.readNew(), copied: 0, fits: isFitting };
    const row = connection.get<[busy: number, frames: number, copied: number]>("PRAGMA wal_checkpoint(PASSIVE)");
    // A database without a write-ahead log says -1.
    const [, frames, copied] = row ?? [0, 0, 0];
    if (copied > 0) unproved.set(path, new CopyProof(path, guard, { frames, copied, fits: true }, log));
  } finally {
    if (!unproved.has(path)) guard.close();
  }
  return proveCopies(path) ?? { frames: 0, copied: 0, fits: true };
}

/** Reports whether the disk has space for what the database at `path` grows when its log is copied back. */
function fits(path: string, log: WriteAheadLog): boolean {
  const growth = log.databaseBytes() - statSync(path).size;
  return growth <= 0 || growth + KEPT_FREE_BYTES <= freeBytes(statfsSync(dirname(path)));
}

/** The device and number of the file at a path; null without one. */
export function identityOf(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
}

/** Begins the transaction that guards the log. Returns false while another process writes: the log can wait. */
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
 * Proves the last checkpoint of the database at `path`. Returns null when none waits for its proof.
 * @throws {UnreadableLog} while the log cannot be read, and once more when pages had to be written again
 */
export function proveCopies(path: string): Checkpointed | null {
  const proof = unproved.get(path);
  if (proof === undefined) return null;
  // The file that was copied into is not at this path any more.
  const isOther = identityOf(path) !== proof.identity;
  const rewritten = isOther ? 0 : proof.rewriteWrong();
  unproved.delete(path);
  proof.guard.close();
  if (isOther) return null;
  if (rewritten === 0) return proof.done;
  throw new UnreadableLog(
    `The disk failed while the write-ahead log was copied back. ${rewritten} pages were written again from the log; nothing was lost.`,
  );
}

/** One checkpoint whose copies are compared with the log. */
class CopyProof {
  readonly identity: string | null;
  readonly #log: WriteAheadLog;

  /**
   * @param guard is in a transaction
   * @param log has been read to its end; the guard keeps it as it is
   */
  constructor(
    readonly path: string,
    readonly guard: LogGuard,
    readonly done: Checkpointed,
    log: WriteAheadLog,
  ) {
    this.identity = identityOf(path);
    this.#log = log;
  }

  /**
   * Writes the pages again whose bytes in the database are not those of the log. Returns their number. SQLite reads
   * nothing here: an error of the disk would end the transaction that guards the log.
   */
  rewriteWrong(): number {
    const newest = this.#log.newest(this.done.frames, this.done.copied);
    const database = new DatabaseFile(this.path, this.#log.pageSize);
    const wrong = wrongPages(database, newest);
    for (const page of wrong) {
      const { frame } = newest.get(page) as NewestFrame;
      database.write(page, this.#log.readContent(frame));
    }
    if (wrong.length > 0) database.sync();
    return wrong.length;
  }
}

/** Returns the pages of a database that are not as their newest frames say. */
function wrongPages(database: DatabaseFile, newest: ReadonlyMap<number, NewestFrame>): number[] {
  const pages = Uint32Array.from(newest.keys()).sort();
  const wrong: number[] = [];
  for (let at = 0; at < pages.length; ) {
    const run = consecutive(pages, at);
    database.read(pages[at] as number, run);
    for (const end = at + run; at < end; at++) {
      const page = pages[at] as number;
      if (database.digestOf(page) !== newest.get(page)?.digest) wrong.push(page);
    }
  }
  return wrong;
}

/** Counts the pages from index `at` on that follow one another in the database, up to {@link PAGES_AT_ONCE}. */
function consecutive(pages: Uint32Array, at: number): number {
  const first = pages[at] as number;
  let count = 1;
  while (count < PAGES_AT_ONCE && pages[at + count] === first + count) count++;
  return count;
}

/** Descriptors of databases by path. Where the system does not tell which one SQLite has, they are ours and stay open. */
const descriptors = new Map<string, number>();

/**
 * The bytes of a database that this process has open. They are reached through SQLite's own descriptor: opening and
 * closing another one would drop the locks of every connection of this process.
 */
class DatabaseFile {
  readonly #file: number;
  readonly #pageSize: number;
  readonly #buffer: Buffer;
  /** The pages that were read last, from page `#first` on. */
  #found: Buffer;
  #first = 0;

  constructor(path: string, pageSize: number) {
    this.#file = descriptorOf(path);
    this.#pageSize = pageSize;
    this.#buffer = Buffer.allocUnsafe(PAGES_AT_ONCE * pageSize);
    this.#found = this.#buffer.subarray(0, 0);
  }

  /** Reads `count` pages from page `first` on, at most {@link PAGES_AT_ONCE}. */
  read(first: number, count: number): void {
    const size = this.#pageSize;
    this.#found = this.#buffer.subarray(0, readSync(this.#file, this.#buffer, 0, count * size, (first - 1) * size));
    this.#first = first;
  }

  /** Returns the digest of a page that {@link read} was to read; null when the file ends before it. */
  digestOf(page: number): bigint | null {
    const at = (page - this.#first) * this.#pageSize;
    const end = at + this.#pageSize;
    return end <= this.#found.length ? digestOfPage(this.#found.subarray(at, end)) : null;
  }

  write(page: number, content: Buffer): void {
    writeSync(this.#file, content, 0, content.length, (page - 1) * this.#pageSize);
  }

  sync(): void {
    fsyncSync(this.#file);
  }
}

/** Returns a page of a database that this process has open, as it is on disk. */
export function readPage(path: string, page: number, pageSize: number): Buffer {
  const content = Buffer.alloc(pageSize);
  readSync(descriptorOf(path), content, 0, pageSize, (page - 1) * pageSize);
  return content;
}

/** A descriptor of the database at `path` that can be written. */
function descriptorOf(path: string): number {
  const { dev, ino } = statSync(path);
  const isIt = (file: number): boolean => {
    try {
      const stats = fstatSync(file);
      return stats.dev === dev && stats.ino === ino && isWritable(file);
    } catch {
      return false; // closed meanwhile
    }
  };
  const known = descriptors.get(path);
  if (known !== undefined && isIt(known)) return known;
  const found = openDescriptors(path).find(isIt) ?? openSync(path, "r+");
  descriptors.set(path, found);
  return found;
}

/** Writing nothing fails on a descriptor that is only for reading (EBADF). */
function isWritable(file: number): boolean {
  try {
    writeSync(file, Buffer.alloc(0), 0, 0, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Descriptors of this process that were opened with a path, the highest first: a file that was just opened has one of
 * the highest, so that not all of many hundreds are looked at. None where the system does not tell (not Linux).
 */
function* openDescriptors(path: string): Generator<number> {
  const directory = "/proc/self/fd";
  const real = realpathSync(path);
  for (const file of descriptorsIn(directory)) if (linkOf(`${directory}/${file}`) === real) yield file;
}

function descriptorsIn(directory: string): number[] {
  try {
    return readdirSync(directory)
      .map(Number)
      .sort((a, b) => b - a);
  } catch {
    return [];
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // closed meanwhile
  }
}
