/** Forward-only migrations: numbered SQL texts, each applied in a transaction of its own. */
import type { Connection } from "./connection.ts";

/** The database was written by a newer program; it is left as it is. */
export class NewerDatabase extends Error {
  constructor(
    readonly found: number,
    readonly known: number,
  ) {
    super(`the database has schema version ${found}, this program knows up to ${known}: use a newer governd`);
    this.name = "NewerDatabase";
  }
}

/** The schema version of an open database: 0 for an empty one. */
export function schemaVersion(connection: Connection): number {
  return connection.get<[number]>("PRAGMA user_version")?.[0] ?? 0;
}

/**
 * Brings a database to the newest schema. `migrations[0]` makes version 1 out of an empty file.
 * Several processes may call it at once: the version is read again under the write lock.
 * @throws {NewerDatabase} when the file is ahead of `migrations`; nothing is changed then.
 */
export function migrate(connection: Connection, migrations: readonly string[]): void {
  const found = schemaVersion(connection);
  if (found > migrations.length) throw new NewerDatabase(found, migrations.length);
  for (let version = found; version < migrations.length; version++) {
    connection.exec("BEGIN IMMEDIATE");
    try {
      if (schemaVersion(connection) === version) {
        connection.exec(migrations[version] as string);
        connection.exec(`PRAGMA user_version = ${version + 1}`);
      }
      connection.exec("COMMIT");
    } catch (error) {
      connection.exec("ROLLBACK");
      throw error;
    }
  }
}
