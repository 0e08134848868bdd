/** The reports of `governd verify` on each piece of evidence, and the verdict over all of them. */

import { VOCABULARY } from "../log/event.ts";
import type { DeclaredRestore } from "../log/restores.ts";
import { parseOrigin, type Seal } from "../log/seal.ts";
import { type Cause, causesOf } from "./causes.ts";
import { type ObstacleCode, PROBLEMS } from "./codes.ts";
import type { Completeness } from "./completeness.ts";
import type { VerificationReport } from "./events/contract.ts";
import type { LogFacts } from "./installation.ts";
import { MAX_REPORTED_PROBLEMS, type Problem, type Verdict, verdictOf } from "./problems.ts";
import type { ReportedProblem, ReportedRestore, SourceReport } from "./report-schema.ts";
import type { StateRootCounts } from "./state/roots.ts";

/** Exit codes of the verdicts. */
export const EXIT_CODES: Readonly<Record<Verdict, number>> = { verified: 0, tampered: 1, undetermined: 2 };

type SourceKind = SourceReport["kind"];

/** Returns a cause in the form of a report. */
export function reported({ problem, rows, keys, consequences }: Cause): ReportedProblem {
  const { code, message, event, row } = problem;
  // Rows as a whole contradict the log, and not a single event, unless the event contradicts what the log leaves.
  const isOfRows = row?.whole && row.key === null && PROBLEMS[problem.code].concern !== "event";
  const seq = isOfRows ? null : problem.seq;
  return {
    code,
    message,
    seq,
    id: seq === null ? null : problem.id,
    agent_id: event?.agent_id ?? problem.agentId ?? null,
    agent_seq: event?.agent_seq ?? null,
    operation: event?.operation ?? null,
    timestamp: event?.timestamp ?? null,
    table: row?.table ?? null,
    keys,
    count: rows.size,
    consequences: [...consequences.values()].reduce((sum, more) => sum + more, 0),
    consequence_codes: Object.fromEntries(consequences),
  };
}

/** Why something cannot be established. */
export interface Obstacle {
  code: ObstacleCode;
  message: string;
}

const NO_EVENT = { seq: null, id: null, agent_id: null, agent_seq: null, operation: null, timestamp: null };
const NO_ROW = { table: null, keys: [], count: 1, consequences: 0, consequence_codes: {} };

/** Returns an obstacle in the form of a report. */
export const reportedObstacle = (code: ObstacleCode, message: string): ReportedProblem => {
  return { code, message, ...NO_EVENT, ...NO_ROW };
};

/** Adds a reason why otherwise good evidence cannot be established. */
export function doubt(result: SourceResult, code: ObstacleCode, message: string): void {
  result.report.problems.push(reportedObstacle(code, message));
  result.problemCount += 1;
  if (result.verdict === "verified") result.verdict = "undetermined";
}

/** A report and its verdict. */
export interface SourceResult {
  report: SourceReport;
  verdict: Verdict;
  /** The number of all problems, including those that are not reported. */
  problemCount: number;
  /** The positions of the first and the last event; null when there are none. */
  range: { first: number; last: number } | null;
  erasedDetails: number;
  completeness: Completeness;
  /** What a workspace's log says of workspaces and of restores, if the whole log was read. */
  facts?: LogFacts | null;
  /** The newest seals here with time stamps, which are not checked yet. */
  stamped?: Seal[];
}

/** The members of a result. Absent members are unknown. */
interface Result extends Partial<Omit<SourceResult, "report">> {
  verdict: Verdict;
  /** All problems, including those that are not reported. */
  problems: readonly ReportedProblem[];
  completeness: Completeness;
  report?: Partial<SourceReport>;
}

export function newResult(
  path: string,
  kind: SourceKind,
  { report, problems, completeness, ...rest }: Result,
): SourceResult {
  return {
    report: {
      ...{ path, kind, workspace_id: null, events: 0, agents: [], sealed_through: null, anchored_through: null },
      ...report,
      completeness: completeness.is,
      complete_through: completeness.is === "complete" ? completeness.through : null,
      problems: problems.slice(0, MAX_REPORTED_PROBLEMS),
    },
    ...{ problemCount: problems.length, range: null, erasedDetails: 0, completeness },
    ...rest,
  };
}

/** Returns a result with a further problem. */
export function withProblem(result: SourceResult, problem: Problem): SourceResult {
  const problems = [...causesOf([problem]).map(reported), ...result.report.problems].slice(0, MAX_REPORTED_PROBLEMS);
  const report = { ...result.report, problems };
  return { ...result, report, problemCount: result.problemCount + 1, verdict: "tampered" };
}

/** Returns the result for evidence that cannot be judged. @param known what could be read of it */
export function obstacle(
  path: string,
  kind: SourceKind,
  code: ObstacleCode,
  message: string,
  known: Pick<Result, "report" | "range"> = {},
): SourceResult {
  const problems = [reportedObstacle(code, message)];
  const completeness = { is: "unknown", why: message } as const;
  return newResult(path, kind, { ...known, verdict: "undetermined", problems, completeness });
}

/** Returns the result for evidence in which tampering was found before all of it was read. */
export function tampered(path: string, kind: SourceKind, problems: readonly Problem[]): SourceResult {
  const completeness = { is: "unknown", why: "" } as const;
  return newResult(path, kind, { verdict: "tampered", problems: causesOf(problems).map(reported), completeness });
}

/** Returns the result for evidence that was read, with the obstacles, if any. */
export function resultOf(
  { path, kind }: { path: string; kind: SourceKind },
  found: VerificationReport & { prunedBefore?: number; stateRoots?: StateRootCounts | null },
  obstacles: readonly Obstacle[],
  proved: Completeness,
): SourceResult {
  const { seals, chainStart, chainEnd, openErased, erasedDetails, prunedBefore, stateRoots } = found;
  const hasRoots = stateRoots != null && stateRoots.recomputed + stateRoots.not_recomputed > 0;
  const open = (seals?.undetermined ?? []).map((message) => ({ code: "seal_missing" as const, message }));
  const outside = {
    code: "erasure_outside" as const,
    message: `the details of ${openErased} events are gone, and no erasure in this window names them: export to the end of the log`,
  };
  // If the log itself is wrong, truncated or missing, this explains why no seal matches it and no erasure names a
  // blank.
  const isWrong = isLogWrong(found.problems);
  const isExplained = isWrong || obstacles.some(({ code }) => NOT_ALL_THERE.has(code));
  const own = isWrong ? obstacles.filter(({ code }) => code !== "log_empty") : obstacles;
  const newer = found.newerFrom === null ? [] : [newerEvents(found.newerFrom)];
  const inTheWay = [...newer, ...(isExplained ? own : [...own, ...open, ...(openErased > 0 ? [outside] : [])])];
  const [obstruction] = inTheWay;
  const causes = causesOf(found.problems).map(reported);
  // Problems beyond those that were kept count as consequences of the first cause.
  if (causes[0] !== undefined) causes[0].consequences += found.problemCount - found.problems.length;
  return newResult(path, kind, {
    report: {
      workspace_id: found.workspaceId,
      events: found.eventsChecked,
      agents: found.agents.map(({ agent_id, events, valid, first_invalid }) => {
        return { agent_id, events, valid, first_invalid };
      }),
      sealed_through: seals?.sealedThrough ?? null,
      anchored_through: seals?.anchoredThrough ?? null,
      ...(seals?.witnesses ? { witnesses: seals.witnesses } : {}),
      ...(prunedBefore ? { pruned_before: prunedBefore } : {}),
      ...(hasRoots ? { state_roots: stateRoots } : {}),
      ...(found.restores.length > 0 ? { restores: reportedRestores(found.restores) } : {}),
      ...(seals?.explained.length ? { explained_seals: seals.explained } : {}),
    },
    verdict: verdictOf({ problemCount: found.problemCount, undetermined: obstruction?.message ?? null }),
    problems: [...inTheWay.map(({ code, message }) => reportedObstacle(code, message)), ...causes],
    range: chainStart && chainEnd && { first: chainStart.seq, last: chainEnd.seq },
    erasedDetails,
    stamped: seals?.stamped ?? [],
    completeness: obstruction === undefined ? proved : { is: "unknown", why: obstruction.message },
  });
}

const newerEvents = (seq: number): Obstacle => ({
  code: "newer_vocabulary",
  message: `what the events from ${seq} on did was not checked, nor the rows that they may have changed: they are under a greater vocabulary than ${VOCABULARY}, which is the greatest that this governd knows`,
});

/** Returns the message for evidence that states a vocabulary that this program does not know. */
export const newerVocabulary = (states: string, number: number): string =>
  `${states} vocabulary ${number}, and this governd knows ${VOCABULARY}`;

const NOT_ALL_THERE: ReadonlySet<ObstacleCode> = new Set<ObstacleCode>([
  "export_incomplete",
  "not_evidence",
  "log_empty",
]);

const isLogWrong = (problems: readonly Problem[]): boolean =>
  problems.some(({ code }) => ["event", "link", "log", "seal"].includes(PROBLEMS[code].concern));

/** Returns the epochs that restores began, for a report. */
export function reportedRestores(restores: readonly DeclaredRestore[]): ReportedRestore[] {
  let number = 1;
  return restores.map(({ seq, timestamp, backupCreatedAt, backupDigest, epoch }) => {
    const { origin = null, lost_through = null } = epoch === "malformed" ? {} : (epoch ?? {});
    number = origin === null ? number + 1 : parseOrigin(origin).epoch;
    return {
      epoch: number,
      seq,
      restored_at: timestamp,
      origin,
      lost_through,
      backup_created_at: backupCreatedAt,
      backup_digest: backupDigest,
    };
  });
}

/** Returns the verdict over all evidence: `tampered` if any is, otherwise `undetermined` if any is. */
export function overallVerdict(results: readonly SourceResult[]): Verdict {
  if (results.some(({ verdict }) => verdict === "tampered")) return "tampered";
  const all = results.length > 0 && results.every(({ verdict }) => verdict === "verified");
  return all ? "verified" : "undetermined";
}
