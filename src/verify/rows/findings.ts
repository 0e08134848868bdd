/** How the checks of stored rows report problems. */
import type { ProblemCode } from "../codes.ts";
import type { ProblemRow } from "../problems.ts";

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
