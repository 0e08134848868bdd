/**
 * Checks that a file has exactly the tables, indexes, triggers, views and generated columns that governd makes, and
 * that its indexes match its tables. Otherwise the verified rows might not be the rows that are shown: a view in place
 * of a table, or an index that lacks rows, hides them from reads that use it.
 */

import { AGE_INDEX, AGE_INDEX_SCHEMA } from "../../core/rows/age-index.ts";
import { EMBEDDINGS_SCHEMA, EMBEDDINGS_TABLE } from "../../core/rows/embeddings.ts";
import { FULL_TEXT_SCHEMA, FULL_TEXT_TABLE } from "../../core/rows/full-text.ts";
import { KEPT_ROWS_SCHEMA, KEPT_ROWS_TABLE } from "../../core/rows/log/pruning.ts";
import { messageOf } from "../../failure.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { sqliteCode } from "../../store/damage.ts";
import { type Migration, migrate, migrationsUpTo, schemaVersion } from "../../store/migrate.ts";
import type { Reader } from "../../store/transaction.ts";
import { textBytes } from "../columns.ts";

/** Tables that SQLite makes for itself (`ANALYZE`, `AUTOINCREMENT`), with their texts. */
const OWN_TABLES: ReadonlyMap<string, string> = new Map(
  ["sqlite_stat1(tbl,idx,stat)", "sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)", "sqlite_sequence(name,seq)"].map(
    (table) => [`table ${table.slice(0, table.indexOf("("))}`, `CREATE TABLE ${table}`],
  ),
);

/**
 * Returns every object of the schema by its type and name, with its table and its text, as bytes. An index that SQLite
 * makes for a key has no text.
 */
function definitions(connection: Connection): Map<string, string> {
  const columns = ["type", "name", "tbl_name", "sql"].map((name) => textBytes(name)).join(", ");
  const found = new Map<string, string>();
  for (const row of connection.all<(Buffer | null)[]>(`SELECT ${columns} FROM sqlite_schema`)) {
    const [type, name, table, sql] = row.map((bytes) => bytes?.toString("latin1") ?? null);
    const object = `${type} ${name}`;
    if (sql != null && OWN_TABLES.get(object) === sql) continue;
    // If two objects have the same name, their joined text differs from that of a single one.
    found.set(object, `${found.get(object) ?? ""}${table}\u0000${sql}\u0000`);
  }
  return found;
}

/** A problem with an object of the schema. */
export interface SchemaChange {
  /** The object, such as `index events_by_id`, and what is wrong. */
  message: string;
  table: string;
}

/**
 * Returns the objects of a file's schema that differ from those that the migrations make.
 *
 * @param all the migrations; the file states how many of them were applied
 */
export function schemaChanges(connection: Connection, all: readonly Migration[]): SchemaChange[] {
  using fresh = openConnection(":memory:");
  migrate(fresh, migrationsUpTo(schemaVersion(connection), all));
  if (isWorkspace(fresh)) addDerived(fresh, connection);
  const [expected, found] = [definitions(fresh), definitions(connection)];
  const changes: SchemaChange[] = [];
  const add = (object: string, text: string, what: string) =>
    changes.push({ message: `${object} ${what}`, table: text.slice(0, text.indexOf("\u0000")) });
  for (const [object, text] of expected) {
    const stored = found.get(object);
    if (stored === undefined) add(object, text, "is missing");
    else if (stored !== text) add(object, text, "was changed");
  }
  for (const [object, text] of found) if (!expected.has(object)) add(object, text, "was added");
  return changes;
}

/** Adds the optional tables and indexes of derived data that the file has. */
function addDerived(fresh: Connection, connection: Connection): void {
  if (hasTable(connection, FULL_TEXT_TABLE)) fresh.exec(FULL_TEXT_SCHEMA);
  if (hasTable(connection, EMBEDDINGS_TABLE)) fresh.exec(EMBEDDINGS_SCHEMA);
  if (hasTable(connection, KEPT_ROWS_TABLE)) fresh.exec(KEPT_ROWS_SCHEMA);
  if (has(connection, "index", AGE_INDEX)) fresh.exec(AGE_INDEX_SCHEMA);
}

/** Reports whether a table of this name exists. */
export const hasTable = (connection: Connection, name: string): boolean => has(connection, "table", name);

/** Names of objects that only a workspace has. */
const WORKSPACE_OBJECTS = "'events', 'head', 'agents'";

/** Reports whether a database is a workspace's, even if some object in it was replaced or dropped. */
export const isWorkspace = (connection: Connection): boolean =>
  connection.get(`SELECT 1 FROM sqlite_schema WHERE name IN (${WORKSPACE_OBJECTS})`) !== undefined;

function has(connection: Connection, type: "table" | "index", name: string): boolean {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = ? AND name = ?";
  return connection.get<[number]>(sql, [type, name]) !== undefined;
}

/** The result of SQLite's own check of a file. */
export interface FileCheck {
  /** Indexes that do not match their tables, and tables whose rows violate a constraint. */
  problems: SchemaChange[];
  /**
   * The first damaged page; null for none. With damage, rows may be missing or read from the wrong bytes, so nothing is
   * proved.
   */
  damage: string | null;
  /** Why the check could not be finished, or a message that is not about a page, index or table; null for neither. */
  unclear: string | null;
}

/** Messages about damaged pages: a heading, and a line for each. */
const OF_PAGES = /^\*\*\* in database \w+ \*\*\*\n(.*)/;

/** The message, without a heading, about a row with invalid bytes, at which the check ends. */
const NO_ROW = "database disk image is malformed";

/** How the check's messages name an index or a table. */
const OBJECTS: readonly [RegExp, string][] = [
  [/ (?:from|in|of) index (\S+)$/, "index"],
  [/^(?:NULL|NUMERIC|TEXT|non-\w+) value in (\S+)\.\S+$/, "table"],
  [/^CHECK constraint failed in (\S+)$/, "table"],
];

/** Messages of newer versions of SQLite about a full-text index, whose content is derived and need not be verified. */
const OF_FULL_TEXT = /\bfts5\b|^vtable constructor failed/i;

/** The message for an index that does not match its table. */
export const NOT_ITS_ROWS = "does not hold what it must";

/**
 * Compares the indexes with their tables: every row of a table has its entry in each index, and an index has no other
 * (https://www.sqlite.org/pragma.html#pragma_integrity_check). It takes about half as long as the verification of the
 * log with one thread.
 */
export async function checkFile(reader: Reader): Promise<FileCheck> {
  const found = new Map<string, SchemaChange>();
  let damage: string | null = null;
  let unclear: string | null = null;
  for (const message of await integrityMessages(reader)) {
    if (message === "ok" || OF_FULL_TEXT.test(message)) continue;
    const object = objectOf(message);
    const ofPages = message === NO_ROW ? message : OF_PAGES.exec(message)?.[1];
    if (ofPages !== undefined) damage ??= ofPages;
    else if (object === null) unclear ??= message.split("\n")[0] ?? message;
    else if (!found.has(object)) {
      const table = await tableOf(reader, object);
      found.set(object, { message: `${object} ${NOT_ITS_ROWS}: ${message}`, table });
    }
  }
  return { problems: [...found.values()], damage, unclear };
}

/**
 * Returns the messages of SQLite's check. An index on malformed JSON ends the check with an error of the statement,
 * which is returned as a message.
 * @throws other errors, which mean that the file cannot be read
 */
async function integrityMessages(reader: Reader): Promise<string[]> {
  try {
    return await messagesOf(reader, "");
  } catch (error) {
    // A full-text index that cannot be opened ends the check, so the other tables are checked one by one.
    if (OF_FULL_TEXT.test(messageOf(error))) return await messagesOfTables(reader);
    if (sqliteCode(error) !== "SQLITE_ERROR") throw error;
    return [messageOf(error)];
  }
}

async function messagesOf(reader: Reader, table: string): Promise<string[]> {
  // As bytes, since a message quotes names of tables and indexes, which may not be UTF-8 in a damaged file.
  const sql = `SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check${table === "" ? "" : "(?)"}`;
  const rows = await reader.all<[Uint8Array]>(sql, table === "" ? [] : [table]);
  return rows.map(([message]) => new TextDecoder().decode(message));
}

async function messagesOfTables(reader: Reader): Promise<string[]> {
  const tables = await reader.all<[string]>("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0");
  const messages: string[] = [];
  for (const [table] of tables) messages.push(...(await messagesOf(reader, table)));
  return messages;
}

/** Returns the table of an index; for a table, the table itself. */
async function tableOf(reader: Reader, object: string): Promise<string> {
  const [type = "", name = ""] = object.split(" ");
  const sql = "SELECT tbl_name FROM sqlite_schema WHERE type = ? AND name = ?";
  return (await reader.value<string>(sql, [type, name])) ?? name;
}

function objectOf(message: string): string | null {
  for (const [form, type] of OBJECTS) {
    const name = form.exec(message)?.[1];
    if (name !== undefined) return `${type} ${name}`;
  }
  return null;
}
