/**
 * Verifies copies of databases: the control database, and the complete log of a workspace. Nobody may write to them.
 */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type DataDirectory, sealFile, workspaceFile } from "../core/datadir/layout.ts";
import { readHead } from "../core/writer/head.ts";
import { Failure } from "../failure.ts";
import { CONTROL_SCHEMA, unknownSchema } from "../ops/directory/database.ts";
import { listLogs } from "../ops/directory/workspaces.ts";
import { openConnection } from "../store/connection.ts";
import { isDamage } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { otherGovernd, schemaVersion, UnknownSchema } from "../store/migrate.ts";
import { integrityProblem } from "../store/snapshot.ts";
import type { ControlLog } from "../verify/control/events.ts";
import { verifyDatabaseFile } from "../verify/sources.ts";
import type { ManifestWorkspace } from "./manifest.ts";

/**
 * Verifies the copy of the control database in `directory` and returns its content.
 * @param name its name in error messages
 * @throws {Failure} `backup_unusable`, `newer_database`, `data_directory_unusable` when a build from before 0.1.0 wrote it
 */
export function readControlCopy(
  { control, encryptionKey }: DataDirectory,
  name: string,
): { schema: number; workspaceIds: string[] } {
  const damage = structureProblem(control, encryptionKey);
  if (damage !== null) throw damagedControl(name, damage);
  using connection = openConnection(control, { immutable: true, encryptionKey });
  const schema = schemaVersion(connection);
  if (otherGovernd(schema, CONTROL_SCHEMA) !== null) {
    throw unknownSchema(name, new UnknownSchema(schema, CONTROL_SCHEMA));
  }
  if (schema === 0) throw damagedControl(name, "it is empty");
  return { schema, workspaceIds: listLogs(connection).map(({ id }) => id) };
}

export function damagedControl(name: string, reason: string): Failure {
  const advice = "Restore the last good backup with `governd restore`.";
  return new Failure("backup_unusable", `${name} is damaged (${reason}). ${advice}`);
}

/** The content of a good copy, or why the copy is not good. */
type CopyVerdict =
  | { good: true; workspace: ManifestWorkspace; controlLog: ControlLog }
  | { good: false; reason: string };

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
  const { report, verdict, controlLog } = await verifyDatabaseFile(
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
  if (verdict !== "verified" || !controlLog) {
    const [first] = report.problems;
    const place = first?.seq == null ? "" : ` at event ${first.seq}`;
    return { good: false, reason: `${first?.code ?? "it does not verify"}${place}: ${first?.message ?? ""}` };
  }
  using connection = openConnection(path, { immutable: true, encryptionKey });
  const { seq: head_seq, hash: head_hash } = readHead(connection);
  const { sealed_through } = report;
  return { good: true, workspace: { workspace_id: workspaceId, head_seq, head_hash, sealed_through }, controlLog };
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
