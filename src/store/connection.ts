/**
 * A connection to one libSQL file, with its prepared statements. It cannot be shared between threads.
 */
import { statSync } from "node:fs";
import Database from "libsql";
import AsyncDatabase from "libsql/promise";
import { type Checkpointed, checkpointInSteps, identityOf, proveCopies } from "./checkpoint.ts";
import { isLogEmpty, letGo } from "./closing.ts";
import { CannotOpen, isDriverError, sqliteCode } from "./damage.ts";
import { DiskSpace } from "./disk-space.ts";
import { checkEncryption, driverOptions, type EncryptionKey, fileUri } from "./encryption.ts";
import { LogLooks } from "./log-looks.ts";
import { ALWAYS, type TakeLogRight } from "./log-right.ts";
import { OwnFiles } from "./own-files.ts";
import { type Driver, Statements } from "./statements.ts";
import { type Steps, toEnd } from "./steps.ts";
import type { Row, Transaction } from "./transaction.ts";
import type { SqlValue } from "./values.ts";
import { WriteAheadLog } from "./wal.ts";

/** How long a statement waits for the transaction of another process, ms. */
const BUSY_TIMEOUT_MS = 5_000;
/** How long a begin waits that lets the event loop run, ms. The other transaction may wait for a libSQL server. */
const BEGIN_PATIENCE_MS = 30_000;
/** The pause between attempts to begin a transaction while another one is open, ms. */
const BEGIN_INTERVAL_MS = 5;

/** The path of a database in memory. */
const IN_MEMORY = ":memory:";

const NO_PARAMETERS: readonly SqlValue[] = [];

export interface OpenOptions {
  /** Refuses every write. The file must exist. */
  readOnly?: boolean;
  /** Nobody writes to the file, so it is read without locks, log or other files. Implies `readOnly`. */
  immutable?: boolean;
  /** The key of an encrypted file, existing or new; null for a plain one. */
  encryptionKey?: EncryptionKey | null;
  /** The caller has just opened the file with this key, so the key need not be checked. */
  keyFits?: boolean;
  anySchema?: boolean; // read also a schema that SQLite does not accept
  /** Takes the right to copy the write-ahead log back. By default, the process has it. */
  takeLogRight?: TakeLogRight | undefined;
}

/** How a connection has opened its file, so that another one can open it in the same way. */
interface OpenFile {
  path: string;
  options: Pick<OpenOptions, "readOnly" | "immutable" | "encryptionKey">;
}

/**
 * The asynchronous `exec`. It works on a synchronous database, since both classes of the driver wrap the same native
 * one.
 */
const execAsync = AsyncDatabase.prototype.exec as unknown as (this: Driver, sql: string) => Promise<void>;

/** The descriptors of a connection: the database, its write-ahead log, and the log's index. */
export const DESCRIPTORS_OF_CONNECTION = 3;

export class Connection implements Transaction, Disposable {
  readonly #statements: Statements;
  #writes = 0;
  #space = DiskSpace.ample();
  #onNoSpace = () => {};
  readonly #looks = new LogLooks();
  readonly #log: WriteAheadLog;
  /** The files as this connection left them; null for a database in memory. */
  readonly own: OwnFiles | null;

  /** @param file the open file; null for a database in memory */
  constructor(
    private readonly driver: Driver,
    readonly file: OpenFile | null,
    private readonly takeLogRight: TakeLogRight = ALWAYS,
  ) {
    this.#statements = new Statements(driver);
    this.#log = new WriteAheadLog(file?.path ?? IN_MEMORY);
    this.own = file === null ? null : new OwnFiles(file.path, this, this.#log);
  }

  /** The number of writing statements that were run. While it is unchanged, nothing was written. */
  get writes(): number {
    return this.#writes;
  }

  get<R extends Row>(sql: string, parameters = NO_PARAMETERS): R | undefined {
    // INSERT … RETURNING returns a row and writes.
    if (sql.startsWith("INSERT")) this.#writes++;
    return this.#statements.get(sql, parameters) as R | undefined;
  }

  value<V>(sql: string, parameters = NO_PARAMETERS): V | undefined {
    return this.get<[V]>(sql, parameters)?.[0];
  }

  all<R extends Row>(sql: string, parameters = NO_PARAMETERS): R[] {
    return this.#statements.all(sql, parameters) as unknown as R[];
  }

  run(sql: string, parameters = NO_PARAMETERS): void {
    this.#writes++;
    // The driver makes an object of the result of its own `run`, and none for a statement without rows.
    this.#statements.get(sql, parameters);
  }

  change(sql: string, parameters = NO_PARAMETERS): number {
    this.#writes++;
    return this.#statements.change(sql, parameters);
  }

  /**
   * Begins a write transaction. Waits for that of another connection without holding up this one's thread. It tries so
   * often that it meets a gap between two transactions of a busy writer: SQLite's own wait is soon too long for that.
   */
  async beginWhenFree(): Promise<void> {
    const until = performance.now() + BEGIN_PATIENCE_MS;
    while (!this.#beginIfFree(performance.now() > until)) await Bun.sleep(BEGIN_INTERVAL_MS);
  }

  /** Begins a write transaction. Returns false when another connection has one; with `isLast`, throws instead. */
  #beginIfFree(isLast: boolean): boolean {
    this.exec("PRAGMA busy_timeout = 0");
    try {
      this.exec("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      if (isLast || !sqliteCode(error).startsWith("SQLITE_BUSY")) throw error;
      return false;
    } finally {
      this.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /**
   * Releases up to `pages` free pages at the end of the file, after moving used ones; to be called within a
   * transaction.
   */
  cutOff(pages: number): void {
    this.#writes++;
    this.exec(`PRAGMA incremental_vacuum(${pages})`);
  }

  /**
   * Copies the write-ahead log into the database when it has become long; to be called after a commit.
   * @param mostBytes the length at which to copy; by default, it depends on the free space, and is not checked every
   * time
   * @throws {UnreadableLog} see {@link checkpointInSteps}; the commits stay valid
   */
  checkpointIfDue(mostBytes = Number.POSITIVE_INFINITY): void {
    toEnd(this.#checkpointIfDue(mostBytes, false));
  }

  /** The same in steps, with SQLite's copying on another thread. The connection must not be used between the steps. */
  checkpointIfDueBeside(mostBytes = Number.POSITIVE_INFINITY): Steps<void> {
    return this.#checkpointIfDue(mostBytes, true);
  }

  *#checkpointIfDue(mostBytes: number, isBeside: boolean): Steps<void> {
    if (this.file === null || (!this.#looks.isDue(this.#writes) && mostBytes === Number.POSITIVE_INFINITY)) return;
    const frames = yield* this.#log.readNewInSteps();
    const most = Math.min(this.#space.logBytes, mostBytes) / Math.max(1, this.#log.pageSize);
    if (this.#looks.look(this.#log.starts, frames, most, this.#writes) > 0) return;
    using right = this.takeLogRight();
    if (right === null) return;
    const done = yield* this.#checkpoint(this.file.path, isBeside);
    this.#looks.copied(done.frames);
    if (!done.fits) this.#onNoSpace();
  }

  /** Runs a checkpoint; to be called with the right to copy the log back. */
  *#checkpoint(path: string, isBeside: boolean): Steps<Checkpointed> {
    proveCopies(path);
    if (this.own?.mayCopy() !== true) return { frames: 1, copied: 0, fits: true };
    const key = this.file?.options.encryptionKey ?? null;
    try {
      const done = yield* checkpointInSteps(this, path, this.#log, () => openDriver(path, key), isBeside);
      this.own.copied(done.copied);
      return done;
    } finally {
      this.own?.note();
    }
  }

  /**
   * Copies the whole write-ahead log into the database and empties the log. Returns false, without waiting, when
   * readers use the log, or when another process has the right to copy it.
   * @throws {UnreadableLog}
   */
  truncateLog(): boolean {
    return toEnd(this.#truncateLog(false));
  }

  truncateLogBeside(): Steps<boolean> {
    return this.#truncateLog(true);
  }

  *#truncateLog(isBeside: boolean): Steps<boolean> {
    if (this.file === null) return true;
    using right = this.takeLogRight();
    if (right === null) return false;
    const { frames, copied } = yield* this.#checkpoint(this.file.path, isBeside);
    if (copied < frames) return false;
    this.exec("PRAGMA busy_timeout = 0");
    try {
      return this.value<number>("PRAGMA wal_checkpoint(TRUNCATE)") === 0;
    } finally {
      this.own?.note();
      this.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /**
   * Makes the length at which the write-ahead log is copied back depend on the free space of the disk.
   * @param onNoSpace called when the disk has no space for the copying
   */
  limitLog(space: DiskSpace, onNoSpace: () => void): void {
    this.#space = space;
    this.#onNoSpace = onNoSpace;
  }

  /**
   * Whether the log is not empty after an attempt to copy it back, so that SQLite would copy it when the last
   * connection to the file closes. What remains in the log is read when the file is next opened.
   */
  #leavesLog(): boolean {
    if (this.file === null || this.file.options.readOnly) return false;
    // SQLite would copy the log even into a database that another program has overwritten or removed.
    if (this.own?.isReplaced() || this.own?.isGone()) this.own.disown();
    if (this.own?.isDisowned) return true;
    if (isLogEmpty(this.file.path)) return false;
    try {
      if (this.inTransaction) this.exec("ROLLBACK");
      return !this.truncateLog();
    } catch (error) {
      if (!isDriverError(error)) throw error;
      // A file that could not be written when it was opened stays read-only until all connections are closed.
      return !sqliteCode(error).startsWith("SQLITE_READONLY");
    }
  }

  /** Runs statements without parameters and without a result: schema changes, transaction control. */
  exec(sql: string): void {
    this.driver.exec(sql);
  }

  /**
   * As {@link exec}, on a thread of the driver, so that the caller's thread is free meanwhile. The connection must not
   * be used until the promise settles.
   */
  execBeside(sql: string): Promise<void> {
    return execAsync.call(this.driver, sql);
  }

  get inTransaction(): boolean {
    return this.driver.open && this.driver.inTransaction; // on a closed database, the driver would abort the process
  }

  /**
   * Closes the file. Copies its write-ahead log back and empties it first, so that a closed database is one file,
   * unless another process has the right to do so. (The driver itself would leave the log while statements exist, and
   * it cannot finalize them.) Does nothing when it is closed already.
   */
  close(): void {
    if (!this.driver.open) return;
    let leavesLog = true;
    try {
      leavesLog = this.#leavesLog();
    } finally {
      const closed = { driver: this.driver, statements: this.#statements.takeAll() };
      this.driver.close();
      letGo(closed, leavesLog ? { path: this.own?.isDisowned ? null : (this.file?.path ?? null) } : null);
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Returns `opened` after a check. @throws what `check` throws, after closing `opened` */
export function checked<T extends { close(): void }>(opened: T, check: (opened: T) => void): T {
  try {
    check(opened);
    return opened;
  } catch (error) {
    opened.close();
    throw error;
  }
}

function openDriver(name: string, key: EncryptionKey | null): Driver {
  try {
    return new Database(name, driverOptions(key));
  } catch (error) {
    throw new CannotOpen("the database file cannot be opened", { cause: error });
  }
}

/**
 * Opens a database file. A writable file is created when absent, and set to WAL with `synchronous=FULL`: when COMMIT
 * returns, the transaction is on disk. Deleted content is overwritten.
 * @throws {CannotOpen} when the file cannot be opened; {EncryptionMismatch} when the key is wrong; the driver's error
 *   when it is not a database
 */
export function openConnection(path: string, options: OpenOptions = {}): Connection {
  const readOnly = options.readOnly || options.immutable;
  const query = options.immutable ? "immutable=1" : "mode=ro";
  const key = options.encryptionKey ?? null;
  // A checkpoint that could not be verified must be verified before the database is used again.
  if (!readOnly) proveCopies(path);
  if (path !== IN_MEMORY && !options.keyFits) checkEncryption(path, key);
  const identity = identityOf(path);
  const isNew = !readOnly && path !== IN_MEMORY && !statSync(path, { throwIfNoEntry: false })?.size;
  const driver = openDriver(readOnly ? fileUri(path, query) : path, key);
  const { readOnly: _, keyFits: __, anySchema: ___, takeLogRight, ...kept } = options;
  const file = path === IN_MEMORY ? null : { path, options: { ...kept, readOnly: readOnly ?? false } };
  checked(driver, () => {
    driver.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA writable_schema = ${options.anySchema ? 1 : 0}`);
    // Only a new file accepts this mode, in which free pages can be released in small steps (compaction.ts).
    if (isNew) driver.exec("PRAGMA auto_vacuum = INCREMENTAL");
    if (!readOnly) driver.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
    driver.exec(
      "PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 0",
    );
    // Another process may have replaced the file while this one waited for its lock (compaction.ts).
    if (identity !== null && identityOf(path) !== identity) throw new CannotOpen("the file was replaced meanwhile");
  });
  return new Connection(driver, file, takeLogRight);
}
