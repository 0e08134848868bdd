/**
 * One open workspace and its only writer. `perform` runs a group of operations in one durable transaction, appends the
 * event of each, and lets no reply out before the commit.
 */
import { type Clock, IdSource, RandomPool, systemClock } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { sha256Hex } from "../log/hash.ts";
import { formatVerifierKey, type VerifierKey } from "../log/note.ts";
import { ROTATE_SEAL_KEY } from "../log/seal.ts";
import { keepCosignatures, type WorkspaceSealer } from "../seals/sealer.ts";
import { insertSealingKey } from "../state/seals.ts";
import type { Connection } from "../store/connection.ts";
import type { MaybePromise } from "../store/transaction.ts";
import { type CompositeJob, performComposite } from "./composite.ts";
import { problem, type Reply } from "./contract.ts";
import { type Engine, embeddedEngine } from "./engine.ts";
import type { Head } from "./head.ts";
import { type Job, JobFailed, type Preparation } from "./job.ts";
import { answered } from "./operation.ts";
import { Recorder } from "./recorder.ts";
import { once } from "./retries.ts";
import { explainFailure, SERVER_UNREACHABLE } from "./storage-failure.ts";
import { TimeSlice } from "./time-slice.ts";
import { Transactions } from "./transactions.ts";

/** What a writer performs. */
export type AnyJob = Job | CompositeJob;

/** A job with what its preparation found, by {@link WorkspaceWriter.prepareAhead}. */
export interface PreparedJob {
  readonly job: AnyJob;
  readonly preparation: Preparation;
}

/** Lets replies out. */
export type OnReplies = (replies: readonly Reply[]) => Promise<void>;

const jobIn = (waiting: AnyJob | PreparedJob): AnyJob => ("preparation" in waiting ? waiting.job : waiting);

export interface WriterOptions {
  /** Where its transactions become durable; without one in the file itself. */
  engine?: Engine;
  clock?: Clock;
  random?: RandomPool;
  /** Who seals the log; without one nothing is sealed. */
  sealer?: WorkspaceSealer;
  /** Told of an unexpected failure, so that it reaches the log; the caller only learns `internal`. */
  onFailure?: (operation: string, error: unknown) => void;
  /** Its turns of the thread; endless without others on it. */
  slice?: TimeSlice;
  /** Bytes of answers that may be stored for retries; 0 for no limit. */
  answerBytes?: () => number;
  /** Told of the head of the log when it has moved and is on disk. */
  onHead?: (head: Head) => void;
}

/** Other nodes have written since the job was looked up. */
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
    const { sealer, onFailure, onHead, engine = embeddedEngine(connection) } = options;
    this.#log = new Transactions(connection, { engine, clock, slice, sealer, onFailure, onHead });
    this.#slice = slice;
    this.#recorder = new Recorder(connection, this.#log, {
      random,
      ids: new IdSource(clock, random),
      slice,
      sealer,
      onFailure,
    });
  }

  /** The time by which its transactions go, ms. */
  nowMs(): number {
    return (this.options.clock ?? systemClock)();
  }

  get workspaceId(): string {
    return this.#log.workspaceId;
  }

  /** Whether its transactions are committed elsewhere, so that the thread has time meanwhile. */
  get waitsForServer(): boolean {
    return this.options.engine !== undefined && this.options.engine.begin !== null;
  }

  /** The failure of disk or file that the last transaction met; null when it ended well, undefined before the first. */
  get failure(): unknown {
    return this.#log.failure;
  }

  /** Position of the newest event. */
  get headSeq(): number {
    return this.#log.head.seq;
  }

  /** Empties the write-ahead log, now or behind a later transaction: while readers need it, it cannot be emptied. */
  emptyLog(): Promise<void> {
    return this.#log.scrub();
  }

  /**
   * Runs the jobs one after another in one transaction and commits. A job that fails has no effect on the others: if it
   * had written, they all run again (see `Job`). When the commit fails, the result of all of them is `unavailable`, and
   * nothing was written, or `outcome_unknown`. `onCommitted` is called with the replies as soon as they may be let out,
   * unless that is when this returns.
   */
  async perform(jobs: readonly (AnyJob | PreparedJob)[], onCommitted?: OnReplies): Promise<Reply[]> {
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
    for (const job of jobs) replies.push(...(await this.perform([jobIn(job)])));
    return replies;
  }

  #performTogether(jobs: readonly (AnyJob | PreparedJob)[], onCommitted?: OnReplies): Promise<Reply[]> {
    const run = async () => {
      const preparations: Preparation[] = [];
      for (const job of jobs) {
        if ("preparation" in job) preparations.push(job.preparation);
        else preparations.push("parts" in job ? { prepared: await this.#prepareParts(job) } : this.#prepare(job));
      }
      const replies: Reply[] = [];
      for (const [i, job] of jobs.entries()) {
        if (this.#slice.isOver) await this.#slice.pause();
        const reply = this.#performOne(jobIn(job), preparations[i] as Preparation);
        replies.push(reply instanceof Promise ? await reply : reply);
      }
      return replies;
    };
    return this.#log.run(run, onCommitted);
  }

  /**
   * Prepares a job for a later {@link perform}, while another transaction is committed. What changes until then does not
   * matter, since each job checks what it was prepared with.
   */
  prepareAhead(job: AnyJob): PreparedJob {
    if (!("parts" in job)) return { job, preparation: this.#prepare(job) };
    return { job, preparation: { prepared: job.parts.map((part) => this.#prepare(part)) } };
  }

  async #prepareParts({ parts }: CompositeJob): Promise<Preparation[]> {
    const preparations: Preparation[] = [];
    for (const part of parts) {
      if (this.#slice.isOver) await this.#slice.pause();
      preparations.push(this.#prepare(part));
    }
    return preparations;
  }

  #performOne(job: AnyJob, made: Preparation): MaybePromise<Reply> {
    const { retry } = job;
    if (retry === undefined) return this.#performNow(job, made);
    const { nowMs } = this.#log;
    const most = this.options.answerBytes?.() ?? 0;
    const place = { nowMs, most, seq: () => this.#log.head.seq };
    return once(this.connection, retry, place, () => this.#performNow(job, made));
  }

  #performNow(job: AnyJob, made: Preparation): MaybePromise<Reply> {
    if ("failure" in made) return made.failure;
    if ("lookedAt" in job && this.#log.isOutOfDate(job.lookedAt)) return LOOK_AGAIN;
    if (!("parts" in job))
      return job.before === undefined
        ? this.#recorder.perform(job, made.prepared)
        : this.#performAfter(job, job.before, made.prepared);
    const around = { log: this.#log, recorder: this.#recorder, slice: this.#slice };
    return performComposite(job, made.prepared as Preparation[], around);
  }

  async #performAfter(job: Job, before: NonNullable<Job["before"]>, prepared: unknown): Promise<Reply> {
    const { agents, nowMs } = this.#log;
    for (const first of await before(this.connection, { agents, nowMs })) await this.#recorder.perform(first);
    return this.#recorder.perform(job, prepared);
  }

  #prepare(job: Job): Preparation {
    try {
      return { prepared: job.prepare?.(this.#log.agents) };
    } catch (error) {
      return { failure: this.#recorder.failed(job, error) };
    }
  }

  /** Whether there are events that no seal covers yet. */
  get unsealed(): boolean {
    return (this.options.sealer?.sealedSize ?? Number.POSITIVE_INFINITY) <= this.#log.head.seq;
  }

  /**
   * Seals everything that is in the log.
   * @throws {SealRefused} and whatever the file throws; the log is as it was then
   */
  async seal(): Promise<void> {
    const { sealer } = this.options;
    if (sealer !== undefined) await this.#log.run(() => sealer.seal(this.connection, this.#log.head.seq + 1));
  }

  /** Keeps the cosignatures of witnesses with the seal that they are of. */
  async addCosignatures(size: number, note: string): Promise<void> {
    const kept = await this.#log.run(() => keepCosignatures(this.connection, size, note));
    if (kept !== null) this.#log.report("file of seals", () => this.options.sealer?.fileAgain(kept));
  }

  /**
   * Records an event that names the key that seals next, and the origin of its seals. The key at hand seals a rotation,
   * the named one seals a restore, which changes the origin. All or nothing.
   * @throws {SealRefused} and whatever the file throws
   */
  async announceSealKey(job: Pick<Job, "operation" | "principal">, next: VerifierKey, rest: JsonObject): Promise<void> {
    const details = { ...rest, origin: next.name, signing_key: sha256Hex(next.publicKey) };
    await this.#log.run(async () => {
      const { auditId } = await this.#recorder.perform({ ...job, run: async () => answered(null, details, "{}") });
      if (auditId === null) throw new Error(`${job.operation} could not be recorded`);
      const { seq } = this.#log.head;
      if (job.operation === ROTATE_SEAL_KEY) await this.options.sealer?.seal(this.connection, seq + 1);
      await insertSealingKey(this.connection, seq, formatVerifierKey(next));
    });
  }

  /** Changes data that is no part of the log, in a transaction of its own. */
  derive<T>(work: (connection: Connection, nowMs: number) => Promise<T>): Promise<T> {
    return this.#log.run(() => work(this.connection, this.#log.nowMs));
  }

  close(): void {
    this.connection.close();
  }
}
