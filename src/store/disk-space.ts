/** The free space of the disk, in memory that all threads share, so that busy threads see changes at once. */
import { type StatsFs, statfsSync } from "node:fs";
import { dirname } from "node:path";

/**
 * A write-ahead log is copied back when it reaches this part of the free space, so that there is space for the copy.
 */
const LOG_SHARE = 1 / 16;
/** The bounds of that length, bytes: with ample space, and when a log is copied back after every few transactions. */
const LONGEST_LOG_BYTES = 32 * 1024 * 1024;
const SHORTEST_LOG_BYTES = 400 * 1024;

/** The message for clients while the disk is full. */
export const DISK_IS_FULL = "The disk is full; nothing was written. What is stored can be read and deleted meanwhile.";

/** Returns how many bytes this process may still write. The superuser may also use reserved space. */
export function freeBytes({ bavail, bfree, bsize }: Pick<StatsFs, "bavail" | "bfree" | "bsize">): number {
  return (process.getuid?.() === 0 ? bfree : bavail) * bsize;
}

/** Returns {@link freeBytes} of a file's disk. */
export const freeBytesBeside = (path: string): number => freeBytes(statfsSync(dirname(path)));

export class DiskSpace {
  /** The free bytes when last measured, and 1 while the disk is full. */
  readonly #numbers: Float64Array;

  constructor(readonly memory: SharedArrayBuffer) {
    this.#numbers = new Float64Array(memory);
  }

  /** Returns the space of a disk that counts as unlimited until it is measured. */
  static ample(): DiskSpace {
    const space = new DiskSpace(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
    space.free = Number.POSITIVE_INFINITY;
    return space;
  }

  set free(bytes: number) {
    this.#numbers[0] = bytes;
  }

  /** Whether a write found no space. Operations that make the data grow are refused until there is enough again. */
  get isFull(): boolean {
    return this.#numbers[1] === 1;
  }

  set isFull(full: boolean) {
    this.#numbers[1] = full ? 1 : 0;
  }

  /** The length at which a write-ahead log is copied back at present, bytes. */
  get logBytes(): number {
    const wanted = this.isFull ? 0 : (this.#numbers[0] as number) * LOG_SHARE;
    return Math.max(SHORTEST_LOG_BYTES, Math.min(LONGEST_LOG_BYTES, wanted));
  }
}
