/**
 * The transactions of one open workspace. The cached head and agents always match the file, whether a transaction
 * succeeds or fails.
 */
import type { Clock } from "../../ids.ts";
import { type RowTableName, rowTables } from "../../log/row-effects.ts";
import type { Connection } from "../../store/connection.ts";
import type { Steps } from "../../store/steps.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import { ActingRights } from "../rows/access/acting.ts";
import { type AgentChange, AgentDirectory, type AgentState } from "../rows/agents.ts";
import { NewestLeaves, storeTiles } from "../rows/log/tree.ts";
import type { WorkspaceSealer } from "../seals/sealer.ts";
import { CommitTime } from "./commit-time.ts";
import { replacedOr, requireOwnFiles } from "./continuity.ts";
import type { CommitOutcome, Engine } from "./engine.ts";
import { type Head, readHead } from "./head.ts";
import { isStorageFailure, mayReappear, NotCommitted } from "./storage-failure.ts";
import type { TimeSlice } from "./time-slice.ts";

/** The options of transactions. `WriterOptions` describes each. */
interface TransactionOptions {
  engine: Engine;
  clock: Clock;
  slice: TimeSlice;
  sealer: WorkspaceSealer | undefined;
  onFailure: ((where: string, error: unknown) => void) | undefined;
  onHead: ((head: Head) => void) | undefined;
  onRows: ((tables: ReadonlySet<RowTableName>) => void) | undefined;
}

/** Called with the result of a transaction as soon as it is on disk. */
type OnCommitted<T> = (done: T) => MaybePromise<void>;

/** How often a transaction is tried when other nodes write to the log at the same time. */
const MOST_RACES = 20;

export class Transactions {
  readonly agents: AgentDirectory;
  readonly rights: ActingRights;
  /**
   * The time of the transaction, ms and as text for events. All its operations share it, so that they agree on what has
   * expired.
   */
  nowMs = 0;
  timestamp = "";
  /** Whether the write-ahead log may still contain erased data, and must be emptied. */
  toScrub = false;
  /** The tables of rows that the transaction has changed, or that others may have changed since the last one. */
  readonly changed = new Set<RowTableName>();
  /** The failure of disk or file in the last transaction; null when it succeeded, undefined before the first. */
  failure: unknown;
  /** Whether the last transaction failed in such a way that a crash could bring it back. */
  isUnsure = false;
  /** The end of the log when the file was last brought up to date with a server; -1 for a file without a server. */
  #refreshedTo = -1;
  readonly workspaceId: string;
  #head: Head;
  #dataVersion = -1;
  readonly #leaves = new NewestLeaves();
  readonly #commitTime = new CommitTime();

  constructor(
    private readonly connection: Connection,
    private readonly options: TransactionOptions,
  ) {
    this.agents = new AgentDirectory(connection);
    this.rights = new ActingRights(connection);
    ({ workspaceId: this.workspaceId, ...this.#head } = readHead(connection));
    connection.own?.watch("head", Buffer.from(this.#head.hash, "hex"));
    if (options.engine.begin !== null) this.#refreshedTo = this.#head.seq;
  }

  /** The newest event, even while its transaction is open. */
  get head(): Head {
    return this.#head;
  }

  /**
   * Whether the file was brought up to date after position `seq`, so that a lookup made at `seq` may have missed events
   * of another node. If so, reports the head, so that the next lookup is made at it.
   */
  isOutOfDate(seq: number): boolean {
    if (seq >= this.#refreshedTo) return false;
    this.options.onHead?.(this.#head);
    return true;
  }

  /** Has the next transaction bring the file up to date with a server, since another node may have written. */
  doubt(): void {
    this.options.engine.doubt?.();
  }

  /** Updates the cached state after an event was appended to the log and to an agent's chain. */
  advance(agent: AgentState, change: AgentChange | undefined, agentSeq: number, head: Head): void {
    this.agents.advance(agent, change, agentSeq, head.hash);
    this.#leaves.add(head.seq, head.hash);
    this.#head = head;
  }

  /** Notes that rows of these tables, by default of all, were changed in the transaction, or may have been by others. */
  noteRows(tables: readonly RowTableName[] = rowTables.map(([table]) => table)): void {
    for (const table of tables) this.changed.add(table);
    this.rights.clear();
  }

  /**
   * Runs `work`. By calling `undo`, it undoes its own changes until then, in the file and in memory. Calls must not
   * overlap.
   */
  async undoable<T>(work: (undo: () => void) => Promise<T>): Promise<T> {
    const head = this.#head;
    const agents = this.agents.mark();
    this.connection.exec("SAVEPOINT undoable");
    const done = await work(() => {
      this.connection.exec("ROLLBACK TO undoable");
      agents.putBack();
      this.rights.clear();
      this.#leaves.forget();
      this.#head = head;
    });
    this.connection.exec("RELEASE undoable");
    agents.forget();
    return done;
  }

  /**
   * Runs `work` in a transaction, and again if another node has committed first. When `work` throws, nothing has
   * changed.
   * @param onCommitted called with the result after the commit, before the write-ahead log is copied back; not called
   * after an erasure, whose result must wait until the log is emptied
   */
  run<T>(work: () => Promise<T>, onCommitted?: OnCommitted<T>): Promise<T> {
    return this.options.engine.begin === null ? this.#runOnce(work, onCommitted) : this.#runRacing(work, onCommitted);
  }

  async #runRacing<T>(work: () => Promise<T>, onCommitted: OnCommitted<T> | undefined): Promise<T> {
    for (let races = 1; ; races++) {
      try {
        return await this.#runOnce(work, onCommitted);
      } catch (error) {
        const isStale = error instanceof NotCommitted && error.outcome === "stale";
        if (!isStale || races === MOST_RACES) throw error;
      }
    }
  }

  async #runOnce<T>(work: () => Promise<T>, onCommitted: OnCommitted<T> | undefined): Promise<T> {
    const { engine, slice } = this.options;
    const before = this.#head;
    const beganMs = slice.nowMs;
    let done: T;
    let isCommitting = false;
    try {
      const isRefreshed = engine.begin !== null && (await engine.begin());
      if (isRefreshed) this.#noteOthers();
      slice.begin();
      this.nowMs = this.options.clock();
      this.timestamp = new Date(this.nowMs).toISOString();
      this.connection.exec("BEGIN IMMEDIATE");
      this.#catchUp();
      const start = this.#head;
      if (isRefreshed) this.#refreshedTo = start.seq;
      done = await work();
      await this.#writeHead(start);
      isCommitting = true;
      const outcome = await this.#commit(start, slice.nowMs - beganMs);
      if (outcome !== "committed") throw new NotCommitted(outcome);
    } catch (thrown) {
      this.isUnsure = isCommitting && mayReappear(thrown);
      const error = isStorageFailure(thrown) ? replacedOr(this.connection, thrown) : thrown;
      this.failure = isStorageFailure(error) ? error : null;
      this.#abandon(before);
      throw error;
    }
    this.failure = null;
    // It is on disk: what fails from here on is reported, and is not the answer.
    this.report("looking at the files", () => this.connection.own?.noteLog());
    this.#tellOthers(before);
    this.agents.trim();
    if (!this.toScrub) await onCommitted?.(done);
    await this.#afterCommit();
    return done;
  }

  #tellOthers(before: Head): void {
    const changed = new Set(this.changed);
    this.changed.clear();
    if (this.#head !== before) this.report("noting the head", () => this.options.onHead?.(this.#head));
    if (changed.size > 0) this.report("noting changed rows", () => this.options.onRows?.(changed));
  }

  /**
   * Commits the transaction.
   * @param start the head before it
   * @param workMs how long it has taken until now
   */
  async #commit(start: Head, workMs: number): Promise<CommitOutcome> {
    const { engine, slice } = this.options;
    const beganMs = slice.nowMs;
    const committing = engine.commit(start, this.#commitTime.isLong(workMs));
    if (committing instanceof Promise) {
      this.#commitTime.left();
      return await slice.during(committing);
    }
    this.#commitTime.waited(slice.nowMs - beganMs, workMs);
    return committing;
  }

  /** Empties the write-ahead log as after an erasure. */
  async scrub(): Promise<void> {
    this.toScrub = true;
    await this.#afterCommit();
  }

  /**
   * Does what follows a commit. The transaction is on disk already: failures are reported, and retried after a later
   * one.
   */
  async #afterCommit(): Promise<void> {
    this.report("file of seals", () => this.options.sealer?.committed());
    // The write-ahead log cannot be emptied while readers use it.
    if (this.toScrub) await this.#inTurns("emptying the write-ahead log", this.#scrubbing());
    const copying = this.connection.checkpointIfDueBeside();
    const failure = await this.#inTurns("copying the write-ahead log back", copying);
    if (failure !== null) this.failure = failure; // so that the workspace is opened again
  }

  *#scrubbing(): Steps<void> {
    this.toScrub = !(yield* this.connection.truncateLogBeside());
  }

  /** Runs steps, with turns of other workspaces between them. Reports a failure as {@link report} does. */
  async #inTurns(where: string, steps: Steps<void>): Promise<unknown> {
    const { slice } = this.options;
    try {
      for (const beside of steps) await (beside === undefined ? slice.pause() : slice.during(beside));
      return null;
    } catch (error) {
      this.options.onFailure?.(where, error);
      return error;
    }
  }

  /** Runs `work`, and reports its failure. Returns the failure, or null. */
  report(where: string, work: () => void): unknown {
    try {
      work();
      return null;
    } catch (error) {
      this.options.onFailure?.(where, error);
      return error;
    }
  }

  /**
   * Reloads the cached state if another process has written to the file.
   * @throws {ReplacedWorkspace} when the file does not continue the log that this writer wrote
   */
  #catchUp(): void {
    const version = this.connection.value<number>("PRAGMA data_version") ?? 0;
    const isNew = version !== this.#dataVersion;
    requireOwnFiles(this.connection, this.#head, isNew);
    if (!isNew) return;
    if (this.#dataVersion !== -1) this.#noteOthers();
    this.#dataVersion = version;
    this.agents.clear();
    this.rights.clear();
    this.#leaves.forget();
    const { seq, hash } = readHead(this.connection);
    this.#head = { seq, hash };
  }

  /** Others have written to the file. */
  #noteOthers(): void {
    this.#dataVersion = -1;
    this.noteRows();
  }

  async #writeHead(before: Head): Promise<void> {
    const { seq, hash } = this.#head;
    if (seq === before.seq && hash === before.hash) return;
    await storeTiles(this.connection, before.seq + 1, seq + 1, this.#leaves);
    this.#leaves.dropFullTiles();
    this.connection.run("UPDATE head SET seq = ?, hash = ? WHERE one = 1", [seq, Buffer.from(hash, "hex")]);
  }

  /** Undoes the transaction in the file and in memory. */
  #abandon(before: Head): void {
    this.options.sealer?.abandoned();
    this.changed.clear();
    this.agents.clear();
    this.rights.clear();
    this.#leaves.forget();
    this.#head = before;
    this.#dataVersion = -1;
    if (this.connection.inTransaction) this.connection.exec("ROLLBACK");
  }
}
