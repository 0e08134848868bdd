/**
 * Caches what authenticates requests, so that a request with a known key or session costs no database access. Also
 * collects the times of last use, which are written periodically.
 *
 * The cache is cleared whenever the shared generation changes, so a revocation by another process takes effect at once.
 * If a process is killed between its commit and that signal, the next operation in the workspace finds the change. Of
 * the file of the installation, `PRAGMA data_version` shows it within a second.
 */
import type { Clock } from "../../ids.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import type { Installation } from "./installation.ts";

/** How often to check whether another process changed the database, ms. */
const BACKSTOP_INTERVAL_MS = 1_000;
/** How often to write the times of last use, ms. */
const LAST_USE_INTERVAL_MS = 30_000;

interface RecordCacheOptions {
  /** The most records to hold. When there are more, the cache is cleared. */
  most: number;
  /** Whether records are read from the file of the installation. The cache is then cleared when that changes. */
  ofInstallation: boolean;
  /** Writes when records were last used, ms since the epoch, by their ids. */
  writeUses: (uses: ReadonlyMap<string, number>) => MaybePromise<void>;
  /** Called when a background read or write fails. It is retried at the next interval. */
  onError: (error: unknown) => void;
}

/** The options of the classes that extend the cache. */
export interface KeeperOptions extends Pick<RecordCacheOptions, "onError"> {
  clock: Clock;
}

export abstract class RecordCache<T> implements Disposable {
  readonly #known = new Map<string, T>();
  readonly #lastUse = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[];
  #changes = 0;
  #generation: number;
  #dataVersion: number | null = null;

  constructor(
    protected readonly installation: Installation,
    private readonly settings: RecordCacheOptions,
  ) {
    this.#generation = installation.generation.current;
    this.#timers = [this.#every(LAST_USE_INTERVAL_MS, () => this.writeLastUse())];
    if (settings.ofInstallation) this.#timers.push(this.#every(BACKSTOP_INTERVAL_MS, () => this.#checkInstallation()));
  }

  /**
   * Returns the cached record. Call this, or `changes`, before reading a record to `keep`. A record that takes time to
   * read is kept only if `changes` is as it was.
   */
  protected get(name: string): T | undefined {
    this.#followGeneration();
    return this.#known.get(name);
  }

  /** How often the cache, or a part of it, was cleared since something may have changed. */
  protected get changes(): number {
    this.#followGeneration();
    return this.#changes;
  }

  #followGeneration(): void {
    const generation = this.installation.generation.current;
    if (generation === this.#generation) return;
    // The generation is read before the record, so that a change in between shows as another generation.
    this.#generation = generation;
    this.#clear();
  }

  #clear(): void {
    this.#changes++;
    this.#known.clear();
  }

  /** Caches a record that was just read from the database, and returns it. */
  protected keep(name: string, record: T): T {
    if (this.#known.size >= this.settings.most) this.#known.clear();
    this.#known.set(name, record);
    return record;
  }

  /** Forgets all cached records, since any may have changed. */
  forgetAll(): void {
    this.#clear();
  }

  /** Forgets the cached records that fit. */
  protected forgetThose(fits: (record: T) => boolean): void {
    this.#changes++;
    for (const [name, record] of this.#known) if (fits(record)) this.#known.delete(name);
  }

  /** Remembers when a record was used, ms since the epoch. */
  protected used(id: string, at: number): void {
    this.#lastUse.set(id, at);
  }

  /** Returns the time of last use of a record if it is not written yet, otherwise 0. */
  protected unwrittenUse(id: string): number {
    return this.#lastUse.get(id) ?? 0;
  }

  /** Clears the cache if the file of the installation has changed since the last call. */
  #checkInstallation(): void {
    const replacement = this.installation.takeReplacement();
    if (replacement !== null) throw replacement;
    const version = this.installation.dataVersion;
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#clear();
  }

  /** Writes the pending times of last use. */
  async writeLastUse(): Promise<void> {
    if (this.#lastUse.size === 0 || this.installation.isReplaced) return;
    const used = new Map(this.#lastUse);
    await this.settings.writeUses(used);
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
