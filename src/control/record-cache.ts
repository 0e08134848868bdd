/**
 * Records of the control database in memory, so that a request by somebody known costs no database access,
 * and the times of their last use, which are written now and then.
 *
 * The records are forgotten whenever the shared generation moves, which is how a revocation by another
 * process takes effect at once; should a process be killed between its commit and that signal,
 * `PRAGMA data_version` shows the change within a second.
 */
import type { Connection } from "../store/connection.ts";
import type { ControlDatabase } from "./database.ts";

/** How often the database itself is asked whether another process changed it. */
const BACKSTOP_INTERVAL_MS = 1_000;
/** How often the times of last use are written. */
const LAST_USE_INTERVAL_MS = 30_000;

export interface RecordCacheOptions {
  /** Records that are held; past it all are forgotten. */
  most: number;
  /** Writes when a record was used last, ms since the epoch; inside a transaction. */
  writeUse: (connection: Connection, id: string, at: number) => void;
  /** What to do when a background write or look fails; it is tried again at the next interval. */
  onError: (error: unknown) => void;
}

export class RecordCache<T> implements Disposable {
  readonly #control: ControlDatabase;
  readonly #options: RecordCacheOptions;
  readonly #known = new Map<string, T>();
  readonly #lastUse = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[];
  #generation: number;
  #dataVersion: number;

  constructor(control: ControlDatabase, options: RecordCacheOptions) {
    this.#control = control;
    this.#options = options;
    this.#generation = control.generation.current;
    this.#dataVersion = this.#readDataVersion();
    this.#timers = [
      this.#every(BACKSTOP_INTERVAL_MS, () => this.checkDatabase()),
      this.#every(LAST_USE_INTERVAL_MS, () => this.writeLastUse()),
    ];
  }

  /** The record held under this name. To be asked before the database is read for one to `keep`. */
  get(name: string): T | undefined {
    const generation = this.#control.generation.current;
    if (generation !== this.#generation) {
      // Read before the database is: a change in between shows as yet another generation.
      this.#generation = generation;
      this.#known.clear();
    }
    return this.#known.get(name);
  }

  /** Holds a record that was just read from the database. */
  keep(name: string, record: T): T {
    if (this.#known.size >= this.#options.most) this.#known.clear();
    this.#known.set(name, record);
    return record;
  }

  /** Notes that a record was used, ms since the epoch. */
  used(id: string, at: number): void {
    this.#lastUse.set(id, at);
  }

  /** When a record was used last, if that is not written yet; 0 otherwise. */
  unwrittenUse(id: string): number {
    return this.#lastUse.get(id) ?? 0;
  }

  /** Forgets all records when another process changed the database since the last look. */
  checkDatabase(): void {
    const version = this.#readDataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#known.clear();
  }

  /** Writes the times of last use that are not written yet, in one transaction. */
  writeLastUse(): void {
    if (this.#lastUse.size === 0) return;
    const { connection } = this.#control;
    connection.exec("BEGIN IMMEDIATE");
    try {
      for (const [id, at] of this.#lastUse) this.#options.writeUse(connection, id, at);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
    this.#lastUse.clear();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#attempt(() => this.writeLastUse());
  }

  #readDataVersion(): number {
    return this.#control.connection.get<[number]>("PRAGMA data_version")?.[0] ?? 0;
  }

  #every(ms: number, work: () => void): NodeJS.Timeout {
    // Neither keeps a process alive that is otherwise done.
    return setInterval(() => this.#attempt(work), ms).unref();
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
