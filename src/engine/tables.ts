/**
 * The tables that a database on a server and its working copy have in common, as their schema states them: which rows a
 * transaction changed, those rows as data, and the statements that bring another database to the same rows. A row travels
 * as a JSON array, many of them as one parameter, which the other side unpacks with `json_each`.
 */
import type { Connection } from "../store/connection.ts";
import type { Statement } from "./hrana.ts";

/**
 * Whether a copy does not take a table from the server: those that derive from others are made by each copy itself, and
 * those of the nodes are on the server alone.
 */
export const isNoTableOfCopies = (table: string): boolean => /^(search_|sqlite_|governd_)/.test(table);

/** The log: its rows are appended by position, so nobody needs to note their keys. */
export const LOG = { table: "events", key: "seq" } as const;

/** Most text in one parameter, UTF-16 units, unless a single row has more. */
const MOST_IN_PARAMETER = 4 * 1024 * 1024;

/** A key as JSON: the number of a row whose key is one integer, otherwise an array; blobs are hex. */
export type Key = number | string;

/** Rows of one table that are to be put, as JSON arrays of their columns, and keys of rows that are gone. */
export interface TableChanges {
  rows: string[];
  /** More rows: JSON arrays of rows, in UTF-8. */
  packed?: readonly Uint8Array[];
  gone: Key[];
}

/** What changed, by table, in the order in which it is applied. */
type Changes = ReadonlyMap<string, TableChanges>;

interface Column {
  name: string;
  isBlob: boolean;
  /** SQL: what it is in a row that does not name it; null when there must be no such row. */
  whenAbsent: string | null;
}

/** One table that is replicated. */
export class ReplicatedTable {
  readonly #columns: readonly Column[];
  readonly #key: readonly Column[];
  /** Whether its key is one integer: a JSON number. Other keys are JSON arrays. */
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

  /** SQL: a row, whose columns `prefix` qualifies, as JSON. */
  rowOf(prefix: string): string {
    return `json_array(${this.#columns.map(jsonValue(prefix)).join(", ")})`;
  }

  /** SQL: the condition that rows, which these prefixes qualify, have one key. */
  isSameKey(one: string, other: string): string {
    return this.#key.map(({ name }) => `${one}${name} = ${other}${name}`).join(" AND ");
  }

  /** SQL: the condition that a join by the key found no row. No column of a key is NULL. */
  isMissing(prefix: string): string {
    return `${prefix}${(this.#key[0] as Column).name} IS NULL`;
  }

  /**
   * SQL: the condition that rows differ, or the other one is missing in a join by their key. A column that `otherTable`
   * lacks differs unless it is what it is by default.
   */
  differsFrom(one: string, other: string, otherTable: ReplicatedTable = this): string {
    const common = new Set(this.columnsIn(otherTable));
    const same = this.#columns.map(({ name, whenAbsent }) =>
      common.has(name) ? `${one}${name} IS ${other}${name}` : `${one}${name} IS (${whenAbsent})`,
    );
    return `${this.isMissing(other)} OR NOT (${same.join(" AND ")})`;
  }

  /** The names of the columns that another form of the table has, too. */
  columnsIn(other: ReplicatedTable): string[] {
    const names = new Set(other.#columns.map(({ name }) => name));
    return this.#columns.map(({ name }) => name).filter((name) => names.has(name));
  }

  /** Whether a row may lack the columns that another form of the table lacks. */
  canLack(other: ReplicatedTable): boolean {
    const common = new Set(this.columnsIn(other));
    return this.#columns.every(({ name, whenAbsent }) => common.has(name) || whenAbsent !== null);
  }

  /** SQL: the key of a row, whose columns `prefix` qualifies. */
  keyOf(prefix = ""): string {
    const [first] = this.#key;
    if (this.isNumbered) return `${prefix}${(first as Column).name}`;
    return `json_array(${this.#key.map(jsonValue(prefix)).join(", ")})`;
  }

  /** SQL: the condition that a row has the key in a column of `from`, which is as {@link keyOf} makes it. */
  hasKey(from: string): string {
    if (this.isNumbered) return `${(this.#key[0] as Column).name} = ${from}`;
    return this.#key.map((column, index) => `${column.name} = ${fromJson(from, index, column)}`).join(" AND ");
  }

  /** The columns of the key, for an order. */
  get keyColumns(): string {
    return this.#key.map(({ name }) => name).join(", ");
  }

  /** SQL: whether a row is behind the key in `from` in the order of the keys. */
  isBehind(from: string): string {
    const values = this.isNumbered ? from : this.#key.map((column, index) => fromJson(from, index, column)).join(", ");
    return `(${this.keyColumns}) > (${values})`;
  }

  /** Puts rows, which are given as a JSON array: as text, or as its bytes. */
  get putRows(): string {
    const names = this.#columns.map(({ name }) => name).join(", ");
    const values = this.#columns.map((column, index) => fromJson("value", index, column)).join(", ");
    return `INSERT OR REPLACE INTO ${this.name} (${names}) SELECT ${values} FROM json_each(CAST(? AS TEXT))`;
  }

  /** Deletes the rows with the keys that are given as a JSON array. */
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

/** The changes as statements. */
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

/** Reads the tables that a database has, in the order in which it was given them. */
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
