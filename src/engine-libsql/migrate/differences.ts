/** The rows that a server must receive to hold a database: all rows, or the difference from an earlier snapshot. */

import { type Connection, openConnection } from "../../store/connection.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { changesOf, withBase } from "../differences.ts";
import { type Key, type ReplicatedTable, readTables, type TableChanges } from "../tables.ts";

/** Most text of rows in one piece, UTF-16 units, unless a single row has more. */
const MOST_IN_PIECE = 2 * 1024 * 1024;
/** Rows that are read at once. */
const ROWS_AT_ONCE = 500;

/** Rows of one table, in the order of their keys, and the key of the last one. */
interface Piece {
  table: string;
  rows: string[];
  last: Key;
}

/** How far a database was read: all tables before `table`, and `table` up to the key `last`. */
export interface ReadPosition {
  table: string;
  last: Key;
}

/** A copy of a database to which nobody writes. */
export class Snapshot implements Disposable {
  readonly #connection: Connection;
  readonly tables: ReadonlyMap<string, ReplicatedTable>;

  constructor(
    readonly path: string,
    encryptionKey: EncryptionKey | null,
  ) {
    this.#connection = openConnection(path, { readOnly: true, encryptionKey });
    this.tables = readTables(this.#connection);
  }

  /** Returns the number of rows in all tables. */
  rows(): number {
    const counts = [...this.tables.keys()].map((name) =>
      this.#connection.value<number>(`SELECT count(*) FROM ${name}`),
    );
    return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  }

  /** Yields all rows after a place; every row for null. */
  *pieces(after: ReadPosition | null): Generator<Piece> {
    const names = [...this.tables.keys()];
    for (const name of after === null ? names : names.slice(names.indexOf(after.table)))
      yield* this.#piecesOf(this.tables.get(name) as ReplicatedTable, name === after?.table ? after.last : null);
  }

  *#piecesOf(table: ReplicatedTable, after: Key | null): Generator<Piece> {
    const read = (from: Key | null) => {
      const where = from === null ? "" : `WHERE ${table.isBehind("?1")}`;
      const sql = `SELECT ${table.rowJson}, ${table.keyOf()} FROM ${table.name} ${where} ORDER BY ${table.keyColumns} LIMIT ${ROWS_AT_ONCE}`;
      return this.#connection.all<[string, Key]>(sql, from === null ? [] : [from]);
    };
    let rows: string[] = [];
    let length = 0;
    let last: Key | null = after;
    for (let page = read(last); page.length > 0; page = read(last)) {
      for (const [row, key] of page) {
        if (rows.length > 0 && length + row.length > MOST_IN_PIECE) {
          yield { table: table.name, rows, last: last as Key };
          [rows, length] = [[], 0];
        }
        rows.push(row);
        length += row.length;
        last = key;
      }
    }
    if (rows.length > 0) yield { table: table.name, rows, last: last as Key };
  }

  /**
   * Returns the changes that lead from an earlier state of the same database to this one, by table.
   * @param base the file of the earlier state
   */
  since(base: string): Map<string, TableChanges> {
    return withBase(this.#connection, base, () => {
      const changes = new Map<string, TableChanges>();
      for (const [name, table] of this.tables) {
        const changed = changesOf(this.#connection, table);
        if (changed.rows.length > 0 || changed.gone.length > 0) changes.set(name, changed);
      }
      return changes;
    });
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}
