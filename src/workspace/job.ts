/** An operation on its way through the writer. */
import type { EventName } from "../operations.ts";
import type { AgentDirectory } from "../state/agents.ts";
import type { MaybePromise, Reader } from "../store/transaction.ts";
import type { Answer, Principal, Reply, Retry, Via, WorkspaceEvent } from "./contract.ts";
import { answered, type Context, type Outcome } from "./operation.ts";

/**
 * One operation that waits for its turn. When a group is rolled back because one of its jobs failed, each job is
 * prepared and run again in a transaction of its own. So a job keeps no state from one call to the next: what `run`
 * needs from `prepare` is its argument, and what it did in a transaction that was rolled back is undone.
 */
export interface Job<Prepared = unknown> {
  /** The name that the event will carry. */
  operation: EventName;
  principal: Principal;
  via?: Via;
  /** The id that the event will carry; without it, it gets a new one. */
  auditId?: string;
  /**
   * Set when what it answers was looked up before its transaction, in a file that may have been behind a server: see
   * `OperationRequest`.
   */
  lookedAt?: number;
  /** Set for a request whose answer is stored; it does not run when there is a stored answer already. */
  retry?: Retry;
  /**
   * Does the work that needs no transaction. `perform` prepares all jobs of a group before it runs the first one, so an
   * earlier job of the group may change what the preparation was based on; `run` checks that.
   */
  prepare?(agents: AgentDirectory): Prepared;
  /** Returns what is done right before it in the same transaction, if it is run. */
  before?: ((reader: Reader, context: Pick<Context, "agents" | "nowMs">) => Promise<Job[]>) | undefined;
  /** Runs inside the transaction. `prepared` is what `prepare` returned for this transaction. */
  run(reader: Reader, context: Context, prepared?: Prepared): MaybePromise<Outcome<Answer> | null>;
}

/** What a job's `prepare` returned, or the job's result when it threw. */
export type Preparation = { prepared: unknown } | { failure: Reply };

/** A job failed after it had written; the transaction that it was in must not be committed. */
export class JobFailed extends Error {
  constructor(readonly reply: Reply) {
    super("a job failed");
  }
}

/** Returns the job that appends an event to the workspace's own chain, and changes nothing else. */
export function recordingJob(workspaceId: string, { id, operation, actor, result, details }: WorkspaceEvent): Job {
  const principal: Principal = { actor, workspaceId, scope: "full", agents: null };
  return {
    operation,
    principal,
    ...(id === undefined ? {} : { auditId: id }),
    run: async () => answered(null, details, "{}", result === undefined ? {} : { result }),
  };
}
