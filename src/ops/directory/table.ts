/** Reads and writes the records of one table of the control database. */
import type { Connection } from "../../store/connection.ts";
import type { SqlValue } from "../../store/values.ts";

/** The column of a member. A value without an SQL type is stored as JSON, or as 1 or 0. */
type Column = string | { column: string; as: "json" | "boolean" };

export class Table<R extends object> {
  readonly #members: readonly (readonly [member: keyof R & string, column: string, as?: "json" | "boolean"])[];
  readonly #select: string;

  constructor(
    private readonly name: string,
    columns: Readonly<Record<keyof R & string, Column>>,
  ) {
    this.#members = Object.entries<Column>(columns).map(([member, one]) =>
      typeof one === "string" ? [member as keyof R & string, one] : [member as keyof R & string, one.column, one.as],
    );
    this.#select = `SELECT ${this.#members.map(([, column]) => column).join(", ")} FROM ${name}`;
  }

  /** Returns the records that `rest` selects: a WHERE clause, an ORDER BY clause, or both. */
  list(connection: Connection, rest = "", parameters: readonly SqlValue[] = []): R[] {
    return connection.all<SqlValue[]>(`${this.#select} ${rest}`, parameters).map((row) => this.#decode(row));
  }

  /** Returns the record that the WHERE clause selects, or undefined. */
  find(connection: Connection, where: string, parameters: readonly SqlValue[]): R | undefined {
    const row = connection.get<SqlValue[]>(`${this.#select} ${where}`, parameters);
    return row && this.#decode(row);
  }

  /** Returns the values of a record by column. A member may be absent in a pending act that somebody changed. */
  columns(record: R): Record<string, SqlValue> {
    return Object.fromEntries(
      this.#members.map(([member, column, as]) => [column, encoded(record[member] ?? null, as)]),
    );
  }

  /** Stores a new record. @param more columns that are not members of the record */
  insert(connection: Connection, record: R, more: Readonly<Record<string, SqlValue>> = {}): void {
    const values = { ...this.columns(record), ...more };
    const columns = Object.keys(values);
    connection.run(
      `INSERT INTO ${this.name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
      Object.values(values),
    );
  }

  /** Changes columns of the records that the condition selects. Reports whether there was exactly one. */
  update(
    connection: Connection,
    set: Readonly<Record<string, SqlValue>>,
    condition: string,
    parameters: readonly SqlValue[],
  ): boolean {
    const columns = Object.keys(set).map((column) => `${column} = ?`);
    const sql = `UPDATE ${this.name} SET ${columns.join(", ")} WHERE ${condition}`;
    return changedOne(connection, sql, [...Object.values(set), ...parameters]);
  }

  #decode(row: readonly SqlValue[]): R {
    const record: Partial<Record<keyof R, unknown>> = {};
    this.#members.forEach(([member, , as], at) => {
      record[member] = decoded(row[at] as SqlValue, as);
    });
    return record as R;
  }
}

function encoded(value: unknown, as: "json" | "boolean" | undefined): SqlValue {
  if (as === "boolean") return value ? 1 : 0;
  return as === "json" && value !== null ? JSON.stringify(value) : (value as SqlValue);
}

function decoded(value: SqlValue, as: "json" | "boolean" | undefined): unknown {
  if (as === "boolean") return value === 1;
  return as === "json" && value !== null ? JSON.parse(value as string) : value;
}

/** Runs a statement that changes at most one row. Reports whether it changed one. */
export function changedOne(connection: Connection, sql: string, parameters: readonly SqlValue[]): boolean {
  return connection.change(sql, parameters) === 1;
}

/** Returns the number that a `SELECT count(*)` finds. */
export function countOf(connection: Connection, sql: string, parameters: readonly SqlValue[] = []): number {
  return connection.get<[number]>(sql, parameters)?.[0] ?? 0;
}
