/** Failures of disk and file: they concern the whole transaction, not the operation that met them. */

import type { ProblemCode } from "../problem.ts";
import { sqliteCode } from "../store/damage.ts";

/** The file contradicts itself. The workspace must not be written. */
export class DamagedWorkspace extends Error {
  override readonly name: string = "DamagedWorkspace";
}

/** The file was replaced while its newer events were known: it is not the log that was served. */
export class ReplacedWorkspace extends DamagedWorkspace {
  override readonly name: string = "ReplacedWorkspace";
}

/** Why a {@link ReplacedWorkspace} was refused that is not an older file, but a mixture of two. */
export const OVERWRITTEN =
  "the file or its write-ahead log was overwritten while it was open: move them away, and rename the newest file, or one that `governd restore` made, to its place";

/** The server that has the workspace cannot be reached, or refuses this node. Nothing was written. */
export class Unreachable extends Error {
  override readonly name: string = "Unreachable";
}

/** A commit on a server did not happen, or may have: another node was faster, or nobody knows. */
export class NotCommitted extends Error {
  override readonly name = "NotCommitted";

  constructor(readonly outcome: "stale" | "unknown") {
    super(outcome === "stale" ? "another node has written to the log" : "the libSQL server gave no definite answer");
  }
}

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
 * For readers: every error of the database. All SQL is the program's own, so even a missing table means a damaged file.
 */
export function isReadFailure(error: unknown): boolean {
  return isStorageFailure(error) || sqliteCode(error).startsWith("SQLITE_");
}

/** Why a workspace cannot be written. Trouble of the disk can end by itself, trouble of the file cannot. */
export type StorageTrouble =
  | "disk_full"
  | "disk_failing"
  | "damaged"
  | "replaced"
  | "missing"
  | "encryption"
  | "unreachable";

/** Returns the trouble that a failure shows; null for one that passes at once (another process writes). */
export function troubleOf(error: unknown): StorageTrouble | null {
  if (error instanceof MissingWorkspace) return "missing";
  if (error instanceof Unreachable || error instanceof NotCommitted) return "unreachable";
  if (error instanceof ReplacedWorkspace) return "replaced";
  if ((error as { name?: unknown }).name === "EncryptionMismatch") return "encryption";
  const code = sqliteCode(error);
  if (/^SQLITE_(BUSY|LOCKED|NOMEM|PROTOCOL)/.test(code)) return null;
  if (code.startsWith("SQLITE_FULL")) return "disk_full";
  if (/^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code)) return "disk_failing";
  return isReadFailure(error) ? "damaged" : null;
}

/** Whether trouble is of the disk, and so concerns more than one workspace. */
export const isOfDisk = (trouble: StorageTrouble): boolean => trouble === "disk_full" || trouble === "disk_failing";

/**
 * Whether the file must be closed, opened and checked again before it is used. A full disk leaves everything as it was;
 * after other failures, memory and file may differ. While a server cannot be reached, the file is as it was, too.
 */
export function mustReopen(error: unknown): boolean {
  const trouble = troubleOf(error);
  return trouble !== null && trouble !== "disk_full" && trouble !== "unreachable";
}

/**
 * Whether a write or fsync failed on a file that was open for writing: the write-ahead log may hold a part of the
 * transaction, and SQLite's index of that log is still right.
 */
export const failedWriting = (error: unknown): boolean => /^SQLITE_IOERR_(WRITE|FSYNC)$/.test(sqliteCode(error));

/** What clients of a replaced workspace are told. */
export const REPLACED =
  "The workspace's file was replaced by one that lacks recorded events; nothing was changed. The server's log names it, and says what to do.";
export const SERVER_UNREACHABLE =
  "The libSQL server that has the workspaces cannot be reached just now; nothing was changed. Try again shortly.";
const UNAVAILABLE = "The workspace could not be written just now; nothing was changed. Try again shortly.";

/** What clients are told when nobody knows whether an operation is in the log. */
export const OUTCOME_UNKNOWN =
  "The server failed while this was being made durable, so it may have been done or not. Send it again with the same Idempotency-Key, if it had one; otherwise read before you repeat it.";

/**
 * Whether a transaction whose commit failed with this error may appear all the same: when only the fsync failed, the
 * transaction is rolled back, but until the next write overwrites it in the write-ahead log, a crash could bring it back.
 * Of a write that failed, the log lacks the last page, which makes a transaction count.
 */
export const mayReappear = (error: unknown): boolean =>
  error instanceof NotCommitted
    ? error.outcome === "unknown"
    : !(error instanceof Unreachable) && !/^SQLITE_(BUSY|FULL|IOERR_WRITE)/.test(sqliteCode(error));

/** Whether an fsync failed, wherever that was: what was written before it may be on the disk. */
export const failedSyncing = (error: unknown): boolean => sqliteCode(error) === "SQLITE_IOERR_FSYNC";

/** Returns what the clients of a failed transaction are told. */
export function explainFailure(error: unknown, isUnsure: boolean): [ProblemCode, string] {
  if (isUnsure) return ["outcome_unknown", OUTCOME_UNKNOWN];
  if (error instanceof Unreachable) return ["unavailable", SERVER_UNREACHABLE];
  return ["unavailable", error instanceof ReplacedWorkspace ? REPLACED : UNAVAILABLE];
}
