/**
 * Runs one operation within the open transaction: applies its effect and appends its event. No other code does either,
 * so every change is audited.
 */
import type { IdSource, RandomPool } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { effectKind } from "../../log/effects.ts";
import { seesSetAside } from "../../log/event.ts";
import { VIEW } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import { TooMuchWork } from "../../screen/patterns/work.ts";
import { showPoliciesVersion } from "../../screen/workspace-policies.ts";
import type { Connection } from "../../store/connection.ts";
import { after, type MaybePromise } from "../../store/transaction.ts";
import type { AgentChange, AgentState } from "../rows/agents.ts";
import { applyEffect } from "../rows/apply.ts";
import type { StoredSeal } from "../rows/log/seals.ts";
import { rootSoFar } from "../rows/log/tree.ts";
import type { WorkspaceSealer } from "../seals/sealer.ts";
import { appendEvent } from "./append.ts";
import { problem, type Reply, refusal, unrecorded } from "./contract.ts";
import { type Job, JobFailed, OutOfDate } from "./job.ts";
import type { Context, Outcome, Unrecorded } from "./operation.ts";
import type { Site } from "./site.ts";
import { DamagedWorkspace, isStorageFailure } from "./storage-failure.ts";
import type { TimeSlice } from "./time-slice.ts";
import type { Transactions } from "./transactions.ts";
import { type View, Views, viewOf } from "./views.ts";

/** The options of a recorder. `WriterOptions` describes each. */
interface RecorderOptions {
  random: RandomPool;
  ids: IdSource;
  newSalt: () => string;
  site: () => Site;
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
   * Runs a job and records what it did.
   * @param prepared what its `prepare` returned
   * @throws {JobFailed} when the job failed after it had written; errors of a failing disk
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

  #recordWhole(job: Job, context: Context, outcome: Outcome | Unrecorded): MaybePromise<Reply> {
    if ("unrecorded" in outcome) return unrecorded(outcome.unrecorded);
    const view = viewOf(job, outcome);
    return view === null ? this.record(job, context, outcome) : this.#look(job, context, outcome, view);
  }

  /**
   * Returns the reply to a failed job.
   * @param writes the connection's count before the job
   * @throws as {@link perform}
   */
  #replyTo(error: unknown, job: Job, writes: number): Reply {
    if (isStorageFailure(error)) throw error;
    const reply = this.failed(job, error);
    if (this.connection.writes === writes) return reply;
    throw new JobFailed(reply);
  }

  /** Records a view of a person: its first request appends an event, later ones refer to it. */
  async #look(job: Job, context: Context, outcome: Outcome, view: View): Promise<Reply> {
    const known = await this.#views.eventOf(view, context.nowMs);
    if (known !== null) return { answer: outcome.answer, auditId: known, result: outcome.result };
    const { details } = view;
    const reply = await this.record({ ...job, operation: VIEW }, context, { ...outcome, agent: null, details });
    this.#views.begin(view, context.auditId, context.nowMs);
    return reply;
  }

  /** Runs a job. This changes nothing: it returns the outcome to be recorded, or what is answered without an event. */
  decide(job: Job, context: Context, prepared?: unknown): MaybePromise<Outcome | Unrecorded> {
    return job.run(this.connection, context, prepared);
  }

  /** Reports an unexpected failure of a job. Returns the reply to it. */
  failed(job: Job, error: unknown): Reply {
    if (error instanceof TooMuchWork) return { ...refusal(new OutOfDate()), again: true };
    if (error instanceof OutOfDate) return { ...refusal(error), again: true };
    if (error instanceof Problem) return refusal(error);
    this.options.onFailure?.(job.operation, error);
    return problem(
      "internal",
      "An unexpected failure; nothing was changed. The log of the server has it by request id.",
    );
  }

  /** Returns the context of the next job to be recorded. */
  contextOf({ principal }: Pick<Job, "principal">): Context {
    const seq = this.log.head.seq + 1;
    return {
      workspaceId: this.log.workspaceId,
      principal,
      seesSetAside: seesSetAside(principal.actor),
      nowMs: this.log.nowMs,
      timestamp: this.log.timestamp,
      seq,
      auditId: this.options.ids.event(seq),
      ids: this.options.ids,
      random: this.options.random,
      newSalt: this.options.newSalt,
      site: this.options.site(),
      agents: this.log.agents,
      seal: () => this.#sealBefore(seq),
      pause: () => this.options.slice.pause(),
      treeRoot: () => rootSoFar(this.connection, seq),
    };
  }

  /** Applies the effect of a job, and appends its event. */
  record(job: Job, context: Context, outcome: Outcome): MaybePromise<Reply> {
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
    outcome: Outcome,
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
      entries: change?.liveEntries ?? chain.liveEntries,
    };
    return after(appendEvent(this.connection, this.options.random, chain, event), ({ agentSeq, hash }) => {
      // The cache is updated last, when nothing in this operation can fail any more.
      this.log.advance(chain, change, agentSeq, { seq: context.seq, hash });
      const { effect } = outcome;
      const isErasure = effect.kind === "erase" || (effect.kind === "rows" && effect.account !== null);
      if (isErasure || effect.kind === "prune") this.log.toScrub = true;
      if (effect.kind === "rows") this.log.noteRows(isErasure ? undefined : effect.changes.map(({ table }) => table));
      const reply = replyOf(context, outcome);
      return outcome.sealed === true ? this.#sealBefore(context.seq + 1).then(() => reply) : reply;
    });
  }

  /**
   * Returns the details of an event. Those about an agent, even one without events, state the workspace policies that were in force;
   * so do those of which a policy keeps a text out. Who acts is stated besides its id, for a workload and for a person.
   */
  #detailsOf(
    { via, principal: { workload, onBehalfOf, authorisedBy } }: Job,
    { agentId, workspacePolicies, policies }: AgentState,
    { details }: Outcome,
  ): JsonObject {
    const isPlain = via === undefined && workload === undefined && authorisedBy === undefined;
    if (isPlain && workspacePolicies.version === null) return details;
    const all: JsonObject = {
      ...{ ...details, ...via?.(policies) },
      ...(workload && { workload: { ...workload } }),
      ...(onBehalfOf && { on_behalf_of: onBehalfOf.map((party) => ({ ...party })) }),
      ...(authorisedBy && { authorised_by: { ...authorisedBy } }),
    };
    const isAffected = agentId !== null || details.agent_id !== undefined || details.redacted !== undefined;
    if (isAffected && workspacePolicies.version !== null)
      all.policies_version = showPoliciesVersion(workspacePolicies.version);
    return all;
  }

  /** Makes a seal over all events before position `seq`. Returns null when it cannot be made. */
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

function replyOf({ auditId }: Context, { answer, result, blockedBy }: Outcome): Reply {
  const reply: Reply = { answer, auditId, result };
  if (blockedBy !== undefined) reply.blockedBy = blockedBy;
  return reply;
}
