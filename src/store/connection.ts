/**
 * A connection to one libSQL file, with its prepared statements.
 * A connection cannot be shared between threads.
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
import { bindable, type SqlValue } from "./values.ts";
import { WriteAheadLog } from "./wal.ts";

/** How long a statement waits for the transaction of another process, ms. */
const BUSY_TIMEOUT_MS = 5_000;
/** How often to try again to begin a transaction that others hold up, ms. */
const BEGIN_INTERVAL_MS = 5;

/** The name of a database without a file. */
const IN_MEMORY = ":memory:";

const NO_PARAMETERS: readonly SqlValue[] = [];

export interface OpenOptions {
  /** Refuses every write. The file must exist. */
  readOnly?: boolean;
  /** Nobody writes to the file: it is read without locks, log or other files. Implies `readOnly`. */
  immutable?: boolean;
  /** The key of an encrypted file, existing or new; null for a plain one. */
  encryptionKey?: EncryptionKey | null;
  /** The caller has just opened the file with this key, so the key need not be checked. */
  keyFits?: boolean;
  anySchema?: boolean; // read also a schema that SQLite does not accept
  /** The right to copy the write-ahead log back. Without this, the process has it as long as the connection is open. */
  takeLogRight?: TakeLogRight | undefined;
}

/** How a connection opened its file, so that another thread can open it the same way. */
interface OpenFile {
  path: string;
  options: Pick<OpenOptions, "readOnly" | "immutable" | "encryptionKey">;
}

/** Both kinds of the driver's databases hold the same native one, which this runs the statements of. */
const execAsync = AsyncDatabase.prototype.exec as unknown as (this: Driver, sql: string) => Promise<void>;

/** The descriptors of a connection: of the database, its write-ahead log, and the index of that. */
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

  /** `file`: the open file, null for a database in memory. */
  constructor(
    private readonly driver: Driver,
    readonly file: OpenFile | null,
    private readonly takeLogRight: TakeLogRight = ALWAYS,
  ) {
    this.#statements = new Statements(driver);
    this.#log = new WriteAheadLog(file?.path ?? IN_MEMORY);
    this.own = file === null ? null : new OwnFiles(file.path, this, this.#log);
  }

  /** The number of writing statements run. When it is unchanged, nothing was written. */
  get writes(): number {
    return this.#writes;
  }

  get<R extends Row>(sql: string, parameters = NO_PARAMETERS): R | undefined {
    // INSERT … RETURNING reads and writes.
    if (sql.startsWith("INSERT")) this.#writes++;
    const { statement, decode } = this.#statements.prepared(sql);
    const row = (statement.get(bindable(parameters)) ?? undefined) as unknown[] | undefined;
    return (row && decode ? decode(row) : row) as R | undefined;
  }

  value<V>(sql: string, parameters = NO_PARAMETERS): V | undefined {
    return this.get<[V]>(sql, parameters)?.[0];
  }

  all<R extends Row>(sql: string, parameters = NO_PARAMETERS): R[] {
    const { statement, decode } = this.#statements.prepared(sql);
    const rows = statement.all(bindable(parameters)) as unknown[][];
    if (decode !== null) for (const row of rows) decode(row);
    return rows as unknown as R[];
  }

  run(sql: string, parameters = NO_PARAMETERS): number {
    this.#writes++;
    return this.#statements.prepared(sql).statement.run(bindable(parameters)).changes;
  }

  /**
   * Begins a transaction that writes. Unlike BEGIN IMMEDIATE, this lets the event loop run while another connection has
   * one, which may be of this thread.
   */
  async beginWhenFree(): Promise<void> {
    const until = performance.now() + BUSY_TIMEOUT_MS;
    while (!this.#beginNow(performance.now() > until)) await Bun.sleep(BEGIN_INTERVAL_MS);
  }

  /** Returns false when another connection has a transaction that writes, unless this is the last try. */
  #beginNow(isLast: boolean): boolean {
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

  /** Cuts up to `pages` free pages off the end of the file, within a transaction; others move into free ones. */
  cutOff(pages: number): void {
    this.#writes++;
    this.exec(`PRAGMA incremental_vacuum(${pages})`);
  }

  /**
   * Copies the write-ahead log into the database when it has grown long; to be called after a commit.
   * @param mostBytes what is long; without it, that depends on the space, and not every call looks
   * @throws {UnreadableLog} see {@link checkpointInSteps}; what was committed stays so
   */
  checkpointIfDue(mostBytes = Number.POSITIVE_INFINITY): void {
    toEnd(this.#checkpointIfDue(mostBytes, false));
  }

  /** The same in steps, with SQLite's part beside the thread. Nothing else is done with the connection between them. */
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

  /** To be called with the right to copy the log back. */
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
   * Copies everything in the write-ahead log into the database and empties the log. Returns false when readers still
   * need it, for which it does not wait, and when another process has the right to do this.
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
   * Sets the disk on whose free space it depends how long the write-ahead log gets before it is copied back.
   * `onNoSpace` is called when the disk has no space for that.
   */
  limitLog(space: DiskSpace, onNoSpace: () => void): void {
    this.#space = space;
    this.#onNoSpace = onNoSpace;
  }

  /**
   * Whether SQLite would copy a log back with the last connection to the file. What cannot be copied now stays in the log,
   * which is read when the file is next opened.
   */
  #leavesLog(): boolean {
    if (this.file === null || this.file.options.readOnly) return false;
    // SQLite would copy the log even into a database that another program overwrote in place, and one that vanished.
    if (this.own?.isReplaced()) this.own.disown();
    if (this.own?.isDisowned) return true;
    if (isLogEmpty(this.file.path)) return false;
    try {
      if (this.inTransaction) this.exec("ROLLBACK");
      return !this.truncateLog();
    } catch (error) {
      if (!isDriverError(error)) throw error;
      // A file that could not be written when it was opened stays so until nobody has it open.
      return !sqliteCode(error).startsWith("SQLITE_READONLY");
    }
  }

  /** Runs statements without parameters and without a result: schema changes, transaction control. */
  exec(sql: string): void {
    this.driver.exec(sql);
  }

  /**
   * As {@link exec}, on a thread of the driver, so that others have the caller's thread meanwhile. Nothing else is done
   * with the connection until it has ended.
   */
  execBeside(sql: string): Promise<void> {
    return execAsync.call(this.driver, sql);
  }

  get inTransaction(): boolean {
    return this.driver.open && this.driver.inTransaction; // Of one that is closed, the driver would abort the process.
  }

  /**
   * Closes the file. Its write-ahead log is copied back and emptied first, so that a closed database is one file, unless
   * another process has the right to do this: the driver itself leaves its log behind while statements live, and has no
   * way to end them. Does nothing when it is closed.
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

/** Returns something that was opened, after a check. @throws what `check` throws; it is closed then */
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
 * Opens a database file. A writable one is created when absent and set to WAL with `synchronous=FULL`: when COMMIT
 * returns, the transaction is on disk. Deleted content is overwritten.
 * @throws {CannotOpen} when the file cannot be opened; {EncryptionMismatch} when the key is wrong; the driver's error
 *   when it is not a database
 */
export function openConnection(path: string, options: OpenOptions = {}): Connection {
  const readOnly = options.readOnly || options.immutable;
  const query = options.immutable ? "immutable=1" : "mode=ro";
  const key = options.encryptionKey ?? null;
  // A checkpoint that could not be proved must be, before anybody uses the database again.
  if (!readOnly) proveCopies(path);
  if (path !== IN_MEMORY && !options.keyFits) checkEncryption(path, key);
  const identity = identityOf(path);
  const isNew = !readOnly && path !== IN_MEMORY && !statSync(path, { throwIfNoEntry: false })?.size;
  const driver = openDriver(readOnly ? fileUri(path, query) : path, key);
  const { readOnly: _, keyFits: __, anySchema: ___, takeLogRight, ...kept } = options;
  const file = path === IN_MEMORY ? null : { path, options: { ...kept, readOnly: readOnly ?? false } };
  checked(driver, () => {
    driver.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA writable_schema = ${options.anySchema ? 1 : 0}`);
    // Only a new file takes this: its free pages can be given back in small steps (compaction.ts).
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
