/**
 * Returns the space of free pages to the file system.
 *
 * SQLite keeps the pages of deleted rows for later rows. Files are created with `auto_vacuum = INCREMENTAL`, so a file
 * can shrink in small steps: pages from its end move into free ones. The space is free on disk once the write-ahead log
 * was copied back.
 */
import type { Connection } from "./connection.ts";
import { freeBytesBeside } from "./disk-space.ts";

/** The most pages of one step, since its commit writes about twice as many, and how long a step may take, ms. */
const PAGES_A_STEP = 64;
const STEP_MS = 3;
/** Pages that are moved before the clock is checked. */
const PAGES_AT_ONCE = 16;
/** The free space that must remain on the disk, for the write-ahead log. */
const SPARE_BYTES = 8 * 1024 * 1024;
/** The write-ahead log is copied back when it reaches this length, so that each copying is short. */
const LOG_BYTES = 512 * 1024;

/** The space in a database file, bytes. */
export interface Space {
  total: number;
  free: number;
}

/** Why a file was not compacted, or not completely. */
export type CompactionTrouble = "no_space" | "unavailable";

/** The result: the size of the file before and after, bytes, and the longest step, ms. */
export interface Compacted {
  before: number;
  after: number;
  longestMs: number;
  trouble: CompactionTrouble | null;
}

/** Returns the space in an open database. */
export function spaceOf(connection: Connection): Space {
  const pageSize = connection.value<number>("PRAGMA page_size") ?? 0;
  return {
    total: pageSize * (connection.value<number>("PRAGMA page_count") ?? 0),
    free: pageSize * freePages(connection),
  };
}

/** Reports whether the disk has space for `bytes`, and for what is written meanwhile. */
export const hasSpace = (path: string, bytes: number): boolean => freeBytesBeside(path) >= bytes + SPARE_BYTES;

/**
 * Releases a few pages; to be called within a transaction. Takes about 3 ms. Returns whether free pages are left.
 *
 * @param monotonicMs time that is never set back
 */
export function shrinkStep(connection: Connection, monotonicMs: () => number): boolean {
  const end = monotonicMs() + STEP_MS;
  const before = freePages(connection);
  let left = before;
  for (let done = 0; left > 0 && done < PAGES_A_STEP && (done === 0 || monotonicMs() < end); done += PAGES_AT_ONCE) {
    connection.cutOff(PAGES_AT_ONCE);
    left = freePages(connection);
  }
  // A file whose mode somebody changed does not shrink.
  return left > 0 && left < before;
}

const freePages = (connection: Connection): number => connection.value<number>("PRAGMA freelist_count") ?? 0;

/** Copies the write-ahead log back when it has become long; to be called after the commit of a step. */
export const afterStep = (connection: Connection): void => connection.checkpointIfDue(LOG_BYTES);
