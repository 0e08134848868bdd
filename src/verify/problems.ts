/** The problems that a verification finds, and its verdict. */
import type { ProblemCode } from "./codes.ts";

const CHAIN_CODES: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "event_malformed",
  "seq_gap",
  "seq_repeated",
  "agent_seq_gap",
  "link_broken",
  "wrong_workspace",
  "wrong_agent",
  "genesis_invalid",
  "export_window",
  "export_count",
  "head_mismatch",
]);

/** Whether a problem breaks links or numbers. All others leave the chain intact. */
export const breaksChain = (code: ProblemCode): boolean => CHAIN_CODES.has(code);

/** The members of an event in a report, besides its position and id. */
interface NamedEvent {
  agent_id: string | null;
  agent_seq: number;
  operation: string;
  timestamp: string;
}

/** A wrong row of a table, without any value. */
export interface ProblemRow {
  table: string;
  /** The key; null when it was erased or cannot be read. */
  key: string | null;
  /** The positions of the events that the row names. */
  names?: readonly number[];
  /** Whether the problem is about a count or a sum over rows of the table, and not a single row. */
  whole?: boolean;
}

/** Reports a problem with the rows of one agent. Messages never contain data of clients. */
export type Report = (code: ProblemCode, seq: number | null, message: string, row: ProblemRow) => void;

/** Returns the subject of a wrong count or sum over the rows of a table. */
export const allOf = (table: string, key: string | null = null): ProblemRow => ({ table, key, whole: true });

/** The names of an agent in stored rows. */
export interface AgentName {
  firstSeq: number;
  /** Null for the workspace itself. */
  agentId: string | null;
}

/** A problem as a code and a message. */
export interface Finding {
  code: ProblemCode;
  message: string;
}

/** A problem that a check found. Reports contain only the causes of all problems (causes.ts). */
export interface Problem extends Finding {
  /** The position of the event; null when the problem is not about a single event. */
  seq: number | null;
  id: string | null;
  /** The event's members, if the check has them. */
  event?: NamedEvent;
  /** The agent; null for the workspace itself, absent when it is unknown. */
  agentId?: string | null;
  /** The other end of the range of positions: of missing events, or the previous event in the chain for a link. */
  since?: number;
  row?: ProblemRow;
}

/** The first bad event of a chain or log. */
export interface FirstInvalid {
  seq: number;
  id: string | null;
  reason: string;
}

/** The most problems that are kept and reported. All are counted. */
export const MAX_REPORTED_PROBLEMS = 1000;

/** Collects problems in bounded memory. */
export class ProblemList {
  readonly reported: Problem[] = [];
  /** The number of all problems, reported or not. */
  count = 0;
  /** The problem with the lowest seq; null when no problem has one. */
  first: FirstInvalid | null = null;

  add(problem: Problem): void {
    const { seq, id, message: reason } = problem;
    this.addAll({ reported: [problem], count: 1, first: seq === null ? null : { seq, id, reason } });
  }

  /** Adds the problems of another list. */
  addAll({ reported, count, first }: ProblemsFound): void {
    this.count += count;
    this.reported.push(...reported.slice(0, MAX_REPORTED_PROBLEMS - this.reported.length));
    if (first !== null && (this.first === null || first.seq < this.first.seq)) this.first = first;
  }
}

/** A list as plain data, which can be sent to another thread. */
export type ProblemsFound = Pick<ProblemList, "reported" | "count" | "first">;

/** The result of a verification. Tampering outranks what could not be established. */
export type Verdict = "verified" | "tampered" | "undetermined";

/** Returns the verdict of a report on a log, a workspace or an export. */
export function verdictOf(report: {
  problemCount: number;
  seals?: { undetermined: readonly string[] } | null;
  undetermined?: string | null;
  newerFrom?: number | null;
}): Verdict {
  if (report.problemCount > 0) return "tampered";
  const open =
    (report.undetermined ?? report.newerFrom ?? null) !== null || (report.seals?.undetermined.length ?? 0) > 0;
  return open ? "undetermined" : "verified";
}
