/** What `governd verify` reports of each piece of evidence, and the verdict over all of them. */

import type { ControlTable } from "../log/control-effects.ts";
import type { DeclaredRestore } from "../log/restores.ts";
import { parseOrigin } from "../log/seal.ts";
import type { Completeness } from "./completeness.ts";
import type { ControlLog } from "./control/events.ts";
import type { VerificationReport } from "./events/contract.ts";
import type { ExplainedSeal } from "./events/epochs.ts";
import type { Witnessing } from "./events/witnesses.ts";
import type { FirstInvalid, Problem, ProblemCode } from "./problems.ts";
import { MAX_REPORTED_PROBLEMS, type Verdict, verdictOf } from "./problems.ts";

/** Exit codes of the verdicts. */
export const EXIT_CODES: Readonly<Record<Verdict, number>> = { verified: 0, tampered: 1, undetermined: 2 };

/** Why something cannot be established. Reported among the problems, but no sign of tampering. */
export const OBSTACLE_MEANINGS = {
  evidence_unreadable: "the file cannot be read, or not to its end",
  not_evidence: "this is no workspace and no export",
  newer_schema: "a newer governd wrote this file",
  export_incomplete: "the export's end is missing, so nothing is known of what should follow",
  log_empty: "nothing is there that could be verified",
  agent_unknown: "the agent that was asked for is not in this evidence",
  erasure_outside: "details are gone, and the erasure that should name their events is not in this evidence",
  seal_missing: "there is no seal that could be checked",
  key_missing: "without the public key nothing can be established",
  witness_missing: "fewer witnesses than required have cosigned a seal of this log",
  completeness_unknown: "events may be missing that nothing here mentions",
} as const;

export type ObstacleCode = keyof typeof OBSTACLE_MEANINGS;

/** A problem, or an obstacle. */
export interface ReportedProblem extends Omit<Problem, "code"> {
  code: ProblemCode | ObstacleCode;
}

export type SourceKind = "workspace" | "export" | "receipt" | "directory" | "control" | "unknown";

/** One agent's chain; `agent_id` null is the workspace's own. */
export interface SourceAgent {
  agent_id: string | null;
  events: number;
  valid: boolean;
  first_invalid: FirstInvalid | null;
}

/** A declared restore: the epoch that it begins, counted from 1, which is the log from its genesis on. */
export interface ReportedRestore {
  epoch: number;
  seq: number;
  restored_at: string;
  backup_created_at: string | null;
  backup_digest: string | null;
  /** The origin of seals from here on. Null when the restore kept the origin, as older versions did. */
  origin: string | null;
  /** The last position that is known to be lost; null when none is. */
  lost_through: number | null;
}

/** One file. The shape of `--json`. */
export interface SourceReport {
  path: string;
  kind: SourceKind;
  workspace_id: string | null;
  events: number;
  agents: SourceAgent[];
  /** Position of the last event under a valid seal; null when there is none. */
  sealed_through: number | null;
  /** Position of the last event under a seal that was kept elsewhere and given. */
  anchored_through: number | null;
  /** Whether all events of its scope are here. Of a part, the text report names which. */
  completeness: Completeness["is"];
  /** Position through which it is complete; null unless it is. */
  complete_through: number | null;
  /** Those of the given witnesses that have cosigned a seal here; absent when none was given. */
  witnesses?: Witnessing[];
  /** From where the events are there, when what is before was pruned. */
  pruned_before?: number;
  /** The prunings that the log records. `export`: the given file that is the export which each names, if one is. */
  prunings?: { before_seq: number; export_digest: string; export: string | null }[];
  /** Where the log was put back from a backup, as it says itself. */
  restores?: ReportedRestore[];
  /** Given seals that a restore names as lost, so that they contradict nothing. Only where there are such. */
  explained_seals?: ExplainedSeal[];
  /** When `control.db` may lack acts that the logs record, and how many there are. `until`: a restore, or the end. */
  windows?: { since: string; until: string | null; acts: number }[];
  /** What this evidence does not allow to verify, or what no event records. Only where there is something. */
  not_covered?: readonly string[];
  problems: ReportedProblem[];
}

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
      ...{
        path,
        kind,
        workspace_id: null,
        events: 0,
        agents: [],
        sealed_through: null,
        anchored_through: null,
        completeness: "unknown",
        complete_through: null,
      },
      problems: [{ code, seq: null, id: null, message }],
    },
    verdict: "undetermined",
    problemCount: 1,
    range: null,
    erasedDetails: 0,
    unnamedErased: 0,
    completeness: { is: "unknown", why: message },
  };
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
  const inTheWay = [...obstacles, ...open, ...(found.openErased > 0 ? [outside] : [])];
  const [obstruction] = inTheWay;
  const completeness: Completeness = obstruction === undefined ? proved : { is: "unknown", why: obstruction.message };
  const reported: ReportedProblem[] = [
    ...inTheWay.map(({ code, message }) => ({ code, seq: null, id: null, message })),
    ...found.problems,
  ];
  const { chainStart, chainEnd } = found;
  return {
    report: {
      ...source,
      workspace_id: found.workspaceId,
      events: found.eventsChecked,
      agents: found.agents.map(({ agent_id, events, valid, first_invalid }) => ({
        ...{ agent_id, events, valid, first_invalid },
      })),
      sealed_through: found.seals?.sealedThrough ?? null,
      ...(found.seals?.witnesses ? { witnesses: found.seals.witnesses } : {}),
      ...(found.prunedBefore ? { pruned_before: found.prunedBefore } : {}),
      ...(found.restores.length > 0 ? { restores: reportedRestores(found.restores) } : {}),
      ...(found.seals?.explained.length ? { explained_seals: found.seals.explained } : {}),
      anchored_through: found.seals?.anchoredThrough ?? null,
      completeness: completeness.is,
      complete_through: completeness.is === "complete" ? completeness.through : null,
      problems: reported.slice(0, MAX_REPORTED_PROBLEMS),
    },
    verdict: verdictOf({ problemCount: found.problemCount, undetermined: obstruction?.message ?? null }),
    problemCount: found.problemCount + inTheWay.length,
    range: chainStart === null || chainEnd === null ? null : { first: chainStart.seq, last: chainEnd.seq },
    erasedDetails: found.erasedDetails,
    unnamedErased: found.unnamedErased,
    completeness,
  };
}

function reportedRestores(restores: readonly DeclaredRestore[]): ReportedRestore[] {
  let number = 1;
  return restores.map(({ seq, timestamp, backupCreatedAt, backupDigest, epoch }) => {
    const { origin = null, lost_through = null } = epoch === "malformed" ? {} : (epoch ?? {});
    number = origin === null ? number + 1 : parseOrigin(origin).epoch;
    return {
      ...{ epoch: number, seq, restored_at: timestamp, origin, lost_through },
      ...{ backup_created_at: backupCreatedAt, backup_digest: backupDigest },
    };
  });
}

/** The verdict over all evidence: tampering anywhere, else anything that cannot be told. */
export function overallVerdict(results: readonly SourceResult[]): Verdict {
  if (results.some(({ verdict }) => verdict === "tampered")) return "tampered";
  const all = results.length > 0 && results.every(({ verdict }) => verdict === "verified");
  return all ? "verified" : "undetermined";
}
