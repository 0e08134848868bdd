/**
 * Gives the space of free pages back to the file system.
 *
 * SQLite keeps the pages of deleted rows for later rows. A file that was created with `auto_vacuum = INCREMENTAL` can be
 * cut in small steps: pages from its end move into free ones. A file of an earlier version cannot; it is copied once,
 * without the free pages, and the copy replaces it in one step. The space is free on disk when the write-ahead log has
 * been copied back.
 */
import { renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Connection, openConnection } from "./connection.ts";
import { sqliteCode } from "./damage.ts";
import { freeBytesBeside } from "./disk-space.ts";
import type { EncryptionKey } from "./encryption.ts";
import { schemaVersion } from "./migrate.ts";
import { copyInto, fileState, integrityProblem, isDiskFull } from "./snapshot.ts";
import { syncPath } from "./sync.ts";

/** What `PRAGMA auto_vacuum` says of a file that can be cut in steps. */
const INCREMENTAL = 2;
/** The most pages of one step, since its commit writes about twice as many, and how long a step may take, ms. */
const PAGES_A_STEP = 64;
const STEP_MS = 3;
/** Pages between two looks at the clock. */
const PAGES_AT_ONCE = 16;
/** What must be free on the disk for the write-ahead log, and beside a copy. */
const SPARE_BYTES = 8 * 1024 * 1024;
/** The write-ahead log is copied back when it is this long, so that each copying is short. */
const LOG_BYTES = 512 * 1024;

/** The space in a database file, bytes. */
export interface Space {
  total: number;
  free: number;
  /** Whether the file can be cut in steps. Otherwise it must be copied. */
  canShrink: boolean;
}

/** Why a file was not compacted, or not to its end. */
export type CompactionTrouble = "in_use" | "written_to" | "no_space" | "unavailable";

/** What became of a file: its size before and after, bytes, and the longest step, ms. */
export interface Compacted {
  before: number;
  after: number;
  longestMs: number;
  trouble: CompactionTrouble | null;
}

/** A copy that can replace its original as long as the original is in this state ({@link fileState}). */
interface Draft {
  path: string;
  state: string;
}

/** Returns the path of the copy of a database while it is being compacted. */
const draftOf = (path: string): string => `${path}.compact.tmp`;

/** A draft that nobody has written to for so long is of a process that was killed, ms. */
const STALE_MS = 60 * 60_000;

/** Removes the draft that a process left behind when it was killed. */
export function removeStaleDraft(path: string, nowMs: number): void {
  const draft = draftOf(path);
  const stats = statSync(draft, { throwIfNoEntry: false });
  if (stats !== undefined && nowMs - stats.mtimeMs > STALE_MS) rmSync(draft, { force: true });
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

/** Reports whether the disk has space for `bytes` beside the file, and for what is written meanwhile. */
export const hasSpace = (path: string, bytes: number): boolean => freeBytesBeside(path) >= bytes + SPARE_BYTES;

/**
 * Cuts a few pages off; to be called within a transaction. Takes about 3 ms. Returns whether free pages are left.
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

/** Copies the write-ahead log back after a step when it has grown long; to be called after the commit. */
export const afterStep = (connection: Connection): void => connection.checkpointIfDue(LOG_BYTES);

/** What must be equal in a copy and its original. */
type Figures = readonly [problem: string | null, schemaVersion: number, definitions: number, head: string];

/**
 * Copies a database without its free pages to {@link draftOf}, as a file that can be cut in steps, and checks the copy.
 * Others may read and write the database meanwhile. Returns why there is no copy, which is removed then.
 *
 * @param headOf the end of what the database holds, which must be the same in the copy
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
    // The mode of the copy can also be set on a connection that only reads.
    using connection = openConnection(path, { encryptionKey, readOnly: true });
    const { total, free } = spaceOf(connection);
    if (!hasSpace(path, total - free)) return "no_space";
    // The copy gets this mode; the file itself cannot.
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
 * Replaces a database, which nobody may have open, by its copy in one step: after a crash there is the one or the other.
 * Returns why not, when the database was written since or is in use: then nothing was changed, and the copy is removed.
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
  syncPath(dirname(path));
  return null;
}

/** Takes the file for this connection alone, without a write-ahead log. Returns false when somebody else has it open. */
function lockAlone(connection: Connection): boolean {
  try {
    connection.exec("PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE");
    return connection.value<string>("PRAGMA journal_mode = DELETE") === "delete";
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(error))) return false;
    throw error;
  }
}
