/** The control database, which the daemon and the commands open at the same time. */
import { existsSync, readdirSync, statSync } from "node:fs";
import foundation from "../../../sql/control/001-foundation.sql" with { type: "text" };
import { holdLock } from "../../core/datadir/file-lock.ts";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { createPrivateFile } from "../../core/datadir/private-files.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { SharedControl } from "../../engine-libsql/control/shared.ts";
import { ServerEngine } from "../../engine-libsql/server-engine.ts";
import { Failure } from "../../failure.ts";
import { identityOf } from "../../store/checkpoint.ts";
import type { Connection } from "../../store/connection.ts";
import { isDamage } from "../../store/damage.ts";
import { EncryptionMismatch } from "../../store/encryption.ts";
import { EMBEDDED, locationOf } from "../../store/location.ts";
import {
  type Migration,
  MigrationFailed,
  newestSchema,
  openMigrated,
  otherGovernd,
  UnknownSchema,
} from "../../store/migrate.ts";
import { type MaybePromise, transact } from "../../store/transaction.ts";
import { Generation } from "./generation.ts";

/** How long to wait for another process that creates or upgrades the database, ms. */
const OPENING_PATIENCE_MS = 60_000;
/** How long an act waits for acts of other processes, ms. */
const ACT_PATIENCE_MS = 30_000;
/** How often to check whether another process has finished its act, ms. */
const ACT_INTERVAL_MS = 5;

/** The migrations in their order. A released migration never changes. */
export const CONTROL_MIGRATIONS: readonly Migration[] = [foundation];
/** The newest schema version of the control database. */
export const CONTROL_SCHEMA = newestSchema(CONTROL_MIGRATIONS);

/** The control database, with the counter by which other processes notice its changes. */
export class ControlDatabase implements Disposable {
  readonly #acts = new SerialQueue();
  #isReported = false;
  #dataVersion = -1;
  #shared: SharedControl | null = null;

  private constructor(
    readonly connection: Connection,
    readonly generation: Generation,
    readonly actsLock: string,
    /** The identity of the open file. */
    private readonly identity: string | null,
  ) {
    connection.own?.watch("commits", numberOfCommits(connection));
  }

  /**
   * Opens the database, and creates or upgrades it when needed. Only one process at a time does so, since SQLite's
   * own locks do not cover a file that is being created.
   * @throws {Failure} `newer_database` when a newer governd wrote it, `migration_failed` when it cannot be upgraded,
   *   `data_directory_unusable` when it is missing, damaged, or older than 0.1.0. The file is then unchanged.
   */
  static open(directory: DataDirectory): ControlDatabase {
    using _ = holdLock(directory.controlLock, beingOpened(directory), OPENING_PATIENCE_MS);
    requireContent(directory);
    // SQLite would create the file with the mode of the umask. It gives files beside the database the database's mode.
    if (!existsSync(directory.control)) createPrivateFile(directory.control, "");
    const connection = openUpToDate(directory);
    try {
      const generation = Generation.open(directory.generation);
      return new ControlDatabase(connection, generation, directory.actsLock, identityOf(directory.control));
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /**
   * Opens the database as {@link open} does. If the database is on a libSQL server, the file is its working copy, and
   * is brought up to date. If the server has none yet, the file's content is copied to it.
   * @throws {Failure} and {ServerUnavailable}
   */
  static async openShared(directory: DataDirectory, onWarning: (warning: string) => void): Promise<ControlDatabase> {
    const opened = ControlDatabase.open(directory);
    try {
      if (directory.server === null) {
        requireEmbedded(opened.connection);
        return opened;
      }
      const engine = new ServerEngine(directory.server, onWarning);
      opened.#shared = await SharedControl.open(engine, opened.connection, {
        migrations: CONTROL_MIGRATIONS,
        path: directory.control,
        encryptionKey: directory.encryptionKey,
      });
      return opened;
    } catch (error) {
      opened[Symbol.dispose]();
      throw error;
    }
  }

  /** The database on the server; null when this file is the database. */
  get shared(): SharedControl | null {
    return this.#shared;
  }

  /** Brings the working copy up to date with the server. Returns whether anything has changed. */
  async refresh(): Promise<boolean> {
    const isChanged = (await this.#shared?.refresh()) ?? false;
    if (isChanged) this.generation.advance();
    return isChanged;
  }

  /**
   * Runs a change in one transaction. Once it is on disk, notifies every process that has this database open. With a
   * server, `work` may run again if another node has changed the database.
   */
  async change<T>(work: (connection: Connection) => T): Promise<T> {
    const result = await this.transaction(work);
    this.generation.advance();
    await this.#shared?.announce();
    return result;
  }

  /**
   * Reports whether the file was removed, replaced or overwritten after it was opened, so that writes to it are lost.
   * While another process has a transaction on it, an overwritten file is not noticed; a later call notices it.
   */
  get isReplaced(): boolean {
    // While a server is asked, the transaction may be this connection's own.
    return (
      this.#replacement ?? (!this.connection.inTransaction && this.connection.beginIfFree() && this.#isOverwritten())
    );
  }

  /**
   * Checks that the file is the one that was opened. Waits only for the transaction of another process, which may wait
   * for a server. No transaction of this connection may be open.
   * @throws {Failure} `busy`
   */
  #requireOwn(): MaybePromise<void> {
    const required = (isReplaced: boolean) => {
      if (isReplaced) throw new Failure("busy", REPLACED);
    };
    const known = this.#replacement ?? (this.connection.beginIfFree() ? this.#isOverwritten() : null);
    if (known !== null) return required(known);
    return this.connection.beginWhenFree().then(() => required(this.#isOverwritten()));
  }

  /** Whether the file was replaced, as far as that shows without a transaction; null when it does not. */
  get #replacement(): boolean | null {
    const { file, own } = this.connection;
    if (file === null || own === null) return false;
    if (identityOf(file.path) !== this.identity || own.isDisowned) return true;
    return this.dataVersion === this.#dataVersion && own.isAsNoted() ? false : null;
  }

  /** Ends the open transaction, in which no other process commits. Returns whether the file was overwritten. */
  #isOverwritten(): boolean {
    const own = this.connection.own as NonNullable<Connection["own"]>;
    try {
      const version = this.dataVersion;
      const change = own.foreignChange(version !== this.#dataVersion);
      if (change === "gone") return true;
      if (change === "replaced") own.disown();
      else own.note();
      this.#dataVersion = version;
      return own.isDisowned;
    } finally {
      if (this.connection.inTransaction) this.connection.exec("ROLLBACK");
    }
  }

  /** A number that changes when another process commits. */
  get dataVersion(): number {
    return this.connection.value<number>("PRAGMA data_version") ?? 0;
  }

  /** Returns the failure to log when the file was replaced, once for each replacement; otherwise null. */
  takeReplacement(): Failure | null {
    const isNew = this.isReplaced && !this.#isReported;
    this.#isReported = this.isReplaced;
    return isNew ? new Failure("busy", REPLACED) : null;
  }

  /**
   * Runs `work` in one transaction, without notifying other processes.
   * @throws {Failure} `busy` when the file was removed, replaced or overwritten; nothing is then changed
   */
  async transaction<T>(work: (connection: Connection) => T): Promise<T> {
    const counted = () => {
      this.connection.run("UPDATE commits SET number = printf('%016x', ? + 1)", [
        Number.parseInt(numberOfCommits(this.connection), 16),
      ]);
      return work(this.connection);
    };
    let result: T;
    if (this.#shared === null) {
      const checked = this.#requireOwn();
      if (checked instanceof Promise) await checked;
      result = transact(this.connection, counted);
    } else {
      result = await this.#shared.change(() => this.#requireOwn(), counted);
    }
    this.connection.own?.noteLog();
    return result;
  }

  /**
   * Runs `work` while no other work passed to this function runs, in any process on the data directory.
   * @throws {Failure} `busy` when others take longer than {@link ACT_PATIENCE_MS}
   */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#acts.run(async () => {
      using _ = await this.#lockActs();
      if (this.#shared === null) return await work();
      return await this.#shared.alone(ACT_PATIENCE_MS, actsInUse, work);
    });
  }

  async #lockActs(): Promise<Disposable> {
    const until = performance.now() + ACT_PATIENCE_MS;
    for (;;) {
      try {
        return holdLock(this.actsLock, actsInUse);
      } catch (error) {
        if (!(error instanceof Failure) || performance.now() > until) throw error;
      }
      // Waiting inside SQLite would stop the daemon's event loop.
      await Bun.sleep(ACT_INTERVAL_MS);
    }
  }

  [Symbol.dispose](): void {
    this.#shared?.close();
    this.connection.close();
  }
}

/**
 * @throws {Failure} `invalid_settings` for the copy of a database that is on a server, since writes to it would be lost
 */
function requireEmbedded(connection: Connection): void {
  if (locationOf(connection) === EMBEDDED) return;
  const advice =
    'Set engine = "libsql-server" and engine_url, or bring everything back with `governd migrate --to embedded`.';
  throw new Failure("invalid_settings", `The data directory is a copy of what is on a libSQL server. ${advice}`);
}

const numberOfCommits = (connection: Connection): string =>
  connection.value<string>("SELECT number FROM commits") ?? "";

const REPLACED =
  "control.db was removed, replaced or overwritten while governd runs, so accounts and keys cannot be changed. Nothing was changed. Put the file back by renaming it, or restart the daemon with the new one.";

const actsInUse = (cause?: unknown) =>
  new Failure(
    "busy",
    "Another governd has been changing members, keys or workspaces for half a minute. Nothing was changed. Try again.",
    { cause },
  );

const beingOpened =
  ({ root, controlLock }: DataDirectory) =>
  (cause: unknown) =>
    new Failure(
      "data_directory_in_use",
      `Another governd has been opening the data directory ${root} for a minute (it holds ${controlLock}). Find out what that process is doing, and try again.`,
      { cause },
    );

/** Refuses to replace a lost database, since a new one would have no workspaces and keys, and let anybody sign up. */
function requireContent(directory: DataDirectory): void {
  const size = statSync(directory.control, { throwIfNoEntry: false })?.size;
  if ((size !== undefined && size > 0) || !existsSync(directory.workspaces)) return;
  if (!readdirSync(directory.workspaces).some((name) => name.endsWith(".db"))) return;
  throw new Failure(
    "data_directory_unusable",
    `${directory.control} is ${size === undefined ? "missing" : "empty"}, although there are workspaces. Restore it from a backup. Nothing was changed.`,
  );
}

function openUpToDate(directory: DataDirectory): Connection {
  const path = directory.control;
  try {
    const { encryptionKey, takeLogRight } = directory;
    return openMigrated(path, CONTROL_MIGRATIONS, { encryptionKey, takeLogRight });
  } catch (error) {
    if (error instanceof EncryptionMismatch || !isDamage(error)) throw migrationFailure(path, error);
    throw new Failure(
      "data_directory_unusable",
      `${path} is damaged, or not a database of governd. Restore it from a backup. Nothing was changed.`,
      { cause: error },
    );
  }
}

/** Returns the failure to report when a database cannot be brought to the present schema; other errors unchanged. */
export function migrationFailure(path: string, error: unknown): unknown {
  if (error instanceof MigrationFailed) return new Failure("migration_failed", error.message, { cause: error });
  return error instanceof UnknownSchema ? unknownSchema(path, error) : error;
}

/** Returns the failure to report for a database that another governd wrote: a newer one, or one from before 0.1.0. */
export function unknownSchema(path: string, error: UnknownSchema): Failure {
  const { found, newest } = error;
  return new Failure(
    found > newest ? "newer_database" : "data_directory_unusable",
    `${path} was written by ${otherGovernd(found, newest)}. Nothing was changed.`,
    { cause: error },
  );
}
