/** Verifies a workspace's database, or an export. (receipt.ts verifies receipts.) */

import { statSync } from "node:fs";
import type { WorkspaceHead } from "../core/heads/tree.ts";
import { EMBEDDINGS_TABLE } from "../core/rows/embeddings.ts";
import { FULL_TEXT_TABLE } from "../core/rows/full-text.ts";
import { prunings } from "../core/rows/log/pruning.ts";
import { continuesHead } from "../core/writer/continuity.ts";
import { WORKSPACE_MIGRATIONS, WORKSPACE_SCHEMA } from "../core/writer/file.ts";
import { VOCABULARY } from "../log/event.ts";
import { Connection, openConnection } from "../store/connection.ts";
import { damageOf, isDriverError } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { otherGovernd, schemaVersion } from "../store/migrate.ts";
import type { Reader } from "../store/transaction.ts";
import type { ObstacleCode } from "./codes.ts";
import { logCompleteness } from "./completeness.ts";
import type { VerificationReport } from "./events/contract.ts";
import { type ExportReport, ExportVerifier } from "./events/export-read.ts";
import { linesOf } from "./events/lines.ts";
import { readLogFacts } from "./installation.ts";
import { FileCheckAside, type PartRequest, verifyInParts } from "./parallel.ts";
import type { VerificationScope, WorkspaceVerificationOptions } from "./preparation.ts";
import type { Problem } from "./problems.ts";
import { newerVocabulary, type Obstacle, obstacle, resultOf, type SourceResult, tampered } from "./report.ts";
import { nameEvents } from "./rows/events-named.ts";
import { hasWorkspaceRetention } from "./rows/expected/histories.ts";
import { numberProblem } from "./rows/numbers.ts";
import { checkFile, type FileCheck, hasTable, isWorkspace, type SchemaChange, schemaChanges } from "./rows/schema.ts";
import type { Trust } from "./trust.ts";
import { verifyWorkspace, type WorkspaceReport, withProblems } from "./workspace.ts";

/** The options for verifying a workspace file. */
export interface DatabaseRequest extends WorkspaceVerificationOptions {
  /** The name of the file in reports. */
  path: string;
  /** Limits the verification to this agent. */
  agentId?: string;
  /** The workspace that the file should contain according to its path. */
  workspaceId?: string;
  /** The key of an encrypted file. */
  encryptionKey?: EncryptionKey | null;
  /** The head of the workspace that the log of the installation recorded, and when, ms since the Unix epoch. */
  head?: WorkspaceHead & { recordedMs: number };
}

/** Verifies an open database. Never writes to it. */
export async function verifyDatabase(connection: Connection, wanted: DatabaseRequest): Promise<SourceResult> {
  try {
    const refusal = withAnySchema(connection, () => whyNotWorkspace(connection));
    if (refusal !== null) return obstacle(wanted.path, "unknown", refusal.code, refusal.message);
    return await verifyTables(connection, wanted);
  } catch (error) {
    return (await brokenRules(connection, wanted, error)) ?? unreadable(wanted, error);
  }
}

/** Runs `read` so that it can read a schema that SQLite does not accept, because an object's text was changed. */
function withAnySchema<T>(connection: Connection, read: () => T): T {
  connection.exec("PRAGMA writable_schema = ON");
  try {
    return read();
  } finally {
    connection.exec("PRAGMA writable_schema = OFF");
  }
}

/**
 * Returns the result for a file that could not be read although no page is damaged: an index does not match its table.
 */
async function brokenRules(
  connection: Connection,
  wanted: DatabaseRequest,
  error: unknown,
): Promise<SourceResult | null> {
  if (damageOf(error) !== "corrupt") return null;
  const { problems, damage } = await checkFile(connection);
  return damage !== null || problems.length === 0
    ? null
    : tampered(wanted.path, "workspace", problems.map(schemaProblem));
}

/** Opens a file and verifies it. `immutable`: no process writes to it, and files beside it are ignored. */
export async function verifyDatabaseFile(file: { path: string; immutable: boolean }, wanted: DatabaseRequest) {
  try {
    using connection = openConnection(file.path, {
      ...(file.immutable ? { immutable: true } : { readOnly: true }),
      ...{ anySchema: true, encryptionKey: wanted.encryptionKey ?? null },
    });
    return await verifyDatabase(connection, wanted);
  } catch (error) {
    return unreadable(wanted, error);
  }
}

function whyNotWorkspace(connection: Connection): Obstacle | null {
  if (!isWorkspace(connection)) {
    return { code: "not_evidence", message: "this database is no workspace of governd" };
  }
  const encoding = connection.value<string>("PRAGMA encoding");
  if (encoding !== "UTF-8") {
    const message = `the database's texts are in ${encoding}, and governd writes UTF-8`;
    return { code: "encoding_unknown", message };
  }
  return unknownSchema(connection, WORKSPACE_SCHEMA);
}

/** Returns the obstacle for a database that another governd wrote, newer or from before 0.1.0; null for any other. */
function unknownSchema(connection: Connection, newest: number): Obstacle | null {
  const found = schemaVersion(connection);
  const other = otherGovernd(found, newest);
  if (other === null) return null;
  return { code: found > newest ? "newer_schema" : "not_evidence", message: `this was written by ${other}` };
}

async function verifyTables(connection: Connection, wanted: DatabaseRequest): Promise<SourceResult> {
  const changes = withAnySchema(connection, () => schemaChangesOf(connection));
  const changed = changes.map(({ message, table }) => {
    return schemaProblem({ message: `${message}; nothing more was looked at`, table });
  });
  const numbers = changed.length > 0 ? null : await numberProblem(connection);
  if (numbers !== null) changed.push(numbers);
  if (changed.length > 0) {
    return damagedResult(wanted, await checkFile(connection)) ?? tampered(wanted.path, "workspace", changed);
  }
  // Seals cover the whole log, so comparing them requires all of it.
  const { publicKeys = [], anchors = [], witnesses = [] } = wanted;
  const whole = wanted.agentId === undefined || [...publicKeys, ...anchors, ...witnesses].length > 0;
  const scope = whole ? ({ scope: "workspace" } as const) : { agentId: wanted.agentId as string };
  await using aside = new FileCheckAside(connection, wanted.threads);
  const found = await verifyWorkspace(connection, scope, { ...wanted, file: aside });
  const file = await aside.result();
  const damaged = damagedResult(wanted, file);
  if (damaged !== null) return damaged;
  const wrong = [...otherWorkspace(found, wanted), ...file.problems.map(schemaProblem)];
  const isWrong = !found.valid || wrong.length > 0;
  const all = [...wrong, ...(await readable(isWrong, [], () => behindHead(connection, wanted)))];
  const obstacles = all.length > 0 ? [] : obstaclesOf(found, wanted);
  if (file.unclear !== null && found.valid && all.length === 0) obstacles.push(damageObstacle(file.unclear));
  const report = withProblems(found, all);
  // What events under a greater vocabulary say is not known.
  const isKnown = whole && found.newerFrom === null;
  const facts = isKnown ? await readable(!report.valid, null, () => readLogFacts(connection)) : null;
  const source = { path: wanted.path, kind: "workspace" } as const;
  const result = { ...resultOf(source, report, obstacles, logCompleteness(report)), facts };
  await nameEvents(connection, result.report.problems);
  const open = notEvidence(connection);
  if (hasTable(connection, FULL_TEXT_TABLE) || hasTable(connection, EMBEDDINGS_TABLE)) open.push(SEARCH_NOT_COVERED);
  if (found.prunedBefore > 0) {
    result.report.prunings = await pruningsOf(connection);
    if (!whole) open.push(rowsNotCovered(found.prunedBefore));
  }
  if (!whole && (await hasWorkspaceRetention(connection))) open.push(WORKSPACE_POLICIES_NOT_COVERED);
  if (open.length > 0) result.report.not_covered = open;
  return result;
}

/**
 * Reads what is compared with other sources. Texts that are no UTF-8 or no JSON make this fail. The verification has then
 * reported them, and this returns `otherwise`. @throws the error of reading a file in which nothing was wrong
 */
async function readable<T>(isWrong: boolean, otherwise: T, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (isWrong && isDriverError(error)) return otherwise;
    throw error;
  }
}

/** Returns the result for a file with damaged pages, about which nothing can be said; null for any other file. */
function damagedResult({ path }: Pick<DatabaseRequest, "path">, { damage }: FileCheck): SourceResult | null {
  if (damage === null) return null;
  const { code, message } = damageObstacle(damage);
  return obstacle(path, "workspace", code, message);
}

/** Returns the obstacle for damage that SQLite reports. */
const damageObstacle = (damage: string): Obstacle => {
  return { code: "evidence_unreadable", message: `${DAMAGE.corrupt} (${damage})` };
};

/**
 * Verifies an open workspace for the daemon, including the schema and the indexes, unless only one agent's chain is
 * verified, which is read through the indexes and would have gaps. `obstacle` is why the report proves nothing: damaged
 * pages.
 */
export async function verifyWorkspaceAndFile(
  reader: Reader,
  scope: VerificationScope,
  options: WorkspaceVerificationOptions,
): Promise<{ report: WorkspaceReport; obstacle: Obstacle | null }> {
  const numbers = await numberProblem(reader);
  const before = numbers === null ? [] : [numbers];
  if (!(reader instanceof Connection) || "agentId" in scope) {
    return { report: withProblems(await verifyWorkspace(reader, scope, options), before), obstacle: null };
  }
  await using aside = new FileCheckAside(reader, options.threads);
  const report = await verifyWorkspace(reader, scope, { ...options, file: aside });
  const { problems, damage, unclear } = await aside.result();
  const all = [...before, ...[...schemaChangesOf(reader), ...problems].map(schemaProblem)];
  const unread = damage ?? (report.valid && all.length === 0 ? unclear : null);
  return { report: withProblems(report, all), obstacle: unread === null ? null : damageObstacle(unread) };
}

/** The tables of a workspace's file that are written without events, and what they hold. */
const NOT_EVIDENCE = {
  answers: "what a repeated request is answered",
  key_use: "when each key was last used",
  session_use: "when each session was last used",
  directory: "which workspaces each account has ever joined",
  sink_workspaces: "which workspaces have sinks",
  devices: "which browsers signed in before",
  sink_positions: "how far each sink has come",
} as const;

/** Returns the tables with rows that no event states, each with what it holds. */
function notEvidence(connection: Connection): string[] {
  const used = Object.entries(NOT_EVIDENCE).filter(
    ([table]) => connection.get(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined,
  );
  return used.map(([table, what]) => `${table}: ${what}`);
}

const SEARCH_NOT_COVERED = "search indexes: what a search finds, and in which order";

/** What the verification of one agent does not cover in a pruned log. */
const rowsNotCovered = (before: number): string =>
  `whether all stored entries and checkpoints of this agent from before event ${before} are there: each that is there is what its event says, and only a verification without --agent compares them with what the pruning kept`;

/** The workspace's policies are in its own chain, which the verification of one agent does not follow. */
const WORKSPACE_POLICIES_NOT_COVERED =
  "the retention of the workspace's policies, by which entries of this agent may be gone: only a verification without --agent compares them with the log";

const pruningsOf = async (reader: Reader) =>
  (await prunings(reader)).map(({ beforeSeq: before_seq, exportDigest: export_digest }) => {
    return { before_seq, export_digest, export: null };
  });

const schemaChangesOf = (connection: Connection): SchemaChange[] => schemaChanges(connection, WORKSPACE_MIGRATIONS);

const schemaProblem = ({ message, table }: SchemaChange): Problem => ({
  code: "schema_mismatch",
  seq: null,
  id: null,
  message,
  row: { table, key: null },
});

function obstaclesOf(found: VerificationReport, wanted: DatabaseRequest): Obstacle[] {
  const { agentId } = wanted;
  const known = agentId === undefined || found.agents.some(({ agent_id }) => agent_id === agentId);
  if (!known) return [{ code: "agent_unknown", message: "this workspace has no events of that agent" }];
  if (found.eventsChecked > 0) return [];
  return [{ code: "log_empty", message: "the log is empty, and without a seal nothing says what it held" }];
}

function otherWorkspace({ workspaceId }: VerificationReport, wanted: DatabaseRequest): Problem[] {
  if (wanted.workspaceId === undefined || workspaceId === null || workspaceId === wanted.workspaceId) return [];
  const message = "the file stands in the place of another workspace";
  return [{ code: "wrong_workspace", seq: null, id: null, message }];
}

/** `seq` is null when the log does not reach to its head. */
function behindHead(connection: Connection, { head, workspaceId }: DatabaseRequest): Problem[] {
  if (head === undefined || continuesHead(connection, head, head.recordedMs)) return [];
  const isShort =
    connection.value<number | null>("SELECT max(seq) FROM events NOT INDEXED WHERE seq >= ?", [head.size - 1]) == null;
  const said = `the log of the installation recorded ${head.size} events of ${workspaceId}`;
  const message = isShort ? `${said}, and the log does not have them` : `${said}, and the last of them is another one`;
  return [{ code: "workspace_behind_head", seq: isShort ? null : head.size - 1, id: null, message }];
}

const DAMAGE = {
  not_a_database: "this file is no database, or its beginning is damaged",
  corrupt: "the database is damaged or cut off: it cannot be read to its end",
} as const;

/** Returns the result for an error of reading the file. @throws the error when the file is not its cause */
function unreadable({ path }: Pick<DatabaseRequest, "path">, error: unknown): SourceResult {
  const damage = damageOf(error);
  const message = error instanceof EncryptionMismatch ? error.advice : damage && DAMAGE[damage];
  if (message === null) throw error;
  return obstacle(path, "unknown", "evidence_unreadable", message);
}

/** The options for verifying an export. */
interface ExportRequest extends PartRequest {
  /** The name of the file in reports. */
  path: string;
  /** The agent whose chain the export must contain. */
  agentId?: string;
  /** The keys and seals of the auditor. */
  trust?: Trust;
}

/** Verifies an export from its bytes. */
async function verifyExport(bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, wanted: ExportRequest) {
  const verifier = new ExportVerifier(wanted.trust);
  let read = 0;
  for await (const piece of bytes) {
    verifier.push(piece);
    read += piece.length;
    await wanted.onProgress?.(read);
  }
  return resultOfExport(verifier.finish(), wanted);
}

/**
 * Verifies an export in a file, a large and valid one with several threads. The report does not depend on their number:
 * when anything is wrong, one thread verifies the whole export again.
 *
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function verifyExportFile(threads: number, wanted: ExportRequest): Promise<SourceResult> {
  const { path } = wanted;
  const found = await verifyInParts(threads, path, wanted.trust ?? {}, wanted);
  if (found !== null) return resultOfExport(found, wanted);
  return await verifyExport(linesOf(path, { from: 0, to: statSync(path).size }), wanted);
}

function resultOfExport(found: ExportReport, wanted: ExportRequest): SourceResult {
  const obstacles: { code: ObstacleCode; message: string }[] = [];
  if (found.undetermined === null && found.vocabulary > VOCABULARY) {
    obstacles.push({ code: "newer_format", message: newerVocabulary("the export states", found.vocabulary) });
  }
  if (found.undetermined !== null) {
    obstacles.push({ code: obstacleOfExport(found), message: found.undetermined });
  } else if (wanted.agentId !== undefined && !found.agents.some(({ agent_id }) => agent_id === wanted.agentId)) {
    obstacles.push({ code: "agent_unknown", message: "this export has no events of that agent" });
  }
  const kind = found.header === null && found.eventsChecked === 0 ? "unknown" : "export";
  return resultOf({ path: wanted.path, kind }, found, obstacles, found.completeness);
}

function obstacleOfExport({ header, isNewer, eventsChecked }: ExportReport): ObstacleCode {
  if (isNewer) return "newer_format";
  return header === null && eventsChecked === 0 ? "not_evidence" : "export_incomplete";
}
