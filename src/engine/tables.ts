/**
 * The tables that a database on a server and its working copy have in common, as their schema states them: which rows a
 * transaction changed, those rows as data, and the statements that bring another database to the same rows. A row travels
 * as a JSON array, many of them as one parameter, which the other side unpacks with `json_each`.
 *
 * Triggers on the working copy note the keys of what changes. They are temporary: only the connection that wants to know
 * pays for them, and no transaction of an embedded workspace does.
 */
import type { Connection } from "../store/connection.ts";
import type { Statement } from "./hrana.ts";

/**
 * Whether a copy does not take a table from the server: those that derive from others are made by each copy itself, and
 * those of the nodes are on the server alone.
 */
export const isNoTableOfCopies = (table: string): boolean => /^(search_|sqlite_|governd_)/.test(table);

/** The log: its rows are appended by position, so nobody needs to note their keys. */
const LOG = { table: "events", key: "seq" } as const;

/** Most text in one parameter, UTF-16 units, unless a single row has more. */
const MOST_IN_PARAMETER = 4 * 1024 * 1024;

/** A key as JSON: the number of a row whose key is one integer, otherwise an array; blobs are hex. */
export type Key = number | string;

/** Rows of one table that are to be put, as JSON arrays of their columns, and keys of rows that are gone. */
export interface TableChanges {
  rows: string[];
  gone: Key[];
  /** The keys of both, but for those of events that were appended. */
  keys: Key[];
}

/** What changed, by table, in the order in which it is applied. */
type Changes = ReadonlyMap<string, Pick<TableChanges, "rows" | "gone">>;

interface Column {
  name: string;
  isBlob: boolean;
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
    columns: readonly [name: string, type: string, keyPosition: number][],
  ) {
    const all = columns.map(([column, type, position]) => ({ name: column, isBlob: type === "BLOB", type, position }));
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

  /** SQL: the condition that a row is missing in a join by its key, of which no column is NULL. */
  isMissing(prefix: string): string {
    return `${prefix}${(this.#key[0] as Column).name} IS NULL`;
  }

  /** SQL: the condition that rows differ, or the other one is missing in a join by their key. */
  differsFrom(one: string, other: string): string {
    return `NOT (${this.#columns.map(({ name }) => `${one}${name} IS ${other}${name}`).join(" AND ")})`;
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

  /** Puts rows, which are given as a JSON array. */
  get putRows(): string {
    const names = this.#columns.map(({ name }) => name).join(", ");
    const values = this.#columns.map((column, index) => fromJson("value", index, column)).join(", ");
    return `INSERT OR REPLACE INTO ${this.name} (${names}) SELECT ${values} FROM json_each(?)`;
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
  for (const [name, { rows, gone }] of changes) {
    const table = tables.get(name) as ReplicatedTable;
    if (gone.length > 0) statements.push({ sql: table.deleteRows, args: [keysJson(table, gone)] });
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
export function readTables(connection: Connection): Map<string, ReplicatedTable> {
  const found = connection.all<[string, string]>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid",
  );
  const tables = new Map<string, ReplicatedTable>();
  for (const [name, definition] of found) {
    if (isNoTableOfCopies(name)) continue;
    const columns = connection.all<[string, string, number]>(
      "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden = 0",
      [name],
    );
    tables.set(name, new ReplicatedTable(name, definition, columns));
  }
  return tables;
}

/** What a transaction changed. */
export interface Taken {
  changes: Map<string, TableChanges>;
  /** Tables that it made. */
  made: ReplicatedTable[];
  tables: ReadonlyMap<string, ReplicatedTable>;
}

/** Notes what the transactions of a connection change. */
export class ChangeCapture {
  tables: ReadonlyMap<string, ReplicatedTable> = new Map();
  #schemaVersion = -1;

  constructor(private readonly connection: Connection) {
    // A row that another one replaces is noted as deleted, too.
    connection.exec("PRAGMA recursive_triggers = ON");
  }

  /** Notes what changes from now on; to be called before a transaction, whenever the schema may be another one. */
  watch(): void {
    const version = this.#currentSchema();
    if (version === this.#schemaVersion) return;
    const tables = readTables(this.connection);
    for (const table of tables.values()) {
      if (!this.tables.has(table.name)) this.connection.exec(noting(table));
    }
    this.tables = tables;
    this.#schemaVersion = version;
  }

  /** Returns the position of the newest event, after which {@link take} looks for appended ones; -1 for an empty log. */
  logEnd(): number {
    if (!this.tables.has(LOG.table)) return -1;
    return this.connection.value<number>(`SELECT coalesce(max(${LOG.key}), -1) FROM ${LOG.table}`) as number;
  }

  /**
   * Returns what the open transaction changed, `logEnd` being that of before. Of a table that it made, all rows are
   * returned.
   */
  take(logEnd: number): Taken {
    const changes = new Map<string, TableChanges>();
    for (const table of this.tables.values()) {
      const changed = this.#changedIn(table, logEnd);
      if (changed.rows.length > 0 || changed.gone.length > 0) changes.set(table.name, changed);
    }
    if (this.#currentSchema() === this.#schemaVersion) return { changes, made: [], tables: this.tables };
    const now = readTables(this.connection);
    const made = [...now.values()].filter(({ name }) => !this.tables.has(name));
    for (const table of made) changes.set(table.name, this.#all(table));
    return { changes, made, tables: now };
  }

  /** Forgets what was noted; to be called before the end of the transaction. */
  forget(): void {
    for (const { name } of this.tables.values()) {
      if (this.#isNoted(name)) this.connection.run(`DELETE FROM ${notes(name)}`);
    }
  }

  #all(table: ReplicatedTable): TableChanges {
    const { connection } = this;
    const keys = `SELECT ${table.keyOf()} FROM ${table.name} ORDER BY ${table.keyColumns}`;
    const rows = `SELECT ${table.rowJson} FROM ${table.name} ORDER BY ${table.keyColumns}`;
    return {
      rows: connection.all<[string]>(rows).map(([row]) => row),
      gone: [],
      keys: connection.all<[Key]>(keys).map(([key]) => key),
    };
  }

  #isNoted(name: string): boolean {
    return this.connection.value(`SELECT 1 FROM ${notes(name)} LIMIT 1`) !== undefined;
  }

  #changedIn(table: ReplicatedTable, logEnd: number): TableChanges {
    const changes: TableChanges = { rows: [], gone: [], keys: [] };
    const isLog = table.name === LOG.table;
    if (this.#isNoted(table.name)) this.#takeNoted(table, isLog ? logEnd : null, changes);
    if (isLog) {
      const sql = `SELECT group_concat(row, ',') FROM
        (SELECT ${table.rowJson} AS row FROM ${LOG.table} WHERE ${LOG.key} > ? ORDER BY ${LOG.key})`;
      const rows = this.connection.value<string | null>(sql, [logEnd]);
      if (typeof rows === "string") changes.rows.push(rows);
    }
    return changes;
  }

  /** Takes the rows whose keys were noted, of a log those up to its end before. SQLite joins them: that is the quickest. */
  #takeNoted(table: ReplicatedTable, logEnd: number | null, changes: TableChanges): void {
    const { connection } = this;
    const most = logEnd === null ? "" : `WHERE noted <= ${logEnd}`;
    const noted = `(SELECT noted FROM ${notes(table.name)} ${most})`;
    changes.keys = connection.all<[Key]>(`SELECT noted FROM ${noted}`).map(([key]) => key);
    const found = connection.get<[string | null, number]>(
      `SELECT group_concat(${table.rowJson}, ','), count(*) FROM ${noted} CROSS JOIN ${table.name} ON ${table.hasKey("noted")}`,
    );
    const [rows, count] = found ?? [null, 0];
    if (rows !== null) changes.rows.push(rows);
    if (count === changes.keys.length) return;
    const gone = `SELECT noted FROM ${noted} WHERE NOT EXISTS (SELECT 1 FROM ${table.name} WHERE ${table.hasKey("noted")})`;
    changes.gone = connection.all<[Key]>(gone).map(([key]) => key);
  }

  #currentSchema(): number {
    return this.connection.value<number>("PRAGMA main.schema_version") as number;
  }
}

/** The table that has the keys of rows of `table` that changed. */
const notes = (table: string): string => `noted_${table}`;

/** SQL that notes the keys of a table's rows that change. What is appended to the log is found by its position. */
function noting(table: ReplicatedTable): string {
  const { name } = table;
  // Without OR IGNORE, in whose place the statement that fires a trigger puts its own.
  const note = (prefix: string) => {
    const key = table.keyOf(prefix);
    return `INSERT INTO ${notes(name)} SELECT ${key} WHERE NOT EXISTS (SELECT 1 FROM ${notes(name)} WHERE noted = ${key});`;
  };
  const trigger = (when: string, event: string, what: string) =>
    `CREATE TEMP TRIGGER ${notes(name)}_${when} AFTER ${event} ON main.${name} BEGIN ${what} END;`;
  const inserted = name === LOG.table ? "" : trigger("inserted", "INSERT", note("NEW."));
  const moved = trigger("moved", `UPDATE OF ${table.keyColumns}`, note("OLD."));
  return `CREATE TEMP TABLE ${notes(name)} (noted ${table.isNumbered ? "INTEGER" : "TEXT"} PRIMARY KEY);
    ${inserted} ${moved} ${trigger("updated", "UPDATE", note("NEW."))} ${trigger("deleted", "DELETE", note("OLD."))}`;
}
