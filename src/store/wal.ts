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
const CHUNK_BYTES = 1024 * 1024;

/** One frame: a page and its content. */
export interface Frame {
  page: number;
  content: Buffer;
}

/** The disk did not return what was written to the write-ahead log. */
export class UnreadableLog extends Error {
  override readonly name = "UnreadableLog";
  readonly code = "SQLITE_IOERR_READ";
}

export class WriteAheadLog implements Disposable {
  readonly #file: number;
  readonly #salts: Buffer;
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
        if (readSync(file, header, 0, HEADER_BYTES, 0) === HEADER_BYTES)
          return new WriteAheadLog(file, header);
      } catch (error) {
        closeSync(file);
        throw error;
      }
      closeSync(file);
      return null;
    });
  }

  /**
   * Counts the frames that were written since the log was last started over, from frame `known` on, which is one of
   * them. Frames behind the last one are left from before; their salts differ.
   * @throws {UnreadableLog}
   */
  countFrames(known = 0): number {
    return attempt(() => {
      let [low, step] = [known, 1];
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
   * Reads frames `count` to 1, the newest first. The content is only valid until the next frame.
   * @throws {UnreadableLog}
   */
  *newestFirst(count: number): Generator<Frame> {
    const size = this.#frameBytes;
    for (const { chunk, bytes } of this.#chunks(count)) {
      for (let at = bytes - size; at >= 0; at -= size) {
        yield { page: chunk.readUInt32BE(at), content: chunk.subarray(at + FRAME_HEADER_BYTES, at + size) };
      }
    }
  }

  /**
   * Reads frames 1 to `count` and does nothing with them.
   * @throws {UnreadableLog} when one of them cannot be read
   */
  requireReadable(count: number): void {
    for (const _ of this.#chunks(count));
  }

  /** Frames 1 to `count` as bytes, the last ones first. */
  *#chunks(count: number): Generator<{ chunk: Buffer; bytes: number }> {
    const size = this.#frameBytes;
    const atOnce = Math.max(1, Math.floor(CHUNK_BYTES / size));
    const chunk = Buffer.allocUnsafe(Math.min(atOnce, count) * size);
    for (let end = count; end > 0; end -= atOnce) {
      const first = Math.max(0, end - atOnce);
      const bytes = (end - first) * size;
      const read = attempt(() => readSync(this.#file, chunk, 0, bytes, HEADER_BYTES + first * size));
      if (read !== bytes) throw new UnreadableLog(SHORT);
      yield { chunk, bytes };
    }
  }

  /**
   * Returns how many pages the database has after frame `frame`, counted from 1, which ends a transaction.
   * @throws {UnreadableLog}
   */
  pagesAfterCommit(frame: number): number {
    const pages = Buffer.alloc(4);
    const at = HEADER_BYTES + (frame - 1) * this.#frameBytes + PAGES_AFTER_COMMIT_AT;
    if (attempt(() => readSync(this.#file, pages, 0, 4, at)) !== 4) throw new UnreadableLog(SHORT);
    return pages.readUInt32BE(0);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  get #frameBytes(): number {
    return FRAME_HEADER_BYTES + this.pageSize;
  }

  /** Whether frame number `frame`, counted from 1, was written since the log was started over. */
  #isCurrent(frame: number): boolean {
    const at = HEADER_BYTES + (frame - 1) * this.#frameBytes + FRAME_SALTS_AT;
    const salts = Buffer.alloc(SALTS_BYTES);
    return readSync(this.#file, salts, 0, SALTS_BYTES, at) === SALTS_BYTES && salts.equals(this.#salts);
  }
}

/**
 * Counts the frames in the log of the database at `path`; 0 without one.
 * @throws {UnreadableLog}
 */
export function framesInLog(path: string): number {
  using log = WriteAheadLog.open(path);
  return log?.countFrames() ?? 0;
}

function attempt<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new UnreadableLog("the write-ahead log cannot be read", { cause });
  }
}
