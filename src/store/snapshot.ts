/**
 * Copies a consistent snapshot of a database to a new file, without stopping writers.
 *
 * SQLite makes the copy (`VACUUM INTO`, inside one read transaction). The file cannot be read directly, since closing
 * it would release the locks of all connections of this process (https://www.sqlite.org/howtocorrupt.html, 2.2).
 */
import { chmodSync, rmSync, statSync } from "node:fs";
import { type Connection, type OpenOptions, openConnection } from "./connection.ts";
import type { EncryptionKey } from "./encryption.ts";
import { ifSupported, syncFile } from "./sync.ts";

const PRIVATE_FILE_MODE = 0o600;
/** A file written within this time may be written again with the same change time. */
const SETTLED_AFTER_MS = 2_000;

/** Reports whether an error of SQLite or the system means that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === "SQLITE_FULL" || code === "ENOSPC" || code === "EDQUOT";
}

/**
 * Returns an identifier of the state of a database's files: while it is the same, nothing was written. Returns null
 * when a file was written so shortly before `nowMs` that another write might not change the identifier.
 */
export function fileState(path: string, nowMs: number): string | null {
  const parts: string[] = [];
  for (const file of [path, `${path}-wal`]) {
    const { dev, ino, size, ctimeNs } = statSync(file, { bigint: true, throwIfNoEntry: false }) ?? NO_FILE;
    // An empty log is ignored, since readers create and remove it.
    if (size === 0n) continue;
    if (Number(ctimeNs / 1_000_000n) + SETTLED_AFTER_MS > nowMs) return null;
    // The change time, since anybody can set the modification time.
    parts.push(`${dev} ${ino} ${size} ${ctimeNs}`);
  }
  return parts.join(" | ");
}

const NO_FILE = { dev: 0n, ino: 0n, size: 0n, ctimeNs: 0n };

/** The same as {@link fileState}, to detect a write between two calls. */
const inPlace = (path: string): string | null => fileState(path, Number.MAX_SAFE_INTEGER);

/**
 * Runs `read` on a file that nobody has open. Returns false when somebody has the file open, in which case it may not
 * have run, or has written to it meanwhile, in which case its result is not valid.
 */
function readUndisturbed(path: string, read: () => void): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log !== undefined && log.size > 0) return false;
  const before = inPlace(path);
  try {
    read();
  } catch (error) {
    if (inPlace(path) === before) throw error;
  }
  return inPlace(path) === before;
}

/**
 * Writes a snapshot of a database to a new file, mode 0600, durably. The copy is one compact file with the same schema
 * version and key. The database is not changed. It is read without locks, which creates no other files, or with
 * SQLite's locks when somebody has it open.
 * @throws the driver's error, and {@link isDiskFull} ones; no file remains
 */
export function copyDatabase(path: string, target: string, encryptionKey: EncryptionKey | null = null): void {
  const copy = (options: OpenOptions) => {
    using connection = openConnection(path, { ...options, encryptionKey });
    rmSync(target, { force: true });
    copyInto(connection, target);
  };
  try {
    if (!readUndisturbed(path, () => copy({ immutable: true }))) copy({ readOnly: true });
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  }
}

/** The same for an open database. */
export function copyInto(connection: Connection, target: string): void {
  connection.exec(`VACUUM INTO '${target.replaceAll("'", "''")}'`);
  ifSupported(() => chmodSync(target, PRIVATE_FILE_MODE));
  syncFile(target);
}

/** Returns the first problem that SQLite finds in a file's structure; null for none. Nobody may write to the file. */
export function integrityProblem(connection: Connection): string | null {
  // As bytes, since the message quotes names of tables and indexes, which may not be UTF-8 in a damaged file.
  const first = connection.value<Uint8Array>("SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check(1)");
  const message = first === undefined ? "ok" : new TextDecoder().decode(first);
  return message === "ok" ? null : message;
}
