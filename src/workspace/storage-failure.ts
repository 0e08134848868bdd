/** Failures of disk and file: they concern the whole transaction, not the operation that met them. */

import { sqliteCode } from "../store/damage.ts";

/** Raised when the file's own state contradicts itself; the workspace must not be written then. */
export class DamagedWorkspace extends Error {
  override readonly name = "DamagedWorkspace";
}

/** The workspace's file is not there. */
export class MissingWorkspace extends Error {
  override readonly name = "MissingWorkspace";
}

export function isStorageFailure(error: unknown): boolean {
  return (
    error instanceof DamagedWorkspace ||
    error instanceof MissingWorkspace ||
    /^SQLITE_(IOERR|FULL|READONLY|CORRUPT|NOTADB|CANTOPEN|BUSY|LOCKED|NOMEM|PROTOCOL)/.test(sqliteCode(error))
  );
}

/**
 * For readers: whatever the database itself refuses. All SQL is ours, so a table that is not there, say,
 * is the file's fault.
 */
export function isReadFailure(error: unknown): boolean {
  return isStorageFailure(error) || sqliteCode(error).startsWith("SQLITE_");
}

/** What keeps a workspace from being written. The disk's troubles pass by themselves, the file's do not. */
export type StorageTrouble = "disk_full" | "disk_failing" | "damaged" | "missing" | "encryption";

/** The trouble that a failure tells of; null for one that passes at once (another process writes). */
export function troubleOf(error: unknown): StorageTrouble | null {
  if (error instanceof MissingWorkspace) return "missing";
  if ((error as { name?: unknown }).name === "EncryptionMismatch") return "encryption";
  const code = sqliteCode(error);
  if (/^SQLITE_(BUSY|LOCKED|NOMEM|PROTOCOL)/.test(code)) return null;
  if (code.startsWith("SQLITE_FULL")) return "disk_full";
  if (/^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code)) return "disk_failing";
  return isReadFailure(error) ? "damaged" : null;
}

/** Whether a trouble is one of the disk, which concerns more than one workspace. */
export const isOfDisk = (trouble: StorageTrouble): boolean =>
  trouble === "disk_full" || trouble === "disk_failing";

/**
 * Whether the file must be closed, opened and looked at again before it is used. After a disk that was full
 * everything is as it was; after other failures, what memory holds of the file may not be what is in it.
 */
export function mustReopen(error: unknown): boolean {
  const trouble = troubleOf(error);
  return trouble !== null && trouble !== "disk_full";
}

/**
 * Whether a file that could be written failed in the middle: something may be left in its write-ahead log, and what
 * SQLite knows of that log is still good.
 */
export const failedWriting = (error: unknown): boolean =>
  /^SQLITE_IOERR_(WRITE|FSYNC)$/.test(sqliteCode(error));

const UNAVAILABLE = "The workspace could not be written just now; nothing was changed. Try again shortly.";
const UNCONFIRMED =
  "The disk failed while this was being made durable, so it was undone. Read before you repeat it: if the server fails as well before it can write again, it may still appear.";

/**
 * What the client of a transaction that failed is told. When the disk did not confirm what was all written, it
 * is undone here, but only the next write overwrites it: a crash before that could bring it back.
 */
export const whyUnavailable = (error: unknown): string =>
  sqliteCode(error) === "SQLITE_IOERR_FSYNC" ? UNCONFIRMED : UNAVAILABLE;
