/**
 * Locks between processes: a SQLite file in an exclusive transaction. The operating system ends such a
 * lock with the process, however that ends, and it works alike on every platform. The lock against a
 * second daemon is one; commands beside the daemon do not take that.
 *
 * A lock is the process's, and is lost when the process closes any other handle of the file (POSIX
 * advisory locks): nothing else may open it.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync } from "node:fs";
import { Failure } from "../failure.ts";
import type { DataDirectory } from "./layout.ts";
import { createPrivateFile } from "./private-files.ts";

/** Who only looks whether the lock is held is in its way for a moment; a daemon that holds it stays. */
const LOOKERS_PATIENCE_MS = 1_000;

/**
 * Takes the lock for as long as the returned object is not disposed of.
 * @throws {Failure} `data_directory_in_use` when another daemon holds it.
 */
export function lockDataDirectory(directory: DataDirectory): Disposable {
  return holdLock(
    directory.lock,
    (cause) =>
      new Failure(
        "data_directory_in_use",
        `The data directory ${directory.root} is in use by another running governd. Stop that one, or choose another --data-dir.`,
        { cause },
      ),
    LOOKERS_PATIENCE_MS,
  );
}

/**
 * Takes the lock that is this file, made when absent, waiting for it at most `patienceMs` milliseconds.
 * @throws what `inUse` makes, when another process holds it
 */
export function holdLock(path: string, inUse: (cause: unknown) => Failure, patienceMs = 0): Disposable {
  if (!existsSync(path)) createPrivateFile(path, "");
  const file = new Database(path);
  try {
    file.run(`PRAGMA busy_timeout = ${patienceMs}`);
    // Nothing is ever written, so there is nothing to keep for a rollback.
    file.run("PRAGMA journal_mode = MEMORY");
    file.run("BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (!(error instanceof SQLiteError) || !error.code?.startsWith("SQLITE_BUSY")) throw error;
    throw inUse(error);
  }
  return {
    [Symbol.dispose]() {
      file.close();
    },
  };
}

/** Whether a daemon holds the lock. Neither makes nor changes a file. */
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
