/**
 * Returns the space of free pages to the file system.
 *
 * SQLite keeps the pages of deleted rows for later rows. A file that was created with `auto_vacuum = INCREMENTAL` can
 * shrink in small steps: pages from its end move into free ones. A file of an earlier version cannot. It is copied
 * once, without the free pages, and the copy replaces it in one step. The space is free on disk once the write-ahead
 * log was copied back.
 */
import { renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Connection, openConnection } from "./connection.ts";
import { sqliteCode } from "./damage.ts";
import { freeBytesBeside } from "./disk-space.ts";
import type { EncryptionKey } from "./encryption.ts";
import { schemaVersion } from "./migrate.ts";
import { copyInto, fileState, integrityProblem, isDiskFull } from "./snapshot.ts";
import { syncDirectory } from "./sync.ts";

/** The value of `PRAGMA auto_vacuum` for a file that can shrink in steps. */
const INCREMENTAL = 2;
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
  /** Whether the file can shrink in steps. Otherwise it must be copied. */
  canShrink: boolean;
}

/** Why a file was not compacted, or not completely. */
export type CompactionTrouble = "in_use" | "written_to" | "no_space" | "unavailable";

/** The result: the size of the file before and after, bytes, and the longest step, ms. */
export interface Compacted {
  before: number;
  after: number;
  longestMs: number;
  trouble: CompactionTrouble | null;
}

/** A copy that can replace its original while the original is in this state ({@link fileState}). */
interface Draft {
  path: string;
  state: string;
}

/** Returns the path of the copy of a database while it is being compacted. */
const draftOf = (path: string): string => `${path}.compact.tmp`;

/** A draft that nobody has written to for this long is left from a killed process, ms. */
const STALE_MS = 60 * 60_000;

/** Removes the draft of a killed process. */
export function removeStaleDraft(path: string, nowMs: number): void {
  const draft = draftOf(path);
  const stats = statSync(draft, { throwIfNoEntry: false });
  if (stats !== undefined && Math.abs(nowMs - stats.mtimeMs) > STALE_MS) rmSync(draft, { force: true });
}

/** Returns the space in an open database. */
export function spaceOf(connection: Connection): Space {
  const pageSize = connection.value<number>("PRAGMA page_size") ?? 0;
  return {
    total: pageSize * (connection.value<number>("PRAGMA page_count") ?? 0),
    free: pageSize * (connection.value<number>("PRAGMA freelist_count") ?? 0),
    canShrink: connection.value<number>("PRAGMA auto_vacuum") === INCREMENTAL,
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
  if (connection.value<number>("PRAGMA auto_vacuum") !== INCREMENTAL) return false;
  const end = monotonicMs() + STEP_MS;
  for (let done = 0; done < PAGES_A_STEP && monotonicMs() < end; done += PAGES_AT_ONCE) {
    if (!hasFree(connection)) return false;
    connection.cutOff(PAGES_AT_ONCE);
  }
  return hasFree(connection);
}

const hasFree = (connection: Connection): boolean => (connection.value<number>("PRAGMA freelist_count") ?? 0) > 0;

/** Copies the write-ahead log back when it has become long; to be called after the commit of a step. */
export const afterStep = (connection: Connection): void => connection.checkpointIfDue(LOG_BYTES);

/** Facts that must be equal in a copy and its original. */
type Figures = readonly [problem: string | null, schemaVersion: number, definitions: number, head: string];

/**
 * Copies a database without its free pages to {@link draftOf}, as a file that can shrink in steps, and checks the copy.
 * Others may read and write the database meanwhile. If it fails, removes the copy and returns the reason.
 *
 * @param headOf returns the head of a database, which must be the same in the copy
 */
export function draftCopy(
  path: string,
  encryptionKey: EncryptionKey | null,
  headOf: (connection: Connection) => string,
  nowMs: number,
): Draft | CompactionTrouble {
  const draft = draftOf(path);
  rmSync(draft, { force: true });
  const state = fileState(path, nowMs);
  if (state === null) return "written_to";
  try {
    // The connection can be read-only: `auto_vacuum` is set for the copy.
    using connection = openConnection(path, { encryptionKey, readOnly: true });
    const { total, free } = spaceOf(connection);
    if (!hasSpace(path, total - free)) return "no_space";
    // Only the copy gets this mode; an existing file cannot.
    connection.exec("PRAGMA auto_vacuum = INCREMENTAL");
    copyInto(connection, draft);
    if (isSame(connection, draft, encryptionKey, headOf)) return { path: draft, state };
  } catch (error) {
    rmSync(draft, { force: true });
    if (isDiskFull(error)) return "no_space";
    throw error;
  }
  rmSync(draft, { force: true });
  return "written_to";
}

function isSame(
  original: Connection,
  draft: string,
  encryptionKey: EncryptionKey | null,
  headOf: (connection: Connection) => string,
): boolean {
  using copy = openConnection(draft, { immutable: true, encryptionKey });
  const [before, after] = [figuresOf(original, headOf), figuresOf(copy, headOf)];
  return after[0] === null && spaceOf(copy).canShrink && before.every((figure, index) => figure === after[index]);
}

function figuresOf(connection: Connection, headOf: (connection: Connection) => string): Figures {
  const definitions = connection.value<number>("SELECT count(*) FROM sqlite_schema") ?? 0;
  return [integrityProblem(connection), schemaVersion(connection), definitions, headOf(connection)];
}

/**
 * Replaces a database by its copy, atomically. Nobody may have the database open. Returns null, or the reason when the
 * database was written since or is in use; nothing was then changed, and the copy is removed.
 */
export function adoptDraft(path: string, state: string, encryptionKey: EncryptionKey | null): CompactionTrouble | null {
  const draft = draftOf(path);
  try {
    using connection = openConnection(path, { encryptionKey });
    const version = connection.value<number>("PRAGMA data_version");
    // From here on, a commit of another process changes the version.
    if (fileState(path, Number.MAX_SAFE_INTEGER) !== state) return "written_to";
    if (!lockAlone(connection)) return "in_use";
    if (connection.value<number>("PRAGMA data_version") !== version) return "written_to";
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(path));
  return null;
}

/**
 * Locks the file for this connection, and removes its write-ahead log. Returns false when another connection has it
 * open.
 */
function lockAlone(connection: Connection): boolean {
  try {
    connection.exec("PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE");
    return connection.value<string>("PRAGMA journal_mode = DELETE") === "delete";
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(error))) return false;
    throw error;
  }
}
