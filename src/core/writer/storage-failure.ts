/**
 * Failures of the disk and of files. They concern the whole transaction, not only the operation in which they occur.
 */

import type { ProblemCode } from "../../problem.ts";
import { sqliteCode } from "../../store/damage.ts";

/** The file contradicts itself. The workspace must not be written. */
export class DamagedWorkspace extends Error {
  override readonly name: string = "DamagedWorkspace";
}

/** The file was replaced by one that lacks known events, so it is not the log that was served. */
export class ReplacedWorkspace extends DamagedWorkspace {
  override readonly name: string = "ReplacedWorkspace";
}

/** The log announces a greater vocabulary than this program knows. The file is unchanged, and must not be written. */
export class NewerWorkspace extends DamagedWorkspace {
  override readonly name: string = "NewerWorkspace";

  constructor(found: number, known: number) {
    super(`a newer governd wrote the log (vocabulary ${found}, this one knows ${known}): use the newer governd`);
  }
}

/** The message for a file that is not an older one but a mixture of two. */
export const OVERWRITTEN =
  "the file or its write-ahead log was overwritten while it was open: move them away, and rename the newest file, or one that `governd restore` made, to its place";

/** The workspace's server cannot be reached, or refuses this node. Nothing was written. */
export class Unreachable extends Error {
  override readonly name: string = "Unreachable";
}

/** A commit on a server failed because another node had committed first, or its outcome is unknown. */
export class NotCommitted extends Error {
  override readonly name = "NotCommitted";

  constructor(readonly outcome: "stale" | "unknown") {
    super(outcome === "stale" ? "another node has written to the log" : "the libSQL server gave no definite answer");
  }
}

/** The message for a file that is not there. */
export const MISSING = "the workspace's file is missing";

/** The workspace's file does not exist. */
export class MissingWorkspace extends Error {
  override readonly name = "MissingWorkspace";
}

export function isStorageFailure(error: unknown): boolean {
  return (
    error instanceof DamagedWorkspace ||
    error instanceof MissingWorkspace ||
    error instanceof Unreachable ||
    error instanceof NotCommitted ||
    /^SQLITE_(IOERR|FULL|READONLY|CORRUPT|NOTADB|CANTOPEN|BUSY|LOCKED|NOMEM|PROTOCOL)/.test(sqliteCode(error))
  );
}

/**
 * Whether an error of a reader is a failure of the file: every error of the database is. All SQL is the program's own,
 * so even a missing table means a damaged file.
 */
export function isReadFailure(error: unknown): boolean {
  return isStorageFailure(error) || sqliteCode(error).startsWith("SQLITE_");
}

/** Why a workspace cannot be written. Problems of the disk can end by themselves, problems of the file cannot. */
export type StorageTrouble =
  | "disk_full"
  | "disk_failing"
  | "damaged"
  | "replaced"
  | "newer"
  | "missing"
  | "encryption"
  | "unreachable";

/** Returns the trouble that a failure indicates; null for a momentary one (another process writes). */
export function troubleOf(error: unknown): StorageTrouble | null {
  if (error instanceof MissingWorkspace) return "missing";
  if (error instanceof Unreachable || error instanceof NotCommitted) return "unreachable";
  if (error instanceof ReplacedWorkspace) return "replaced";
  if (error instanceof NewerWorkspace) return "newer";
  if ((error as { name?: unknown }).name === "EncryptionMismatch") return "encryption";
  const code = sqliteCode(error);
  if (/^SQLITE_(BUSY|LOCKED|NOMEM|PROTOCOL)/.test(code)) return null;
  if (code.startsWith("SQLITE_FULL")) return "disk_full";
  if (/^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code)) return "disk_failing";
  return isReadFailure(error) ? "damaged" : null;
}

/** Whether the disk causes the trouble, so that it affects more than one workspace. */
export const isOfDisk = (trouble: StorageTrouble): boolean => trouble === "disk_full" || trouble === "disk_failing";

/**
 * Whether the file must be closed, opened and checked again before it is used, since memory and file may differ. A full
 * disk or an unreachable server leaves both unchanged.
 */
export function mustReopen(error: unknown): boolean {
  const trouble = troubleOf(error);
  return trouble !== null && trouble !== "disk_full" && trouble !== "unreachable";
}

/**
 * Whether a write or fsync failed on a file that was open for writing. The write-ahead log may then contain a part of
 * the transaction, but SQLite's index of the log is still right.
 */
export const failedWriting = (error: unknown): boolean => /^SQLITE_IOERR_(WRITE|FSYNC)$/.test(sqliteCode(error));

/** The message for clients of a replaced workspace. */
export const REPLACED =
  "The workspace's file was replaced by one that lacks recorded events; nothing was changed. The server's log names it, and says what to do.";
/** The message for clients of a workspace that a newer governd wrote. */
export const NEWER =
  "The workspace was written by a newer governd than this one; nothing was changed. The server's log says what to do.";
export const SERVER_UNREACHABLE =
  "The libSQL server that has the workspaces cannot be reached just now; nothing was changed. Try again shortly.";
const UNAVAILABLE = "The workspace could not be written just now; nothing was changed. Try again shortly.";

/** The message for clients when it is unknown whether an operation is in the log. */
export const OUTCOME_UNKNOWN =
  "The server failed while this was being made durable, so it may have been done or not. Send it again with the same Idempotency-Key, if it had one; otherwise read before you repeat it.";

/**
 * Whether a transaction whose commit failed with this error may still appear. When only the fsync failed, the
 * transaction is rolled back, but a crash could bring it back until the next write overwrites it in the write-ahead
 * log. When a write failed, it cannot reappear: the log lacks the last page, which marks the commit.
 */
export const mayReappear = (error: unknown): boolean =>
  error instanceof NotCommitted
    ? error.outcome === "unknown"
    : !(error instanceof Unreachable) && !/^SQLITE_(BUSY|FULL|IOERR_WRITE)/.test(sqliteCode(error));

/** Whether an fsync of any file failed, so that the writes before it may or may not be on the disk. */
export const failedSyncing = (error: unknown): boolean => sqliteCode(error) === "SQLITE_IOERR_FSYNC";

/** Returns the problem for the clients of a failed transaction. */
export function explainFailure(error: unknown, isUnsure: boolean): [ProblemCode, string] {
  if (isUnsure) return ["outcome_unknown", OUTCOME_UNKNOWN];
  if (error instanceof Unreachable) return ["unavailable", SERVER_UNREACHABLE];
  return ["unavailable", error instanceof ReplacedWorkspace ? REPLACED : UNAVAILABLE];
}
