/**
 * The write-ahead log as a file: which page each frame holds, and where the committed frames end. Format: SQLite,
 * "Database File Format", section 4 (a header of 32 bytes, then frames of a 24-byte header and one page).
 *
 * The file is opened and closed here beside SQLite's own descriptors. That is safe for a write-ahead log and for no
 * other file of a database: SQLite holds no lock on it, and closing any descriptor of a file drops a process's locks.
 */
import { closeSync, openSync, readSync } from "node:fs";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_SIZE_AT = 8;
const SALTS_AT = 16;
const SALTS_BYTES = 8;
const PAGES_AFTER_COMMIT_AT = 4;
const FRAME_SALTS_AT = 8;
const SHORT = "the write-ahead log is shorter than SQLite says";
/** Bytes read at once. */
const CHUNK_BYTES = 256 * 1024;

/** The disk did not return what was written to the write-ahead log. */
export class UnreadableLog extends Error {
  override readonly name = "UnreadableLog";
  readonly code = "SQLITE_IOERR_READ";
}

export class WriteAheadLog implements Disposable {
  readonly #file: number;
  readonly #salts: Buffer;
  readonly #foundSalts = Buffer.alloc(SALTS_BYTES);
  readonly pageSize: number;

  private constructor(file: number, header: Buffer) {
    this.#file = file;
    this.#salts = header.subarray(SALTS_AT, SALTS_AT + SALTS_BYTES);
    this.pageSize = header.readUInt32BE(PAGE_SIZE_AT);
  }

  /**
   * Opens the log of the database at `path`. Returns null when there is none, or it is empty.
   * @throws {UnreadableLog}
   */
  static open(path: string): WriteAheadLog | null {
    return attempt(() => {
      let file: number;
      try {
        file = openSync(`${path}-wal`, "r");
      } catch (error) {
        if ((error as { code?: unknown }).code === "ENOENT") return null;
        throw error;
      }
      try {
        const header = Buffer.alloc(HEADER_BYTES);
        if (readSync(file, header, 0, HEADER_BYTES, 0) === HEADER_BYTES) return new WriteAheadLog(file, header);
      } catch (error) {
        closeSync(file);
        throw error;
      }
      closeSync(file);
      return null;
    });
  }

  /**
   * Counts the frames that were written since the log was last started over. Frames behind the last one are left from
   * before; their salts differ. `before`: an earlier count, from which this one is found faster.
   * @throws {UnreadableLog}
   */
  countFrames(before = 0): number {
    return attempt(() => {
      let [low, step] = [before > 0 && this.#isCurrent(before) ? before : 0, 1];
      while (this.#isCurrent(low + step)) [low, step] = [low + step, step * 2];
      let high = low + step;
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (this.#isCurrent(middle)) low = middle;
        else high = middle;
      }
      return low;
    });
  }

  /**
   * Reads frames 1 to `count` with their contents. Returns their pages: that of frame n at n - 1.
   * @throws {UnreadableLog} when one of them cannot be read
   */
  readPages(count: number): Uint32Array {
    const size = this.#frameBytes;
    const atOnce = Math.max(1, Math.min(count, Math.floor(CHUNK_BYTES / size)));
    const chunk = Buffer.allocUnsafe(atOnce * size);
    const pages = new Uint32Array(count);
    for (let first = 0; first < count; first += atOnce) {
      const frames = Math.min(atOnce, count - first);
      this.#read(chunk, frames * size, HEADER_BYTES + first * size);
      for (let i = 0; i < frames; i++) pages[first + i] = chunk.readUInt32BE(i * size);
    }
    return pages;
  }

  /**
   * Reads the content of frame `frame`, counted from 1, into `content`, which has the size of a page.
   * @throws {UnreadableLog}
   */
  readContent(frame: number, content: Buffer): void {
    const at = HEADER_BYTES + (frame - 1) * this.#frameBytes + FRAME_HEADER_BYTES;
    this.#read(content, this.pageSize, at);
  }

  /**
   * Returns how many pages the database has after frame `frame`, counted from 1, which ends a transaction.
   * @throws {UnreadableLog}
   */
  pagesAfterCommit(frame: number): number {
    const pages = Buffer.alloc(4);
    this.#read(pages, 4, HEADER_BYTES + (frame - 1) * this.#frameBytes + PAGES_AFTER_COMMIT_AT);
    return pages.readUInt32BE(0);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #read(into: Buffer, bytes: number, at: number): void {
    const read = attempt(() => readSync(this.#file, into, 0, bytes, at));
    if (read !== bytes) throw new UnreadableLog(SHORT);
  }

  get #frameBytes(): number {
    return FRAME_HEADER_BYTES + this.pageSize;
  }

  /** Whether frame number `frame`, counted from 1, was written since the log was started over. */
  #isCurrent(frame: number): boolean {
    const at = HEADER_BYTES + (frame - 1) * this.#frameBytes + FRAME_SALTS_AT;
    const found = this.#foundSalts;
    return readSync(this.#file, found, 0, SALTS_BYTES, at) === SALTS_BYTES && found.equals(this.#salts);
  }
}

/**
 * Counts the frames in the log of the database at `path`; 0 without one. `before`: an earlier count.
 * @throws {UnreadableLog}
 */
export function framesInLog(path: string, before: number): number {
  using log = WriteAheadLog.open(path);
  return log?.countFrames(before) ?? 0;
}

function attempt<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new UnreadableLog("the write-ahead log cannot be read", { cause });
  }
}
