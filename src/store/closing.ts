/**
 * Closed connections, which the driver keeps open until their statements are garbage-collected.
 *
 * SQLite copies the write-ahead log back when the last connection to a file closes. That copy is not verified
 * (checkpoint.ts), and this process may not have the right to make it (log-right.ts). So a connection is kept until the
 * log is empty. When the process ends, the system closes its files, and nothing is copied.
 */
import { statSync } from "node:fs";

/** A closed connection of the driver, and all statements that were prepared on it. */
interface Closed {
  driver: object;
  statements: readonly object[];
}

interface Kept extends Closed {
  /** The path of its file; null when the connection must be kept until the process ends. */
  path: string | null;
}

let kept: Kept[] = [];
let maxUnreleased = 64;
let unreleased = 0;

/** Whether the write-ahead log of the database at `path` is empty or absent. */
export const isLogEmpty = (path: string): boolean =>
  (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;

/**
 * Sets how many closed connections of this thread may wait for the garbage collector. The driver closes a connection's
 * file descriptors only when its statements are collected, and statements are too small to trigger a collection: with
 * thousands of workspaces, the process would run out of descriptors first.
 */
export function limitUnreleased(count: number): void {
  maxUnreleased = count;
}

/**
 * Leaves a closed connection to the garbage collector: at once, or with `until`, when the log of the file at its path
 * is empty; if that path is null, never.
 */
export function letGo(closed: Closed, until: Pick<Kept, "path"> | null): void {
  if (until === null) unlink(closed);
  else kept.push({ ...closed, ...until });
  if (++unreleased >= maxUnreleased) releaseClosed();
}

/**
 * Detaches the native objects, which keep the file open, from the driver's statements. The collector also keeps an
 * object to which a stale value on the stack points: one of a hundred files stayed open for up to ten collections,
 * since a statement seemed to be in use. Now only a stale pointer to the native object itself has this effect, which is
 * several times as rare.
 */
function unlink({ statements }: Closed): void {
  for (const statement of statements) Object.assign(statement, { stmt: null });
}

/** Stops keeping connections whose log is empty; with `any`, all except those that are kept until the process ends. */
function unkeep(any = false): void {
  const isOver = ({ path }: Kept): boolean => path !== null && (any || isLogEmpty(path));
  const over = kept.filter(isOver);
  if (over.length === 0) return;
  kept = kept.filter((one) => !over.includes(one));
  over.forEach(unlink);
  unreleased++;
}

/**
 * Releases the files of this thread's closed connections by a full collection. They are closed one turn of the event
 * loop later. Does nothing, and returns false, when no connection was closed since the last call.
 */
export function releaseClosed(): boolean {
  unkeep();
  if (unreleased === 0) return false;
  unreleased = 0;
  Bun.gc(true);
  return true;
}

/** Also releases connections that are kept because of their log, as if another process had emptied it. For tests. */
export const releaseKept = (): void => unkeep(true);
