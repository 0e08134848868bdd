/**
 * Runs one operation within the open transaction: applies its effect and appends its event. The only place that does
 * so, so nothing changes that is not audited.
 */
import type { IdSource, RandomPool } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { effectKind } from "../log/effects.ts";
import { VIEW } from "../operations.ts";
import { showFloorVersion } from "../policy/floor.ts";
import { Problem } from "../problem.ts";
import type { WorkspaceSealer } from "../seals/sealer.ts";
import type { AgentChange, AgentState } from "../state/agents.ts";
import { applyEffect } from "../state/apply.ts";
import type { StoredSeal } from "../state/seals.ts";
import { rootSoFar } from "../state/tree.ts";
import type { Connection } from "../store/connection.ts";
import { after, type MaybePromise } from "../store/transaction.ts";
import { appendEvent } from "./append.ts";
import { type Answer, problem, type Reply, refusal, unrecorded } from "./contract.ts";
import { type Job, JobFailed } from "./job.ts";
import type { Context, Outcome } from "./operation.ts";
import { DamagedWorkspace, isStorageFailure } from "./storage-failure.ts";
import type { TimeSlice } from "./time-slice.ts";
import type { Transactions } from "./transactions.ts";
import { type View, Views, viewOf } from "./views.ts";

/** The job found nothing to do, and nothing was recorded. */
const NOTHING_DONE: Reply = unrecorded({ kind: "json", status: 200, body: "{}" });

/** What a recorder needs of the rest. `WriterOptions` says what each is. */
interface RecorderOptions {
  random: RandomPool;
  ids: IdSource;
  slice: TimeSlice;
  sealer: WorkspaceSealer | undefined;
  onFailure: ((operation: string, error: unknown) => void) | undefined;
}

export class Recorder {
  readonly #views: Views;

  constructor(
    private readonly connection: Connection,
    private readonly log: Transactions,
    private readonly options: RecorderOptions,
  ) {
    this.#views = new Views(connection);
  }

  /**
   * Runs a job and records what it did. `prepared`: what its `prepare` returned.
   * @throws {JobFailed} when it failed after it had written, and whatever a failing disk throws
   */
  perform(job: Job, prepared?: unknown): MaybePromise<Reply> {
    const context = this.contextOf(job);
    const { writes } = this.connection;
    try {
      const reply = after(this.decide(job, context, prepared), (outcome) => this.#recordWhole(job, context, outcome));
      return reply instanceof Promise ? reply.catch((error) => this.#replyTo(error, job, writes)) : reply;
    } catch (error) {
      return this.#replyTo(error, job, writes);
    }
  }

  #recordWhole(job: Job, context: Context, outcome: Outcome<Answer> | null): MaybePromise<Reply> {
    if (outcome === null) return NOTHING_DONE;
    const view = viewOf(job, outcome);
    return view === null ? this.record(job, context, outcome) : this.#look(job, context, outcome, view);
  }

  /** `writes`: those of the connection before the job. @throws as {@link perform} does */
  #replyTo(error: unknown, job: Job, writes: number): Reply {
    if (isStorageFailure(error)) throw error;
    const reply = this.failed(job, error);
    if (this.connection.writes === writes) return reply;
    throw new JobFailed(reply);
  }

  /** Records what a person looks at, once for all that belongs to it. */
  async #look(job: Job, context: Context, outcome: Outcome<Answer>, view: View): Promise<Reply> {
    const known = await this.#views.eventOf(view, context.nowMs);
    if (known !== null) return { answer: outcome.answer, auditId: known, result: outcome.result };
    const { details } = view;
    const reply = await this.record({ ...job, operation: VIEW }, context, { ...outcome, agent: null, details });
    this.#views.begin(view, context.auditId, context.nowMs);
    return reply;
  }

  /** Runs a job, which changes nothing. Returns what is to happen; null for nothing. */
  decide(job: Job, context: Context, prepared?: unknown): MaybePromise<Outcome<Answer> | null> {
    return job.run(this.connection, context, prepared);
  }

  /** Reports an unexpected failure of a job. Returns the reply to it. */
  failed(job: Job, error: unknown): Reply {
    if (error instanceof Problem) return refusal(error);
    this.options.onFailure?.(job.operation, error);
    return problem(
      "internal",
      "An unexpected failure; nothing was changed. The log of the server has it by request id.",
    );
  }

  /** The circumstances of a job that is the next to be recorded. */
  contextOf({ principal, auditId }: Pick<Job, "principal" | "auditId">): Context {
    return {
      workspaceId: this.log.workspaceId,
      principal,
      nowMs: this.log.nowMs,
      timestamp: this.log.timestamp,
      seq: this.log.head.seq + 1,
      auditId: auditId ?? this.options.ids.next("aud"),
      ids: this.options.ids,
      agents: this.log.agents,
      versions: this.log.versions,
      writeHeads: () => this.log.agents.flush(this.connection),
      seal: () => this.#sealBefore(this.log.head.seq + 1),
      pause: () => this.options.slice.pause(),
      treeRoot: () => rootSoFar(this.connection, this.log.head.seq + 1),
    };
  }

  /** Applies the effect of a job, and appends its event. */
  record(job: Job, context: Context, outcome: Outcome<Answer>): MaybePromise<Reply> {
    const { effect } = outcome;
    if (effect.kind !== effectKind(job.operation, outcome.result)) {
      throw new Error(`${job.operation} came with the effect ${effect.kind}`);
    }
    return after(outcome.agent ?? this.log.agents.find(null), (chain) => {
      if (chain === null) throw new DamagedWorkspace("the workspace has no genesis event");
      const applied = applyEffect(this.connection, chain, effect, context);
      return after(applied, (change) => this.#append(job, context, outcome, chain, change));
    });
  }

  #append(
    job: Job,
    context: Context,
    outcome: Outcome<Answer>,
    chain: AgentState,
    change: AgentChange | undefined,
  ): MaybePromise<Reply> {
    const event = {
      id: context.auditId,
      seq: context.seq,
      workspace_id: this.log.workspaceId,
      timestamp: context.timestamp,
      actor: context.principal.actor,
      operation: job.operation,
      result: outcome.result,
      blocked_by: outcome.blockedBy ?? null,
      details: this.#detailsOf(job, chain, outcome),
    };
    return after(appendEvent(this.connection, this.options.random, chain, event), ({ agentSeq, hash }) => {
      // Only now, when nothing of this operation can fail any more, does memory follow the file.
      this.log.advance(chain, change, agentSeq, { seq: context.seq, hash });
      const { kind } = outcome.effect;
      if (kind === "erase" || kind === "prune") this.log.toScrub = true;
      const reply = replyOf(context, outcome);
      return outcome.sealed === true ? this.#sealBefore(context.seq + 1).then(() => reply) : reply;
    });
  }

  /** The details of an event. About an agent, also about one that never began, they state the floor that was in force. */
  #detailsOf({ via }: Job, { agentId, floor }: AgentState, { details }: Outcome<Answer>): JsonObject {
    if (via === undefined && floor.version === null) return details;
    const all: JsonObject = { ...details, ...via };
    const isAboutAgent = agentId !== null || details.agent_id !== undefined;
    if (isAboutAgent && floor.version !== null) all.policies_version = showFloorVersion(floor.version);
    return all;
  }

  /** A seal over every event before position `seq`; null when it cannot be made. */
  async #sealBefore(seq: number): Promise<StoredSeal | null> {
    try {
      return (await this.options.sealer?.seal(this.connection, seq)) ?? null;
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      this.options.onFailure?.("seal", error);
      return null;
    }
  }
}

function replyOf({ auditId }: Context, { answer, result, blockedBy }: Outcome<Answer>): Reply {
  const reply: Reply = { answer, auditId, result };
  if (blockedBy !== undefined) reply.blockedBy = blockedBy;
  return reply;
}
