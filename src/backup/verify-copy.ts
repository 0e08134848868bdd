/** Verifies copies of workspaces: the complete log, with its seals and rows. Nobody may write to them. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type DataDirectory, sealFile, workspaceFile } from "../core/datadir/layout.ts";
import { readHead } from "../core/writer/head.ts";
import { listDeleted, listLogIds } from "../ops/directory/workspaces.ts";
import { openConnection } from "../store/connection.ts";
import { isDamage } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { integrityProblem } from "../store/snapshot.ts";
import { verifyDatabaseFile } from "../verify/sources.ts";
import type { ManifestWorkspace } from "./manifest.ts";

/** Returns the workspaces that the copy of the file of the installation names, and those that it says were deleted. */
export function readInstallationCopy(
  directory: DataDirectory,
  installation: string,
): { workspaceIds: string[]; deleted: string[] } {
  const { encryptionKey } = directory;
  using connection = openConnection(workspaceFile(directory, installation), { immutable: true, encryptionKey });
  return { workspaceIds: listLogIds(connection), deleted: listDeleted(connection) };
}

/** The content of a good copy, or why the copy is not good. */
type CopyVerdict = { good: true; workspace: ManifestWorkspace } | { good: false; reason: string };

/** Verifies the copy of a workspace in `directory`: `PRAGMA integrity_check`, then its log, seals and stored rows. */
export async function verifyWorkspaceCopy(
  directory: DataDirectory,
  workspaceId: string,
  onProgress: (checked: number, total: number) => void | Promise<void> = () => {},
): Promise<CopyVerdict> {
  const { encryptionKey } = directory;
  const path = workspaceFile(directory, workspaceId);
  const damage = structureProblem(path, encryptionKey);
  if (damage !== null) return { good: false, reason: damage };
  const seals = sealFile(directory, workspaceId);
  const { report, verdict } = await verifyDatabaseFile(
    { path, immutable: true },
    {
      path,
      workspaceId,
      encryptionKey,
      sealFile: existsSync(seals) ? () => Bun.file(seals).stream() : null,
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
  const { seq: head_seq, hash: head_hash } = readHead(connection);
  const { sealed_through } = report;
  return { good: true, workspace: { workspace_id: workspaceId, head_seq, head_hash, sealed_through } };
}

/** Returns what is wrong with the structure of a database file, or null. */
function structureProblem(path: string, encryptionKey: EncryptionKey | null): string | null {
  try {
    using connection = openConnection(path, { immutable: true, encryptionKey });
    const found = integrityProblem(connection);
    return found === null ? null : `the database is damaged: ${found}`;
  } catch (error) {
    // A wrong key is not damage: the operator can fix it.
    if (error instanceof EncryptionMismatch || !isDamage(error)) throw error;
    return "the database is damaged: it cannot be read completely";
  }
}
