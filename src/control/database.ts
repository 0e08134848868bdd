/** `control.db`: opened by the daemon and by every command beside it. */
import { existsSync, readdirSync, statSync } from "node:fs";
import foundation from "../../sql/control/001-workspaces-and-keys.sql" with { type: "text" };
import accounts from "../../sql/control/002-accounts.sql" with { type: "text" };
import type { DataDirectory } from "../datadir/layout.ts";
import { holdLock } from "../datadir/lock.ts";
import { createPrivateFile } from "../datadir/private-files.ts";
import { Failure } from "../failure.ts";
import type { Connection } from "../store/connection.ts";
import { isDamage } from "../store/damage.ts";
import { EncryptionMismatch } from "../store/encryption.ts";
import { MigrationFailed, NewerDatabase, openMigrated } from "../store/migrate.ts";
import { Generation } from "./generation.ts";

/** How long to wait for another process that makes or upgrades the database. */
const OPENING_PATIENCE_MS = 60_000;

/** In order; a released one never changes. */
export const CONTROL_MIGRATIONS: readonly string[] = [foundation, accounts];

/** The control database with the counter that tells others of its changes. */
export class ControlDatabase implements Disposable {
  private constructor(
    readonly connection: Connection,
    readonly generation: Generation,
  ) {}

  /**
   * Opens it, and makes or upgrades it when needed; one process at a time, since SQLite's own locks do
   * not cover a file that is only being made.
   * @throws {Failure} `newer_database` when a newer governd wrote it, `migration_failed` when it could
   *   not be upgraded; nothing is changed then.
   */
  static open(directory: DataDirectory): ControlDatabase {
    using _ = holdLock(directory.controlLock, beingOpened(directory), OPENING_PATIENCE_MS);
    requireContent(directory);
    // SQLite would make it as the umask says; what stands beside it gets its mode.
    if (!existsSync(directory.control)) createPrivateFile(directory.control, "");
    const connection = openUpToDate(directory);
    try {
      return new ControlDatabase(connection, Generation.open(directory.generation));
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /**
   * Runs a change in one transaction, and when it is on disk tells every process that has this
   * database open.
   */
  change<T>(work: (connection: Connection) => T): T {
    const { connection } = this;
    connection.exec("BEGIN IMMEDIATE");
    let result: T;
    try {
      result = work(connection);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
    this.generation.advance();
    return result;
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}

const beingOpened =
  ({ root, controlLock }: DataDirectory) =>
  (cause: unknown) =>
    new Failure(
      "data_directory_in_use",
      `Another governd has been opening the data directory ${root} for a minute (it holds ${controlLock}). Look at what that one does, and try again.`,
      { cause },
    );

/** A new one in the place of a lost one would know no workspace and no key, and invite whoever comes first. */
function requireContent(directory: DataDirectory): void {
  const size = statSync(directory.control, { throwIfNoEntry: false })?.size;
  if ((size !== undefined && size > 0) || !hasWorkspaces(directory)) return;
  throw new Failure(
    "data_directory_unusable",
    `${directory.control} is ${size === undefined ? "missing" : "empty"}, though there are workspaces: put it back from a backup. Nothing was changed.`,
  );
}

function hasWorkspaces({ workspaces }: DataDirectory): boolean {
  return existsSync(workspaces) && readdirSync(workspaces).some((name) => name.endsWith(".db"));
}

/** What SQLite says of a damaged file, for people; other errors as they are. */
function damaged(directory: DataDirectory, error: unknown): unknown {
  if (error instanceof EncryptionMismatch || !isDamage(error)) return error;
  return new Failure(
    "data_directory_unusable",
    `${directory.control} is damaged, or no database of governd: put it back from a backup. Nothing was changed.`,
    { cause: error },
  );
}

function openUpToDate(directory: DataDirectory): Connection {
  const path = directory.control;
  try {
    return openMigrated(path, CONTROL_MIGRATIONS, { encryptionKey: directory.encryptionKey });
  } catch (error) {
    if (error instanceof MigrationFailed)
      throw new Failure("migration_failed", error.message, { cause: error });
    if (!(error instanceof NewerDatabase)) throw damaged(directory, error);
    throw new Failure(
      "newer_database",
      `${path} was written by a newer governd (schema ${error.found}, this one knows ${error.known}). ` +
        "Nothing was changed: use the newer governd, or another data directory.",
      { cause: error },
    );
  }
}
