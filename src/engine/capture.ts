/**
 * What the transactions of a working copy change. Temporary triggers note the keys of rows, so only the connection that
 * wants to know pays for them, and no transaction of an embedded workspace does.
 */
import type { Connection } from "../store/connection.ts";
import { type Key, LOG, type ReplicatedTable, readTables, type TableChanges } from "./tables.ts";

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
