/**
 * The epoch that a restore begins: every workspace says in its own log that it was put back, and from what,
 * and is sealed. Auditors see it; a roll-back that does not say so does not fit the seals that they kept.
 */
import type { DataDirectory } from "../datadir/layout.ts";
import { sealFile, workspaceFile } from "../datadir/layout.ts";
import type { SealKeySource } from "../datadir/seal-key.ts";
import { Failure, messageOf } from "../failure.ts";
import type { Clock } from "../ids.ts";
import { LOG_RESTORE } from "../log/restores.ts";
import { SealKeyring } from "../seals/keyring.ts";
import { WorkspaceSealer } from "../seals/sealer.ts";
import type { Principal } from "../workspace/contract.ts";
import { openWorkspaceFile } from "../workspace/file.ts";
import { readHead } from "../workspace/head.ts";
import { answered } from "../workspace/operation.ts";
import { WorkspaceWriter } from "../workspace/perform.ts";

/** What the event says that the workspace was restored from. */
export interface RestoredFrom {
  /** When the backup was made, RFC 3339. */
  createdAt: string;
  /** SHA-256 of its manifest. */
  digest: string;
}

/** Who restores: the command line. */
const ACTOR = "cli";

/**
 * Begins a new epoch in a workspace's log. Answers why it could not be sealed, or null when it is; the
 * daemon seals it later then.
 */
export async function beginEpoch(
  directory: DataDirectory,
  workspaceId: string,
  from: RestoredFrom,
  { key, clock }: { key: SealKeySource; clock: Clock },
): Promise<string | null> {
  const connection = openWorkspaceFile(workspaceFile(directory, workspaceId), directory.encryptionKey);
  const sealer = new WorkspaceSealer({
    keyring: new SealKeyring(key),
    file: sealFile(directory, workspaceId),
  });
  let trouble: unknown = null;
  const writer = new WorkspaceWriter(connection, {
    sealer,
    clock,
    onFailure: (_operation, error) => {
      trouble = error;
    },
  });
  try {
    await sealer.load(connection);
    const { seq, hash } = readHead(connection);
    const details = {
      backup_created_at: from.createdAt,
      backup_digest: from.digest,
      head_hash: hash,
      head_seq: seq,
    };
    const principal: Principal = { actor: ACTOR, workspaceId, scope: "full", agents: null };
    const run = async () => answered(null, details, "{}");
    const [settled] = await writer.perform([{ operation: LOG_RESTORE, principal, run }]);
    if (!settled?.auditId) {
      throw new Failure("backup_unusable", `${workspaceId} could not be written after it was copied.`, {
        cause: trouble,
      });
    }
    return await seal(writer);
  } finally {
    writer.close();
  }
}

/** What was recorded stays so: a key that is not at hand keeps it from being sealed now, and no more. */
async function seal(writer: WorkspaceWriter): Promise<string | null> {
  try {
    await writer.seal();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
