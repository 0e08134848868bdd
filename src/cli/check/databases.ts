/** `governd check`: checks every database file without changing a byte of it. */
import { existsSync } from "node:fs";
import { CONTROL_MIGRATIONS } from "../../control/database.ts";
import { listLogs } from "../../control/workspaces.ts";
import { type DataDirectory, presentWorkspaces, workspaceFile } from "../../datadir/layout.ts";
import { Failure, systemCode } from "../../failure.ts";
import { parseVerifierKey } from "../../log/note.ts";
import { sealingKey } from "../../state/seals.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { isDamage } from "../../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../../store/encryption.ts";
import { schemaVersion } from "../../store/migrate.ts";
import { integrityProblem } from "../../store/snapshot.ts";
import { WORKSPACE_MIGRATIONS } from "../../workspace/file.ts";
import { readHead } from "../../workspace/head.ts";
import { count, mebibytes } from "../terminal.ts";
import { type EvidenceFile, openEvidenceFile } from "../verify/evidence-file.ts";
import { type Finding, finding, worst } from "./finding.ts";

/** How often to read a file again that was written to while it was read. */
const MAX_ATTEMPTS = 5;

/** The result for all databases. */
interface DatabasesChecked {
  findings: Finding[];
  /** The size of the copies that are made before migrations, bytes. */
  bytesForCopies: number;
  /** The public keys that the workspaces name for their seals, by workspace. */
  sealingKeys: Map<string, Uint8Array>;
}

/** Reads what it needs from an open database. */
type Read = (connection: Connection) => void | Promise<void>;

/** Checks the control database and every workspace. */
export async function checkDatabases(
  directory: DataDirectory,
  onProgress: (done: number, total: number) => Promise<void>,
): Promise<DatabasesChecked> {
  const findings: Finding[] = [];
  const sealingKeys = new Map<string, Uint8Array>();
  let bytesForCopies = 0;

  /** Checks a file and returns its schema, or null when it cannot be read. `newest` is the schema after an upgrade. */
  const check = async (path: string, newest: number, read: Read): Promise<number | null> => {
    const looked = await look(path, directory, read);
    if (typeof looked === "string") {
      findings.push(finding("database", "problem", looked, path));
      return null;
    }
    const { schema, bytes } = looked;
    if (schema > newest) {
      const message = `a newer governd wrote it (schema ${schema}, this one knows ${newest}): use the newer governd`;
      findings.push(finding("database", "problem", message, path));
    }
    if (schema < newest) bytesForCopies += bytes;
    return schema;
  };

  const pending: string[] = [];
  const [newestControl, newest] = [CONTROL_MIGRATIONS.length, WORKSPACE_MIGRATIONS.length];
  let known: string[] = [];
  const control = await check(directory.control, newestControl, (connection) => {
    known = listLogs(connection).map(({ id }) => id);
  });
  if (control !== null && control < newestControl) {
    pending.push(`the control database from schema ${control} to ${newestControl}`);
  }
  const named = new Set(known);
  const present = existsSync(directory.workspaces) ? presentWorkspaces(directory) : [];
  const all = [...named.union(new Set(present))].sort();
  let behind = 0;
  for (const [index, id] of all.entries()) {
    await onProgress(index, all.length);
    const path = workspaceFile(directory, id);
    if (!existsSync(path)) {
      const message = "the control database names this workspace, but its file is missing: restore it from a backup";
      findings.push(finding("database", "problem", message, path));
      continue;
    }
    const schema = await check(path, newest, async (connection) => {
      if (readHead(connection).workspaceId !== id) {
        throw new Failure("evidence_unreadable", "the file holds another workspace than its name says");
      }
      const key = await sealingKey(connection);
      if (key !== null) sealingKeys.set(id, parseVerifierKey(key).publicKey);
    });
    if (schema !== null && schema < newest) behind += 1;
    if (control !== null && !named.has(id)) {
      const message = "the control database does not name this workspace, so nobody can use it";
      findings.push(finding("database", "warning", message, path));
    }
  }
  if (behind > 0) pending.push(`${count(behind, "workspace")} to schema ${newest}, each when it is first used`);
  if (worst(findings) !== "problem") {
    const message = `control database and ${count(all.length, "workspace")}: integrity_check found no problems`;
    findings.push(finding("database", "ok", message));
  }
  findings.push(finding("upgrade", "ok", upgradeText(pending, bytesForCopies)));
  return { findings, bytesForCopies, sealingKeys };
}

function upgradeText(pending: readonly string[], bytesForCopies: number): string {
  if (pending.length === 0) return "this governd would not change any schema";
  const migrations = pending.join(", and ");
  return `this governd would migrate ${migrations}; it first makes copies, which need ${mebibytes(bytesForCopies)}`;
}

type Looked = { schema: number; bytes: number };

/** Checks a file's structure, and reads from it with `read`. Returns its schema and size, or what is wrong with it. */
async function look(path: string, { encryptionKey }: DataDirectory, read: Read): Promise<Looked | string> {
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      using file = await openEvidenceFile(path);
      const looked = await lookOnce(file, encryptionKey, read);
      if (typeof looked === "string" || file.unchanged()) return looked;
    }
    return "it is written to so often that it could not be read in one state: try again";
  } catch (error) {
    if (error instanceof EncryptionMismatch) return error.advice;
    if (error instanceof Failure) return error.message;
    if (isDamage(error)) return "the database is damaged, or not a database: it cannot be read completely";
    const code = systemCode(error);
    if (code?.startsWith("SQLITE_")) return `it cannot be read (${code})`;
    throw error;
  }
}

async function lookOnce(file: EvidenceFile, encryptionKey: EncryptionKey | null, read: Read): Promise<Looked | string> {
  using connection = openConnection(file.path, {
    ...(file.immutable ? { immutable: true } : { readOnly: true }),
    encryptionKey,
  });
  const damage = integrityProblem(connection);
  if (damage !== null) return `the database is damaged: ${damage}`;
  await read(connection);
  const pages = connection.get<[number]>("PRAGMA page_count")?.[0] ?? 0;
  const size = connection.get<[number]>("PRAGMA page_size")?.[0] ?? 0;
  return { schema: schemaVersion(connection), bytes: pages * size };
}
