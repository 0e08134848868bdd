/**
 * Begins a new epoch after a restore: the log of every workspace records that the workspace was restored, and from
 * which backup, and is sealed. Auditors see this event. A rollback without it contradicts the seals that they kept.
 */
import { cliPrincipal, sealNow, withWriter } from "../control/journal.ts";
import type { DataDirectory } from "../datadir/layout.ts";
import type { SealKeySource } from "../datadir/seal-key.ts";
import { Failure } from "../failure.ts";
import type { Clock } from "../ids.ts";
import { LOG_RESTORE } from "../log/restores.ts";
import type { Connection } from "../store/connection.ts";
import { readHead } from "../workspace/head.ts";
import { answered } from "../workspace/operation.ts";
import type { WorkspaceWriter } from "../workspace/perform.ts";

/** The backup that the event names. */
export interface RestoredFrom {
  /** When the backup was made, RFC 3339. */
  createdAt: string;
  /** SHA-256 of its manifest. */
  digest: string;
}

/**
 * Begins a new epoch in a workspace's log. Returns null, or why the log could not be sealed; the daemon seals it later
 * then.
 * @throws {Failure} `backup_unusable` when the workspace cannot be written
 */
export async function beginEpoch(
  directory: DataDirectory,
  workspaceId: string,
  from: RestoredFrom,
  { key, clock }: { key: SealKeySource; clock: Clock },
): Promise<string | null> {
  let cause: unknown = null;
  const onFailure = (_operation: string, error: unknown) => {
    cause = error;
  };
  const work = async (writer: WorkspaceWriter, connection: Connection) => {
    const { seq, hash } = readHead(connection);
    const details = { backup_created_at: from.createdAt, backup_digest: from.digest, head_hash: hash, head_seq: seq };
    const run = async () => answered(null, details, "{}");
    const principal = cliPrincipal(workspaceId);
    const [settled] = await writer.perform([{ operation: LOG_RESTORE, principal, run }]);
    if (settled?.auditId) return await sealNow(writer);
    const message = `${workspaceId} could not be written after it was copied.`;
    throw new Failure("backup_unusable", message, { cause });
  };
  return await withWriter(directory, key, workspaceId, work, { clock, onFailure });
}
