/** Finds the evidence that the command line names, and verifies each piece. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { MANIFEST_FILE, readBackupTime, workspacesLeftOut } from "../../backup/manifest.ts";
import { type DataDirectory, dataDirectory, sealFile, workspaceFile } from "../../core/datadir/layout.ts";
import { type Pointer, readPointer } from "../../core/datadir/pointer.ts";
import { Failure, orNull, systemCode, systemReason } from "../../failure.ts";
import { RECEIPT_HEAD } from "../../log/receipt.ts";
import { PROOF_BEGINS } from "../../log/state/format.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { isDriverError } from "../../store/damage.ts";
import { databaseKind, type EncryptionKey, EncryptionMismatch } from "../../store/encryption.ts";
import { type LogFacts, readLogFacts } from "../../verify/installation.ts";
import { whyMixed, whyShort } from "../../verify/moments.ts";
import { originOfExport, originOfProof, originOfReceipt, originOfWorkspace } from "../../verify/origin.ts";
import { verifyReceipt } from "../../verify/receipt.ts";
import { doubt, obstacle, type SourceResult, tampered, withProblem } from "../../verify/report.ts";
import { type DatabaseRequest, verifyDatabaseFile, verifyExportFile } from "../../verify/sources.ts";
import { verifyProof } from "../../verify/state/proof.ts";
import type { Trust } from "../../verify/trust.ts";
import type { Progress } from "../progress.ts";
import { type EvidenceFile, openEvidenceFile } from "./evidence-file.ts";
import type { AskedWitnesses } from "./witnesses.ts";

/** How often to read a file again that was written to while it was read. */
const MAX_ATTEMPTS = 5;

/** Options for every piece of evidence. */
interface EvidenceOptions {
  agentId: string | undefined;
  trust: Trust;
  /** The witnesses to ask for the newest seals of each log; null for none. */
  witnesses: AskedWitnesses | null;
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
  /** Its head in the log of the installation. */
  head?: DatabaseRequest["head"];
}

/** Verifies a file, or all workspaces of a data directory. */
export async function verifyPath(path: string, asked: EvidenceOptions, progress: Progress): Promise<SourceResult[]> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    return alone(await verifySources([{ path }], asked, progress));
  }
  let holdsCopies: boolean;
  let sources: Source[] | SourceResult;
  let told: Told | null;
  try {
    const known = pointerIn(path);
    holdsCopies = known?.engine === "libsql-server" && backupTime(path) === null;
    told = holdsCopies ? null : await readInstallation(path, known, asked, progress);
    sources = workspacesOf(path, told, holdsCopies);
  } catch (error) {
    return [unreadable(path, error)];
  }
  if (!Array.isArray(sources)) return [sources];
  const others = sources.filter(({ workspaceId }) => workspaceId !== told?.source.workspaceId);
  // A seal of the installation's log vouches for all workspaces, which it names with their heads.
  const vouched = told?.facts != null && told.result.report.anchored_through !== null;
  const found = await verifySources(others, asked, progress, vouched);
  const all = told === null ? others : [told.source, ...others];
  const results = explained(path, all, told === null ? found : [told.result, ...found]);
  if (holdsCopies) return [...results, obstacle(path, "directory", "node_copies", COPIES)];
  if (asked.agentId !== undefined) return alone(results);
  if (told === null)
    return existsSync(dataDirectory(path).pointer) ? withoutInstallation(all, results) : alone(results);
  if (told.facts?.workspaces) await reportUnknown(path, told.facts, { sources: all, results }, asked.encryptionKey);
  return results;
}

/** Says of workspaces what was not compared with anything. */
function alone(results: SourceResult[]): SourceResult[] {
  for (const { report } of results) {
    if (report.kind === "workspace") report.not_covered = [...(report.not_covered ?? []), WITHOUT_INSTALLATION];
  }
  return results;
}

/** The log of the installation, verified before all others, so that no workspace can be older than its head there. */
interface Told {
  source: Source;
  result: SourceResult;
  /** What it says of all workspaces; null when it contradicts itself, or only one agent is wanted. */
  facts: LogFacts | null;
}

async function readInstallation(
  root: string,
  pointer: Pointer | null,
  asked: EvidenceOptions,
  progress: Progress,
): Promise<Told | null> {
  const directory = dataDirectory(root);
  const id = await findInstallation(directory, pointer?.installation_id ?? null, asked.encryptionKey);
  if (id === null) return null;
  const source = sourceOf(directory, id);
  const result = await verifySource(source, asked, progress);
  return { source, result, facts: isConsistent(result) && result.facts?.workspaces ? result.facts : null };
}

/** Whether evidence agrees with itself, even if no seal of it leads to a given key. */
const isConsistent = ({ verdict, report }: SourceResult): boolean =>
  verdict === "verified" ||
  (verdict === "undetermined" && report.problems.every(({ code }) => code === "seal_missing"));

/**
 * Returns the id of the log of the installation: the one that the pointer names, or if that is gone or another file,
 * the first file that looks like it; null for none.
 */
async function findInstallation(
  directory: DataDirectory,
  named: string | null,
  encryptionKey: KeySource,
): Promise<string | null> {
  const isThere = named !== null && existsSync(workspaceFile(directory, named));
  if (isThere && (await isOfInstallation(directory, named, encryptionKey)) !== false) return named;
  const ids = existsSync(directory.workspaces) ? namesIn(directory.workspaces, /^(ws_[0-9a-z]{26})\.db$/) : [];
  for (const id of ids.sort()) {
    if (await isOfInstallation(directory, id, encryptionKey)) return id;
  }
  return isThere ? null : named;
}

/** Whether a file is the log of an installation; null when that cannot be read from it. */
async function isOfInstallation(
  { root }: DataDirectory,
  id: string,
  encryptionKey: KeySource,
): Promise<boolean | null> {
  try {
    const facts = await readFacts(root, id, encryptionKey);
    return facts && facts.workspaces !== null;
  } catch (error) {
    if (error instanceof EncryptionMismatch) throw error;
    return null; // Its own verification says what is wrong with it.
  }
}

/** Reports the workspaces that the log of the installation does not name, although it is read again now. */
async function reportUnknown(
  root: string,
  teller: LogFacts,
  { sources, results }: { sources: readonly Source[]; results: SourceResult[] },
  encryptionKey: KeySource,
): Promise<void> {
  const open = sources.flatMap(({ workspaceId, path }, index) => {
    const isOpen = workspaceId !== undefined && existsSync(path) && !isOf(teller, workspaceId);
    return isOpen ? [{ workspaceId, index }] : [];
  });
  const newest = open.length === 0 ? null : await readFacts(root, teller.workspaceId, encryptionKey);
  for (const { workspaceId, index } of open) {
    if (newest !== null && isOf(newest, workspaceId)) continue;
    const before = results[index] as SourceResult;
    const { madeAt, isMaking } = before.facts ?? {};
    const isLater = madeAt !== undefined && newest?.workspaces && madeAt > newest.workspaces.newestAt;
    if (isLater || isMaking) {
      if (before.verdict === "verified") results[index] = notKnownYet(before, isLater ? MADE_LATER : MAKING_CUT_OFF);
      continue;
    }
    if (before.verdict === "undetermined" && (await isBlank(root, workspaceId, encryptionKey))) {
      results[index] = notKnownYet(before, MAKING_CUT_OFF);
      continue;
    }
    results[index] = withUnknown(before, `no log of the installation says that ${workspaceId} was made`);
  }
  for (const [index, result] of results.entries()) {
    const { workspaceId = "", genesis } = result.facts ?? {};
    const named = teller.workspaces?.made.get(workspaceId);
    if (named === undefined || genesis === undefined || named === genesis) continue;
    results[index] = withUnknown(result, `the log of the installation names another first event of ${workspaceId}`);
  }
}

/** Reports the workspaces of a directory whose log of the installation is gone. One without a pointer to it holds only some files. */
const withoutInstallation = (sources: readonly Source[], results: readonly SourceResult[]): SourceResult[] =>
  results.map((result, index) => {
    const { path, workspaceId } = sources[index] as Source;
    const message = `no log of the installation is here that says that ${workspaceId} was made`;
    return existsSync(path) ? withUnknown(result, message) : result;
  });

const withUnknown = (result: SourceResult, message: string): SourceResult =>
  withProblem(result, { code: "workspace_unknown", seq: null, id: null, message });

const MADE_LATER =
  "it was made after the newest event of the log of the installation: either that log was copied before, or governd did not make it: copy the directory again, or use governd backup";
const MAKING_CUT_OFF =
  "it holds nothing but the making of a workspace, which the log of the installation does not name: the making was cut off, or governd did not make it: start the daemon, which removes what was cut off";

/** Returns what is established of a workspace that the log of the installation may name later, or never. */
function notKnownYet({ report }: SourceResult, why: string): SourceResult {
  const later = obstacle(report.path, report.kind, "copied_while_written", why);
  return { ...later, report: { ...report, ...later.report, workspace_id: report.workspace_id } };
}

/** Whether the log of the installation is that of this workspace, or names it. */
const isOf = ({ workspaceId, workspaces }: LogFacts, id: string): boolean =>
  workspaceId === id || (workspaces?.made.has(id) ?? false) || (workspaces?.deleted.has(id) ?? false);

async function readFacts(root: string, workspaceId: string, encryptionKey: KeySource): Promise<LogFacts | null> {
  const database = workspaceFile(dataDirectory(root), workspaceId);
  if (!existsSync(database)) return null;
  using newer = await openEvidenceFile(database);
  using log = openEvidence(newer, database, encryptionKey);
  return await readLogFacts(log);
}

/** Whether a file has no tables, or no event. */
async function isBlank(root: string, workspaceId: string, encryptionKey: KeySource): Promise<boolean> {
  try {
    const database = workspaceFile(dataDirectory(root), workspaceId);
    using newer = await openEvidenceFile(database);
    using log = openEvidence(newer, database, encryptionKey);
    if (log.value("SELECT count(*) FROM sqlite_schema") === 0) return true;
    return log.value("SELECT count(*) FROM events") === 0;
  } catch (error) {
    if (!isDriverError(error)) throw error;
    return false; // Its own verification says what is wrong with it.
  }
}

/**
 * A node's copies are brought up to date one by one, when they are used. So they neither hold all workspaces nor agree
 * with each other.
 */
const COPIES = "this is the data directory of a node, whose copies alone prove nothing about all workspaces";

/** Marks the workspaces that are missing because a backup lacked them, which alone is no sign of tampering. */
function explained(root: string, sources: readonly Source[], results: readonly SourceResult[]): SourceResult[] {
  const inBackup = new Set(workspacesLeftOut(root));
  const restores = results.flatMap(({ facts, verdict }) => (verdict === "verified" && facts?.restores) || []);
  const inRestore = new Set(restores.flatMap(({ workspacesLeftOut }) => workspacesLeftOut));
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
const WITHOUT_INSTALLATION = "the log of the installation is not part of this evidence: which workspaces there are";

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

/** Returns where the evidence of a workspace is. */
function sourceOf(directory: DataDirectory, workspaceId: string): Source {
  const seals = sealFile(directory, workspaceId);
  return { path: workspaceFile(directory, workspaceId), workspaceId, ...(existsSync(seals) && { sealFile: seals }) };
}

/**
 * Returns the workspaces of a data directory, without deleted ones. With `holdsCopies`, leaves out those that have no
 * file.
 */
function workspacesOf(root: string, told: Told | null, holdsCopies: boolean): Source[] | SourceResult {
  const directory = dataDirectory(root);
  const none = (message: string) => obstacle(root, "directory", "not_evidence", message);
  if (!existsSync(directory.workspaces)) return none("this directory is not a data directory of governd");
  const known = told?.facts?.workspaces;
  // Seals are read first: the seals of a workspace that is created meanwhile come after its file. Without the log of the
  // installation, the directory is not whole: it may hold only some of the files.
  const ids = new Set(told !== null && existsSync(directory.seals) ? namesIn(directory.seals, SEALS_OF) : []);
  for (const id of namesIn(directory.workspaces, /^(.*)\.db$/)) ids.add(id);
  // The log of the installation also names workspaces whose files are missing.
  for (const id of [...(known?.made.keys() ?? []), ...(known?.heads.keys() ?? [])]) ids.add(id);
  for (const id of known?.deleted ?? []) ids.delete(id);
  if (ids.size === 0) return none("this data directory has no workspaces");
  const sources = [...ids].sort().map((workspaceId): Source => {
    const head = known?.heads.get(workspaceId);
    const recorded = head && known ? { head: { ...head, recordedMs: known.recordedMs } } : {};
    return { ...sourceOf(directory, workspaceId), ...recorded };
  });
  return holdsCopies ? sources.filter(({ path }) => existsSync(path)) : sources;
}

const SEALS_OF = /^(ws_[0-9a-z]{26})\.log$/;

/** Returns the parts of file names that the pattern's group matches. */
const namesIn = (directory: string, form: RegExp): string[] =>
  readdirSync(directory).flatMap((name) => form.exec(name)?.[1] ?? []);

/** Reads where to find the log of the installation: nothing when that, which is no evidence, cannot be read. */
const pointerIn = (root: string): Pointer | null => orNull(Failure, () => readPointer(dataDirectory(root)));

/**
 * After this many pieces of evidence, garbage is collected. The driver releases a closed file only when its statements
 * are collected, and with thousands of workspaces that must not wait.
 */
const SOURCES_BETWEEN_COLLECTIONS = 100;

/** Verifies pieces of evidence one after another. `vouched`: see {@link verifySource}. */
async function verifySources(
  sources: readonly Source[],
  asked: EvidenceOptions,
  progress: Progress,
  vouched = false,
): Promise<SourceResult[]> {
  const results: SourceResult[] = [];
  for (const source of sources) {
    results.push(await verifySource(source, asked, progress, vouched));
    if (results.length % SOURCES_BETWEEN_COLLECTIONS === 0) Bun.gc(true);
  }
  return results;
}

/**
 * Verifies one piece of evidence. All problems are part of the result.
 * @param vouched whether a seal from a witness vouches for its log already, so that none need have cosigned it
 */
async function verifySource(
  source: Source,
  asked: EvidenceOptions,
  progress: Progress,
  vouched = false,
): Promise<SourceResult> {
  try {
    if (source.workspaceId !== undefined && !existsSync(source.path))
      return missingWorkspace(source.path, source.workspaceId);
    if (asked.witnesses === null) return await verifyAlone(source, asked, progress);
    // The witnesses are asked first, since a daemon may go on with the log.
    const origin = await originOf(source, asked.encryptionKey);
    const told = origin === null ? [] : await asked.witnesses.sealsOf(origin);
    const seals = told.flatMap((one) => ("seal" in one ? [one.seal] : []));
    const trust = { ...asked.trust, anchors: [...(asked.trust.anchors ?? []), ...seals] };
    const result = await verifyAlone(source, { ...asked, trust }, progress);
    if (origin === null && result.verdict === "verified") doubt(result, "seal_missing", NO_ORIGIN);
    for (const one of told) {
      if ("failed" in one) doubt(result, "seal_missing", one.failed);
      else if ("never" in one && !vouched) doubt(result, "seal_missing", one.never);
    }
    const { kind, anchored_through } = result.report;
    if (
      (kind === "receipt" || kind === "proof") &&
      seals.length > 0 &&
      anchored_through === null &&
      result.verdict === "verified"
    )
      doubt(result, "seal_missing", NOT_COMPARED);
    return result;
  } catch (error) {
    return unreadable(source.path, error);
  }
}

const NO_ORIGIN = "the witness was not asked: no seal or key here names the log";
const NOT_COMPARED =
  "the newest seal from the witness covers another number of events than the seal here: ask for the receipt or the proof again, or verify the workspace's file";

/** Returns the name under which the log of this evidence is sealed; null when the evidence does not say. */
async function originOf({ path, workspaceId }: Source, encryptionKey: KeySource): Promise<string | null> {
  if (isDatabase(path, workspaceId)) {
    using file = await openEvidenceFile(path);
    try {
      using connection = openEvidence(file, path, encryptionKey);
      return await originOfWorkspace(connection);
    } catch (error) {
      if (!isDriverError(error)) throw error;
      return null; // Its verification says what is wrong with it.
    }
  }
  if (await isProof(path)) return originOfProof(await Bun.file(path).bytes());
  return (await isReceipt(path)) ? originOfReceipt(await Bun.file(path).text()) : await originOfExport(path);
}

/** In place of a workspace's file, a file that is not a database is a damaged database. */
function isDatabase(path: string, workspaceId: string | undefined): boolean {
  const kind = databaseKind(path);
  return kind === "plain" || kind === "encrypted" || (kind === "foreign" && workspaceId !== undefined);
}

/** Verifies one piece of evidence with the seals that were given. @throws when it cannot be read */
async function verifyAlone(
  source: Source,
  { agentId, trust, threads, encryptionKey }: EvidenceOptions,
  progress: Progress,
): Promise<SourceResult> {
  const { path, workspaceId, sealFile, head } = source;
  const wanted = agentId === undefined ? {} : { agentId };
  const kind = databaseKind(path);
  if (isDatabase(path, workspaceId)) {
    const key = kind === "encrypted" ? encryptionKey() : null;
    const request = { path, ...wanted, ...trust, encryptionKey: key, threads: { count: threads } };
    return await verifyWorkspaceFile(
      { ...request, ...(workspaceId && { workspaceId }), ...(head && { head }) },
      sealFile,
      progress,
    );
  }
  const { size } = statSync(path);
  if (size === 0) return obstacle(path, "unknown", "not_evidence", "the file is empty");
  if (await isReceipt(path)) return verifyReceipt(await Bun.file(path).text(), path, trust);
  if (await isProof(path)) return verifyProof(await Bun.file(path).bytes(), path, trust);
  const onProgress = (bytes: number) => progress.step(bytes, size, "bytes");
  return await verifyExportFile(threads, { path, ...wanted, trust, onProgress });
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

const isProof = async (path: string): Promise<boolean> =>
  PROOF_BEGINS.test(await Bun.file(path).slice(0, BEGINNING_BYTES).text());

/** What is read of a file to recognise it. */
const BEGINNING_BYTES = 256;

function missingWorkspace(path: string, workspaceId: string): SourceResult {
  const message = "the data directory knows this workspace, but its file is missing";
  const result = tampered(path, "workspace", [{ code: "workspace_missing", seq: null, id: null, message }]);
  result.report.workspace_id = workspaceId;
  return result;
}

function unreadable(path: string, error: unknown): SourceResult {
  if (error instanceof EncryptionMismatch) return obstacle(path, "unknown", "evidence_unreadable", error.advice);
  if (error instanceof Failure) return obstacle(path, "unknown", "evidence_unreadable", error.message);
  if (systemCode(error) === undefined) throw error;
  return obstacle(path, "unknown", "evidence_unreadable", `it cannot be read: ${systemReason(error)}`);
}
