/** Verifies copies of databases: their structure, and the complete log of a workspace. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { openConnection } from "../store/connection.ts";
import { isDamage } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { integrityProblem } from "../store/snapshot.ts";
import { verifyDatabaseFile } from "../verify/sources.ts";
import { readHead } from "../workspace/head.ts";
import type { ManifestWorkspace } from "./manifest.ts";

/** The copy of a workspace. Nobody may be writing to it. */
export interface WorkspaceCopy {
  workspaceId: string;
  path: string;
  encryptionKey: EncryptionKey | null;
  /** The copy of its seal file. */
  sealFile: string;
}

/** The content of a good copy, or why the copy is not good. */
export type CopyVerdict = { good: true; workspace: ManifestWorkspace } | { good: false; reason: string };

/** Verifies the copy of a workspace: `PRAGMA integrity_check`, then its log, seals and stored rows. */
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
    { path, workspaceId, encryptionKey, sealFile: seals, onProgress, threads: { count: availableParallelism() } },
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

/** Returns what is wrong with the structure of a database file, or null. Nobody may be writing to it. */
export function structureProblem(path: string, key: EncryptionKey | null): string | null {
  try {
    using connection = openConnection(path, { immutable: true, encryptionKey: key });
    const found = integrityProblem(connection);
    return found === null ? null : `the database is damaged: ${found}`;
  } catch (error) {
    // A wrong key is not damage: the operator can fix it.
    if (error instanceof EncryptionMismatch || !isDamage(error)) throw error;
    return "the database is damaged: it cannot be read completely";
  }
}
