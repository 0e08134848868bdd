/** Whether a copy of a database is good: its structure, and of a workspace its whole log. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { openConnection } from "../store/connection.ts";
import { isDamage } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { integrityProblem } from "../store/snapshot.ts";
import { verifyDatabaseFile } from "../verify/database.ts";
import { readHead } from "../workspace/head.ts";
import type { ManifestWorkspace } from "./manifest.ts";

/** A workspace's copy that nobody writes to. */
export interface WorkspaceCopy {
  workspaceId: string;
  path: string;
  encryptionKey: EncryptionKey | null;
  /** The copy of its file of seals. */
  sealFile: string;
}

/** What a good copy holds, or why it is not good, in words. */
export type CopyVerdict = { good: true; workspace: ManifestWorkspace } | { good: false; reason: string };

/** Verifies the copy of a workspace: `PRAGMA integrity_check`, then all of its log, seals and stored rows. */
export async function verifyWorkspaceCopy(
  copy: WorkspaceCopy,
  onProgress: (checked: number, total: number) => void | Promise<void> = () => {},
): Promise<CopyVerdict> {
  const { workspaceId, path, sealFile, encryptionKey } = copy;
  const damage = structureProblem(path, encryptionKey);
  if (damage !== null) return { good: false, reason: damage };
  const seals = existsSync(sealFile) ? () => Bun.file(sealFile).stream() : null;
  const { report, verdict } = await verifyDatabaseFile(
    { path, immutable: true },
    {
      path,
      workspaceId,
      encryptionKey,
      sealFile: seals,
      onProgress,
      threads: { count: availableParallelism() },
    },
  );
  if (verdict !== "verified") {
    const [first] = report.problems;
    const place = first?.seq == null ? "" : ` at event ${first.seq}`;
    return { good: false, reason: `${first?.code ?? "it does not verify"}${place}: ${first?.message ?? ""}` };
  }
  using connection = openConnection(path, { immutable: true, encryptionKey });
  const { seq, hash } = readHead(connection);
  const workspace = {
    workspace_id: workspaceId,
    head_seq: seq,
    head_hash: hash,
    sealed_through: report.sealed_through,
  };
  return { good: true, workspace };
}

/** What is wrong with a database file's structure; null when nothing is. Nobody may be writing to it. */
export function structureProblem(path: string, key: EncryptionKey | null): string | null {
  try {
    using connection = openConnection(path, { immutable: true, encryptionKey: key });
    const found = integrityProblem(connection);
    return found === null ? null : `the database is damaged: ${found}`;
  } catch (error) {
    // A key that does not fit is the operator's to mend, and no damage.
    if (error instanceof EncryptionMismatch || !isDamage(error)) throw error;
    return "the database is damaged: it cannot be read to its end";
  }
}
