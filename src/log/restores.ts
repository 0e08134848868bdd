/**
 * Declared restores. A workspace that was restored from a backup states that in its own log, so that the following
 * events are a new epoch and not a silent rollback. The event directly follows the last one in the backup and names it.
 * The next seal covers both.
 *
 * A restore explains why events are gone, but excuses nothing: anyone with the disk and the key could declare
 * one. So a seal that was kept elsewhere over events that are gone is still a finding, under its own name.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import type { EventName } from "../operations.ts";
import type { AuditEventBody } from "./event.ts";

/** The operation that declares a restore. */
export const LOG_RESTORE = "log.restore" satisfies EventName;

/** One declared restore. Members other than `seq` and `timestamp` are null when the details are erased. */
export interface DeclaredRestore {
  /** The event that declares it: the first one of the new epoch. */
  seq: number;
  timestamp: string;
  /** The last event that the backup held, and its hash. */
  headSeq: number | null;
  headHash: string | null;
  /** When the backup was made. */
  backupCreatedAt: string | null;
  /** SHA-256 of the backup's manifest. */
  backupDigest: string | null;
  /** What it did to the control database. Null when it left it as the backup held it: older versions did. */
  control: RestoredControl | null;
}

/** A restore brings the control database to what the log states, except for rows that need more than events hold. */
export interface RestoredControl {
  /** When it revoked the links that nobody had used, milliseconds since the Unix epoch. */
  linksRevokedAt: number;
  /** The rows of this workspace that it could not make. */
  rowsLeftOut: { table: string; id: string }[];
}

/** Returns the members of the event's details that state what a restore did to the control database. */
export const restoredControlDetails = ({ linksRevokedAt, rowsLeftOut }: RestoredControl) => ({
  links_revoked_at: new Date(linksRevokedAt).toISOString(),
  rows_left_out: rowsLeftOut.map(({ table, id }) => ({ table, id })),
});

/** Returns the restore that an event declares; null when it declares none. */
export function declaredRestore(event: AuditEventBody, details: string | null): DeclaredRestore | null {
  if (event.operation !== LOG_RESTORE || event.agent_id !== null || event.result !== "ok") return null;
  const said = details === null ? {} : (JSON.parse(details) as JsonObject);
  const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
  return {
    seq: event.seq,
    timestamp: event.timestamp,
    headSeq: typeof said.head_seq === "number" ? said.head_seq : null,
    headHash: text(said.head_hash),
    backupCreatedAt: text(said.backup_created_at),
    backupDigest: text(said.backup_digest),
    control: restoredControl(said),
  };
}

function restoredControl({ links_revoked_at: at, rows_left_out: rows }: JsonObject): RestoredControl | null {
  if (typeof at !== "string" || !Array.isArray(rows)) return null;
  const rowsLeftOut = rows.map((row: JsonValue) => {
    const { table, id } = (row ?? {}) as JsonObject;
    return { table: String(table), id: String(id) };
  });
  return { linksRevokedAt: Date.parse(at), rowsLeftOut };
}

/** Returns what is wrong with a restore after the event `last`; null when nothing is or the details do not tell. */
export function restoreProblem(restore: DeclaredRestore, last: { seq: number; hash: string } | null): string | null {
  if (last === null || restore.headSeq === null) return null;
  if (restore.headSeq === last.seq && restore.headHash === last.hash) return null;
  return "a restore names another event than the one before it as the last that was restored";
}
