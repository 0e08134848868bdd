/**
 * Locks between processes: an exclusive transaction on a SQLite file. The operating system releases such a lock when
 * the process ends, however it ends, and it works the same on every platform.
 *
 * A lock belongs to the process. It is lost when the process closes any other handle of the file (POSIX advisory
 * locks), so nothing else may open the file.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync } from "node:fs";
import { type Failure, systemCode } from "../../failure.ts";
import { withFile } from "../../store/sync.ts";

const LOCK_FILE_MODE = 0o600;

/**
 * Takes the lock on this file, which is created if missing. Waits at most `patienceMs` milliseconds.
 * @throws the result of `inUse` when another process holds the lock
 */
export function holdLock(path: string, inUse: (cause: unknown) => Failure, patienceMs = 0): Disposable {
  const held = take(path, patienceMs);
  if (held instanceof SQLiteError) throw inUse(held);
  return held;
}

/** Takes the lock on this file like {@link holdLock}. Returns null when this or another process holds it. */
export function tryLock(path: string): Disposable | null {
  const held = take(path, 0);
  return held instanceof SQLiteError ? null : held;
}

/** Creates a lock's file, which stays empty, unless it exists. */
function createLockFile(path: string): void {
  try {
    withFile(path, "wx", () => {}, LOCK_FILE_MODE);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** Returns the lock, or the error when it cannot be taken now. */
function take(path: string, patienceMs: number): Disposable | SQLiteError {
  if (!existsSync(path)) createLockFile(path);
  const file = new Database(path);
  try {
    file.run(`PRAGMA busy_timeout = ${patienceMs}`);
    // Nothing is written, so no rollback journal is needed.
    file.run("PRAGMA journal_mode = MEMORY");
    file.run("BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY")) return error;
    throw error;
  }
  return { [Symbol.dispose]: () => file.close() };
}
