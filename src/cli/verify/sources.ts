/** Finds the evidence that the command line names, and verifies each piece. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { MANIFEST_FILE, readBackupTime, workspacesLeftOut } from "../../backup/manifest.ts";
import { dataDirectory, sealFile, workspaceFile } from "../../core/datadir/layout.ts";
import { Failure, systemCode, systemReason } from "../../failure.ts";
import { RECEIPT_HEAD } from "../../log/receipt.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { databaseKind, type EncryptionKey, EncryptionMismatch } from "../../store/encryption.ts";
import { EMBEDDED, locationOf } from "../../store/location.ts";
import { decodeText, textBytes } from "../../verify/columns.ts";
import { verifyControl } from "../../verify/control/control.ts";
import { readControlLog } from "../../verify/control/events.ts";
import { whyMixed, whyShort } from "../../verify/moments.ts";
import { verifyReceipt } from "../../verify/receipt.ts";
import { obstacle, type SourceResult, tampered } from "../../verify/report.ts";
import { type DatabaseRequest, verifyDatabaseFile, verifyExportFile } from "../../verify/sources.ts";
import type { Trust } from "../../verify/trust.ts";
import type { Progress } from "../progress.ts";
import { type EvidenceFile, openEvidenceFile } from "./evidence-file.ts";

/** How often to read a file again that was written to while it was read. */
const MAX_ATTEMPTS = 5;

/** Options for every piece of evidence. */
interface EvidenceOptions {
  agentId: string | undefined;
  trust: Trust;
  encryptionKey: KeySource;
  threads: number;
}

/** Returns the key of encrypted databases, or null. It is read when it is first needed. */
type KeySource = () => EncryptionKey | null;

/** One piece of evidence. */
interface Source {
  path: string;
  /** The workspace that its file name names. */
  workspaceId?: string;
  /** The workspace's seal file, if it exists. */
  sealFile?: string;
}

/** Verifies a file, or all workspaces of a data directory and its control database. */
export async function verifyPath(path: string, asked: EvidenceOptions, progress: Progress): Promise<SourceResult[]> {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  let sources: Source[] | SourceResult;
  let holdsCopies = false;
  try {
    const known = isDirectory ? await readControl(path, asked.encryptionKey) : NO_WORKSPACES;
    holdsCopies = known.isCopy && backupTime(path) === null;
    sources = isDirectory ? workspacesOf(path, known.ids, holdsCopies) : [{ path }];
  } catch (error) {
    return [unreadable(path, error)];
  }
  if (!Array.isArray(sources)) return [sources];
  const results = explained(path, sources, await verifySources(sources, asked, progress));
  const { control } = dataDirectory(path);
  if (holdsCopies) return [...results, obstacle(control, "control", "node_copies", COPIES)];
  if (isDirectory && asked.agentId === undefined && databaseKind(control) !== "absent") {
    return [...results, await verifyControlFile(path, sources, results, asked)];
  }
  for (const { report } of results) {
    if (report.kind === "workspace") report.not_covered = [...(report.not_covered ?? []), WITHOUT_CONTROL];
  }
  return results;
}

/**
 * A node's copies are brought up to date one by one, when they are used. So they neither hold all workspaces nor agree
 * with each other.
 */
const COPIES =
  "this is the data directory of a node, whose copies alone prove nothing about all workspaces, keys, members and invitations";

/** Marks the workspaces that are missing because a backup lacked them, which alone is no sign of tampering. */
function explained(root: string, sources: readonly Source[], results: readonly SourceResult[]): SourceResult[] {
  const inBackup = new Set(workspacesLeftOut(root));
  const restores = results.flatMap(({ controlLog, verdict }) => (verdict === "verified" && controlLog?.events) || []);
  const inRestore = new Set(restores.flatMap(({ restore }) => restore?.control?.workspacesLeftOut ?? []));
  return results.map((result, index) => {
    const { path, workspaceId = "" } = sources[index] as Source;
    const why = inBackup.has(workspaceId) ? LEFT_OUT.backup : inRestore.has(workspaceId) ? LEFT_OUT.restore : null;
    if (why === null || existsSync(path)) return result;
    const left = obstacle(path, "workspace", "workspace_left_out", why);
    left.report.workspace_id = workspaceId;
    return left;
  });
}

const LEFT_OUT = {
  backup:
    "its file is missing: the backup was made without it, as manifest.json says, which nobody signs; a backup leaves out what is damaged",
  restore: "its file is missing: the backup that was restored lacked it, as a log.restore event says",
} as const;

/** The parts of a workspace's log that were not compared with anything. */
const WITHOUT_CONTROL = "control.db is not part of this evidence: workspaces, keys, members and invitations";

async function verifyControlFile(
  root: string,
  sources: readonly Source[],
  results: readonly SourceResult[],
  { encryptionKey }: EvidenceOptions,
): Promise<SourceResult> {
  const directory = dataDirectory(root);
  const { control: path } = directory;
  try {
    using file = await openEvidenceFile(path);
    using connection = openEvidence(file, path, encryptionKey);
    return await verifyControl(connection, {
      path,
      logs: sources.map(({ workspaceId = "" }, index) => {
        const { verdict, controlLog = null } = results[index] as SourceResult;
        return { workspaceId, log: verdict === "tampered" ? null : controlLog };
      }),
      backupCreatedAt: backupTime(root),
      again: async (workspaceId) => {
        const database = workspaceFile(directory, workspaceId);
        if (!existsSync(database)) return null;
        using newer = await openEvidenceFile(database);
        using log = openEvidence(newer, database, encryptionKey);
        return await readControlLog(log);
      },
    });
  } catch (error) {
    return unreadable(path, error);
  }
}

/** Returns when a backup was begun; null for a directory that is not a backup. */
const backupTime = (root: string): string | null =>
  existsSync(join(root, MANIFEST_FILE)) ? readBackupTime(root) : null;

/** Opens evidence for reading. @throws {EncryptionMismatch} when it is encrypted with another key */
function openEvidence(file: EvidenceFile, path: string, encryptionKey: KeySource): Connection {
  const access = file.immutable ? { immutable: true } : { readOnly: true };
  return openConnection(file.path, {
    ...access,
    anySchema: true,
    encryptionKey: databaseKind(path) === "encrypted" ? encryptionKey() : null,
  });
}

/** Returns the workspaces of a data directory. With `holdsCopies`, leaves out those that have no file. */
function workspacesOf(root: string, known: readonly string[], holdsCopies: boolean): Source[] | SourceResult {
  const directory = dataDirectory(root);
  const none = (message: string) => obstacle(root, "directory", "not_evidence", message);
  if (!existsSync(directory.workspaces)) return none("this directory is not a data directory of governd");
  // Seals are read first: the seals of a workspace that is created meanwhile come after its file. Without a control
  // database, the directory is not whole: it may hold only some of the files.
  const isWhole = databaseKind(directory.control) !== "absent" && existsSync(directory.seals);
  const ids = new Set(isWhole ? namesIn(directory.seals, SEALS_OF) : []);
  for (const id of namesIn(directory.workspaces, /^(.*)\.db$/)) ids.add(id);
  // The control database also names workspaces whose files are missing.
  for (const id of known) ids.add(id);
  if (ids.size === 0) return none("this data directory has no workspaces");
  const sources = [...ids].sort().map((workspaceId) => {
    const seals = sealFile(directory, workspaceId);
    const path = workspaceFile(directory, workspaceId);
    return { path, workspaceId, ...(existsSync(seals) && { sealFile: seals }) };
  });
  return holdsCopies ? sources.filter(({ path }) => existsSync(path)) : sources;
}

const SEALS_OF = /^(ws_[0-9a-z]{26})\.log$/;

/** Returns the parts of file names that the pattern's group matches. */
const namesIn = (directory: string, form: RegExp): string[] =>
  readdirSync(directory).flatMap((name) => form.exec(name)?.[1] ?? []);

interface WorkspaceList {
  /** The workspaces that the control database names. */
  ids: string[];
  /** Whether the control database is a copy of one on a server. */
  isCopy: boolean;
}

const NO_WORKSPACES: WorkspaceList = { ids: [], isCopy: false };

/** Returns nothing when the control database cannot be read: its own verification says why. */
async function readControl(root: string, encryptionKey: KeySource): Promise<WorkspaceList> {
  const { control } = dataDirectory(root);
  if (databaseKind(control) === "absent") return NO_WORKSPACES;
  try {
    using file = await openEvidenceFile(control);
    using connection = openEvidence(file, control, encryptionKey);
    const ids = connection
      .all<[Buffer | null]>(`SELECT ${textBytes("id")} FROM workspaces`)
      .map(([bytes]) => decodeText(bytes))
      .filter((id) => id !== null && /^ws_[0-9a-z]{26}$/.test(id)) as string[];
    return { ids, isCopy: locationOf(connection) !== EMBEDDED };
  } catch (error) {
    if (error instanceof EncryptionMismatch) throw error;
    unreadable(control, error);
    return NO_WORKSPACES;
  }
}

/**
 * After this many pieces of evidence, garbage is collected. The driver releases a closed file only when its statements
 * are collected, and with thousands of workspaces that must not wait.
 */
const SOURCES_BETWEEN_COLLECTIONS = 100;

/** Verifies pieces of evidence one after another. */
async function verifySources(
  sources: readonly Source[],
  asked: EvidenceOptions,
  progress: Progress,
): Promise<SourceResult[]> {
  const results: SourceResult[] = [];
  for (const source of sources) {
    results.push(await verifySource(source, asked, progress));
    if (results.length % SOURCES_BETWEEN_COLLECTIONS === 0) Bun.gc(true);
  }
  return results;
}

/** Verifies one piece of evidence. All problems are part of the result. */
async function verifySource(
  source: Source,
  { agentId, trust, threads, encryptionKey }: EvidenceOptions,
  progress: Progress,
): Promise<SourceResult> {
  const { path, workspaceId, sealFile } = source;
  const wanted = agentId === undefined ? {} : { agentId };
  try {
    if (workspaceId !== undefined && !existsSync(path)) return missingWorkspace(path, workspaceId);
    const kind = databaseKind(path);
    // In place of a workspace's file, a file that is not a database is a damaged database.
    if (kind === "plain" || kind === "encrypted" || (kind === "foreign" && workspaceId !== undefined)) {
      const key = kind === "encrypted" ? encryptionKey() : null;
      const request = { path, ...wanted, ...trust, encryptionKey: key, threads: { count: threads } };
      return await verifyWorkspaceFile({ ...request, ...(workspaceId && { workspaceId }) }, sealFile, progress);
    }
    const { size } = statSync(path);
    if (size === 0) return obstacle(path, "unknown", "not_evidence", "the file is empty");
    if (await isReceipt(path)) return verifyReceipt(await Bun.file(path).text(), path, trust);
    const onProgress = (bytes: number) => progress.step(bytes, size, "bytes");
    return await verifyExportFile(threads, { path, ...wanted, trust, onProgress });
  } catch (error) {
    return unreadable(path, error);
  }
}

async function verifyWorkspaceFile(
  request: DatabaseRequest,
  sealFile: string | undefined,
  progress: Progress,
): Promise<SourceResult> {
  const onProgress = (checked: number, total: number) => progress.step(checked, total, "events");
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    // The length before the database is read: seals that a daemon appends later belong to a later log.
    const length = sealFile === undefined ? 0 : statSync(sealFile).size;
    using file = await openEvidenceFile(request.path);
    // Created for each attempt, since a stream can be read only once.
    const seals = sealFile === undefined ? null : () => Bun.file(sealFile).slice(0, length).stream();
    const result = await verifyDatabaseFile(file, { ...request, onProgress, sealFile: seals });
    if (!file.unchanged()) continue;
    const why =
      (seals === null ? null : await whyShort(file, request, result)) ??
      (file.immutable ? null : await whyMixed({ ...request, path: file.path }, result));
    return why === null ? result : obstacle(request.path, "workspace", why.code, why.message);
  }
  const message = "the file is written to so often that it could not be read in one state: try again";
  return obstacle(request.path, "unknown", "evidence_unreadable", message);
}

const isReceipt = async (path: string): Promise<boolean> =>
  (await Bun.file(path).slice(0, RECEIPT_HEAD.length).text()) === RECEIPT_HEAD;

function missingWorkspace(path: string, workspaceId: string): SourceResult {
  const message = "the data directory knows this workspace, but its file is missing";
  const result = tampered(path, "workspace", [{ code: "content_missing", seq: null, id: null, message }]);
  result.report.workspace_id = workspaceId;
  return result;
}

function unreadable(path: string, error: unknown): SourceResult {
  if (error instanceof EncryptionMismatch) return obstacle(path, "unknown", "evidence_unreadable", error.advice);
  if (error instanceof Failure) return obstacle(path, "unknown", "evidence_unreadable", error.message);
  if (systemCode(error) === undefined) throw error;
  return obstacle(path, "unknown", "evidence_unreadable", `it cannot be read: ${systemReason(error)}`);
}
