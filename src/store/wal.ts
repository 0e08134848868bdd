/**
 * The write-ahead log as a file: which page each committed frame holds, and a digest of its content. Format: SQLite,
 * "Database File Format", section 4 (a header of 32 bytes, then frames of a 24-byte header and one page).
 *
 * The file is opened and closed here beside SQLite's own descriptors. That is safe for a write-ahead log and for no
 * other file of a database: SQLite holds no lock on it, and closing any descriptor of a file drops a process's locks.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { type Steps, toEnd } from "./steps.ts";

const HEADER_BYTES = 32;
const PAGE_SIZE_AT = 8;
const SALTS_AT = 16;
const FRAME_HEADER_BYTES = 24;
const PAGES_AFTER_COMMIT_AT = 4;
const FRAME_SALTS_AT = 8;
/** Bytes read at once. */
const CHUNK_BYTES = 128 * 1024;
/** Chunks that are read in one step. */
const CHUNKS_AT_ONCE = 16;
/** Frames that there is room for at first. */
const FEWEST_FRAMES = 64;
/** In place of a descriptor. */
const NO_FILE = -1;

/**
 * What all logs of a thread are read into. A buffer for each reading would be most of what the thread allocates, so that
 * its garbage would be collected more often. Nothing in it is needed behind a `yield`.
 */
const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** The disk did not return what was written to the write-ahead log. */
export class UnreadableLog extends Error {
  override readonly name = "UnreadableLog";
  readonly code = "SQLITE_IOERR_READ";
}

/** Returns the digest of a page, which finds any accident. */
export const digestOfPage = (content: Uint8Array): bigint => Bun.hash.wyhash(content) as bigint;

/** The newest committed frame of a page: its number, counted from 1, and the digest of its content. */
export interface NewestFrame {
  frame: number;
  digest: bigint;
}

/** The committed frames of one database's log. They are read while they are new, so that no reading takes long. */
export class WriteAheadLog {
  #count = 0;
  /** By frame: its page, and the digest of its content. */
  #pages = new Uint32Array(0);
  #digests = new BigUint64Array(0);
  /** The header of the last frame. Its checksum is one over everything before it, so it tells whether that is still there. */
  #lastHeader: Buffer | null = null;
  #pageSize = 0;
  #starts = 0;

  /** `path`: that of the database. */
  constructor(private readonly path: string) {}

  /** The size of a page, bytes; 0 before a log was read. */
  get pageSize(): number {
    return this.#pageSize;
  }

  /** How often the log was found started over. */
  get starts(): number {
    return this.#starts;
  }

  /**
   * Reads the frames that were committed since the last call, or all of them when the log was started over. Returns
   * how many there are in all; 0 without a log.
   * @throws {UnreadableLog}
   */
  readNew(): number {
    return toEnd(this.readNewInSteps());
  }

  /** As {@link readNew}, in steps. */
  *readNewInSteps(): Steps<number> {
    let file = NO_FILE;
    try {
      file = openLog(this.path);
      const header = headerOf(file);
      if (header === null || !this.#isStillThere(file, header)) {
        this.#count = 0;
        this.#starts++;
      }
      if (header !== null) yield* this.#readFrom(file, header);
      return this.#count;
    } catch (cause) {
      throw unreadable(cause);
    } finally {
      if (file !== NO_FILE) closeSync(file);
    }
  }

  /**
   * Returns the newest frame of each page that a checkpoint of `copied` of the first `frames` frames copies. A page that
   * has a newer frame behind them is left out, as SQLite leaves it out. So are pages behind the end that the database
   * has after `frames` frames, where a transaction ends: they are not in the file any more.
   * @throws {UnreadableLog}
   */
  newest(frames: number, copied: number): Map<number, NewestFrame> {
    const end = this.#pagesAfter(frames);
    const newest = new Map<number, NewestFrame>();
    for (let at = 0; at < copied; at++) {
      const page = this.#pages[at] as number;
      if (page <= end) newest.set(page, { frame: at + 1, digest: this.#digests[at] as bigint });
    }
    for (const page of this.#pages.subarray(copied, frames)) newest.delete(page);
    return newest;
  }

  /** Returns the size of the database once the whole log is copied back, bytes; 0 without a log. @throws {UnreadableLog} */
  databaseBytes(): number {
    return this.#count === 0 ? 0 : this.#pagesAfter(this.#count) * this.#pageSize;
  }

  /** Returns the pages of the database after the transaction that ends with frame `frame`. @throws {UnreadableLog} */
  #pagesAfter(frame: number): number {
    if (frame > this.#count) throw new UnreadableLog("the write-ahead log is shorter than SQLite says");
    return this.#read(frame, PAGES_AFTER_COMMIT_AT, 4).readUInt32BE();
  }

  /** Returns the digest of a page as a checkpoint of the first `copied` frames copies it; null when it does not. */
  digestOf(page: number, copied: number): bigint | null {
    const at = this.#pages.subarray(0, this.#count).lastIndexOf(page);
    return at < 0 || at >= copied ? null : (this.#digests[at] as bigint);
  }

  /** Reports whether one of the frames that were read holds this content of a page. */
  holds(page: number, digest: bigint): boolean {
    for (let at = 0; at < this.#count; at++) if (this.#pages[at] === page && this.#digests[at] === digest) return true;
    return false;
  }

  /** Returns the content of frame `frame`, counted from 1. @throws {UnreadableLog} */
  readContent(frame: number): Buffer {
    return this.#read(frame, FRAME_HEADER_BYTES, this.#pageSize);
  }

  /**
   * Reads from the last known frame on. Frames behind the last one are left from before the log was started over; their
   * salts differ. Those of a transaction that did not end may change, and are read again.
   */
  *#readFrom(file: number, header: Buffer): Steps<void> {
    const salts = saltsOf(header, SALTS_AT);
    this.#pageSize = header.readUInt32BE(PAGE_SIZE_AT);
    const size = FRAME_HEADER_BYTES + this.#pageSize;
    const whole = Math.floor(CHUNK_BYTES / size) * size;
    let at = this.#count;
    for (let chunks = 1; ; chunks++) {
      if (chunks % CHUNKS_AT_ONCE === 0) yield;
      const bytes = readSync(file, chunk, 0, whole, this.#offsetOf(at));
      for (let start = 0; start < whole; start += size) {
        if (start + size > bytes) return;
        if (saltsOf(chunk, start + FRAME_SALTS_AT) !== salts) return;
        this.#note(at++, chunk.readUInt32BE(start), chunk.subarray(start + FRAME_HEADER_BYTES, start + size));
        if (chunk.readUInt32BE(start + PAGES_AFTER_COMMIT_AT) === 0) continue;
        this.#count = at;
        this.#lastHeader = Buffer.from(chunk.subarray(start, start + FRAME_HEADER_BYTES));
      }
    }
  }

  #note(at: number, page: number, content: Buffer): void {
    if (at >= this.#pages.length) {
      const [pages, digests] = [this.#pages, this.#digests];
      this.#pages = new Uint32Array(2 * at + FEWEST_FRAMES);
      this.#pages.set(pages);
      this.#digests = new BigUint64Array(2 * at + FEWEST_FRAMES);
      this.#digests.set(digests);
    }
    this.#pages[at] = page;
    this.#digests[at] = digestOfPage(content);
  }

  /**
   * Whether the last known frame still belongs to the log, and so all before it. One behind the end of a log that was
   * started over stays in the file, but has other salts than its header.
   */
  #isStillThere(file: number, header: Buffer): boolean {
    const last = this.#lastHeader;
    if (this.#count === 0 || last === null || saltsOf(last, FRAME_SALTS_AT) !== saltsOf(header, SALTS_AT)) return false;
    const found = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
    return (
      readSync(file, found, 0, found.length, this.#offsetOf(this.#count - 1)) === found.length && found.equals(last)
    );
  }

  /** The offset in the file of the frame at an index, counted from 0. */
  #offsetOf(at: number): number {
    return HEADER_BYTES + at * (FRAME_HEADER_BYTES + this.#pageSize);
  }

  /** Reads a part of frame `frame`, counted from 1. @throws {UnreadableLog} */
  #read(frame: number, from: number, length: number): Buffer {
    let file = NO_FILE;
    try {
      file = openLog(this.path);
      const part = Buffer.allocUnsafe(length);
      if (readSync(file, part, 0, length, this.#offsetOf(frame - 1) + from) === length) return part;
      throw new UnreadableLog("a frame of the write-ahead log is cut off");
    } catch (cause) {
      throw unreadable(cause);
    } finally {
      if (file !== NO_FILE) closeSync(file);
    }
  }
}

/** Returns the header of a log; null when there is none, or it is empty. */
function headerOf(file: number): Buffer | null {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  return file === NO_FILE || readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES ? null : header;
}

const unreadable = (cause: unknown): UnreadableLog =>
  cause instanceof UnreadableLog ? cause : new UnreadableLog("the write-ahead log cannot be read", { cause });

/** The numbers that tell a log from the one before it, in its header and in each frame's. */
const saltsOf = (header: Buffer, at: number): bigint => header.readBigUInt64BE(at);

/** Opens the log of the database at `path`. */
function openLog(path: string): number {
  try {
    return openSync(`${path}-wal`, "r");
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return NO_FILE;
    throw error;
  }
}
