/** `control.db`: opened by the daemon and by every command beside it. */
import { existsSync } from "node:fs";
import foundation from "../../sql/control/001-workspaces-and-keys.sql" with { type: "text" };
import accounts from "../../sql/control/002-accounts.sql" with { type: "text" };
import type { DataDirectory } from "../datadir/layout.ts";
import { createPrivateFile } from "../datadir/private-files.ts";
import { Failure } from "../failure.ts";
import { type Connection, openConnection } from "../store/connection.ts";
import { migrate, NewerDatabase } from "../store/migrate.ts";
import { Generation } from "./generation.ts";

const MIGRATIONS: readonly string[] = [foundation, accounts];

/** The control database with the counter that tells others of its changes. */
export class ControlDatabase implements Disposable {
  private constructor(
    readonly connection: Connection,
    readonly generation: Generation,
  ) {}

  /**
   * Opens it, and makes or upgrades it when needed.
   * @throws {Failure} `newer_database` when a newer governd wrote it; nothing is changed then.
   */
  static open(directory: DataDirectory): ControlDatabase {
    // SQLite would make it as the umask says; what stands beside it gets its mode.
    if (!existsSync(directory.control)) createPrivateFile(directory.control, "");
    const connection = openConnection(directory.control);
    try {
      migrate(connection, MIGRATIONS);
      return new ControlDatabase(connection, Generation.open(directory.generation));
    } catch (error) {
      connection.close();
      if (!(error instanceof NewerDatabase)) throw error;
      throw new Failure(
        "newer_database",
        `${directory.control} was written by a newer governd (schema ${error.found}, this one knows ${error.known}). ` +
          "Nothing was changed: use the newer governd, or another data directory.",
        { cause: error },
      );
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
