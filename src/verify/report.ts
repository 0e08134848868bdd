/** What `governd verify` reports of each piece of evidence, and the verdict over all of them. */

import type { ControlTable } from "../log/control-effects.ts";
import type { DeclaredRestore } from "../log/restores.ts";
import { parseOrigin } from "../log/seal.ts";
import { type Cause, causesOf } from "./causes.ts";
import { type ObstacleCode, PROBLEMS } from "./codes.ts";
import type { Completeness } from "./completeness.ts";
import type { ControlLog } from "./control/events.ts";
import type { VerificationReport } from "./events/contract.ts";
import { MAX_REPORTED_PROBLEMS, type Problem, type Verdict, verdictOf } from "./problems.ts";
import type { ReportedProblem, ReportedRestore, SourceReport } from "./report-schema.ts";

/** Exit codes of the verdicts. */
export const EXIT_CODES: Readonly<Record<Verdict, number>> = { verified: 0, tampered: 1, undetermined: 2 };

export type SourceKind = SourceReport["kind"];

/** Returns a cause as it is reported. */
export function reported({ problem, rows, keys, consequences }: Cause): ReportedProblem {
  const { code, message, event, row } = problem;
  // Rows as a whole contradict the log, and no single event.
  const seq = row?.whole && row.key === null ? null : problem.seq;
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

/** Returns an obstacle as it is reported. */
export const reportedObstacle = (code: ObstacleCode, message: string): ReportedProblem => ({
  code,
  message,
  seq: null,
  id: null,
  agent_id: null,
  agent_seq: null,
  operation: null,
  timestamp: null,
  table: null,
  keys: [],
  count: 1,
  consequences: 0,
  consequence_codes: {},
});

/** A report and its verdict. */
export interface SourceResult {
  report: SourceReport;
  verdict: Verdict;
  /** Problems found, those beyond the reported ones included. */
  problemCount: number;
  /** Positions of the first and the last event; null when there are none. */
  range: { first: number; last: number } | null;
  erasedDetails: number;
  /** Of these, those that only the counts of erasures in the older format account for. */
  unnamedErased: number;
  completeness: Completeness;
  /** What a workspace's log says about the control database, if all of the log was read. */
  controlLog?: ControlLog | null;
  /** How many rows of each table of the control database agree with the logs. */
  agreeing?: Readonly<Record<ControlTable, number>>;
}

/** Returns the result for evidence that could not be read. */
export function obstacle(path: string, kind: SourceKind, code: ObstacleCode, message: string): SourceResult {
  return {
    report: {
      path,
      kind,
      workspace_id: null,
      events: 0,
      agents: [],
      sealed_through: null,
      anchored_through: null,
      completeness: "unknown",
      complete_through: null,
      problems: [reportedObstacle(code, message)],
    },
    verdict: "undetermined",
    problemCount: 1,
    range: null,
    erasedDetails: 0,
    unnamedErased: 0,
    completeness: { is: "unknown", why: message },
  };
}

/** The result for evidence that was found to be changed before all of it was read. */
export function tampered(result: SourceResult, problems: ReportedProblem[]): SourceResult {
  return { ...result, report: { ...result.report, problems }, problemCount: problems.length, verdict: "tampered" };
}

/** The result for evidence that was read, with what kept it from being established, if anything did. */
export function resultOf(
  source: { path: string; kind: SourceKind },
  found: VerificationReport & { prunedBefore?: number },
  obstacles: readonly { code: ObstacleCode; message: string }[],
  proved: Completeness,
): SourceResult {
  const open = (found.seals?.undetermined ?? []).map((message) => ({ code: "seal_missing" as const, message }));
  const outside = {
    code: "erasure_outside" as const,
    message: `the details of ${found.openErased} events are gone, and no erasure in this window names them: export to the end of the log`,
  };
  // Where the log itself is wrong or cut off, that is why no seal fits it.
  const explained = isLogWrong(found.problems) || obstacles.some(({ code }) => code === "export_incomplete");
  const all = [...obstacles, ...open, ...(found.openErased > 0 ? [outside] : [])];
  const inTheWay = explained ? all.filter(({ code }) => !OF_SEALS.has(code)) : all;
  const [obstruction] = inTheWay;
  const completeness: Completeness = obstruction === undefined ? proved : { is: "unknown", why: obstruction.message };
  const problems: ReportedProblem[] = [
    ...inTheWay.map(({ code, message }) => reportedObstacle(code, message)),
    ...causesOf(found.problems).map(reported),
  ];
  // Those beyond the ones that were kept cannot be told apart.
  const [first] = problems.slice(inTheWay.length);
  if (first !== undefined) first.consequences += found.problemCount - found.problems.length;
  const { chainStart, chainEnd } = found;
  return {
    report: {
      ...source,
      workspace_id: found.workspaceId,
      events: found.eventsChecked,
      agents: found.agents.map(({ agent_id, events, valid, first_invalid }) => ({
        agent_id,
        events,
        valid,
        first_invalid,
      })),
      sealed_through: found.seals?.sealedThrough ?? null,
      ...(found.seals?.witnesses ? { witnesses: found.seals.witnesses } : {}),
      ...(found.prunedBefore ? { pruned_before: found.prunedBefore } : {}),
      ...(found.restores.length > 0 ? { restores: reportedRestores(found.restores) } : {}),
      ...(found.seals?.explained.length ? { explained_seals: found.seals.explained } : {}),
      anchored_through: found.seals?.anchoredThrough ?? null,
      completeness: completeness.is,
      complete_through: completeness.is === "complete" ? completeness.through : null,
      problems: problems.slice(0, MAX_REPORTED_PROBLEMS),
    },
    verdict: verdictOf({ problemCount: found.problemCount, undetermined: obstruction?.message ?? null }),
    problemCount: problems.length,
    range: chainStart === null || chainEnd === null ? null : { first: chainStart.seq, last: chainEnd.seq },
    erasedDetails: found.erasedDetails,
    unnamedErased: found.unnamedErased,
    completeness,
  };
}

const OF_SEALS: ReadonlySet<ObstacleCode> = new Set<ObstacleCode>(["seal_missing", "log_empty"]);

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

/** The verdict over all evidence: tampering anywhere, else anything that cannot be told. */
export function overallVerdict(results: readonly SourceResult[]): Verdict {
  if (results.some(({ verdict }) => verdict === "tampered")) return "tampered";
  const all = results.length > 0 && results.every(({ verdict }) => verdict === "verified");
  return all ? "verified" : "undetermined";
}
