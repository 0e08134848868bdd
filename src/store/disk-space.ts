/** The free space of the disk, in memory that all threads share: a thread in the middle of its work sees a change. */
import { type StatsFs, statfsSync } from "node:fs";
import { dirname } from "node:path";

/** A write-ahead log is copied back when it takes this part of the free space, so that copying it back still fits. */
const LOG_SHARE = 1 / 16;
/** The bounds of that, in bytes: the log of a busy workspace, and one that is copied after every few transactions. */
const LONGEST_LOG_BYTES = 32 * 1024 * 1024;
const SHORTEST_LOG_BYTES = 400 * 1024;

/** What a client is told while the disk is full. */
export const DISK_IS_FULL = "The disk is full; nothing was written. What is stored can be read and deleted meanwhile.";

/** Returns how many bytes this process may still write: the superuser may also use what is kept back for it. */
export function freeBytes({ bavail, bfree, bsize }: Pick<StatsFs, "bavail" | "bfree" | "bsize">): number {
  return (process.getuid?.() === 0 ? bfree : bavail) * bsize;
}

/** Returns {@link freeBytes} of the disk that a file is on. */
export const freeBytesBeside = (path: string): number => freeBytes(statfsSync(dirname(path)));

export class DiskSpace {
  /** The free bytes at the last look, and 1 while the disk is full. */
  readonly #numbers: Float64Array;

  constructor(readonly memory: SharedArrayBuffer) {
    this.#numbers = new Float64Array(memory);
  }

  /** Returns the space of a disk that has as much as anybody wants, until it is looked at. */
  static ample(): DiskSpace {
    const space = new DiskSpace(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
    space.free = Number.POSITIVE_INFINITY;
    return space;
  }

  set free(bytes: number) {
    this.#numbers[0] = bytes;
  }

  /** Whether a write found no space. Until there is enough again, what makes the data grow is refused. */
  get isFull(): boolean {
    return this.#numbers[1] === 1;
  }

  set isFull(full: boolean) {
    this.#numbers[1] = full ? 1 : 0;
  }

  /** How long a write-ahead log may be now before it is copied back, bytes. */
  get logBytes(): number {
    const wanted = this.isFull ? 0 : (this.#numbers[0] as number) * LOG_SHARE;
    return Math.max(SHORTEST_LOG_BYTES, Math.min(LONGEST_LOG_BYTES, wanted));
  }
}
