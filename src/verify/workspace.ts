/**
 * Verifies one workspace file: every event of its log, and every row stored beside the log, which is compared with its
 * events. Shared by the daemon and `governd verify`.
 *
 * It detects any change of any column of `head`, `events`, `agents`, `configs`, `checkpoints`, `tiles`, `seals`,
 * `seal_keys`, `entries` and the tables of `log/row-effects.ts`, and any row that was added, removed, exchanged or given to
 * another agent. What has no meaning is left out: `entries.id`, `seals.id`, and `events.entries` beside any but the newest
 * event of a chain. Without a seal it cannot detect a log that was truncated or rewritten together with everything stored
 * beside it.
 */

import { prunedBefore } from "../core/rows/log/pruning.ts";
import { treeRoot } from "../core/rows/log/tree.ts";
import { readSealFile } from "../core/seals/seal-file.ts";
import type { DeclaredRestore } from "../log/restores.ts";
import { hexOf } from "../log/rows.ts";
import { sealedWorkspace } from "../log/seal.ts";
import { Connection } from "../store/connection.ts";
import type { Reader } from "../store/transaction.ts";
import type { VerificationReport } from "./events/contract.ts";
import { addRows, feedLog, pagesOfChain, pagesOfLog } from "./events/log-pages.ts";
import type { LogVerifier } from "./events/log-verifier.ts";
import { takePruned } from "./events/pruned.ts";
import { eventsOfPart, feedInParts, withThreads } from "./parallel.ts";
import {
  beginCheck,
  type VerificationScope,
  type WorkspaceCheck,
  type WorkspaceVerificationOptions,
} from "./preparation.ts";
import { allOf, type Problem } from "./problems.ts";
import { checkAgentRows, checkAllAgents, checkOneAgent, type RowCounts } from "./rows/agents.ts";
import { checkHead, type Head, readHead } from "./rows/head.ts";
import { SealFeed } from "./rows/stored-seals.ts";
import type { StateRootCounts } from "./state/roots.ts";
import type { PartThreads } from "./threads.ts";

/** The report, and the position from which the log has all events: earlier ones were pruned. */
export interface WorkspaceReport extends VerificationReport {
  prunedBefore: number;
  /** Null where one agent alone was verified, or events have a meaning that is not known. */
  stateRoots?: StateRootCounts | null;
}

/** The fewest events for which threads are started: a shorter log is verified faster than threads start. */
const DIVIDE_FROM = 50_000;

/**
 * Verifies a workspace in its present state. The whole work is one read transaction of the connection, so nothing else
 * should be read on it meanwhile.
 *
 * Memory: one head for each agent, a few numbers for each checkpoint of one agent, numbers and a digest for each key up
 * to `maxKeys`, and a page of rows; with several threads, also the results of two parts for each thread.
 *
 * @throws the driver's error when the file cannot be read
 */
export async function verifyWorkspace(
  reader: Reader,
  scope: VerificationScope,
  options: WorkspaceVerificationOptions = {},
): Promise<WorkspaceReport> {
  const divided = "agentId" in scope ? null : await verifyDivided(reader, options);
  if (divided !== null) return divided;
  options.file?.begin();
  if ("agentId" in scope) return await inOneSnapshot(reader, () => verifyAgent(reader, scope.agentId, options));
  const verify = () => verifyEverything(reader, options, feedInTurn(reader, options));
  return (await inOneSnapshot(reader, verify)) as WorkspaceReport;
}

async function inOneSnapshot<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
  if (!(reader instanceof Connection) || reader.inTransaction) return await work();
  reader.exec("BEGIN");
  try {
    return await work();
  } finally {
    // SQLite may have ended the transaction because of an error.
    if (reader.inTransaction) reader.exec("ROLLBACK");
  }
}

/** Feeds the events to the verifier. Returns false when a part was not valid, so that there is no report. */
type Feed = (check: WorkspaceCheck & { seals: SealFeed }, head: Head | null) => Promise<boolean>;

async function verifyEverything(reader: Reader, options: WorkspaceVerificationOptions, feedEvents: Feed) {
  const head = await readHead(reader);
  const workspaceId = head?.workspaceId ?? null;
  const check = await beginCheck(reader, { scope: "workspace" }, options);
  const { verifier, before, tiles } = check;
  const { anchors = [], sealFile } = options;
  for (const anchor of anchors) if (sealedWorkspace(anchor) === workspaceId) verifier.seals?.anchor(anchor);
  const seals = new SealFeed(reader, verifier, sealFile ? readSealFile(sealFile()) : null);
  await seals.upTo(0);
  if (!(await feedEvents({ ...check, seals }, head))) return null;
  await seals.upTo();
  await tiles.finish();
  await check.keys.compare(reader, verifier);
  checkHead(verifier, head);
  // An event whose meaning is unknown may have changed any row but those that follow from the events' envelopes.
  if (verifier.vocabularies.newerFrom === null) await checkContents(reader, check);
  else if (!verifier.isOpaque) await checkAgentRows(check);
  const report = verifier.finish(workspaceId === null ? {} : { workspaceId });
  const problem = report.valid ? await lastSealProblem(reader, report.restores) : null;
  const stateRoots = verifier.vocabularies.newerFrom === null ? (check.roots?.counts ?? null) : null;
  return withProblems({ ...report, prunedBefore: before, stateRoots }, problem === null ? [] : [problem]);
}

/** Compares the rows with what the events say that they did. */
async function checkContents(reader: Reader, check: WorkspaceCheck): Promise<void> {
  const { verifier } = check;
  await check.rows.compare(reader);
  await check.heads.compare(reader);
  const met = await checkAllAgents(check);
  await checkNothingLeft(reader, verifier, met);
  // Otherwise the list of the rows that a pruning kept was changed, which is reported.
  if (check.histories.prunedBefore === 0) {
    await check.census.compare(verifier, () => pagesOfLog(reader, Number.MAX_SAFE_INTEGER));
  }
}

/** Returns a report with further problems. */
export function withProblems(found: WorkspaceReport, problems: readonly Problem[]): WorkspaceReport {
  if (problems.length === 0) return found;
  return {
    ...found,
    valid: false,
    problems: [...problems, ...found.problems],
    problemCount: found.problemCount + problems.length,
  };
}

/**
 * Returns the problem of a restore whose last seal of the previous epoch does not match the (verified) tree; null for
 * none.
 */
async function lastSealProblem(reader: Reader, restores: readonly DeclaredRestore[]): Promise<Problem | null> {
  for (const { seq, epoch } of restores) {
    const last = epoch === "malformed" ? null : (epoch?.last_seal ?? null);
    if (last === null || last.size > seq || hexOf(await treeRoot(reader, last.size)) === last.root) continue;
    const message = `the restore names a last seal over ${last.size} events, and they are not the ones of that seal`;
    return { code: "restore_invalid", seq, id: null, message };
  }
  return null;
}

/** Returns the feed with which this thread reads all events. */
const feedInTurn =
  (reader: Reader, { onProgress }: WorkspaceVerificationOptions): Feed =>
  async (check, head) => {
    const { verifier, before, tiles, seals } = check;
    if (before > 0) await takePruned(check, before);
    const range = { firstSeq: before > 0 ? before : Number.MIN_SAFE_INTEGER + 1, lastSeq: Number.MAX_SAFE_INTEGER };
    await feedLog(reader, verifier, range, {
      before: async (lastSeq) => void (await seals.upTo(lastSeq + 1)),
      after: async () => {
        await tiles.compare();
        await onProgress?.(verifier.eventsChecked, (head?.seq ?? -1) + 1);
      },
    });
    return true;
  };

/** Returns the feed with which threads verify the events in parts. */
const feedDivided =
  (threads: PartThreads, count: number, options: WorkspaceVerificationOptions): Feed =>
  async (check, head) => {
    if (head?.seq == null || check.before > 0) return false;
    const total = head.seq + 1;
    const { anchors = [], onProgress, division } = options;
    const events = division?.events ?? eventsOfPart(total, count);
    const whole = { ...check, anchored: anchors.map(({ size }) => size) };
    const progress = () => onProgress?.(check.verifier.eventsChecked, total);
    return await feedInParts({ threads, events }, whole, head.seq, progress);
  };

/**
 * Returns the report of a large and valid log; null for any other log.
 *
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function verifyDivided(reader: Reader, options: WorkspaceVerificationOptions) {
  const { threads, division, file } = options;
  if (threads === undefined || threads.count < 2) return null;
  if (!(reader instanceof Connection) || reader.inTransaction) return null;
  const head = await readHead(reader);
  if ((head?.seq ?? -1) + 1 < (division?.from ?? DIVIDE_FROM) || (await prunedBefore(reader)) > 0) return null;
  const { count, patient = false } = threads;
  return await withThreads(reader, { count, patient }, async (running) => {
    file?.by(running);
    const report = await verifyEverything(reader, options, feedDivided(running, count, options));
    return report?.valid ? report : null;
  });
}

async function verifyAgent(reader: Reader, agentId: string, options: WorkspaceVerificationOptions) {
  const check = await beginCheck(reader, { agentId }, options);
  const { verifier, before } = check;
  const total = await reader.value<number | null>("SELECT max(agent_seq) FROM events WHERE agent_id = ?", [agentId]);
  // The last kept event of the chain before the position from which all events exist.
  const kept = "SELECT max(seq) FROM events WHERE agent_id = ? AND seq < ?";
  const firstSeq = before > 0 ? ((await reader.value<number>(kept, [agentId, before])) ?? before) : undefined;
  const chain = () => pagesOfChain(reader, agentId, Number.MAX_SAFE_INTEGER, firstSeq);
  for await (const page of chain()) {
    addRows(verifier, page);
    await options.onProgress?.(verifier.eventsChecked, total ?? 0);
  }
  const isKnown = verifier.vocabularies.newerFrom === null;
  if (isKnown) await checkOneAgent(check, agentId);
  if (before === 0 && isKnown) await check.census.compare(verifier, chain);
  const { workspaceId = null } = (await readHead(reader)) ?? {};
  const report = verifier.finish(workspaceId === null ? { agentId } : { workspaceId, agentId });
  return { ...report, prunedBefore: before };
}

/** Reports rows without an agent, which were not checked, by their number. */
async function checkNothingLeft(reader: Reader, verifier: LogVerifier, met: RowCounts): Promise<void> {
  for (const table of ["configs", "checkpoints", "entries"] as const) {
    const left = ((await reader.value<number>(`SELECT count(*) FROM ${table}`)) ?? 0) - met[table];
    if (left === 0) continue;
    const message = `${left} rows of ${table} belong to no agent of this workspace`;
    verifier.report("content_orphan", null, null, message, allOf(table));
  }
}
