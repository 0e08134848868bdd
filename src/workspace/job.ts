/** An operation on its way through the writer. */
import type { AgentDirectory } from "../state/agents.ts";
import type { Connection } from "../store/connection.ts";
import type { Principal } from "./contract.ts";
import type { Context, Outcome } from "./operation.ts";
import type { Settled } from "./settled.ts";

/** One operation that waits for its turn. `run` is called once, inside the transaction. */
export interface Job {
  /** The name that the event will carry. */
  operation: string;
  principal: Principal;
  /** Does what can be done before its turn, for all jobs of a group at once; it writes nothing. */
  prepare?(agents: AgentDirectory): void;
  run(tx: Connection, context: Context): Promise<Outcome | null>;
}

/** A job failed after it had written; the transaction that it was in must not be committed. */
export class JobFailed extends Error {
  constructor(readonly settled: Settled) {
    super("a job failed");
  }
}
