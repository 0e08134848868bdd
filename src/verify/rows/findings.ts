/** How the checks of stored rows report problems. */
import type { ProblemCode } from "../problems.ts";

/** Reports a problem with the rows of one agent. Messages never hold what a client stored. */
export type Report = (code: ProblemCode, seq: number | null, message: string) => void;

/** An agent as the stored rows name it. */
export interface AgentName {
  firstSeq: number;
  /** Null for the workspace itself. */
  agentId: string | null;
}
