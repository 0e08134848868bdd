/**
 * A request for several operations: its parts run in order within the open transaction, each with its own event. If the
 * request is atomic and a part is refused, the remaining parts are still decided, then all are undone, and only the
 * refusals are recorded.
 */

import type { CompositeName } from "../../operations.ts";
import { Problem, within } from "../../problem.ts";
import { after, type MaybePromise } from "../../store/transaction.ts";
import { type LongText, wholeText } from "../long-text.ts";
import type { AgentState } from "../rows/agents.ts";
import type { PartResult, Principal, Reply, Retry } from "./contract.ts";
import type { Job, Preparation } from "./job.ts";
import type { Context, Outcome } from "./operation.ts";
import type { Recorder } from "./recorder.ts";
import { isStorageFailure } from "./storage-failure.ts";
import type { TimeSlice } from "./time-slice.ts";
import type { Transactions } from "./transactions.ts";

/** A composite operation that waits for its turn. */
export interface CompositeJob {
  operation: CompositeName;
  rightOf?: Principal;
  retry?: Retry;
  parts: readonly Job[];
  atomic: boolean;
  /** Returns the name of a part in the request. */
  nameOf(index: number): string;
  /**
   * Returns the body of the answer.
   * @param results the bodies of the parts; null for a part that was not carried out
   */
  answer(results: readonly (string | null)[], applied: boolean): LongText;
}

/** The longest answer, UTF-16 units, since an answer is kept in memory as a whole. */
const MAX_ANSWER = 16 * 1024 * 1024;

/** A part that was decided. */
interface Decided {
  index: number;
  job: Job;
  context: Context;
  outcome: Outcome;
}

/** The parts of the workspace's writer that run composite operations. */
interface Surroundings {
  log: Transactions;
  recorder: Recorder;
  slice: TimeSlice;
}

/**
 * Performs a composite operation. If a part fails, or is answered with a problem, that is the answer to the whole
 * request, and the other parts are undone.
 * @param preparations of the parts
 */
export function performComposite(
  job: CompositeJob,
  preparations: readonly Preparation[],
  around: Surroundings,
): Promise<Reply> {
  return around.log.undoable(async (undo) => {
    let at = 0;
    try {
      const run = new Run(job, around);
      for (const [index, preparation] of preparations.entries()) {
        if (around.slice.isOver) await around.slice.pause();
        at = index;
        if ("failure" in preparation) {
          undo();
          return preparation.failure;
        }
        const performed = run.perform(index, preparation.prepared);
        const problem = performed instanceof Promise ? await performed : performed;
        if (problem === null) continue;
        undo();
        return await run.recordAlone(problem);
      }
      return await run.end(undo);
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      undo();
      const isOfPart = error instanceof Problem && error.options.param !== undefined;
      return around.recorder.failed(job.parts[at] as Job, isOfPart ? within(job.nameOf(at), error) : error);
    }
  });
}

/** One composite operation while it runs. */
class Run {
  readonly #replies: (Reply | null)[];
  /** The refused parts of an atomic operation. */
  readonly #refused: Decided[] = [];
  #characters = 0;

  constructor(
    private readonly job: CompositeJob,
    private readonly around: Surroundings,
  ) {
    this.#replies = job.parts.map(() => null);
  }

  /** Performs a part. If its answer is a problem, records nothing and returns the decision; otherwise returns null. */
  perform(index: number, prepared: unknown): MaybePromise<Decided | null> {
    const { recorder } = this.around;
    const job = this.job.parts[index] as Job;
    const context = recorder.contextOf(job);
    return after(recorder.decide(job, context, prepared), (outcome) => {
      if ("unrecorded" in outcome) return null;
      const decided = { index, job, context, outcome };
      if (outcome.answer.kind === "problem") return decided;
      if (!this.job.atomic || !isRefusal(outcome)) return after(this.#record(decided), () => null);
      this.#refused.push(decided);
      return null;
    });
  }

  /** Ends the operation. Returns the reply to it. */
  async end(undo: () => void): Promise<Reply> {
    const applied = this.#refused.length === 0;
    if (!applied) {
      undo();
      this.#replies.fill(null);
      for (const decided of this.#refused) await this.#record(await this.#again(decided));
    }
    const results = this.#replies.map((reply) => (reply?.answer.kind === "json" ? wholeText(reply.answer.body) : null));
    const last = this.#replies.findLast((reply) => reply !== null);
    const body = this.job.answer(results, applied);
    const { result = "ok", blockedBy } = (applied ? undefined : this.#replies.find((reply) => reply !== null)) ?? {};
    const answer = { kind: "json", status: 200, body } as const;
    const reply: Reply = { answer, auditId: last?.auditId ?? null, result, parts: this.#results() };
    if (blockedBy !== undefined) reply.blockedBy = blockedBy;
    return reply;
  }

  #results(): PartResult[] {
    const counted = new Map<string, PartResult>();
    for (const [index, reply] of this.#replies.entries()) {
      if (reply?.result === undefined) continue;
      const { operation } = this.job.parts[index] as Job;
      const { result, blockedBy } = reply;
      const one: PartResult = { operation, result, blockedBy, count: 0 };
      counted.getOrInsert(`${operation} ${result} ${blockedBy}`, one).count++;
    }
    return [...counted.values()];
  }

  /** Records only this part, after all parts were undone. Returns the reply to the operation. */
  async recordAlone(decided: Decided): Promise<Reply> {
    const { index, job, context, outcome } = await this.#again(decided);
    this.#replies.fill(null);
    await this.#record({ index, job, context, outcome });
    return { ...(this.#replies[index] as Reply), parts: this.#results() };
  }

  #record({ index, job, context, outcome }: Decided): MaybePromise<void> {
    return after(this.around.recorder.record(job, context, outcome), (reply) => {
      this.#replies[index] = reply;
      this.#characters += reply.answer.kind === "json" ? wholeText(reply.answer.body).length : 0;
      if (this.#characters > MAX_ANSWER) throw new Problem("invalid_request", TOO_LONG);
    });
  }

  /**
   * Returns a decision with a context and an agent that match the log after the undo. Its event says that it is about
   * what the undone parts had made.
   */
  async #again({ index, job, outcome }: Decided): Promise<Decided> {
    const now = this.around.recorder.contextOf(job);
    const isOfState = outcome.result === "not_found" || outcome.result === "conflict";
    const details = index > 0 && isOfState ? { ...outcome.details, undone: true } : outcome.details;
    const agent = outcome.agent && (await this.#present(outcome.agent, now));
    return { index, job, context: now, outcome: { ...outcome, agent, details } };
  }

  async #present({ agentId }: AgentState, { agents, seq }: Context): Promise<AgentState> {
    return (await agents.find(agentId)) ?? agents.fresh(agentId as string, seq);
  }
}

const TOO_LONG = `What the operations read has more than ${MAX_ANSWER} characters together. Read less at once.`;

/** Whether an operation was refused by a policy or by its own condition. */
const isRefusal = ({ result }: Outcome): boolean => result === "blocked" || result === "conflict";
