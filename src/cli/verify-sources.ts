/** From the paths on the command line to pieces of evidence, each verified. */
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { dataDirectory, sealFile, workspaceFile } from "../datadir/layout.ts";
import { decodeText, textBytes } from "../evidence/columns.ts";
import { type DatabaseWish, verifyDatabaseFile } from "../evidence/database.ts";
import { verifyExport } from "../evidence/export.ts";
import { verifyReceipt } from "../evidence/receipt.ts";
import { obstacle, type SourceResult } from "../evidence/report.ts";
import type { Trust } from "../evidence/trust.ts";
import { Failure, systemCode, systemReason } from "../failure.ts";
import { RECEIPT_HEAD } from "../log/receipt.ts";
import { openConnection } from "../store/connection.ts";
import { openEvidenceFile } from "./evidence-file.ts";
import type { Progress } from "./verify-progress.ts";

/** What every SQLite database begins with (https://www.sqlite.org/fileformat.html, 1.2). */
const DATABASE_MAGIC = "SQLite format 3\u0000";
/** How often a file that is written to while it is read is read again. */
const MAX_ATTEMPTS = 5;

/** What is asked of every piece of evidence. */
export interface Asked {
  agentId: string | undefined;
  trust: Trust;
}

/** One piece of evidence. */
export interface Source {
  path: string;
  /** The workspace that its place says it is. */
  workspaceId?: string;
  /** The workspace's file of seals, when it is there. */
  sealFile?: string;
}

/** What is to be verified: a data directory is all its workspaces. */
export async function expand(path: string): Promise<Source[] | SourceResult> {
  try {
    if (!statSync(path).isDirectory()) return [{ path }];
    return await workspacesOf(path);
  } catch (error) {
    return unreadable(path, error);
  }
}

async function workspacesOf(root: string): Promise<Source[] | SourceResult> {
  const directory = dataDirectory(root);
  const none = (message: string) => obstacle(root, "directory", "not_evidence", message);
  if (!existsSync(directory.workspaces)) return none("this directory is no data directory of governd");
  const ids = new Set(
    readdirSync(directory.workspaces)
      .filter((name) => name.endsWith(".db"))
      .map((name) => name.slice(0, -".db".length)),
  );
  // A workspace whose file is gone is still known here.
  for (const id of await knownWorkspaces(directory.control)) ids.add(id);
  if (ids.size === 0) return none("this data directory holds no workspaces");
  return [...ids].sort().map((workspaceId) => {
    const seals = sealFile(directory, workspaceId);
    const path = workspaceFile(directory, workspaceId);
    return { path, workspaceId, ...(existsSync(seals) && { sealFile: seals }) };
  });
}

async function knownWorkspaces(control: string): Promise<string[]> {
  if (!existsSync(control)) return [];
  using file = await openEvidenceFile(control);
  const connection = openConnection(file.path, file.immutable ? { immutable: true } : { readOnly: true });
  try {
    return connection
      .all<[Buffer | null]>(`SELECT ${textBytes("id")} FROM workspaces`)
      .map(([bytes]) => decodeText(bytes))
      .filter((id) => id !== null && /^ws_[0-9a-z]{26}$/.test(id)) as string[];
  } finally {
    connection.close();
  }
}

/**
 * The driver lets go of a closed file only when its statements are collected; with thousands of
 * workspaces that must not wait.
 */
const SOURCES_BETWEEN_COLLECTIONS = 100;

/** Verifies pieces of evidence one after another. */
export async function verifySources(
  sources: readonly Source[],
  asked: Asked,
  progress: Progress,
): Promise<SourceResult[]> {
  const results: SourceResult[] = [];
  for (const source of sources) {
    results.push(await verifySource(source, asked, progress));
    if (results.length % SOURCES_BETWEEN_COLLECTIONS === 0) Bun.gc(true);
  }
  return results;
}

/** Verifies one piece of evidence; whatever is wrong with it is in the result. */
async function verifySource(
  source: Source,
  { agentId, trust }: Asked,
  progress: Progress,
): Promise<SourceResult> {
  const { path, workspaceId, sealFile } = source;
  const wanted = agentId === undefined ? {} : { agentId };
  try {
    if (workspaceId !== undefined && !existsSync(path)) return missingWorkspace(path, workspaceId);
    if (isDatabase(path)) {
      const wish = { path, ...wanted, publicKey: trust.publicKey, anchors: trust.seals };
      return await verifyWorkspaceFile({ ...wish, ...(workspaceId && { workspaceId }) }, sealFile, progress);
    }
    const { size } = statSync(path);
    if (size === 0) return obstacle(path, "unknown", "not_evidence", "the file is empty");
    if (await isReceipt(path)) return verifyReceipt(await Bun.file(path).text(), path, trust);
    const onProgress = (bytes: number) => progress.step(bytes, size, "bytes");
    return await verifyExport(Bun.file(path).stream(), { path, ...wanted, trust, onProgress });
  } catch (error) {
    return unreadable(path, error);
  }
}

async function verifyWorkspaceFile(
  wish: DatabaseWish,
  sealFile: string | undefined,
  progress: Progress,
): Promise<SourceResult> {
  const onProgress = (checked: number, total: number) => progress.step(checked, total, "events");
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    using file = await openEvidenceFile(wish.path);
    // Anew for each attempt, since it is read as a stream.
    const seals = sealFile === undefined ? null : Bun.file(sealFile).stream();
    const result = await verifyDatabaseFile(file, { ...wish, onProgress, sealFile: seals });
    if (file.unchanged()) return result;
  }
  const message = "the file is written to so much that it was never read in one state: try again";
  return obstacle(wish.path, "unknown", "evidence_unreadable", message);
}

async function isReceipt(path: string): Promise<boolean> {
  return (await Bun.file(path).slice(0, RECEIPT_HEAD.length).text()) === RECEIPT_HEAD;
}

function isDatabase(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(DATABASE_MAGIC.length);
    return (
      readSync(file, head, 0, head.length, 0) === head.length && head.toString("latin1") === DATABASE_MAGIC
    );
  } finally {
    closeSync(file);
  }
}

function missingWorkspace(path: string, workspaceId: string): SourceResult {
  const message = "the data directory knows this workspace, and its file is gone";
  const result = obstacle(path, "workspace", "evidence_unreadable", message);
  result.report.workspace_id = workspaceId;
  result.report.problems = [{ code: "content_missing", seq: null, id: null, message }];
  return { ...result, verdict: "tampered" };
}

function unreadable(path: string, error: unknown): SourceResult {
  if (error instanceof Failure) return obstacle(path, "unknown", "evidence_unreadable", error.message);
  if (systemCode(error) === undefined) throw error;
  return obstacle(path, "unknown", "evidence_unreadable", `it cannot be read: ${systemReason(error)}`);
}
