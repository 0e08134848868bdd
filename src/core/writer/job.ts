/** An operation that waits for the writer. */
import type { JsonObject } from "../../json.ts";
import { effectKind } from "../../log/effects.ts";
import type { EventName, RowsOperation } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { MaybePromise, Reader } from "../../store/transaction.ts";
import { headsAfter } from "../heads/stored.ts";
import type { AgentDirectory } from "../rows/agents.ts";
import type { Principal, Reply, Retry, WorkspaceEvent } from "./contract.ts";
import { answered, type Context, changedRows, type Outcome, type Unrecorded } from "./operation.ts";

/**
 * One operation that waits for its turn. When a group is rolled back because one of its jobs failed, each job is
 * prepared and run again in its own transaction. So a job keeps no state between calls: `run` gets the result of
 * `prepare` as an argument.
 */
export interface Job {
  /** The operation of the event. A lookup has none: its name is for the report of a failure. */
  operation: EventName;
  principal: Principal;
  /** Returns what the event records of the origin of the request (`Via`), under the policies in force for the agent. */
  via?: (policies: PolicySettings) => JsonObject;
  /**
   * Set when its answer was looked up before the transaction, in a file that may have been out of date: see
   * `OperationRequest`.
   */
  lookedAt?: number;
  /** Set when a row gives the right to the request. It must still be as it was when the request was authenticated. */
  rightOf?: Principal;
  /** Set for a request whose answer is stored. The job does not run when a stored answer exists already. */
  retry?: Retry;
  /**
   * Finds out what the policies in force decide. `perform` calls it for all jobs of a group before it runs the first
   * one. An earlier job of the group may change the policies, so `run` must check that they are the same.
   */
  prepare?(agents: AgentDirectory, nowMs: number): unknown;
  /** Returns the jobs to run right before this one, in the same transaction. */
  before?: ((reader: Reader, context: Pick<Context, "agents" | "nowMs">) => Promise<Job[]>) | undefined;
  /** Runs inside the transaction. @param prepared the result of `prepare` */
  run(reader: Reader, context: Context, prepared?: unknown): MaybePromise<Outcome | Unrecorded>;
}

/** The result of a job's `prepare`, or the reply to the job when it threw. */
export type Preparation = { prepared: unknown } | { failure: Reply };

/** A job failed after it had written. Its transaction must not be committed. */
export class JobFailed extends Error {
  constructor(readonly reply: Reply) {
    super("a job failed");
  }
}

/**
 * The decision about a large text is not valid any more. The caller has the text screened again on another thread: on
 * the workspace's, that would keep other workspaces waiting.
 */
export class OutOfDate extends Problem {
  constructor() {
    super("unavailable", "The policies changed while the text was screened, several times. Send the request again.");
  }
}

/** Returns the job that appends an event to the workspace's own chain, and changes what it states of rows and heads. */
export function recordingJob(workspaceId: string, event: WorkspaceEvent): Job {
  const { operation, actor, result, details, heads, authorisedBy } = event;
  const principal: Principal = {
    ...{ actor, workspaceId, scope: "full", agents: null },
    ...(authorisedBy && { authorisedBy }),
  };
  return {
    operation,
    principal,
    async run(reader, context) {
      if (result !== undefined) return answered(null, details, "{}", { result });
      if (effectKind(operation, "ok") === "none") return answered(null, details, "{}");
      if (heads === undefined) return changedRows(operation as RowsOperation, context, details, "{}");
      const facts = await headsAfter(reader, heads, context.pause);
      return answered(null, { ...facts }, "{}", { effect: { kind: "heads", ...facts, changes: heads } });
    },
  };
}
