/**
 * Caches records of the control database, so that a request with a known key costs no database access. Also collects
 * the times of last use, which are written periodically.
 *
 * The cache is cleared whenever the shared generation changes, so a revocation by another process takes effect at once.
 * If a process is killed between its commit and that signal, `PRAGMA data_version` shows the change within a second.
 */
import type { Clock } from "../../ids.ts";
import type { Connection } from "../../store/connection.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import type { ControlDatabase } from "./database.ts";

/** How often to check whether another process changed the database, ms. */
const BACKSTOP_INTERVAL_MS = 1_000;
/** How often to write the times of last use, ms. */
const LAST_USE_INTERVAL_MS = 30_000;

interface RecordCacheOptions {
  /** The most records to hold. When there are more, the cache is cleared. */
  most: number;
  /** Writes when a record was last used, ms since the epoch. Runs inside a transaction. */
  writeUse: (connection: Connection, id: string, at: number) => void;
  /** Called when a background read or write fails. It is retried at the next interval. */
  onError: (error: unknown) => void;
}

/** The options of the classes that extend the cache. */
export interface KeeperOptions extends Pick<RecordCacheOptions, "onError"> {
  clock: Clock;
}

/**
 * The length at which the control database's write-ahead log is copied back, bytes. Commands beside the daemon only
 * append.
 */
const LONG_LOG_BYTES = 1024 * 1024;

export abstract class RecordCache<T> implements Disposable {
  readonly #known = new Map<string, T>();
  readonly #lastUse = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[];
  #generation: number;
  #dataVersion: number;

  constructor(
    protected readonly control: ControlDatabase,
    private readonly settings: RecordCacheOptions,
  ) {
    this.#generation = control.generation.current;
    this.#dataVersion = control.dataVersion;
    this.#timers = [
      this.#every(BACKSTOP_INTERVAL_MS, () => this.checkDatabase()),
      this.#every(LAST_USE_INTERVAL_MS, () => this.writeLastUse()),
      this.#every(LAST_USE_INTERVAL_MS, () => control.connection.checkpointIfDue(LONG_LOG_BYTES)),
    ];
  }

  /** Returns the cached record. Call this before reading the database for a record to `keep`. */
  protected get(name: string): T | undefined {
    const generation = this.control.generation.current;
    if (generation !== this.#generation) {
      // The generation is read before the database, so that a change in between shows as another generation.
      this.#generation = generation;
      this.#known.clear();
    }
    return this.#known.get(name);
  }

  /** Caches a record that was just read from the database, and returns it. */
  protected keep(name: string, record: T): T {
    if (this.#known.size >= this.settings.most) this.#known.clear();
    this.#known.set(name, record);
    return record;
  }

  /** Remembers when a record was used, ms since the epoch. */
  protected used(id: string, at: number): void {
    this.#lastUse.set(id, at);
  }

  /** Returns the time of last use of a record if it is not written yet, otherwise 0. */
  protected unwrittenUse(id: string): number {
    return this.#lastUse.get(id) ?? 0;
  }

  /** Clears the cache if another process changed the database since the last call. */
  checkDatabase(): void {
    const replacement = this.control.takeReplacement();
    if (replacement !== null) throw replacement;
    const version = this.control.dataVersion;
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#known.clear();
  }

  /** Writes the pending times of last use in one transaction. */
  async writeLastUse(): Promise<void> {
    if (this.#lastUse.size === 0 || this.control.isReplaced) return;
    const used = new Map(this.#lastUse);
    await this.control.transaction((connection) => {
      for (const [id, at] of used) this.settings.writeUse(connection, id, at);
    });
    for (const [id, at] of used) if (this.#lastUse.get(id) === at) this.#lastUse.delete(id);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    void this.#attempt(() => this.writeLastUse());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#attempt(() => this.writeLastUse());
  }

  #every(ms: number, work: () => MaybePromise<void>): NodeJS.Timeout {
    // The timers must not keep the process alive.
    return setInterval(() => void this.#attempt(work), ms).unref();
  }

  async #attempt(work: () => MaybePromise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.settings.onError(error);
    }
  }
}
