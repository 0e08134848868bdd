/**
 * A database as it is at one moment, in a new file of its own, without stopping who writes to it.
 *
 * SQLite does it (`VACUUM INTO`, inside one read transaction), and not a copy of the file: closing a file
 * that was opened beside SQLite would take away the locks of every connection that this process has on it
 * (https://www.sqlite.org/howtocorrupt.html, 2.2).
 */
import { chmodSync, rmSync, statSync } from "node:fs";
import { type Connection, type OpenOptions, openConnection } from "./connection.ts";
import type { EncryptionKey } from "./encryption.ts";
import { syncPath } from "./sync.ts";

const PRIVATE_FILE_MODE = 0o600;
/** A file that was written so shortly ago may be written again under the same time of change. */
const SETTLED_AFTER_MS = 2_000;

/** SQLite or the system says that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === "SQLITE_FULL" || code === "ENOSPC" || code === "EDQUOT";
}

/**
 * Names the state that a database's files are in: as long as it stays the same, nothing was written. Null
 * when a file was written so shortly before `nowMs` that this would not be certain.
 */
export function fileState(path: string, nowMs: number): string | null {
  const parts: string[] = [];
  for (const file of [path, `${path}-wal`]) {
    const { dev, ino, size, ctimeNs } = statSync(file, { bigint: true, throwIfNoEntry: false }) ?? NO_FILE;
    // An empty log says nothing, and comes and goes with who reads.
    if (size === 0n) continue;
    if (Number(ctimeNs / 1_000_000n) + SETTLED_AFTER_MS > nowMs) return null;
    // Not the time of modification, which anybody can set back.
    parts.push(`${dev} ${ino} ${size} ${ctimeNs}`);
  }
  return parts.join(" | ");
}

const NO_FILE = { dev: 0n, ino: 0n, size: 0n, ctimeNs: 0n };

/**
 * Reads a database without changing its file, also beside one who writes. A file that nobody has open is
 * read in place, which leaves nothing beside it; when somebody opens it meanwhile, it is read once more,
 * under SQLite's locks. So `read` may be run twice.
 */
function readDatabase<T>(
  path: string,
  read: (connection: Connection) => T,
  encryptionKey: EncryptionKey | null = null,
): T {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log === undefined || log.size === 0) {
    const before = inPlace(path);
    const isSame = () => inPlace(path) === before;
    try {
      const done = readOpened(path, { immutable: true, encryptionKey }, read);
      if (isSame()) return done;
    } catch (error) {
      if (isSame()) throw error;
    }
  }
  return readOpened(path, { readOnly: true, encryptionKey }, read);
}

function readOpened<T>(path: string, options: OpenOptions, read: (connection: Connection) => T): T {
  using connection = openConnection(path, options);
  return read(connection);
}

/** The same as {@link fileState}, for a moment: whether anybody wrote between two looks. */
const inPlace = (path: string): string | null => fileState(path, Number.MAX_SAFE_INTEGER);

/**
 * Writes a database as it is at one moment into a new file, mode 0600, durably. The copy is compact, in
 * one file, and has the same schema version and the same key.
 * @throws the driver's error, and {@link isDiskFull} ones; nothing is left behind then
 */
export function copyDatabase(path: string, target: string, key: EncryptionKey | null = null): void {
  try {
    readDatabase(
      path,
      (connection) => {
        rmSync(target, { force: true });
        copyInto(connection, target);
      },
      key,
    );
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  }
}

/** The same of an open database. */
export function copyInto(connection: Connection, target: string): void {
  connection.exec(`VACUUM INTO '${target.replaceAll("'", "''")}'`);
  chmodSync(target, PRIVATE_FILE_MODE);
  syncPath(target);
}

/** What SQLite finds wrong with a file's structure; null when nothing. Nobody may be writing to it. */
export function integrityProblem(connection: Connection): string | null {
  const [first] = connection.all<[string]>("PRAGMA integrity_check(1)");
  return first === undefined || first[0] === "ok" ? null : first[0];
}
