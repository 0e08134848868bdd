/**
 * Closed connections, which the driver keeps until the garbage collector takes their statements.
 *
 * SQLite copies the write-ahead log back when the last connection to a file closes. That copy is not proved
 * (checkpoint.ts), and may not be this process's to make (log-right.ts). So a connection is kept as long as the log holds
 * anything. When the process ends, the system closes its files, and nothing is copied.
 */
import { statSync } from "node:fs";
import { nextTurn } from "../timer.ts";

/** A closed connection of the driver, and all statements that were prepared on it. */
interface Closed {
  driver: object;
  statements: readonly object[];
}

interface Kept extends Closed {
  /** The path of its file; null when it must never be quite closed. */
  path: string | null;
}

let kept: Kept[] = [];
let maxUnreleased = 64;
let unreleased = 0;

/** Whether the write-ahead log of the database at `path` holds nothing, or is absent. */
export const isLogEmpty = (path: string): boolean =>
  (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;

/**
 * Sets how many closed connections of this thread may wait for the garbage collector. The driver closes a connection's
 * file descriptors only when its statements are collected, and they look too small to trigger a collection: thousands of
 * workspaces used in turn would run out of descriptors first.
 */
export function limitUnreleased(count: number): void {
  maxUnreleased = count;
}

/**
 * Leaves a closed connection to the garbage collector: at once, or with `until` when the log of the file at its path is
 * empty; never when the path is null.
 */
export function letGo(closed: Closed, until: Pick<Kept, "path"> | null): void {
  if (until === null) unlink(closed);
  else kept.push({ ...closed, ...until });
  if (++unreleased >= maxUnreleased) releaseClosed();
}

/**
 * Takes the native objects out of the driver's statements, which keep the file open. The collector also keeps what a stale
 * value on the stack points to: one of a hundred files stayed open for up to ten collections, since a statement seemed to
 * be in use. Now only a value that points to the native object itself does that, which is several times as rare.
 */
function unlink({ statements }: Closed): void {
  for (const statement of statements) Object.assign(statement, { stmt: null });
}

/** Stops keeping connections whose log is empty; with `any`, all but those that are kept until the process ends. */
function unkeep(any = false): void {
  const isOver = ({ path }: Kept): boolean => path !== null && (any || isLogEmpty(path));
  const over = kept.filter(isOver);
  if (over.length === 0) return;
  kept = kept.filter((one) => !over.includes(one));
  over.forEach(unlink);
  unreleased++;
}

/**
 * Releases the files of this thread's closed connections, by a full collection; the files are released one turn of the
 * event loop later. Does nothing when none was closed since the last call. Reports whether any was.
 */
export function releaseClosed(): boolean {
  unkeep();
  if (unreleased === 0) return false;
  unreleased = 0;
  Bun.gc(true);
  return true;
}

/** A single collection may leave a file that the stack still seems to hold. */
const COLLECTIONS = 3;

/**
 * Releases the files of this thread's closed connections more surely than {@link releaseClosed}: by several collections,
 * with a pause before each and a turn of the event loop behind the last.
 */
export async function releaseSurely(pause: () => Promise<unknown>): Promise<void> {
  releaseClosed();
  for (let i = 0; i < COLLECTIONS; i++) {
    await pause();
    Bun.gc(true);
  }
  await nextTurn();
}

/** Releases as well what was kept because of a log, as if another process had emptied it. For tests. */
export const releaseKept = (): void => unkeep(true);
