/**
 * Forward-only migrations: numbered SQL texts, or what decides by the file's content which one it gets. All that a
 * file lacks are applied in one transaction, after a copy of the file was put beside it.
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../failure.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { EncryptionKey } from "./encryption.ts";
import { copyInto, isDiskFull } from "./snapshot.ts";

/** Brings a schema to its next version, inside the transaction of all that the file lacks. */
export type Migration = string | ((connection: Connection) => void);

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

/** A database could not be brought to the newest schema; it is as it was. */
export class MigrationFailed extends Error {
  override readonly name = "MigrationFailed";
  /** The driver's code, when it was the driver. */
  readonly code: string | undefined;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    const { code } = cause as { code?: unknown };
    this.code = typeof code === "string" ? code : undefined;
  }
}

/** The schema version of an open database: 0 for an empty one. */
export function schemaVersion(connection: Connection): number {
  return connection.get<[number]>("PRAGMA user_version")?.[0] ?? 0;
}

/** Between a file's name and the version that it was about to get. */
const COPY_MARK = ".before-v";

/** The copies that were made of a database before its migrations. */
export function copiesBeforeMigration(path: string): string[] {
  const beginning = `${basename(path)}${COPY_MARK}`;
  const isCopy = (name: string) => name.startsWith(beginning) && /^\d+$/.test(name.slice(beginning.length));
  const directory = dirname(path);
  return readdirSync(directory)
    .filter(isCopy)
    .map((name) => join(directory, name));
}

export interface OpenMigratedOptions {
  encryptionKey?: EncryptionKey | null;
  /** What to throw for a file that holds nothing, or no database of ours; without it, that one is filled. */
  whenEmpty?: () => Error;
}

/**
 * Opens a database for writing, made when absent, with its schema brought up to date. Before an older one
 * is changed it is copied to `<file>.before-v<version>`; the copy of an earlier migration goes then.
 * @throws {NewerDatabase} when the file is ahead of `migrations`: not a byte of it is changed
 * @throws {MigrationFailed} when it could not be brought up to date; it is as it was
 */
export function openMigrated(
  path: string,
  migrations: readonly Migration[],
  { encryptionKey = null, whenEmpty }: OpenMigratedOptions = {},
): Connection {
  const keyFits = existsSync(path);
  const found = keyFits ? versionOf(path, encryptionKey) : 0;
  if (found === 0 && whenEmpty !== undefined) throw whenEmpty();
  if (found > migrations.length) throw new NewerDatabase(found, migrations.length);
  const connection = openConnection(path, { encryptionKey, keyFits });
  try {
    if (found === 0 || found === migrations.length) migrate(connection, migrations);
    else migrateAfterCopy(connection, path, migrations, encryptionKey);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Opening for writing would change the header of a file, and closing it bring its log into it. */
function versionOf(path: string, encryptionKey: EncryptionKey | null): number {
  using connection = openConnection(path, { readOnly: true, encryptionKey });
  return schemaVersion(connection);
}

function migrateAfterCopy(
  connection: Connection,
  path: string,
  migrations: readonly Migration[],
  key: EncryptionKey | null,
): void {
  const [from, to] = [schemaVersion(connection), migrations.length];
  if (from === to) return; // another process was faster
  const copy = `${path}${COPY_MARK}${to}`;
  try {
    copyBefore(connection, copy, from, key);
  } catch (error) {
    const reason = isDiskFull(error) ? "there is no space for it" : messageOf(error);
    const message = `${path} needs schema version ${to} (it has ${from}), and is copied before that is made. The copy failed: ${reason}. Nothing was changed: make room for one more copy of the file, and start again.`;
    throw new MigrationFailed(message, error);
  }
  try {
    migrate(connection, migrations);
  } catch (error) {
    if (error instanceof NewerDatabase) throw error;
    const message = `${path} could not be brought from schema version ${from} to ${to}: ${messageOf(error)}. Nothing was changed, and a copy of it is ${copy}. Go on with the governd that you had before, and report this.`;
    throw new MigrationFailed(message, error);
  }
  for (const old of copiesBeforeMigration(path)) if (old !== copy) rmSync(old, { force: true });
}

/** Several processes may do this at once, and one of them may be done already: its copy stays. */
function copyBefore(connection: Connection, copy: string, from: number, key: EncryptionKey | null): void {
  const draft = `${copy}.${process.pid}.tmp`;
  rmSync(draft, { force: true });
  try {
    copyInto(connection, draft);
    if (versionOfCopy(draft, key) === from) renameSync(draft, copy);
  } finally {
    rmSync(draft, { force: true });
  }
}

function versionOfCopy(path: string, encryptionKey: EncryptionKey | null): number {
  using connection = openConnection(path, { immutable: true, encryptionKey });
  return schemaVersion(connection);
}

/** SQLite's messages about our own SQL hold no data. */

/**
 * Brings a database to the newest schema, all of it or nothing. `migrations[0]` makes version 1 out of an
 * empty file. Several processes may call it at once: the version is read again under the write lock.
 * @throws {NewerDatabase} when the file is ahead of `migrations`; nothing is changed then.
 */
export function migrate(connection: Connection, migrations: readonly Migration[]): void {
  const found = schemaVersion(connection);
  if (found > migrations.length) throw new NewerDatabase(found, migrations.length);
  if (found === migrations.length) return;
  connection.exec("BEGIN IMMEDIATE");
  try {
    const from = schemaVersion(connection);
    if (from > migrations.length) throw new NewerDatabase(from, migrations.length);
    for (const migration of migrations.slice(from)) {
      if (typeof migration === "string") connection.exec(migration);
      else migration(connection);
    }
    if (from < migrations.length) connection.exec(`PRAGMA user_version = ${migrations.length}`);
    connection.exec("COMMIT");
  } catch (error) {
    // Some failures have ended the transaction already.
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}
