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

/** The schema version of 0.1.0, which `migrations[0]` makes. Builds before 0.1.0 used the numbers below it. */
export const FIRST_SCHEMA = 13;

/** Returns the schema version to which these migrations lead. */
export const newestSchema = (migrations: readonly Migration[]): number => FIRST_SCHEMA - 1 + migrations.length;

/** Returns the migrations that lead from an empty file to a schema version. */
export const migrationsUpTo = (version: number, migrations: readonly Migration[]): readonly Migration[] =>
  migrations.slice(0, Math.max(0, version - FIRST_SCHEMA + 1));

/**
 * Returns which governd wrote a database whose schema this program does not know, as the end of a sentence that begins
 * with the database and "was written by". Returns null when it can be used: then its schema is known, or it is empty.
 */
export function otherGovernd(found: number, newest: number): string | null {
  if (found > newest) return `a newer governd (schema ${found}, this one knows ${newest}): use the newer governd`;
  if (found === 0 || found >= FIRST_SCHEMA) return null;
  return `a build of governd from before 0.1.0 (schema ${found}), which no release can read: use that build, or begin with a new data directory`;
}

/** The database was written by another program, newer or from before 0.1.0. It is unchanged. */
export class UnknownSchema extends Error {
  override readonly name = "UnknownSchema";

  constructor(
    readonly found: number,
    readonly newest: number,
  ) {
    super(`the database was written by ${otherGovernd(found, newest)}`);
  }
}

/** @throws {UnknownSchema} unless the schema is one of the migrations', or there is none */
function requireKnown(found: number, migrations: readonly Migration[]): void {
  const newest = newestSchema(migrations);
  if (otherGovernd(found, newest) !== null) throw new UnknownSchema(found, newest);
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
 * @throws {UnknownSchema} when another governd wrote the file; the file is unchanged
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
  requireKnown(found, migrations);
  return checked(openConnection(path, { encryptionKey, keyFits, takeLogRight }), (connection) => {
    if (found === 0 || found === newestSchema(migrations)) migrate(connection, migrations);
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
  const [from, to] = [schemaVersion(connection), newestSchema(migrations)];
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
    if (error instanceof UnknownSchema) throw error;
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
 * Migrates a database to the newest schema, completely or not at all. `migrations[0]` makes {@link FIRST_SCHEMA} of an empty file.
 * Several processes may call this at the same time: the version is read again under the write lock.
 * @throws {UnknownSchema} when another governd wrote the file; the file is unchanged
 */
export function migrate(connection: Connection, migrations: readonly Migration[]): void {
  const found = schemaVersion(connection);
  requireKnown(found, migrations);
  const newest = newestSchema(migrations);
  if (found === newest) return;
  transact(connection, () => {
    const from = schemaVersion(connection);
    requireKnown(from, migrations);
    for (const migration of migrations.slice(migrationsUpTo(from, migrations).length)) {
      if (typeof migration === "string") connection.exec(migration);
      else migration(connection);
    }
    if (from < newest) connection.exec(`PRAGMA user_version = ${newest}`);
  });
}
