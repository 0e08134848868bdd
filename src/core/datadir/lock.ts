/**
 * The locks on a data directory. The daemon's lock excludes a second daemon; commands beside the daemon do not take it.
 * The other lock is the right to copy write-ahead logs back.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync, readFileSync, statSync } from "node:fs";
import { Failure } from "../../failure.ts";
import { ALWAYS } from "../../store/log-right.ts";
import { holdLock } from "./file-lock.ts";
import type { DataDirectory } from "./layout.ts";

/** How long to wait for processes that only check the lock, ms. A daemon holds it for longer. */
const CHECK_PATIENCE_MS = 1_000;
/** How long to wait for a command that copies a write-ahead log back, ms. */
const COPY_PATIENCE_MS = 60_000;

/**
 * Takes the daemon's lock until the returned object is disposed of.
 * @throws {Failure} `data_directory_in_use` when another daemon holds it
 */
export const lockDataDirectory = (directory: DataDirectory): Disposable =>
  holdLock(directory.lock, inUse(directory), CHECK_PATIENCE_MS);

/** A data directory whose files belong to this process until it is disposed of. */
interface OwnDirectory extends Disposable {
  /** The same directory for connections that copy write-ahead logs back. */
  directory: DataDirectory;
}

/**
 * Takes the daemon's lock, and the right to copy write-ahead logs back.
 * @throws {Failure} `data_directory_in_use` when another daemon holds it
 */
export function ownDataDirectory(directory: DataDirectory): OwnDirectory {
  using locks = new DisposableStack();
  locks.use(lockDataDirectory(directory));
  locks.use(holdLock(directory.logLock, inUse(directory), COPY_PATIENCE_MS));
  const held = locks.move();
  return { directory: { ...directory, takeLogRight: ALWAYS }, [Symbol.dispose]: () => held.dispose() };
}

const inUse =
  ({ root }: DataDirectory) =>
  (cause: unknown) =>
    new Failure(
      "data_directory_in_use",
      `The data directory ${root} is in use by another running governd. Stop that process, or choose another --data-dir.`,
      { cause },
    );

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

/** Returns the process id of the daemon that holds the lock; null without a daemon, and on systems other than Linux. */
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
