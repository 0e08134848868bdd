/** Copies and verifies the control database of a backup. */
import { CONTROL_MIGRATIONS, newerDatabase } from "../control/database.ts";
import { listWorkspaces } from "../control/workspaces.ts";
import type { DataDirectory } from "../datadir/layout.ts";
import { Failure } from "../failure.ts";
import { openConnection } from "../store/connection.ts";
import { isDamage } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { schemaVersion } from "../store/migrate.ts";
import { copyDatabase } from "../store/snapshot.ts";
import { digestOfFile } from "./files.ts";
import type { ManifestFile } from "./manifest.ts";
import { structureProblem } from "./verify-copy.ts";

export const CONTROL_PATH = "control.db";

/** The content of a copy of the control database. */
export interface ControlContent {
  schema: number;
  workspaceIds: string[];
}

/**
 * Copies the control database and verifies the copy.
 * @throws {Failure} `backup_unusable` when it is damaged, `newer_database` when a newer governd wrote it
 */
export function copyControl(
  source: DataDirectory,
  target: DataDirectory,
): { file: ManifestFile; content: ControlContent } {
  try {
    copyDatabase(source.control, target.control, source.encryptionKey);
  } catch (error) {
    if (!(error instanceof EncryptionMismatch) && isDamage(error))
      throw damaged(source.control, "it cannot be read completely");
    throw error;
  }
  const content = readControlCopy(target.control, source.control, source.encryptionKey);
  return { file: { path: CONTROL_PATH, ...digestOfFile(target.control), source_state: null }, content };
}

/**
 * Verifies a copy of the control database and reads it. Nobody may be writing to the copy.
 * @param name its name in error messages
 * @throws {Failure} `backup_unusable`, `newer_database`
 */
export function readControlCopy(path: string, name: string, encryptionKey: EncryptionKey | null): ControlContent {
  const damage = structureProblem(path, encryptionKey);
  if (damage !== null) throw damaged(name, damage);
  using connection = openConnection(path, { immutable: true, encryptionKey });
  const [schema, known] = [schemaVersion(connection), CONTROL_MIGRATIONS.length];
  if (schema > known) throw newerDatabase(name, schema, known);
  if (schema === 0) throw damaged(name, "it is empty");
  return { schema, workspaceIds: listWorkspaces(connection).map(({ id }) => id) };
}

function damaged(name: string, reason: string): Failure {
  return new Failure(
    "backup_unusable",
    `${name} is damaged (${reason}). Restore the last good backup with \`governd restore\`.`,
  );
}
