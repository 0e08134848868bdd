/** `governd check`: checks every database file without changing a byte of it. */
import { existsSync } from "node:fs";
import { type DataDirectory, presentWorkspaces, workspaceFile } from "../../core/datadir/layout.ts";
import { type Pointer, readPointer } from "../../core/datadir/pointer.ts";
import { sealingKey } from "../../core/rows/log/seals.ts";
import { WORKSPACE_SCHEMA } from "../../core/writer/file.ts";
import { readHead } from "../../core/writer/head.ts";
import { Failure, systemCode } from "../../failure.ts";
import { listSinks, type StoredSink } from "../../follow/sinks/stored.ts";
import { isFromFuture } from "../../ids.ts";
import { parseVerifierKey } from "../../log/note.ts";
import { FactorKey } from "../../ops/accounts/factor-key.ts";
import { listLogIds } from "../../ops/directory/workspaces.ts";
import { type Space, spaceOf } from "../../store/compaction.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { isDamage } from "../../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../../store/encryption.ts";
import { otherGovernd, schemaVersion } from "../../store/migrate.ts";
import { integrityProblem } from "../../store/snapshot.ts";
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
  /** The sinks of all workspaces. */
  sinks: readonly StoredSink[];
}

/** The result for one database. */
interface Checked {
  findings: Finding[];
  /** Null when the file cannot be read. */
  schema: number | null;
  /** The size of the copy that is made before its migration, bytes; 0 when there is none. */
  bytesForCopy: number;
  /** The free space in the file, which `governd compact` could give back, bytes. */
  freeBytes: number;
}

/** Reads from an open database. */
type Read = (connection: Connection) => void | Promise<void>;

/** Checks the pointer to the log of the installation, and every workspace. @param newest the schema after an upgrade */
export async function checkDatabases(
  directory: DataDirectory,
  nowMs: number,
  onProgress: (done: number, total: number) => Promise<void>,
  newest = WORKSPACE_SCHEMA,
): Promise<DatabasesChecked> {
  const { pointer, findings } = pointerOf(directory);
  const isNode = pointer?.engine === "libsql-server";
  const named = new Set<string>();
  let isNamed = false;
  let unreadable = 0;
  if (pointer !== null) {
    await readNewest(workspaceFile(directory, pointer.installation_id), directory, newest, async (connection) => {
      for (const id of listLogIds(connection)) named.add(id);
      isNamed = true;
      unreadable = await new FactorKey(directory).unreadable(connection);
    });
  }
  if (unreadable > 0) {
    const message = `the key does not decrypt the authenticator's secret of ${count(unreadable, "account")}: restore the key from a backup`;
    findings.push(finding("second_factor", "problem", message, directory.factorKey));
  }
  const present = new Set(presentWorkspaces(directory));
  // A node has copies of those workspaces only that it has served.
  const ids = [...(isNode ? present : named.union(present))].sort();
  const sealingKeys = new Map<string, Uint8Array>();
  const sinks: StoredSink[] = [];
  const workspaces: Checked[] = [];
  for (const [index, id] of ids.entries()) {
    await onProgress(index, ids.length);
    const found = await checkWorkspace(directory, id, { newest, sealingKeys, sinks }, nowMs);
    const checked = isNode ? withRemedy(found) : found;
    workspaces.push(checked);
    if (!isNamed || named.has(id)) continue;
    const message = "the log of the installation does not name this workspace, so nobody can use it";
    checked.findings.push(finding("database", "warning", message, workspaceFile(directory, id)));
  }
  findings.push(...workspaces.flatMap((checked) => checked.findings));
  const bytesForCopies = workspaces.reduce((sum, { bytesForCopy }) => sum + bytesForCopy, 0);
  if (worst(findings) !== "problem") {
    const what = isNode ? copiesOf(ids.length, named.size) : count(ids.length, "workspace");
    findings.push(finding("database", "ok", `${what}: integrity_check found no problems`));
  }
  const how = isNode ? ON_THE_SERVER : `; it first makes copies, which need ${mebibytes(bytesForCopies)}`;
  findings.push(finding("upgrade", "ok", upgradeText(newest, workspaces, how)));
  const free = workspaces.reduce((sum, { freeBytes }) => sum + freeBytes, 0);
  findings.push(finding("free_pages", "ok", `governd compact would give back ${mebibytes(free)}`));
  return { findings, bytesForCopies, sealingKeys, sinks };
}

function pointerOf(directory: DataDirectory): { pointer: Pointer | null; findings: Finding[] } {
  try {
    return { pointer: readPointer(directory), findings: [] };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { pointer: null, findings: [finding("database", "problem", error.message, directory.pointer)] };
  }
}

/** Reads a file of the newest schema, if it can be read: what is wrong with it is found besides. */
async function readNewest(path: string, directory: DataDirectory, newest: number, read: Read): Promise<void> {
  if (!existsSync(path)) return;
  await checkFile(path, directory, newest, async (connection) => {
    if (schemaVersion(connection) === newest) await read(connection);
  });
}

const copiesOf = (copies: number, workspaces: number): string =>
  `copies of ${copies} of ${count(workspaces, "log")} on the server`;

/** How a node migrates databases, and what the operator has to do. */
const ON_THE_SERVER = ", on the libSQL server: back that up first, and upgrade all nodes soon";

/** Adds what to do to the finding about a node's copy that cannot be read. */
function withRemedy(checked: Checked): Checked {
  if (checked.schema !== null) return checked;
  const remedy = "Stop the node, remove this copy, and start the node: it makes the copy again from the server";
  const findings = checked.findings.map((found) => ({ ...found, message: `${found.message}. ${remedy}` }));
  return { ...checked, findings };
}

/** Adds the key that the workspace names for its seals to `sealingKeys`, and its sinks to `sinks`. */
async function checkWorkspace(
  directory: DataDirectory,
  id: string,
  { newest, sealingKeys, sinks }: { newest: number; sealingKeys: Map<string, Uint8Array>; sinks: StoredSink[] },
  nowMs: number,
): Promise<Checked> {
  const path = workspaceFile(directory, id);
  if (!existsSync(path)) {
    return unread(
      "the log of the installation names this workspace, but its file is missing: restore it from a backup",
      path,
    );
  }
  let latest = "";
  let own: StoredSink[] = [];
  const checked = await checkFile(path, directory, newest, async (connection) => {
    if (readHead(connection).workspaceId !== id) {
      throw new Failure("evidence_unreadable", "the file holds another workspace than its name says");
    }
    const key = await sealingKey(connection);
    if (key !== null) sealingKeys.set(id, parseVerifierKey(key).publicKey);
    own = await listSinks(connection);
    latest = connection.value<string>("SELECT max(timestamp) FROM events") ?? "";
  });
  sinks.push(...own);
  if (!isFromFuture(Date.parse(latest), nowMs)) return checked;
  const message = `it has events with times that have not come, up to ${latest}: the clock was ahead when they were recorded. Retention counts from these times`;
  return { ...checked, findings: [...checked.findings, finding("database", "warning", message, path)] };
}

/** `newest` is the schema of the file after an upgrade. */
async function checkFile(path: string, directory: DataDirectory, newest: number, read: Read): Promise<Checked> {
  const looked = await look(path, directory, newest, read);
  if (typeof looked === "string") return unread(looked, path);
  const { schema, other, total, free } = looked;
  const findings = other === null ? [] : [finding("database", "problem", `it was written by ${other}`, path)];
  return { findings, schema, bytesForCopy: schema < newest ? total : 0, freeBytes: free };
}

const unread = (problem: string, path: string): Checked => {
  return { findings: [finding("database", "problem", problem, path)], schema: null, bytesForCopy: 0, freeBytes: 0 };
};

/** Returns what an upgrade would migrate; `how` is the end of the sentence. */
function upgradeText(newest: number, workspaces: readonly Checked[], how: string): string {
  const behind = workspaces.filter(({ schema }) => schema !== null && schema < newest).length;
  if (behind === 0) return "this governd would not change any schema";
  return `this governd would migrate ${count(behind, "workspace")} to schema ${newest}, each when it is first used${how}`;
}

/** `other`: which other governd wrote the file, so that its content was not read; otherwise null. */
type Looked = Space & { schema: number; other: string | null };

/** Checks a file's structure, and reads from it with `read`. Returns its schema and size, or what is wrong with it. */
async function look(
  path: string,
  { encryptionKey }: DataDirectory,
  newest: number,
  read: Read,
): Promise<Looked | string> {
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      using file = await openEvidenceFile(path);
      const looked = await lookOnce(file, encryptionKey, newest, read);
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

async function lookOnce(
  file: EvidenceFile,
  encryptionKey: EncryptionKey | null,
  newest: number,
  read: Read,
): Promise<Looked | string> {
  using connection = openConnection(file.path, {
    ...(file.immutable ? { immutable: true } : { readOnly: true }),
    encryptionKey,
  });
  const damage = integrityProblem(connection);
  if (damage !== null) return `the database is damaged: ${damage}`;
  const schema = schemaVersion(connection);
  const other = otherGovernd(schema, newest);
  if (other === null) await read(connection);
  return { schema, other, ...spaceOf(connection) };
}
