/**
 * Records what the transactions of a working copy change. Temporary triggers note the keys of rows: they exist only on
 * the copy's own connection, so embedded workspaces do not pay for them.
 */
import type { Connection } from "../store/connection.ts";
import { requireText } from "../store/statements.ts";
import { type Key, LOG, type ReplicatedTable, readTables, type TableChanges } from "./tables.ts";

/** The most tables: each has a bit in a number, and JavaScript's bit operators work on 32 bits with a sign. */
const MOST_TABLES = 31;

/** What a transaction changed. */
export interface Taken {
  changes: Map<string, TableChanges>;
  /** By table, the keys of the rows that changed, as a JSON array. Appended events are not included. */
  keys: Map<string, string>;
  /** The tables that the transaction made. */
  made: ReplicatedTable[];
  tables: ReadonlyMap<string, ReplicatedTable>;
}

/** Notes what the transactions of a connection change. */
export class ChangeCapture {
  tables: ReadonlyMap<string, ReplicatedTable> = new Map();
  #schemaVersion = -1;
  /** SQL that returns a number with one bit for each table, in their order: whether keys of the table are noted. */
  #notedBits = "";

  constructor(private readonly connection: Connection) {
    // Without this, a row that INSERT OR REPLACE removes does not fire the trigger of deletions.
    connection.exec("PRAGMA recursive_triggers = ON");
  }

  /** Installs triggers for tables that have none; to be called before a transaction if the schema may have changed. */
  watch(): void {
    const version = this.#currentSchema();
    if (version === this.#schemaVersion) return;
    const tables = readTables(this.connection);
    for (const table of tables.values()) {
      if (!this.tables.has(table.name)) this.connection.exec(noting(table));
    }
    this.tables = tables;
    this.#schemaVersion = version;
    const bits = [...tables.keys()].map((name, at) => `(EXISTS (SELECT 1 FROM ${notes(name)}) << ${at})`);
    if (bits.length > MOST_TABLES) throw new Error("the bits of so many tables are no number");
    // An aggregate is computed once, however often the query around it mentions it.
    this.#notedBits = `SELECT max(${bits.join(" | ")})`;
  }

  /**
   * Returns the position of the newest event, -1 for an empty log. {@link take} returns the events after it as
   * appended.
   */
  logEnd(): number {
    if (!this.tables.has(LOG.table)) return -1;
    return this.connection.value<number>(`SELECT coalesce(max(${LOG.key}), -1) FROM ${LOG.table}`) as number;
  }

  /**
   * Returns what the open transaction changed. All rows of a table that it made are returned.
   * @param logEnd what {@link logEnd} returned before the transaction
   */
  take(logEnd: number): Taken {
    const taken: Taken = { changes: new Map(), keys: new Map(), made: [], tables: this.tables };
    const noted = this.#noted();
    for (const table of this.tables.values()) {
      const packed: Uint8Array[] = [];
      let gone: Key[] = [];
      const isLog = table.name === LOG.table;
      if (noted.includes(table)) {
        const { keys, ...changed } = this.#changesOfNoted(table, isLog ? logEnd : null);
        taken.keys.set(table.name, keys);
        packed.push(...changed.packed);
        gone = changed.gone;
      }
      if (isLog) packed.push(...this.#appended(table, logEnd));
      if (packed.length > 0 || gone.length > 0) taken.changes.set(table.name, { rows: [], packed, gone });
    }
    if (this.#currentSchema() === this.#schemaVersion) return taken;
    const now = readTables(this.connection);
    const made = [...now.values()].filter(({ name }) => !this.tables.has(name));
    for (const table of made) this.#takeAll(table, taken);
    return { ...taken, made, tables: now };
  }

  /** Deletes the noted keys; to be called before the end of the transaction. */
  forget(): void {
    for (const { name } of this.#noted()) this.connection.run(`DELETE FROM ${notes(name)}`);
  }

  #takeAll(table: ReplicatedTable, { changes, keys }: Taken): void {
    const { connection } = this;
    const order = `FROM ${table.name} ORDER BY ${table.keyColumns}`;
    const rows = connection.all<[string]>(`SELECT ${table.rowJson} ${order}`).map(([row]) => row);
    changes.set(table.name, { rows, gone: [] });
    keys.set(table.name, JSON.stringify(connection.all<[Key]>(`SELECT ${table.keyOf()} ${order}`).flat()));
  }

  /** Returns the tables of which keys are noted. */
  #noted(): ReplicatedTable[] {
    const bits = this.connection.value<number>(this.#notedBits) ?? 0;
    return [...this.tables.values()].filter((_, at) => (bits & (1 << at)) !== 0);
  }

  /** Returns the rows of the log after `logEnd`. */
  #appended(log: ReplicatedTable, logEnd: number): Uint8Array[] {
    const rows = `SELECT ${log.rowJson} AS row FROM ${LOG.table} WHERE ${LOG.key} > ? ORDER BY ${LOG.key}`;
    return this.#packed(`SELECT ${packedRows("row")}, count(*) FROM (${rows})`, [logEnd]).packed;
  }

  /**
   * Returns the noted keys as a JSON array, the rows that have these keys, and the keys that have no row any more.
   * @param logEnd for the log, its end before the transaction: later rows are left out; null for other tables
   */
  #changesOfNoted(table: ReplicatedTable, logEnd: number | null): { keys: string; packed: Uint8Array[]; gone: Key[] } {
    const { connection } = this;
    const noted = `(SELECT noted FROM ${notes(table.name)} ${logEnd === null ? "" : "WHERE noted <= ?"})`;
    const end = logEnd === null ? [] : [logEnd];
    const sql = `SELECT json_group_array(noted), count(*) FROM ${noted}`;
    const [keys, notedCount] = connection.get<[string, number]>(sql, end) as [string, number];
    const found = `${noted} CROSS JOIN ${table.name} ON ${table.hasKey("noted")}`;
    const { packed, count } = this.#packed(`SELECT ${packedRows(table.rowJson)}, count(*) FROM ${found}`, end);
    if (count === notedCount) return { keys, packed, gone: [] };
    const gone = `SELECT noted FROM ${noted} WHERE NOT EXISTS (SELECT 1 FROM ${table.name} WHERE ${table.hasKey("noted")})`;
    return { keys, packed, gone: connection.all<[Key]>(gone, end).map(([key]) => key) };
  }

  #packed(sql: string, parameters: readonly number[]): { packed: Uint8Array[]; count: number } {
    const [bytes, count] = this.connection.get<[Uint8Array | null, number]>(sql, parameters) ?? [null, 0];
    return { packed: bytes === null ? [] : [requireText(bytes)], count };
  }

  #currentSchema(): number {
    return this.connection.value<number>("PRAGMA main.schema_version") as number;
  }
}

/** SQL: rows, each as JSON, as one JSON array in bytes; NULL for no rows. Joining them in SQLite is fastest. */
const packedRows = (row: string): string => `CAST('[' || group_concat(${row}, ',') || ']' AS BLOB)`;

/** The temporary table with the keys of changed rows of `table`. */
const notes = (table: string): string => `noted_${table}`;

/**
 * SQL that makes the triggers of a table. Inserts into the log need none: appended events are found by their position.
 */
function noting(table: ReplicatedTable): string {
  const { name } = table;
  // Not OR IGNORE: the conflict policy of the statement that fires a trigger overrides it.
  const note = (prefix: string) =>
    `INSERT INTO ${notes(name)} VALUES (${table.keyOf(prefix)}) ON CONFLICT (noted) DO NOTHING;`;
  const trigger = (when: string, event: string, what: string) =>
    `CREATE TEMP TRIGGER ${notes(name)}_${when} AFTER ${event} ON main.${name} BEGIN ${what} END;`;
  const inserted = name === LOG.table ? "" : trigger("inserted", "INSERT", note("NEW."));
  const moved = trigger("moved", `UPDATE OF ${table.keyColumns}`, note("OLD."));
  return `CREATE TEMP TABLE ${notes(name)} (noted ${table.isNumbered ? "INTEGER" : "TEXT"} PRIMARY KEY);
    ${inserted} ${moved} ${trigger("updated", "UPDATE", note("NEW."))} ${trigger("deleted", "DELETE", note("OLD."))}`;
}
