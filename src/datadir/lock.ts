/**
 * Locks between processes: an exclusive transaction on a SQLite file. The operating system releases such a lock when
 * the process ends, however it ends, and it works the same on every platform. One of them keeps a second daemon off a
 * data directory. Commands beside the daemon do not take that one.
 *
 * A lock belongs to the process. It is lost when the process closes any other handle of the file (POSIX advisory
 * locks), so nothing else may open the file.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync, readFileSync, statSync } from "node:fs";
import { Failure } from "../failure.ts";
import type { DataDirectory } from "./layout.ts";
import { createPrivateFile } from "./private-files.ts";

/** How long to wait for processes that only check the lock. A daemon holds it for longer. */
const CHECK_PATIENCE_MS = 1_000;

/**
 * Takes the daemon's lock until the returned object is disposed of.
 * @throws {Failure} `data_directory_in_use` when another daemon holds it
 */
export function lockDataDirectory(directory: DataDirectory): Disposable {
  const message = `The data directory ${directory.root} is in use by another running governd. Stop that process, or choose another --data-dir.`;
  const inUse = (cause: unknown) => new Failure("data_directory_in_use", message, { cause });
  return holdLock(directory.lock, inUse, CHECK_PATIENCE_MS);
}

/**
 * Takes the lock on this file, which is created if missing. Waits at most `patienceMs` milliseconds.
 * @throws the result of `inUse` when another process holds the lock
 */
export function holdLock(path: string, inUse: (cause: unknown) => Failure, patienceMs = 0): Disposable {
  if (!existsSync(path)) createPrivateFile(path, "");
  const file = new Database(path);
  try {
    file.run(`PRAGMA busy_timeout = ${patienceMs}`);
    // Nothing is written, so no rollback journal is needed.
    file.run("PRAGMA journal_mode = MEMORY");
    file.run("BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (!(error instanceof SQLiteError) || !error.code?.startsWith("SQLITE_BUSY")) throw error;
    throw inUse(error);
  }
  return { [Symbol.dispose]: () => file.close() };
}

/** Reports whether a daemon holds the lock. Does not create or change a file. */
export function isLocked({ lock }: DataDirectory): boolean {
  if (!existsSync(lock)) return false;
  using file = new Database(lock, { readonly: true });
  try {
    file.run("PRAGMA busy_timeout = 0");
    file.query("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch (error) {
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY")) return true;
    throw error;
  }
}

/** Returns the process id of the daemon that holds the lock; null without one, and where the system does not tell (not Linux). */
export function daemonPid({ lock }: DataDirectory): number | null {
  try {
    // <number>: POSIX ADVISORY WRITE <process id> <major>:<minor>:<inode> <first byte> <last byte>
    const row = new RegExp(`POSIX +ADVISORY +WRITE +(\\d+) [0-9a-f]+:[0-9a-f]+:${statSync(lock).ino} `);
    const [, pid] = row.exec(readFileSync("/proc/locks", "latin1")) ?? [];
    return pid === undefined ? null : Number(pid);
  } catch {
    return null;
  }
}
