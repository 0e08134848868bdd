/** `governd check`: checks every database file without changing a byte of it. */
import { existsSync } from "node:fs";
import { CONTROL_MIGRATIONS } from "../../control/database.ts";
import { listWorkspaces } from "../../control/workspaces.ts";
import { type DataDirectory, presentWorkspaces, workspaceFile } from "../../datadir/layout.ts";
import { Failure } from "../../failure.ts";
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

/** How often to read a file again that was written to while it was read. */
const MAX_ATTEMPTS = 5;

/** The result for all databases. */
export interface DatabasesChecked {
  findings: CheckResult[];
  /** The size of the copies that are made before migrations, bytes. */
  bytesForCopies: number;
  /** The public keys that the workspaces name for their seals, by workspace. */
  sealingKeys: Map<string, Uint8Array>;
}

type OnProgress = (done: number, total: number) => Promise<void>;

/** Checks the control database and every workspace. */
export async function checkDatabases(directory: DataDirectory, onProgress: OnProgress): Promise<DatabasesChecked> {
  const checked: DatabasesChecked = { findings: [], bytesForCopies: 0, sealingKeys: new Map() };
  const pending: string[] = [];
  let known: string[] = [];
  const control = await look(directory.control, directory, (connection) => {
    known = listWorkspaces(connection).map(({ id }) => id);
  });
  note(checked, control, CONTROL_MIGRATIONS.length, pending);
  const present = existsSync(directory.workspaces) ? presentWorkspaces(directory) : [];
  const named = new Set(known);
  const all = [...new Set([...known, ...present])].sort();
  let behind = 0;
  for (const [index, id] of all.entries()) {
    await onProgress(index, all.length);
    const path = workspaceFile(directory, id);
    if (!existsSync(path)) {
      problem(
        checked,
        path,
        "the control database names this workspace, but its file is missing: restore it from a backup",
      );
      continue;
    }
    const found = await look(path, directory, (connection) => lookIntoWorkspace(connection, id, checked));
    if (note(checked, found, WORKSPACE_MIGRATIONS.length)) behind += 1;
    if (control.trouble === null && !named.has(id)) {
      const message = "the control database does not name this workspace, so nobody can use it";
      checked.findings.push({ check: "database", severity: "warning", message, path });
    }
  }
  if (behind > 0) {
    pending.push(`${count(behind, "workspace")} to schema ${WORKSPACE_MIGRATIONS.length}, each when it is first used`);
  }
  summarize(checked, all.length, pending);
  return checked;
}

interface Looked {
  path: string;
  /** What is wrong, or null. */
  trouble: string | null;
  schema: number;
  bytes: number;
}

/** Checks a file's structure, and reads from it with `into`. */
async function look(
  path: string,
  { encryptionKey }: DataDirectory,
  into: (connection: Connection) => void | Promise<void>,
): Promise<Looked> {
  const failed = (trouble: string): Looked => ({ path, trouble, schema: 0, bytes: 0 });
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      using file = await openEvidenceFile(path);
      const looked = await lookOnce(file, encryptionKey, into);
      if (typeof looked === "string") return failed(looked);
      if (file.unchanged()) return { path, trouble: null, ...looked };
    }
    return failed("it is written to so often that it could not be read in one state: try again");
  } catch (error) {
    if (error instanceof EncryptionMismatch) return failed(error.advice);
    if (error instanceof Failure) return failed(error.message);
    if (isDamage(error)) return failed("the database is damaged, or not a database: it cannot be read completely");
    const { code } = error as { code?: unknown };
    if (typeof code === "string" && code.startsWith("SQLITE_")) return failed(`it cannot be read (${code})`);
    throw error;
  }
}

/** Returns the schema and size of a file, or what is wrong with its structure. */
async function lookOnce(
  file: EvidenceFile,
  encryptionKey: EncryptionKey | null,
  into: (connection: Connection) => void | Promise<void>,
): Promise<Pick<Looked, "schema" | "bytes"> | string> {
  using connection = openConnection(file.path, {
    ...(file.immutable ? { immutable: true } : { readOnly: true }),
    encryptionKey,
  });
  const damage = integrityProblem(connection);
  if (damage !== null) return `the database is damaged: ${damage}`;
  await into(connection);
  const pages = connection.get<[number]>("PRAGMA page_count")?.[0] ?? 0;
  const size = connection.get<[number]>("PRAGMA page_size")?.[0] ?? 0;
  return { schema: schemaVersion(connection), bytes: pages * size };
}

async function lookIntoWorkspace(connection: Connection, id: string, checked: DatabasesChecked): Promise<void> {
  if (readHead(connection).workspaceId !== id) {
    throw new Failure("evidence_unreadable", "the file holds another workspace than its name says");
  }
  const key = await sealingKey(connection);
  if (key !== null) checked.sealingKeys.set(id, parseVerifierKey(key).publicKey);
}

/** Adds the result for a file. Reports whether an upgrade would migrate the file. */
function note(checked: DatabasesChecked, looked: Looked, known: number, pending?: string[]): boolean {
  const { path, trouble, schema, bytes } = looked;
  if (trouble !== null) {
    problem(checked, path, trouble);
    return false;
  }
  if (schema > known) {
    problem(
      checked,
      path,
      `a newer governd wrote it (schema ${schema}, this one knows ${known}): use the newer governd`,
    );
    return false;
  }
  if (schema === known) return false;
  checked.bytesForCopies += bytes;
  pending?.push(`the control database from schema ${schema} to ${known}`);
  return true;
}

function problem(checked: DatabasesChecked, path: string, message: string): void {
  checked.findings.push({ check: "database", severity: "problem", message, path });
}

function summarize(checked: DatabasesChecked, workspaces: number, pending: readonly string[]): void {
  const { findings, bytesForCopies } = checked;
  if (findings.every(({ severity }) => severity !== "problem")) {
    const message = `control database and ${count(workspaces, "workspace")}: integrity_check found no problems`;
    findings.push({ check: "database", severity: "ok", message });
  }
  const message =
    pending.length === 0
      ? "this governd would not change any schema"
      : `this governd would migrate ${pending.join(", and ")}; it first makes copies, which need ${mebibytes(bytesForCopies)}`;
  findings.push({ check: "upgrade", severity: "ok", message });
}

/** `problem`: it does not work, or will not work after an upgrade. `warning`: it will stop working. */
export type Severity = "ok" | "warning" | "problem";

/** The names of the checks. They are stable, since scripts read them. */
export type CheckName =
  | "daemon"
  | "permissions"
  | "seal_key"
  | "certificate"
  | "disk"
  | "database"
  | "upgrade"
  | "leftovers"
  | "backups";

export interface CheckResult {
  check: CheckName;
  severity: Severity;
  message: string;
  path?: string;
}

/** Returns the worst severity of the findings. */
export function worst(findings: readonly CheckResult[]): Severity {
  for (const severity of ["problem", "warning"] as const) {
    if (findings.some((finding) => finding.severity === severity)) return severity;
  }
  return "ok";
}
