/**
 * Reads the write-ahead log as a file: the page of each committed frame, and a digest of its content. Format: SQLite,
 * "Database File Format", section 4 (a header of 32 bytes, then frames of a 24-byte header and one page).
 *
 * The file is opened and closed independently of SQLite's own descriptors. This is safe only for a write-ahead log, on
 * which SQLite has no locks: closing any descriptor of a file releases the process's locks on it.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { type Steps, toEnd } from "./steps.ts";

const HEADER_BYTES = 32;
const PAGE_SIZE_AT = 8;
const SALTS_AT = 16;
const FRAME_HEADER_BYTES = 24;
const PAGES_AFTER_COMMIT_AT = 4;
const FRAME_SALTS_AT = 8;
/** The bytes that are read at once. */
const CHUNK_BYTES = 128 * 1024;
/** The chunks that are read in one step. */
const CHUNKS_AT_ONCE = 16;
/** The initial capacity, frames. */
const FEWEST_FRAMES = 64;
/** Stands for a descriptor when there is no file. */
const NO_FILE = -1;

/**
 * The buffer into which all logs of a thread are read. With a buffer for each reading, these would be most of the
 * thread's garbage, and it would be collected more often. The content is not used across a `yield`.
 */
const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** The write-ahead log could not be read as it was written. */
export class UnreadableLog extends Error {
  override readonly name = "UnreadableLog";
  readonly code = "SQLITE_IOERR_READ";
}

/** Returns the digest of a page, which detects any accidental change. */
export const digestOfPage = (content: Uint8Array): bigint => Bun.hash.wyhash(content) as bigint;

/** A page's newest committed frame: its number, counted from 1, and the digest of its content. */
export interface NewestFrame {
  frame: number;
  digest: bigint;
}

/**
 * The committed frames of one database's log. They are read soon after they are written, so that each reading is short.
 */
export class WriteAheadLog {
  #count = 0;
  /** By frame, its page and the digest of its content. */
  #pages = new Uint32Array(0);
  #digests = new BigUint64Array(0);
  /**
   * The header of the last frame. Its checksum covers all frames before it, so it shows whether they are still the
   * same.
   */
  #lastHeader: Buffer | null = null;
  #pageSize = 0;
  #starts = 0;

  /** @param path of the database */
  constructor(private readonly path: string) {}

  /** The size of a page, bytes; 0 before a log was read. */
  get pageSize(): number {
    return this.#pageSize;
  }

  /** How often the log was restarted. */
  get starts(): number {
    return this.#starts;
  }

  /**
   * Reads the frames that were committed since the last call, or all of them when the log was restarted. Returns the
   * number of all frames; 0 without a log.
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
   * Returns the newest frame of each page that a checkpoint of `copied` of the first `frames` frames copies. Pages with
   * a newer frame after these are left out, as SQLite leaves them out. So are pages beyond the end of the database
   * after `frames` frames (where a transaction ends), since they are not in the file any more.
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

  /**
   * Returns the size of the database once the whole log is copied back, bytes; 0 without a log.
   * @throws {UnreadableLog}
   */
  databaseBytes(): number {
    return this.#count === 0 ? 0 : this.#pagesAfter(this.#count) * this.#pageSize;
  }

  /**
   * Returns the number of the database's pages after the transaction that ends with a frame.
   * @throws {UnreadableLog}
   */
  #pagesAfter(frame: number): number {
    if (frame > this.#count) throw new UnreadableLog("the write-ahead log is shorter than SQLite says");
    return this.#read(frame, PAGES_AFTER_COMMIT_AT, 4).readUInt32BE();
  }

  /**
   * Returns the digest of a page that a checkpoint of the first `copied` frames copies; null when it does not copy the
   * page.
   */
  digestOf(page: number, copied: number): bigint | null {
    const at = this.#pages.subarray(0, this.#count).lastIndexOf(page);
    return at < 0 || at >= copied ? null : (this.#digests[at] as bigint);
  }

  /** Reports whether a known frame has this content of a page. */
  holds(page: number, digest: bigint): boolean {
    for (let at = 0; at < this.#count; at++) if (this.#pages[at] === page && this.#digests[at] === digest) return true;
    return false;
  }

  /** Returns the content of frame `frame`, counted from 1. @throws {UnreadableLog} */
  readContent(frame: number): Buffer {
    return this.#read(frame, FRAME_HEADER_BYTES, this.#pageSize);
  }

  /**
   * Reads the frames after the last known one. Frames with other salts are left from before the log was restarted.
   * Frames of a transaction that has not ended may change, and are read again next time.
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
   * Whether the last known frame, and so all frames before it, still belong to the log. After a restart of the log, an
   * old frame may still be in the file, but its salts differ from those in the header.
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

/** Returns the salts of the log, or of a frame, from its header. They change when the log is restarted. */
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
