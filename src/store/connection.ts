/**
 * A connection to one libSQL file, with its prepared statements.
 *
 * Statements are prepared once and kept for the life of the connection: preparing costs more than
 * running, and the driver's statement objects must never be left to the garbage collector while the
 * connection lives. Not safe to share between threads.
 */
import Database from "libsql";
import { type Checkpointed, checkpoint, proveCopies } from "./checkpoint.ts";
import { isDriverError } from "./damage.ts";
import { checkEncryption, driverOptions, type EncryptionKey, fileUri } from "./encryption.ts";
import { type GuardedSelect, guardedSelect, isSelect } from "./guarded-select.ts";
import type { Row, Transaction } from "./transaction.ts";
import { bindable, type SqlValue } from "./values.ts";
import { framesInLog } from "./wal.ts";

/** Distinct statements that one connection may hold; the SQL is all ours, so more is a mistake. */
const MAX_STATEMENTS = 256;
/** How long a statement waits for another process's transaction. */
const BUSY_TIMEOUT_MS = 5_000;
/** Frames of a write-ahead log before it is copied back. */
const LOG_FRAMES = 8_000;
/** The same where space is scarce. */
const SHORT_LOG_FRAMES = 100;
/** Writing statements between two looks at the length of the log. */
const WRITES_BETWEEN_LOOKS = 64;

/** The name of a database without a file. */
const IN_MEMORY = ":memory:";
/** How long closing a file waits for readers, so that its log can be emptied. The log may as well stay. */
const CLOSE_PATIENCE_MS = 100;

const NO_PARAMETERS: readonly SqlValue[] = [];

export interface OpenOptions {
  /** Refuse every write; the file must exist. */
  readOnly?: boolean;
  /** Nobody writes to the file: read it alone, without a lock, a log or a file beside it. Implies `readOnly`. */
  immutable?: boolean;
  /** The key of an encrypted file, or of the one that is to be made; null for a plain one. */
  encryptionKey?: EncryptionKey | null;
  /** The caller had the file open with this key just now. */
  keyFits?: boolean;
}

/** A file as a connection has it open, so that another thread can open it alike. */
export interface OpenFile {
  path: string;
  options: Pick<OpenOptions, "readOnly" | "immutable" | "encryptionKey">;
}

type Driver = InstanceType<typeof Database>;
type Statement = ReturnType<Driver["prepare"]>;

/** A statement, and how its rows are read. */
interface Prepared {
  statement: Statement;
  decode: GuardedSelect["decode"] | null;
}

/** Guarded forms of queries by their text, for all connections: finding one means preparing the query twice. */
const guarded = new Map<string, GuardedSelect>();
/** Queries that are composed (filters) are many; from here on they are found anew. */
const MAX_GUARDED = 2_048;

/** Closed connections whose file descriptors may wait for the garbage collector. */
const MAX_UNRELEASED = 64;
let unreleased = 0;

/**
 * The driver gives a closed connection's descriptors back when the collector has met its statements,
 * and they look too small to be worth collecting: thousands of workspaces used in turn would run out
 * of descriptors first. So every few closed connections a collection is asked for.
 */
function releaseSomeday(): void {
  if (++unreleased >= MAX_UNRELEASED) releaseClosed();
}

/**
 * Has this thread's closed connections give back their files now, which takes a full collection and, after it, a
 * turn of the event loop. Does nothing when none was closed since the last time; answers whether any was.
 */
export function releaseClosed(): boolean {
  if (unreleased === 0) return false;
  unreleased = 0;
  Bun.gc(true);
  return true;
}

export class Connection implements Transaction, Disposable {
  /** What it is a connection to; null for a database in memory. */
  readonly file: OpenFile | null;
  readonly #driver: Driver;
  readonly #statements = new Map<string, Prepared>();
  #writes = 0;
  #maxLogFrames = LOG_FRAMES;
  #lookAt = WRITES_BETWEEN_LOOKS;
  /** Frames that the last checkpoint found. While readers keep the log, it is copied again only when it has grown. */
  #framesBefore = 0;

  constructor(driver: Driver, file: OpenFile | null) {
    this.#driver = driver;
    this.file = file;
  }

  /** How many writing statements were run; unchanged means that nothing can have been written. */
  get writes(): number {
    return this.#writes;
  }

  get<R extends Row>(sql: string, parameters = NO_PARAMETERS): R | undefined {
    // A statement that returns what it inserts reads and writes.
    if (sql.startsWith("INSERT")) this.#writes++;
    const { statement, decode } = this.#statement(sql);
    const row = (statement.get(bindable(parameters)) ?? undefined) as unknown[] | undefined;
    return (row && decode ? decode(row) : row) as R | undefined;
  }

  all<R extends Row>(sql: string, parameters = NO_PARAMETERS): R[] {
    const { statement, decode } = this.#statement(sql);
    const rows = statement.all(bindable(parameters)) as unknown[][];
    if (decode !== null) for (const row of rows) decode(row);
    return rows as unknown as R[];
  }

  run(sql: string, parameters = NO_PARAMETERS): number {
    this.#writes++;
    return this.#statement(sql).statement.run(bindable(parameters)).changes;
  }

  /**
   * Copies the write-ahead log into the database when it has grown long; to be called after a commit.
   * @throws {UnreadableLog} see {@link checkpoint}; what was committed stays so
   */
  checkpointIfDue(): void {
    if (this.#writes < this.#lookAt || this.file === null) return;
    this.#lookAt = this.#writes + Math.min(WRITES_BETWEEN_LOOKS, this.#maxLogFrames);
    const { path } = this.file;
    const frames = framesInLog(path);
    // After a checkpoint that copied everything, the next commit starts the log over.
    if (frames < this.#framesBefore) this.#framesBefore = 0;
    if (frames - this.#framesBefore < this.#maxLogFrames) return;
    this.#framesBefore = this.#checkpoint(path).frames;
  }

  #checkpoint(path: string): Checkpointed {
    const options = { ...this.file?.options, readOnly: false, keyFits: true };
    return checkpoint(this, path, () => openConnection(path, options));
  }

  /**
   * Copies everything in the write-ahead log into the database and empties the log. Returns false when readers
   * still need it; it does not wait for them.
   * @throws {UnreadableLog}
   */
  truncateLog(): boolean {
    if (this.file === null) return true;
    const { frames, copied } = this.#checkpoint(this.file.path);
    if (copied < frames) return false;
    this.exec("PRAGMA busy_timeout = 0");
    try {
      return this.get<[number]>("PRAGMA wal_checkpoint(TRUNCATE)")?.[0] === 0;
    } finally {
      this.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /** Copies the write-ahead log back while it is still small, for a disk where space is scarce. */
  keepLogShort(): void {
    this.#maxLogFrames = SHORT_LOG_FRAMES;
  }

  /** Runs statements without parameters and without a result: schema changes, transaction control. */
  exec(sql: string): void {
    this.#driver.exec(sql);
  }

  get inTransaction(): boolean {
    return this.#driver.inTransaction;
  }

  /**
   * Closes the file. Its write-ahead log is copied back and emptied first, so that a closed database is one file: the
   * driver itself leaves its log behind while statements live, and has no way to end them.
   */
  close(): void {
    try {
      if (this.#writes > 0 && !this.inTransaction) {
        this.exec(`PRAGMA busy_timeout = ${CLOSE_PATIENCE_MS}`);
        this.truncateLog();
      }
    } catch (error) {
      // What cannot be copied back now stays in the log, which is read when the file is next opened.
      if (!isDriverError(error)) throw error;
    } finally {
      this.#statements.clear();
      this.#driver.close();
      releaseSomeday();
    }
  }

  /** As {@link close}: `using` closes what was opened for a look. */
  [Symbol.dispose](): void {
    this.close();
  }

  #statement(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) throw new Error("too many distinct SQL statements");
    const guard = isSelect(sql) ? this.#guarded(sql) : null;
    const statement = this.#driver.prepare(guard?.sql ?? sql);
    // Tuples: the driver adds a timing object to every row that has names.
    if (statement.reader) statement.raw();
    const prepared = { statement, decode: guard?.decode ?? null };
    this.#statements.set(sql, prepared);
    return prepared;
  }

  #guarded(sql: string): GuardedSelect {
    const known = guarded.get(sql);
    if (known !== undefined) return known;
    const types = this.#driver
      .prepare(sql)
      .columns()
      .map(({ type }) => type);
    const guard = guardedSelect(sql, types);
    if (guarded.size >= MAX_GUARDED) guarded.clear();
    guarded.set(sql, guard);
    return guard;
  }
}

/** The file cannot be opened. The driver says so without a code. */
export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
  readonly code = "SQLITE_CANTOPEN";
}

function openDriver(name: string, key: EncryptionKey | null): Driver {
  try {
    return new Database(name, driverOptions(key));
  } catch (error) {
    throw new CannotOpen("the database file cannot be opened", { cause: error });
  }
}

/**
 * Opens a database file. A writable one is created when absent and set to WAL with
 * `synchronous=FULL`: when COMMIT returns, the transaction is on disk. What is deleted is overwritten.
 * @throws {CannotOpen} when the file cannot be opened; {EncryptionMismatch} when the key does not fit; the
 *   driver's error when it is no database
 */
export function openConnection(path: string, options: OpenOptions = {}): Connection {
  const readOnly = options.readOnly || options.immutable;
  const query = options.immutable ? "immutable=1" : "mode=ro";
  const key = options.encryptionKey ?? null;
  // A checkpoint that could not be proved must be, before anybody uses the database again.
  if (!readOnly) proveCopies(path);
  if (path !== IN_MEMORY && !options.keyFits) checkEncryption(path, key);
  const driver = openDriver(readOnly ? fileUri(path, query) : path, key);
  const { readOnly: _, keyFits: __, ...kept } = options;
  const file = path === IN_MEMORY ? null : { path, options: { ...kept, readOnly: readOnly ?? false } };
  const connection = new Connection(driver, file);
  try {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (!readOnly)
      connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
    connection.exec(
      "PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 0",
    );
  } catch (error) {
    driver.close();
    throw error;
  }
  return connection;
}
