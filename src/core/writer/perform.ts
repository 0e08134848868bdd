/**
 * One open workspace and its only writer. `perform` runs a group of operations in one durable transaction, appends the
 * event of each, and lets no reply out before the commit.
 */
import { type Clock, IdSource, RandomPool, systemClock } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { newSalt } from "../../log/hash.ts";
import { fingerprintOf, formatVerifierKey, type VerifierKey } from "../../log/note.ts";
import type { RowTableName } from "../../log/row-effects.ts";
import { ROTATE_SEAL_KEY } from "../../log/seal.ts";
import { isLogEmpty } from "../../store/closing.ts";
import type { Connection } from "../../store/connection.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import { insertSealingKey } from "../rows/log/seals.ts";
import { keepCosignatures, type WorkspaceSealer } from "../seals/sealer.ts";
import { type CompositeJob, performComposite } from "./composite.ts";
import { NOT_LOOKED, type Principal, problem, type Reply, refusal } from "./contract.ts";
import { type Engine, embeddedEngine } from "./engine.ts";
import type { Head } from "./head.ts";
import { type Job, JobFailed, type Preparation } from "./job.ts";
import { answered } from "./operation.ts";
import { Recorder } from "./recorder.ts";
import { once } from "./retries.ts";
import { NO_SITE, type Site } from "./site.ts";
import { explainFailure, SERVER_UNREACHABLE } from "./storage-failure.ts";
import { TimeSlice } from "./time-slice.ts";
import { Transactions } from "./transactions.ts";

export type AnyJob = Job | CompositeJob;

/** Sends replies to their clients. */
export type OnReplies = (replies: readonly Reply[]) => Promise<void>;

export interface WriterOptions {
  /** Commits the transactions; by default, in the file itself. */
  engine?: Engine;
  clock?: Clock;
  random?: RandomPool;
  /** Seals the log; without it, nothing is sealed. */
  sealer?: WorkspaceSealer;
  /** Called with an unexpected failure, for the daemon's log. The client only gets `internal`. */
  onFailure?: (operation: string, error: unknown) => void;
  /** The writer's turns of the thread; endless by default. */
  slice?: TimeSlice;
  /** Returns the most bytes of answers that may be stored for retries; 0 for no limit. */
  answerBytes?: () => number;
  /** The installation's settings and files that operations need; by default none. */
  site?: () => Site;
  /** Called with the tables of rows that a transaction has changed, when it is on disk, and after others have written. */
  onRows?: (tables: ReadonlySet<RowTableName>) => void;
  /** Called with the new head of the log when it is on disk. */
  onHead?: (head: Head) => void;
}

/** The reply when other nodes have written since the job's lookup. */
const LOOK_AGAIN: Reply = { ...problem("unavailable", SERVER_UNREACHABLE), again: true };

export class WorkspaceWriter {
  readonly #slice: TimeSlice;
  readonly #log: Transactions;
  readonly #recorder: Recorder;

  constructor(
    private readonly connection: Connection,
    private readonly options: WriterOptions = {},
  ) {
    const { clock = systemClock, random = new RandomPool(), slice = TimeSlice.endless() } = options;
    const { sealer, onFailure, onHead, onRows, engine = embeddedEngine(connection) } = options;
    this.#log = new Transactions(connection, { engine, clock, slice, sealer, onFailure, onHead, onRows });
    this.#slice = slice;
    this.#recorder = new Recorder(connection, this.#log, {
      random,
      ids: new IdSource(clock, random),
      newSalt: () => newSalt(random),
      site: this.options.site ?? (() => NO_SITE),
      slice,
      sealer,
      onFailure,
    });
  }

  /** The clock of its transactions, ms since the Unix epoch. */
  nowMs(): number {
    return (this.options.clock ?? systemClock)();
  }

  get workspaceId(): string {
    return this.#log.workspaceId;
  }

  /** The failure of disk or file in the last transaction; null when it succeeded, undefined before the first. */
  get failure(): unknown {
    return this.#log.failure;
  }

  /** The position of the newest event. */
  get headSeq(): number {
    return this.#log.head.seq;
  }

  /** Empties the write-ahead log now, or after a later transaction if readers use it. */
  emptyLog(): Promise<void> {
    return this.#log.scrub();
  }

  /** Empties the write-ahead log in steps, as closing the file does in one. */
  async settle(): Promise<void> {
    const { file } = this.connection;
    if (file !== null && !isLogEmpty(file.path)) await this.emptyLog();
  }

  /**
   * Runs the jobs one after another in one transaction and commits. A job that fails does not affect the others: if it
   * has written, they all run again (see `Job`). When the commit fails, every reply is `unavailable`, and nothing was
   * written, or `outcome_unknown`.
   * @param onCommitted called with the replies if they may be sent before this returns
   */
  async perform(jobs: readonly AnyJob[], onCommitted?: OnReplies): Promise<Reply[]> {
    if (jobs.some((job) => "lookedAt" in job && job.lookedAt === NOT_LOOKED)) this.#log.doubt();
    try {
      return await this.#performTogether(jobs, onCommitted);
    } catch (error) {
      if (!(error instanceof JobFailed)) {
        this.options.onFailure?.("commit", error);
        const why = explainFailure(error, this.#log.isUnsure);
        return jobs.map(() => problem(...why));
      }
      if (jobs.length === 1) return [error.reply];
    }
    // A job failed after it had written, which is rare: instead of a savepoint around every job, each runs on its own.
    const replies: Reply[] = [];
    for (const job of jobs) replies.push(...(await this.perform([job])));
    return replies;
  }

  #performTogether(jobs: readonly AnyJob[], onCommitted?: OnReplies): Promise<Reply[]> {
    const run = async () => {
      const prepared: Preparation[][] = [];
      for (const job of jobs) {
        const made: Preparation[] = [];
        for (const part of "parts" in job ? job.parts : [job]) {
          if (this.#slice.isOver) await this.#slice.pause();
          made.push(this.#prepare(part));
        }
        prepared.push(made);
      }
      const replies: Reply[] = [];
      for (const [at, job] of jobs.entries()) {
        if (this.#slice.isOver) await this.#slice.pause();
        const reply = this.#performOne(job, prepared[at] as Preparation[]);
        replies.push(reply instanceof Promise ? await reply : reply);
      }
      return replies;
    };
    return this.#log.run(run, onCommitted);
  }

  #performOne(job: AnyJob, made: readonly Preparation[]): MaybePromise<Reply> {
    const { retry, rightOf } = job;
    const refused = rightOf === undefined ? null : this.#refusalOf(rightOf);
    if (refused !== null) return refused;
    if (retry === undefined) return this.#performNow(job, made);
    const { nowMs } = this.#log;
    const most = this.options.answerBytes?.() ?? 0;
    const place = { nowMs, most, seq: () => this.#log.head.seq };
    return once(this.connection, retry, place, () => this.#performNow(job, made));
  }

  /** Returns the refusal of a request whose right has changed since it was authenticated; null when it has not. */
  #refusalOf(principal: Principal): Reply | null {
    const problem = this.#log.rights.problemOf(principal, this.#log.nowMs);
    return problem && refusal(problem);
  }

  #performNow(job: AnyJob, made: readonly Preparation[]): MaybePromise<Reply> {
    if ("parts" in job)
      return performComposite(job, made, { log: this.#log, recorder: this.#recorder, slice: this.#slice });
    const own = made[0] as Preparation;
    if ("failure" in own) return own.failure;
    if (job.lookedAt !== undefined && this.#log.isOutOfDate(job.lookedAt)) return LOOK_AGAIN;
    return job.before === undefined
      ? this.#recorder.perform(job, own.prepared)
      : this.#performAfter(job, job.before, own.prepared);
  }

  async #performAfter(job: Job, before: NonNullable<Job["before"]>, prepared: unknown): Promise<Reply> {
    const { agents, nowMs } = this.#log;
    for (const first of await before(this.connection, { agents, nowMs })) await this.#recorder.perform(first);
    return this.#recorder.perform(job, prepared);
  }

  #prepare(job: Job): Preparation {
    try {
      return { prepared: job.prepare?.(this.#log.agents, this.#log.nowMs) };
    } catch (error) {
      return { failure: this.#recorder.failed(job, error) };
    }
  }

  /** Whether there are events that no seal covers yet. */
  get unsealed(): boolean {
    return (this.options.sealer?.sealedSize ?? Number.POSITIVE_INFINITY) <= this.#log.head.seq;
  }

  /**
   * Seals all events of the log.
   * @throws {SealRefused}, and errors of the file; the log is then unchanged
   */
  async seal(): Promise<void> {
    const { sealer } = this.options;
    if (sealer !== undefined) await this.#log.run(() => sealer.seal(this.connection, this.#log.head.seq + 1));
  }

  /** Stores the cosignatures of witnesses, and time stamps, with their seal. */
  async addCosignatures(size: number, note: string): Promise<void> {
    const kept = await this.#log.run(() => keepCosignatures(this.connection, size, note));
    if (kept !== null) this.#log.report("file of seals", () => this.options.sealer?.fileAgain(kept));
  }

  /**
   * Records an event that names the next sealing key and the origin of its seals. A rotation is sealed with the present
   * key, in the same transaction. A restore, which changes the origin, is sealed later with the named key.
   * @throws {SealRefused}, and errors of the file; nothing was then written
   */
  async announceSealKey(job: Pick<Job, "operation" | "principal">, next: VerifierKey, rest: JsonObject): Promise<void> {
    const details = { ...rest, origin: next.name, signing_key: fingerprintOf(next.publicKey) };
    await this.#log.run(async () => {
      const { auditId } = await this.#recorder.perform({ ...job, run: async () => answered(null, details, "{}") });
      if (auditId === null) throw new Error(`${job.operation} could not be recorded`);
      const { seq } = this.#log.head;
      if (job.operation === ROTATE_SEAL_KEY) await this.options.sealer?.seal(this.connection, seq + 1);
      await insertSealingKey(this.connection, seq, formatVerifierKey(next));
    });
  }

  /** Changes data that is not part of the log, in its own transaction. */
  derive<T>(work: (connection: Connection, nowMs: number) => Promise<T>): Promise<T> {
    return this.#log.run(() => work(this.connection, this.#log.nowMs));
  }

  close(): void {
    this.connection.close();
  }
}
