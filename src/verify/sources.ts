/** The sources that can be verified: a workspace's database, an export, a receipt. */
import { statSync } from "node:fs";
import { isFingerprint, KeyChainError, readKeyChain, trustedKeys } from "../log/key-chain.ts";
import { NoteError, type VerifierKey } from "../log/note.ts";
import { parseReceipt, type Receipt, ReceiptError, receiptProblem } from "../log/receipt.ts";
import { checkSeal, sealedWorkspace } from "../log/seal.ts";
import { prunings } from "../state/pruning.ts";
import { Connection, openConnection } from "../store/connection.ts";
import { damageOf } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { schemaVersion } from "../store/migrate.ts";
import type { Reader } from "../store/transaction.ts";
import { WORKSPACE_MIGRATIONS } from "../workspace/file.ts";
import { logCompleteness, TAMPERED } from "./completeness.ts";
import { readControlLog } from "./control/events.ts";
import type { VerificationReport } from "./events/contract.ts";
import { NO_EVENTS } from "./events/export-claims.ts";
import { type ExportReport, ExportVerifier } from "./events/export-read.ts";
import { linesOf } from "./events/lines.ts";
import { witnessesOf } from "./events/witnesses.ts";
import { checkFileAside, type PartWish, verifyInParts } from "./parallel.ts";
import type { VerificationScope, WorkspaceVerificationOptions } from "./preparation.ts";
import type { Problem, ProblemCode } from "./problems.ts";
import { type ObstacleCode, obstacle, resultOf, type SourceResult } from "./report.ts";
import { hasTable, schemaChanges } from "./rows/schema.ts";
import type { Trust } from "./trust.ts";
import { verifyWorkspace, type WorkspaceReport } from "./workspace.ts";

/** What is asked of a workspace file. */
export interface DatabaseWish extends WorkspaceVerificationOptions {
  /** How the file is named to the person. */
  path: string;
  /** Only this agent. */
  agentId?: string;
  /** The workspace that the file should be, as its place says. */
  workspaceId?: string;
  /** The key of an encrypted file. */
  encryptionKey?: EncryptionKey | null;
}

/** Verifies an open database. Never writes to it. */
export async function verifyDatabase(connection: Connection, wish: DatabaseWish): Promise<SourceResult> {
  try {
    const refusal = whyNotWorkspace(connection);
    if (refusal !== null) return obstacle(wish.path, "unknown", refusal.code, refusal.message);
    return await verifyTables(connection, wish);
  } catch (error) {
    return unreadable(wish, error);
  }
}

/** Opens a file and verifies it. `immutable`: no process writes to it, and files beside it are ignored. */
export async function verifyDatabaseFile(
  file: { path: string; immutable: boolean },
  wish: DatabaseWish,
): Promise<SourceResult> {
  try {
    using connection = openConnection(file.path, {
      ...(file.immutable ? { immutable: true } : { readOnly: true }),
      encryptionKey: wish.encryptionKey ?? null,
    });
    return await verifyDatabase(connection, wish);
  } catch (error) {
    return unreadable(wish, error);
  }
}

type Refusal = { code: ObstacleCode; message: string };

function whyNotWorkspace(connection: Connection): Refusal | null {
  if (hasTable(connection, "api_keys")) {
    const message = "this is the control database, which has no audit log: name the data directory or a workspace";
    return { code: "not_evidence", message };
  }
  if (!hasTable(connection, "events")) {
    return { code: "not_evidence", message: "this database is no workspace of governd" };
  }
  const [found, known] = [schemaVersion(connection), WORKSPACE_MIGRATIONS.length];
  if (found > known) {
    const message = `a newer governd wrote this workspace (schema ${found}, this one knows ${known}): verify it with that one`;
    return { code: "newer_schema", message };
  }
  return null;
}

async function verifyTables(connection: Connection, wish: DatabaseWish): Promise<SourceResult> {
  const source = { path: wish.path, kind: "workspace" } as const;
  const changes = schemaChangesOf(connection);
  if (changes.length > 0) return changedSchema(source, changes);
  // Seals cover the whole log, so comparing them takes all of it.
  const { publicKeys = [], anchors = [], witnesses = [] } = wish;
  const whole = wish.agentId === undefined || [...publicKeys, ...anchors, ...witnesses].length > 0;
  const scope = whole ? ({ scope: "workspace" } as const) : { agentId: wish.agentId as string };
  return await checkFileAside(connection, wish, async (check) => {
    const found = await verifyWorkspace(connection, scope, wish);
    const { problems, damage } = await check();
    const all = [...otherWorkspace(found, wish), ...problems.map(schemaProblem)];
    const obstacles = all.length > 0 ? [] : obstaclesOf(found, wish);
    if (damage !== null) obstacles.push({ code: "evidence_unreadable", message: `${DAMAGE.corrupt} (${damage})` });
    const report = withProblems(found, all);
    const controlLog = whole ? await readControlLog(connection) : null;
    const result = { ...resultOf(source, report, obstacles, logCompleteness(report)), controlLog };
    if (found.prunedBefore > 0) result.report.prunings = await pruningsOf(connection);
    return result;
  });
}

/**
 * Verifies an open workspace as the daemon has it: the schema and the indexes, too, unless it is one agent's chain,
 * which is read through the indexes and would have gaps.
 */
export async function verifyWorkspaceAndFile(
  reader: Reader,
  scope: VerificationScope,
  options: WorkspaceVerificationOptions,
): Promise<WorkspaceReport> {
  if (!(reader instanceof Connection) || "agentId" in scope) return await verifyWorkspace(reader, scope, options);
  return await checkFileAside(reader, options, async (check) => {
    const report = await verifyWorkspace(reader, scope, options);
    const { problems, damage } = await check();
    const all = [...schemaChangesOf(reader), ...problems, ...(damage === null ? [] : [damage])];
    return withProblems(report, all.map(schemaProblem));
  });
}

const pruningsOf = async (reader: Reader) =>
  (await prunings(reader)).map(({ beforeSeq, exportDigest }) => ({
    before_seq: beforeSeq,
    export_digest: exportDigest,
    export: null,
  }));

const schemaChangesOf = (connection: Connection): string[] =>
  schemaChanges(connection, WORKSPACE_MIGRATIONS.slice(0, schemaVersion(connection)));

export const schemaProblem = (message: string): Problem => ({ code: "schema_mismatch", seq: null, id: null, message });

function obstaclesOf(found: VerificationReport, wish: DatabaseWish): Refusal[] {
  const { agentId } = wish;
  const known = agentId === undefined || found.agents.some(({ agent_id }) => agent_id === agentId);
  if (found.eventsChecked > 0 && known) return [];
  if (!known) {
    return [{ code: "agent_unknown", message: "this workspace has no events of that agent" }];
  }
  return [{ code: "log_empty", message: "the log is empty, and without a seal nothing says what it held" }];
}

function otherWorkspace({ workspaceId }: VerificationReport, wish: DatabaseWish): Problem[] {
  if (wish.workspaceId === undefined || workspaceId === null || workspaceId === wish.workspaceId) return [];
  const message = "the file stands in the place of another workspace";
  return [{ code: "wrong_workspace", seq: null, id: null, message }];
}

function withProblems(found: WorkspaceReport, problems: readonly Problem[]): WorkspaceReport {
  if (problems.length === 0) return found;
  return {
    ...found,
    valid: false,
    problems: [...problems, ...found.problems],
    problemCount: found.problemCount + problems.length,
  };
}

function changedSchema(source: { path: string; kind: "workspace" }, changes: readonly string[]): SourceResult {
  const result = obstacle(source.path, source.kind, "not_evidence", "");
  result.report.problems = changes.map((change) => schemaProblem(`${change}; nothing more was looked at`));
  return { ...result, problemCount: changes.length, verdict: "tampered" };
}

const DAMAGE = {
  not_a_database: "this file is no database, or its beginning is damaged",
  corrupt: "the database is damaged or cut off: it cannot be read to its end",
} as const;

/** The failure as what is wrong with the file. @throws what it is when it is no matter of the file */
export function unreadable({ path }: Pick<DatabaseWish, "path">, error: unknown): SourceResult {
  const message = whyUnreadable(error);
  if (message === null) throw error;
  return obstacle(path, "unknown", "evidence_unreadable", message);
}

/** What a failure says of the file; null when it is no matter of the file. */
function whyUnreadable(error: unknown): string | null {
  if (error instanceof EncryptionMismatch) return error.advice;
  const damage = damageOf(error);
  return damage === null ? null : DAMAGE[damage];
}

/** What is asked of an export. */
export interface ExportWish extends PartWish {
  /** How the file is named to the person. */
  path: string;
  /** The agent whose chain must be in it. */
  agentId?: string;
  /** The key and the seals that the auditor brought. */
  trust?: Trust;
}

/** Verifies an export from its bytes. */
export async function verifyExport(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  wish: ExportWish,
): Promise<SourceResult> {
  const verifier = new ExportVerifier(trustOf(wish));
  let read = 0;
  for await (const piece of bytes) {
    verifier.push(piece);
    read += piece.length;
    await wish.onProgress?.(read);
  }
  return resultOfExport(verifier.finish(), wish);
}

/**
 * Verifies an export in a file, a large and valid one with several threads. The report does not depend on their
 * number: when anything is wrong, one thread verifies all of it again.
 *
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function verifyExportFile(threads: number, wish: ExportWish): Promise<SourceResult> {
  const { path } = wish;
  const found = await verifyInParts(threads, path, trustOf(wish), wish);
  if (found !== null) return resultOfExport(found, wish);
  return await verifyExport(linesOf(path, { from: 0, to: statSync(path).size }), wish);
}

function trustOf({ trust }: ExportWish) {
  return { publicKeys: trust?.publicKeys ?? [], anchors: trust?.seals ?? [], witnesses: trust?.witnesses ?? [] };
}

function resultOfExport(found: ExportReport, wish: ExportWish): SourceResult {
  const obstacles: { code: ObstacleCode; message: string }[] = [];
  if (found.undetermined !== null) {
    obstacles.push({ code: obstacleOfExport(found), message: found.undetermined });
  } else if (wish.agentId !== undefined && !found.agents.some(({ agent_id }) => agent_id === wish.agentId)) {
    obstacles.push({ code: "agent_unknown", message: "this export has no events of that agent" });
  }
  const kind = found.header === null && found.eventsChecked === 0 ? "unknown" : "export";
  return resultOf({ path: wish.path, kind }, found, obstacles, found.completeness);
}

function obstacleOfExport({ undetermined, header, eventsChecked }: ExportReport): ObstacleCode {
  if (undetermined === NO_EVENTS) return "log_empty";
  return header === null && eventsChecked === 0 ? "not_evidence" : "export_incomplete";
}

/** Verifies the text of a receipt. Without a key nothing can be established: a receipt has no chain. */
export function verifyReceipt(text: string, path: string, { publicKeys, witnesses = [] }: Trust): SourceResult {
  let receipt: Receipt;
  try {
    receipt = parseReceipt(text);
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
    return obstacle(path, "receipt", "not_evidence", `the receipt is not in order: ${error.message}`);
  }
  const keys = keysOfReceipt(receipt);
  const publicKey = trustedKeys(publicKeys, keys ?? []).find((key) => checkSeal(receipt.seal, key) !== "absent");
  const found = problemOfReceipt(receipt, keys, publicKey ?? null, witnesses);
  const why = keys === null || publicKey !== undefined ? "" : whyNoKey(publicKeys, keys);
  const result = describe(obstacle(path, "receipt", "key_missing", why), receipt);
  if (found === null && publicKey === undefined) return result;
  const { seq, id } = receipt.event;
  result.report.problems = found === null ? [] : [{ ...found, seq, id }];
  result.problemCount = result.report.problems.length;
  result.verdict = found === null ? "verified" : "tampered";
  result.report.sealed_through = found === null ? seq : null;
  result.completeness = found === null ? { is: "partial", part: `event ${seq} of ${receipt.seal.size}` } : TAMPERED;
  result.report.completeness = result.completeness.is;
  if (found === null && witnesses.length > 0) result.report.witnesses = witnessesOf(receipt.seal, witnesses);
  return result;
}

/** Returns the log's keys up to the one of the receipt's seal; empty when it names none, null when they were changed. */
function keysOfReceipt({ keys, seal, event }: Receipt): Uint8Array[] | null {
  if (keys === null) return [];
  try {
    const found = readKeyChain(event.workspace_id, keys);
    return checkSeal(seal, found.at(-1) as Uint8Array) === "good" ? found : null;
  } catch (error) {
    if (error instanceof KeyChainError) return null;
    throw error;
  }
}

function problemOfReceipt(
  receipt: Receipt,
  keys: readonly Uint8Array[] | null,
  publicKey: Uint8Array | null,
  witnesses: readonly VerifierKey[],
): { code: ProblemCode; message: string } | null {
  if (keys === null) {
    return { code: "seal_invalid", message: "the announcements of the log's keys do not lead to the receipt's seal" };
  }
  const message = receiptProblem(receipt, publicKey);
  const code = publicKey === null || checkSeal(receipt.seal, publicKey) === "good" ? "proof_invalid" : "seal_signature";
  if (message !== null) return { code, message };
  try {
    witnessesOf(receipt.seal, witnesses);
    return null;
  } catch (error) {
    if (error instanceof NoteError) return { code: "seal_signature", message: error.message };
    throw error;
  }
}

function whyNoKey(given: readonly Uint8Array[], keys: readonly Uint8Array[]): string {
  if (given.length === 0) return "a receipt is checked with the public key: give it with --public-key";
  if (isFingerprint(given, keys)) return "the given key is the fingerprint of this log's key: give the key itself";
  const earlier = keys.length === 0 ? ", a fingerprint, or an earlier key of this log" : "";
  return `the given key does not lead to the key that sealed this receipt: it is another log's key${earlier}`;
}

function describe(result: SourceResult, { event, seal, stored }: Receipt): SourceResult {
  result.report.workspace_id = sealedWorkspace(seal);
  result.report.events = 1;
  result.range = { first: event.seq, last: event.seq };
  result.erasedDetails = stored.details === null ? 1 : 0;
  return result;
}
