/**
 * Forward-only migrations: numbered SQL texts, or functions that depend on the content of the file. All missing
 * migrations are applied in one transaction, after the file was copied.
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../failure.ts";
import { type Connection, checked, type OpenOptions, openConnection } from "./connection.ts";
import type { EncryptionKey } from "./encryption.ts";
import { copyInto, isDiskFull } from "./snapshot.ts";
import { transact } from "./transaction.ts";

/** Brings a schema to its next version, inside the transaction of all missing migrations. */
export type Migration = string | ((connection: Connection) => void);

/** The database was written by a newer program. It is unchanged. */
export class NewerDatabase extends Error {
  override readonly name = "NewerDatabase";

  constructor(
    readonly found: number,
    readonly known: number,
  ) {
    super(`the database has schema version ${found}, this program knows up to ${known}: use a newer governd`);
  }
}

/** A database could not be migrated. It is unchanged. */
export class MigrationFailed extends Error {
  override readonly name = "MigrationFailed";
  /** The driver's code, when the driver failed. */
  readonly code: string | undefined;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    const { code } = cause as { code?: unknown };
    this.code = typeof code === "string" ? code : undefined;
  }
}

/** Returns the schema version of an open database, 0 for an empty one. */
export const schemaVersion = (connection: Connection): number => connection.value<number>("PRAGMA user_version") ?? 0;

/** In the name of a copy, between the file's name and the version to which it was to be migrated. */
const COPY_MARK = ".before-v";

/** Returns the copies that were made of a database before its migrations. */
export function copiesBeforeMigration(path: string): string[] {
  const beginning = `${basename(path)}${COPY_MARK}`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(beginning) && /^\d+$/.test(name.slice(beginning.length)))
    .map((name) => join(dirname(path), name));
}

interface OpenMigratedOptions extends Pick<OpenOptions, "encryptionKey" | "takeLogRight"> {
  /**
   * Returns the error to throw for a missing file, or one without governd's schema. Without it, the schema is created.
   */
  whenEmpty?: () => Error;
}

/**
 * Opens a database for writing with the newest schema, and creates it when absent. Before an older schema is migrated,
 * the file is copied to `<file>.before-v<version>`, which replaces the copy of an earlier migration.
 * @throws {NewerDatabase} when the file is newer than `migrations`; the file is unchanged
 * @throws {MigrationFailed} when the file could not be migrated; it is unchanged
 */
export function openMigrated(
  path: string,
  migrations: readonly Migration[],
  { encryptionKey = null, takeLogRight, whenEmpty }: OpenMigratedOptions = {},
): Connection {
  const keyFits = existsSync(path);
  // Read-only, since opening for writing would change the header, and closing would copy the log back.
  const found = keyFits ? versionOf(path, { readOnly: true, encryptionKey }) : 0;
  if (found === 0 && whenEmpty !== undefined) throw whenEmpty();
  if (found > migrations.length) throw new NewerDatabase(found, migrations.length);
  return checked(openConnection(path, { encryptionKey, keyFits, takeLogRight }), (connection) => {
    if (found === 0 || found === migrations.length) migrate(connection, migrations);
    else migrateAfterCopy(connection, path, migrations, encryptionKey);
  });
}

function versionOf(path: string, options: OpenOptions): number {
  using connection = openConnection(path, options);
  return schemaVersion(connection);
}

function migrateAfterCopy(
  connection: Connection,
  path: string,
  migrations: readonly Migration[],
  key: EncryptionKey | null,
): void {
  const [from, to] = [schemaVersion(connection), migrations.length];
  if (from === to) return; // another process has migrated it
  const copy = `${path}${COPY_MARK}${to}`;
  try {
    copyBefore(connection, copy, from, key);
  } catch (error) {
    const reason = isDiskFull(error) ? "there is no space for it" : messageOf(error);
    const message = `${path} needs schema version ${to} (it has ${from}), and must be copied first. The copy failed: ${reason}. Nothing was changed: make room for one more copy of the file, and start again.`;
    throw new MigrationFailed(message, error);
  }
  try {
    migrate(connection, migrations);
  } catch (error) {
    if (error instanceof NewerDatabase) throw error;
    const message = `${path} could not be migrated from schema version ${from} to ${to}: ${messageOf(error)}. Nothing was changed, and a copy of it is ${copy}. Use the previous governd, and report this.`;
    throw new MigrationFailed(message, error);
  }
  for (const old of copiesBeforeMigration(path)) if (old !== copy) rmSync(old, { force: true });
}

/** Copies the file, unless another process has migrated it meanwhile, whose copy is kept. */
function copyBefore(connection: Connection, copy: string, from: number, key: EncryptionKey | null): void {
  const draft = `${copy}.${process.pid}.tmp`;
  rmSync(draft, { force: true });
  try {
    copyInto(connection, draft);
    if (versionOf(draft, { immutable: true, encryptionKey: key }) === from) renameSync(draft, copy);
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Migrates a database to the newest schema, completely or not at all. `migrations[0]` makes version 1 of an empty file.
 * Several processes may call this at the same time: the version is read again under the write lock.
 * @throws {NewerDatabase} when the file is newer than `migrations`; the file is unchanged
 */
export function migrate(connection: Connection, migrations: readonly Migration[]): void {
  const found = schemaVersion(connection);
  if (found > migrations.length) throw new NewerDatabase(found, migrations.length);
  if (found === migrations.length) return;
  transact(connection, () => {
    const from = schemaVersion(connection);
    if (from > migrations.length) throw new NewerDatabase(from, migrations.length);
    for (const migration of migrations.slice(from)) {
      if (typeof migration === "string") connection.exec(migration);
      else migration(connection);
    }
    if (from < migrations.length) connection.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}
