/**
 * One open workspace and its only writer. `perform` runs a group of operations in one durable transaction, appends the
 * event of each, and lets no reply out before the commit.
 */
import { type Clock, IdSource, RandomPool, systemClock } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { effectKind } from "../log/effects.ts";
import { sha256Hex } from "../log/hash.ts";
import { formatVerifierKey, type VerifierKey } from "../log/note.ts";
import { ROTATE_SEAL_KEY } from "../log/seal.ts";
import { Problem } from "../problem.ts";
import { keepCosignatures, type WorkspaceSealer } from "../seals/sealer.ts";
import { AgentDirectory } from "../state/agents.ts";
import { applyEffect } from "../state/apply.ts";
import { insertSealingKey, type StoredSeal } from "../state/seals.ts";
import { rootSoFar, storeTiles } from "../state/tree.ts";
import type { Connection } from "../store/connection.ts";
import { appendEvent } from "./append.ts";
import { replacedOr, requireOwnFiles } from "./continuity.ts";
import { type Answer, problem, type Reply, unrecorded } from "./contract.ts";
import { type Head, readHead } from "./head.ts";
import { type Job, JobFailed, type Preparation } from "./job.ts";
import { answered, type Context, type Outcome } from "./operation.ts";
import { DamagedWorkspace, isStorageFailure, whyUnavailable } from "./storage-failure.ts";
import { TimeSlice } from "./time-slice.ts";

/** The job found nothing to do, and nothing was recorded. */
const NOTHING_DONE: Reply = unrecorded({ kind: "json", status: 200, body: "{}" });

export interface WriterOptions {
  clock?: Clock;
  random?: RandomPool;
  /** Who seals the log; without one nothing is sealed. */
  sealer?: WorkspaceSealer;
  /** Told of an unexpected failure, so that it reaches the log; the caller only learns `internal`. */
  onFailure?: (operation: string, error: unknown) => void;
  /** Its turns of the thread; endless without others on it. */
  slice?: TimeSlice;
  /** Told of the head of the log when it has moved and is on disk. */
  onHead?: (head: Head) => void;
}

export class WorkspaceWriter {
  readonly #agents: AgentDirectory;
  /** The moment of the transaction, and as events show it. Operations share it: what has expired for one has for all. */
  #nowMs = 0;
  #timestamp = "";
  readonly #clock: Clock;
  readonly #random: RandomPool;
  readonly #ids: IdSource;
  readonly #slice: TimeSlice;
  readonly workspaceId: string;
  #head: Head;
  /** Something was erased, and the write-ahead log may still hold it. */
  #toScrub = false;
  #dataVersion = -1;
  /** The failure of disk or file that the last transaction met; null when it ended well, undefined before the first. */
  failure: unknown;

  constructor(
    private readonly connection: Connection,
    private readonly options: WriterOptions = {},
  ) {
    this.#agents = new AgentDirectory(connection);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? new RandomPool();
    this.#ids = new IdSource(this.#clock, this.#random);
    this.#slice = options.slice ?? TimeSlice.endless();
    ({ workspaceId: this.workspaceId, ...this.#head } = readHead(connection));
    connection.own?.watch("head", this.#head.hash);
  }

  /** Position of the newest event. */
  get headSeq(): number {
    return this.#head.seq;
  }

  /**
   * Runs the jobs one after another in one transaction and commits. A job that fails has no effect on the others: if it
   * had written, they all run again (see `Job`). When the commit fails, the result of all of them is `unavailable` and
   * nothing was written.
   */
  async perform(jobs: readonly Job[]): Promise<Reply[]> {
    try {
      return await this.#performTogether(jobs);
    } catch (error) {
      if (!(error instanceof JobFailed)) {
        this.options.onFailure?.("commit", error);
        return jobs.map(() => problem("unavailable", whyUnavailable(error)));
      }
      if (jobs.length === 1) return [error.reply];
    }
    // A job failed after it had written, which is rare: instead of a savepoint around every job, each runs on its own.
    const replies: Reply[] = [];
    for (const job of jobs) replies.push(...(await this.perform([job])));
    return replies;
  }

  #performTogether(jobs: readonly Job[]): Promise<Reply[]> {
    return this.#transact(async () => {
      const preparations = jobs.map((job) => this.#prepare(job));
      const replies: Reply[] = [];
      for (const [i, made] of preparations.entries()) {
        if (this.#slice.isOver) await this.#slice.pause();
        replies.push("failure" in made ? made.failure : await this.#performOne(jobs[i] as Job, made.prepared));
      }
      return replies;
    });
  }

  #prepare(job: Job): Preparation {
    try {
      return { prepared: job.prepare?.(this.#agents) };
    } catch (error) {
      return { failure: this.#failed(job, error) };
    }
  }

  /** Whether there are events that no seal covers yet. */
  get unsealed(): boolean {
    return (this.options.sealer?.sealedSize ?? Number.POSITIVE_INFINITY) <= this.#head.seq;
  }

  /**
   * Seals everything that is in the log.
   * @throws {SealRefused} and whatever the file throws; the log is as it was then
   */
  async seal(): Promise<void> {
    const { sealer } = this.options;
    if (sealer !== undefined) await this.#transact(() => sealer.seal(this.connection, this.#head.seq + 1));
  }

  /** Keeps the cosignatures of witnesses with the seal that they are of. */
  async addCosignatures(size: number, note: string): Promise<void> {
    const kept = await this.#transact(() => keepCosignatures(this.connection, size, note));
    if (kept !== null) this.#report("file of seals", () => this.options.sealer?.fileAgain(kept));
  }

  /**
   * Records an event that names the key that seals next, and the origin of its seals. The key at hand seals a rotation,
   * the named one seals a restore, which changes the origin. All or nothing.
   * @throws {SealRefused} and whatever the file throws
   */
  async announceSealKey(job: Pick<Job, "operation" | "principal">, next: VerifierKey, rest: JsonObject): Promise<void> {
    const details = { ...rest, origin: next.name, signing_key: sha256Hex(next.publicKey) };
    await this.#transact(async () => {
      const { auditId } = await this.#performOne({ ...job, run: async () => answered(null, details, "{}") });
      if (auditId === null) throw new Error(`${job.operation} could not be recorded`);
      const { seq } = this.#head;
      if (job.operation === ROTATE_SEAL_KEY) await this.options.sealer?.seal(this.connection, seq + 1);
      await insertSealingKey(this.connection, seq, formatVerifierKey(next));
    });
  }

  /** Changes data that follows from the log and is no part of it, in a transaction of its own. */
  derive<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#transact(() => work(this.connection));
  }

  async #transact<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#head;
    let done: T;
    try {
      this.#slice.begin();
      this.#nowMs = this.#clock();
      this.#timestamp = new Date(this.#nowMs).toISOString();
      this.connection.exec("BEGIN IMMEDIATE");
      this.#catchUp();
      const start = this.#head;
      done = await work();
      await this.#writeHeads(start);
      this.connection.exec("COMMIT");
    } catch (thrown) {
      const error = isStorageFailure(thrown) ? replacedOr(this.connection, thrown) : thrown;
      this.failure = isStorageFailure(error) ? error : null;
      this.#abandon(before);
      throw error;
    }
    this.failure = null;
    this.connection.own?.noteLog();
    if (this.#head !== before) this.options.onHead?.(this.#head);
    this.#agents.trim();
    this.#afterCommit();
    return done;
  }

  /** The transaction is on disk, whatever fails here. What failed is reported, and tried again after a later one. */
  #afterCommit(): void {
    this.#report("file of seals", () => this.options.sealer?.committed());
    // While readers need the write-ahead log, it cannot be emptied.
    if (this.#toScrub) {
      this.#report("emptying the write-ahead log", () => {
        this.#toScrub = !this.connection.truncateLog();
      });
    }
    const failure = this.#report("copying the write-ahead log back", () => this.connection.checkpointIfDue());
    if (failure !== null) this.failure = failure; // so that the workspace is opened again
  }

  /** Does something and reports its failure. Returns the failure, or null. */
  #report(where: string, work: () => void): unknown {
    try {
      work();
      return null;
    } catch (error) {
      this.options.onFailure?.(where, error);
      return error;
    }
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

  close(): void {
    this.connection.close();
  }

  /**
   * Reloads what is cached when another process has written to the file since.
   * @throws {ReplacedWorkspace} when the file does not continue the log that this writer wrote
   */
  #catchUp(): void {
    const version = this.connection.value<number>("PRAGMA data_version") ?? 0;
    const isNew = version !== this.#dataVersion;
    requireOwnFiles(this.connection, this.#head, isNew);
    if (!isNew) return;
    this.#dataVersion = version;
    this.#agents.clear();
    const { seq, hash } = readHead(this.connection);
    this.#head = { seq, hash };
  }

  async #performOne(job: Job, prepared?: unknown): Promise<Reply> {
    const context = this.#newContext(job);
    const writes = this.connection.writes;
    try {
      const outcome = await job.run(this.connection, context, prepared);
      return outcome === null ? NOTHING_DONE : await this.#record(job, context, outcome);
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      const reply = this.#failed(job, error);
      if (this.connection.writes === writes) return reply;
      throw new JobFailed(reply);
    }
  }

  #failed(job: Job, error: unknown): Reply {
    if (error instanceof Problem) return problem(error.code, error.message);
    this.options.onFailure?.(job.operation, error);
    return problem(
      "internal",
      "An unexpected failure; nothing was changed. The log of the server has it by request id.",
    );
  }

  #newContext({ principal, auditId }: Pick<Job, "principal" | "auditId">): Context {
    return {
      workspaceId: this.workspaceId,
      principal,
      nowMs: this.#nowMs,
      timestamp: this.#timestamp,
      seq: this.#head.seq + 1,
      auditId: auditId ?? this.#ids.next("aud"),
      ids: this.#ids,
      agents: this.#agents,
      writeHeads: () => this.#agents.flush(this.connection),
      seal: () => this.#sealBefore(this.#head.seq + 1),
      pause: () => this.#slice.pause(),
      treeRoot: () => rootSoFar(this.connection, this.#head.seq + 1),
    };
  }

  async #record(job: Job, context: Context, outcome: Outcome<Answer>): Promise<Reply> {
    const { effect } = outcome;
    if (effect.kind !== effectKind(job.operation, outcome.result)) {
      throw new Error(`${job.operation} came with the effect ${effect.kind}`);
    }
    const chain = outcome.agent ?? (await this.#agents.find(null));
    if (chain === null) throw new DamagedWorkspace("the workspace has no genesis event");
    const change = await applyEffect(this.connection, chain, effect, context);
    const appended = await appendEvent(this.connection, this.#random, chain, {
      id: context.auditId,
      seq: context.seq,
      workspace_id: this.workspaceId,
      timestamp: context.timestamp,
      actor: context.principal.actor,
      operation: job.operation,
      result: outcome.result,
      blocked_by: outcome.blockedBy ?? null,
      details: outcome.details,
    });
    // Only now, when nothing of this operation can fail any more, does memory follow the file.
    this.#agents.advance(chain, change, appended.agentSeq, appended.hash);
    this.#head = { seq: context.seq, hash: appended.hash };
    if (outcome.sealed === true) await this.#sealBefore(context.seq + 1);
    if (effect.kind === "erase" || effect.kind === "prune") this.#toScrub = true;
    const { answer, result, blockedBy } = outcome;
    const reply: Reply = { answer, auditId: context.auditId, result };
    if (blockedBy !== undefined) reply.blockedBy = blockedBy;
    return reply;
  }

  async #writeHeads(before: Head): Promise<void> {
    const { seq, hash } = this.#head;
    if (seq === before.seq && hash === before.hash) return;
    await this.#agents.flush(this.connection);
    await storeTiles(this.connection, before.seq + 1, seq + 1);
    this.connection.run("UPDATE head SET seq = ?, hash = ? WHERE one = 1", [seq, hash]);
    const last = this.connection.value<string>("SELECT hash FROM events WHERE seq = ?", [seq]);
    if (last !== hash) throw new DamagedWorkspace("the head read back is not the one written");
  }

  /** Back to before the transaction, in the file and in memory. */
  #abandon(before: Head): void {
    this.options.sealer?.abandoned();
    this.#agents.clear();
    this.#head = before;
    this.#dataVersion = -1;
    if (this.connection.inTransaction) this.connection.exec("ROLLBACK");
  }
}
