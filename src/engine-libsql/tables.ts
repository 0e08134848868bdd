/**
 * The tables that are replicated between a database on a server and its working copies, read from their schema. Returns
 * the SQL that reads rows as JSON, and the statements that apply changes to another database. A row is sent as a JSON
 * array, many rows as one parameter, which the receiver unpacks with `json_each`.
 */
import type { Connection } from "../store/connection.ts";
import type { Statement } from "./server.ts";

/**
 * Whether a table is not replicated: each copy derives the tables of the search from other tables, and `governd_`
 * tables exist only on the server.
 */
export const isNoTableOfCopies = (table: string): boolean => /^(search_|sqlite_|governd_)/.test(table);

/** The log. Its new rows are found by their position, so their keys need not be noted. */
export const LOG = { table: "events", key: "seq" } as const;

/** Most text in one parameter, UTF-16 units, unless a single row has more. */
const MOST_IN_PARAMETER = 4 * 1024 * 1024;

/** A primary key: a number when it is one integer column, otherwise the text of a JSON array, with blobs as hex. */
export type Key = number | string;

/** Changes of one table: rows to insert or replace, as JSON arrays of their columns, and the keys of rows to delete. */
export interface TableChanges {
  rows: string[];
  /** More rows to insert or replace: JSON arrays of rows, in UTF-8. */
  packed?: readonly Uint8Array[];
  gone: Key[];
}

/** Changes by table, in the order in which they are applied. */
type Changes = ReadonlyMap<string, TableChanges>;

interface Column {
  name: string;
  isBlob: boolean;
  /** SQL of its value in a row that is inserted without it; null when a row cannot be inserted without it. */
  whenAbsent: string | null;
}

/** A replicated table. */
export class ReplicatedTable {
  readonly #columns: readonly Column[];
  readonly #key: readonly Column[];
  /** Whether the key is one integer column, and so a JSON number. Other keys are JSON arrays. */
  readonly isNumbered: boolean;

  constructor(
    readonly name: string,
    readonly definition: string,
    columns: readonly [name: string, type: string, keyPosition: number, notNull: number, byDefault: string | null][],
  ) {
    const all = columns.map(([column, type, position, notNull, byDefault]) => ({
      ...{ name: column, isBlob: type === "BLOB", type, position },
      whenAbsent: byDefault ?? (notNull === 1 ? null : "NULL"),
    }));
    this.#columns = all;
    this.#key = all.filter(({ position }) => position > 0).sort((one, other) => one.position - other.position);
    this.isNumbered = this.#key.length === 1 && all.find(({ position }) => position === 1)?.type === "INTEGER";
    if (this.#key.length === 0) throw new Error(`the table ${name} has no primary key`);
  }

  /** SQL: a row as JSON. */
  get rowJson(): string {
    return this.rowOf("");
  }

  /** SQL: a row as JSON, with `prefix` before the names of its columns. */
  rowOf(prefix: string): string {
    return `json_array(${this.#columns.map(jsonValue(prefix)).join(", ")})`;
  }

  /** SQL: the condition that two rows have the same key. The prefixes qualify their columns. */
  isSameKey(one: string, other: string): string {
    return this.#key.map(({ name }) => `${one}${name} = ${other}${name}`).join(" AND ");
  }

  /** SQL: the condition that an outer join by the key found no row. (No column of a key is NULL.) */
  isMissing(prefix: string): string {
    return `${prefix}${(this.#key[0] as Column).name} IS NULL`;
  }

  /**
   * SQL: the condition that two rows differ, or that the other row is missing in an outer join by their key. A column
   * that `otherTable` lacks must have its default value, or the rows differ.
   */
  differsFrom(one: string, other: string, otherTable: ReplicatedTable = this): string {
    const common = new Set(this.columnsIn(otherTable));
    const same = this.#columns.map(({ name, whenAbsent }) =>
      common.has(name) ? `${one}${name} IS ${other}${name}` : `${one}${name} IS (${whenAbsent})`,
    );
    return `${this.isMissing(other)} OR NOT (${same.join(" AND ")})`;
  }

  /** The names of the columns that another version of the table has, too. */
  columnsIn(other: ReplicatedTable): string[] {
    const names = new Set(other.#columns.map(({ name }) => name));
    return this.#columns.map(({ name }) => name).filter((name) => names.has(name));
  }

  /** Whether a row can be inserted without the columns that another version of the table lacks. */
  canLack(other: ReplicatedTable): boolean {
    const common = new Set(this.columnsIn(other));
    return this.#columns.every(({ name, whenAbsent }) => common.has(name) || whenAbsent !== null);
  }

  /** SQL: the key of a row, as {@link Key}, with `prefix` before the names of its columns. */
  keyOf(prefix = ""): string {
    const [first] = this.#key;
    if (this.isNumbered) return `${prefix}${(first as Column).name}`;
    return `json_array(${this.#key.map(jsonValue(prefix)).join(", ")})`;
  }

  /** SQL: the condition that a row has the key in `from`, which is as {@link keyOf} returns it. */
  hasKey(from: string): string {
    if (this.isNumbered) return `${(this.#key[0] as Column).name} = ${from}`;
    return this.#key.map((column, index) => `${column.name} = ${fromJson(from, index, column)}`).join(" AND ");
  }

  /** SQL: the columns of the key, for ORDER BY. */
  get keyColumns(): string {
    return this.#key.map(({ name }) => name).join(", ");
  }

  /** SQL: the condition that a row comes after the key in `from`, in the order of the keys. */
  isBehind(from: string): string {
    const values = this.isNumbered ? from : this.#key.map((column, index) => fromJson(from, index, column)).join(", ");
    return `(${this.keyColumns}) > (${values})`;
  }

  /** SQL that inserts or replaces rows. Its parameter is a JSON array of rows, as text or as bytes. */
  get putRows(): string {
    const names = this.#columns.map(({ name }) => name).join(", ");
    const values = this.#columns.map((column, index) => fromJson("value", index, column)).join(", ");
    return `INSERT OR REPLACE INTO ${this.name} (${names}) SELECT ${values} FROM json_each(CAST(? AS TEXT))`;
  }

  /** SQL that deletes rows. Its parameter is a JSON array of their keys. */
  get deleteRows(): string {
    if (this.isNumbered) {
      return `DELETE FROM ${this.name} WHERE ${this.keyColumns} IN (SELECT value FROM json_each(?))`;
    }
    const keys = `SELECT ${this.#key.map((column, index) => fromJson("value", index, column)).join(", ")} FROM json_each(?)`;
    return `DELETE FROM ${this.name} WHERE (${this.keyColumns}) IN (${keys})`;
  }
}

const jsonValue =
  (prefix: string) =>
  ({ name, isBlob }: Column): string =>
    isBlob ? `CASE WHEN ${prefix}${name} IS NULL THEN NULL ELSE hex(${prefix}${name}) END` : `${prefix}${name}`;

const fromJson = (json: string, index: number, { isBlob }: Column): string =>
  isBlob ? `unhex(${json} ->> ${index})` : `${json} ->> ${index}`;

/** Returns the statements that apply changes. */
export function statementsOf(tables: ReadonlyMap<string, ReplicatedTable>, changes: Changes): Statement[] {
  const statements: Statement[] = [];
  for (const [name, { rows, packed = [], gone }] of changes) {
    const table = tables.get(name) as ReplicatedTable;
    if (gone.length > 0) statements.push({ sql: table.deleteRows, args: [keysJson(table, gone)] });
    for (const bytes of packed) statements.push({ sql: table.putRows, args: [bytes] });
    for (const chunk of chunks(rows)) statements.push({ sql: table.putRows, args: [`[${chunk.join(",")}]`] });
  }
  return statements;
}

/** Keys as a JSON array. */
export const keysJson = (table: ReplicatedTable, keys: readonly Key[]): string =>
  table.isNumbered ? JSON.stringify(keys) : `[${keys.join(",")}]`;

/** Divides texts into lists that are short enough for one parameter. */
function* chunks(texts: readonly string[]): Generator<readonly string[]> {
  let from = 0;
  let length = 0;
  for (const [index, text] of texts.entries()) {
    if (length > 0 && length + text.length > MOST_IN_PARAMETER) {
      yield texts.slice(from, index);
      from = index;
      length = 0;
    }
    length += text.length;
  }
  if (from < texts.length) yield from === 0 ? texts : texts.slice(from);
}

/** Returns the replicated tables of a database, in the order in which they were created. */
export function readTables(connection: Connection, schema: "main" | "base" = "main"): Map<string, ReplicatedTable> {
  const found = connection.all<[string, string]>(
    `SELECT name, sql FROM ${schema}.sqlite_schema WHERE type = 'table' ORDER BY rowid`,
  );
  const tables = new Map<string, ReplicatedTable>();
  for (const [name, definition] of found) {
    if (isNoTableOfCopies(name)) continue;
    const columns = connection.all<[string, string, number, number, string | null]>(
      'SELECT name, type, pk, "notnull", dflt_value FROM pragma_table_xinfo(?, ?) WHERE hidden = 0',
      [name, schema],
    );
    tables.set(name, new ReplicatedTable(name, definition, columns));
  }
  return tables;
}
