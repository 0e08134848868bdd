/** What a verification finds wrong, and its verdict. */
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

/** Whether a problem breaks links or numbers; all others leave the chain intact. */
export const breaksChain = (code: ProblemCode): boolean => CHAIN_CODES.has(code);

/** What a report says of an event, beside its place and id. */
interface NamedEvent {
  agent_id: string | null;
  agent_seq: number;
  operation: string;
  timestamp: string;
}

/** The row of a table that is wrong. Never with a value. */
export interface ProblemRow {
  table: string;
  /** Its key; null when that was erased or cannot be read. */
  key: string | null;
  /** Positions of the events that the row names. */
  names?: readonly number[];
  /** True when rows of the table as a whole are compared with the log: a count or a sum. */
  whole?: boolean;
}

/** Reports a problem with the rows of one agent. Messages never hold what a client stored. */
export type Report = (code: ProblemCode, seq: number | null, message: string, row: ProblemRow) => void;

/** The rows of a table as a whole, which a count or a sum says are wrong. */
export const allOf = (table: string, key: string | null = null): ProblemRow => ({ table, key, whole: true });

/** An agent as the stored rows name it. */
export interface AgentName {
  firstSeq: number;
  /** Null for the workspace itself. */
  agentId: string | null;
}

/** What is wrong with something, in a code and in words. */
export interface Finding {
  code: ProblemCode;
  message: string;
}

/** One thing that a check found wrong. What is reported are the causes of all that was found: causes.ts. */
export interface Problem extends Finding {
  /** The event; null where no single event is meant. */
  seq: number | null;
  id: string | null;
  /** What the event says of itself, where the check has it at hand. */
  event?: NamedEvent;
  /** The agent; null for the workspace itself, absent where no agent is known. */
  agentId?: string | null;
  /** The other end of the positions that are concerned: of missing events, or the event before in a chain that a link names. */
  since?: number;
  row?: ProblemRow;
}

/** The first bad event of a chain or log. */
export interface FirstInvalid {
  seq: number;
  id: string | null;
  reason: string;
}

/** How many problems are kept and reported; all are counted. */
export const MAX_REPORTED_PROBLEMS = 1000;

/** Collects problems in bounded memory. */
export class ProblemList {
  readonly reported: Problem[] = [];
  /** How many were found, reported or not. */
  count = 0;
  /** The problem with the lowest seq; null when no problem has one. */
  first: FirstInvalid | null = null;

  add(problem: Problem): void {
    const { seq, id, message: reason } = problem;
    this.addAll({ reported: [problem], count: 1, first: seq === null ? null : { seq, id, reason } });
  }

  /** Adds what another list holds. */
  addAll({ reported, count, first }: ProblemsFound): void {
    this.count += count;
    this.reported.push(...reported.slice(0, MAX_REPORTED_PROBLEMS - this.reported.length));
    if (first !== null && (this.first === null || first.seq < this.first.seq)) this.first = first;
  }
}

/** A list as plain data, which can be sent to another thread. */
export type ProblemsFound = Pick<ProblemList, "reported" | "count" | "first">;

/** What a verification establishes. Tampering that was found outranks what could not be established. */
export type Verdict = "verified" | "tampered" | "undetermined";

/** The verdict of a report: of a log, a workspace or an export. */
export function verdictOf(report: {
  problemCount: number;
  seals?: { undetermined: readonly string[] } | null;
  undetermined?: string | null;
}): Verdict {
  if (report.problemCount > 0) return "tampered";
  const open = (report.undetermined ?? null) !== null || (report.seals?.undetermined.length ?? 0) > 0;
  return open ? "undetermined" : "verified";
}
