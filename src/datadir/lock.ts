/**
 * The lock against a second daemon: a SQLite file in an exclusive transaction. The operating system ends
 * it with the process, however that ends, and it works alike on every platform. Commands beside the
 * daemon do not take it.
 *
 * The lock is the process's, and is lost when the process closes any other handle of the file (POSIX
 * advisory locks): nothing else may open it.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync } from "node:fs";
import { Failure } from "../failure.ts";
import type { DataDirectory } from "./layout.ts";
import { createPrivateFile } from "./private-files.ts";

/**
 * Takes the lock for as long as the returned object is not disposed of.
 * @throws {Failure} `data_directory_in_use` when another daemon holds it.
 */
export function lockDataDirectory(directory: DataDirectory): Disposable {
  if (!existsSync(directory.lock)) createPrivateFile(directory.lock, "");
  const file = new Database(directory.lock);
  try {
    file.run("PRAGMA busy_timeout = 0");
    // Nothing is ever written, so there is nothing to keep for a rollback.
    file.run("PRAGMA journal_mode = MEMORY");
    file.run("BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (!(error instanceof SQLiteError) || !error.code?.startsWith("SQLITE_BUSY")) throw error;
    throw new Failure(
      "data_directory_in_use",
      `The data directory ${directory.root} is in use by another running governd. Stop that one, or choose another --data-dir.`,
      { cause: error },
    );
  }
  return {
    [Symbol.dispose]() {
      file.close();
    },
  };
}
