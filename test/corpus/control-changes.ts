/**
 * Tamperings of a control database: of every column of every row of every table, and of every object of its schema, as
 * the file itself names them. Which of them must be found follows from docs/audit-format.md alone.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Connection } from "../../src/store/connection.ts";
import { type Change, columnsOf, IS_REFUSED, IS_TIME, OTHER } from "./databases.ts";

/** The columns whose changes nobody can prove, according to docs/audit-format.md, as `table.column`. */
export const WITHOUT_EVENT: readonly string[] = listed(join(import.meta.dir, "../../docs/audit-format.md"));

function listed(page: string): string[] {
  const [, list = ""] = readFileSync(page, "utf8").split("nobody can prove that they were not changed:\n");
  const rows = list.trimStart().split("\n\n", 1)[0]?.split("\n").slice(2) ?? [];
  return rows.flatMap((row) => {
    const [table, ...columns] = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    return columns.map((column) => `${table}.${column}`);
  });
}

const PREFIX: Record<string, string> = {
  workspaces: "workspace",
  api_keys: "key",
  members: "member",
  links: "invitation",
  passkeys: "passkey",
};

type Values = Record<string, string>;

interface Row {
  table: string;
  number: number;
  /** The value of each column, as SQL. */
  values: Values;
  keys: readonly string[];
}

function rowsOf(connection: Connection): Row[] {
  return [...columnsOf(connection)].flatMap(([table, columns]) => {
    const keys = connection
      .all<[number, string, string, number, unknown, number]>(`PRAGMA table_info(${table})`)
      .filter((column) => column[5] > 0)
      .map(([, name]) => name);
    const quoted = columns.map((column) => `quote(${column})`).join();
    return connection
      .all<string[]>(`SELECT ${quoted} FROM ${table} ORDER BY ${keys.join()}`)
      .map((found, number) => ({
        ...{ table, number, keys },
        values: Object.fromEntries(columns.map((column, at) => [column, found[at] as string])),
      }));
  });
}

/** Returns what events state of the rows, as a text. It is the same for databases of which events state the same. */
export function statedOf(connection: Connection, founder: string): string {
  const rows = rowsOf(connection).filter(({ table, values }) => {
    if (table !== "links") return true;
    return values.kind === "'invitation'" && !["'cli'", "'system'"].includes(values.created_by ?? "");
  });
  const stated = rows.map(({ table, values }) => {
    const joined = table === "members" && values.account_id === `'${founder}'` && values.role === "'owner'";
    const columns = Object.keys(values).filter(
      (column) => !WITHOUT_EVENT.includes(`${table}.${column}`) && !(joined && column === "joined_at"),
    );
    return columns.length === 0 ? "" : [table, ...columns.map((column) => values[column])].join();
  });
  return stated.sort().join("\n").trimStart();
}

const where = ({ keys, values }: Row): string => `WHERE ${keys.map((key) => `${key} IS ${values[key]}`).join(" AND ")}`;

const added = ({ table }: Row, values: Values): string =>
  `INSERT INTO ${table} (${Object.keys(values).join()}) VALUES (${Object.values(values).join()})`;

/** Other values for columns that accept only some. */
const CHOICES: Record<string, (value: string) => string> = {
  scope: (value) => (value === "'full'" ? "'agent'" : "'full'"),
  role: (value) => (value === "'owner'" ? "'member'" : "'owner'"),
  workspace_id: (value) => `(SELECT max(id) FROM workspaces WHERE id IS NOT ${value})`,
  kind: (value) => (value === "'setup'" ? "'invitation'" : "'setup'"),
};

const typeOf = (value: string): keyof typeof OTHER => {
  if (value === "NULL") return "null";
  return value.startsWith("'") ? "text" : value.startsWith("X'") ? "blob" : "integer";
};

/** The columns in which a duplicate differs from its original. */
const OWN = /^(id|digest|email|account_id)$/;

/** Returns tamperings of the rows. {@link Oracle} decides what both programs must say of each. */
export function controlChanges(connection: Connection): Change[] {
  const rows = rowsOf(connection);
  return rows.flatMap((row) =>
    changesOf(
      row,
      rows.filter(({ table, number }) => table === row.table && number !== row.number),
    ),
  );
}

/** Decides whether events state what a change changes. */
export class Oracle {
  readonly #before: string;

  constructor(
    private readonly connection: Connection,
    private readonly founder: string,
  ) {
    this.#before = statedOf(connection, founder);
  }

  /** Returns the change, as harmless unless it changes what events state. Makes it to find that out, and undoes it. */
  judged(change: Change): Change {
    this.connection.exec("PRAGMA foreign_keys = OFF; SAVEPOINT judged");
    try {
      for (const [sql] of change.sql) this.connection.exec(sql);
      if (statedOf(this.connection, this.founder) !== this.#before) return change;
      return { ...change, exit: 0, codes: [] };
    } catch (error) {
      if (error instanceof Error && IS_REFUSED.test(error.message)) return change;
      throw error;
    } finally {
      this.connection.exec("ROLLBACK TO judged; RELEASE judged");
    }
  }
}

function changesOf(row: Row, others: readonly Row[]): Change[] {
  const { table, number, values } = row;
  const prefix = PREFIX[table];
  const one = (kind: string, column: string | null, sql: readonly string[], codes?: readonly string[]): Change => ({
    ...{ kind, to: `${table}${column === null ? "" : `.${column}`} row ${number}`, exit: 1 },
    sql: sql.map((text) => [text] as const),
    ...(codes && prefix && { codes: codes.map((code) => (code.includes("_") ? code : `${prefix}_${code}`)) }),
  });
  const own = table === "members" ? /^account_id$/ : OWN;
  const duplicate = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, own.test(name) ? renamed(value) : value]),
  );
  const noFile = table === "workspaces" ? ["content_missing"] : ["added"];
  const changes = [
    one("removed", null, [`DELETE FROM ${table} ${where(row)}`], ["missing"]),
    one("duplicated", null, [added(row, duplicate)], noFile),
  ];
  for (const [column, value] of Object.entries(values)) {
    const isName = row.keys.includes(column);
    // No event covers an invitation of the operator.
    const isOperators = column === "created_by" && value === "'cli'" && table === "links";
    const codes = isName
      ? ["missing", ...noFile]
      : [isOperators ? "added" : table === "api_keys" && column === "workspace_id" ? "moved" : "changed"];
    const set = (kind: string, to: string) =>
      one(kind, column, [`UPDATE ${table} SET ${column} = ${to} ${where(row)}`], codes);
    if (value !== "NULL") changes.push(set("blanked", "NULL"));
    if (IS_TIME.test(column) && value !== "NULL") {
      changes.push(set("moved in time by one", `${column} + 1`), set("moved back in time by one", `${column} - 1`));
    } else {
      changes.push(set("changed", CHOICES[column]?.(value) ?? (isName ? renamed(value) : otherValue(column, value))));
    }
    const other = others.find((one) => one.values[column] !== value);
    if (other === undefined) continue;
    changes.push(
      one("swapped between rows", column, [
        `DELETE FROM ${table} ${where(row)}`,
        `DELETE FROM ${table} ${where(other)}`,
        added(row, { ...values, [column]: other.values[column] as string }),
        added(row, { ...other.values, [column]: value }),
      ]),
    );
  }
  return changes;
}

const otherValue = (column: string, value: string): string => {
  const type = typeOf(value);
  if (type === "null") return IS_TIME.test(column) ? "1" : "'x'";
  return OTHER[type](column);
};

/** Returns a name of the same form that no row has. */
function renamed(value: string): string {
  if (typeOf(value) === "blob") return "randomblob(32)";
  return value.replace(/.{4}'$/, (end) => (end === "0000'" ? "1111'" : "0000'"));
}

/** Returns tamperings of the schema. */
export function schemaChanges(connection: Connection): Change[] {
  const one = (kind: string, to: string, ...sql: string[]): Change => ({
    ...{ kind, to: `schema ${to}`, exit: 1 },
    sql: [],
    also: async (connection) => connection.exec(sql.join(";")),
  });
  const objects = connection.all<[string, string, string]>(
    "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name",
  );
  return objects.flatMap(([type, name, sql]) => {
    const text = (to: string) => `UPDATE sqlite_schema SET sql = '${to.replaceAll("'", "''")}' WHERE name = '${name}'`;
    const rewritten = (kind: string, to: string) => one(kind, name, "PRAGMA writable_schema = ON", text(to));
    if (type === "index") {
      return [
        one("removed", name, `DROP INDEX ${name}`),
        one("made partial", name, `DROP INDEX ${name}`, `${sql} WHERE 0`),
        rewritten("made partial by its text", `${sql} WHERE 0`),
        one("emptied", name, `DROP INDEX ${name}`, `${sql} WHERE 0`, "PRAGMA writable_schema = ON", text(sql)),
        one("renamed", name, `DROP INDEX ${name}`, sql.replace(name, `${name}_2`)),
      ];
    }
    const column = connection.all<[number, string]>(`PRAGMA table_info(${name})`)[0]?.[1] ?? "";
    return [
      one("removed", name, `DROP TABLE ${name}`),
      one("renamed", name, `ALTER TABLE ${name} RENAME TO ${name}_2`),
      one("made a view", name, `ALTER TABLE ${name} RENAME TO t`, `CREATE VIEW ${name} AS SELECT * FROM t`),
      one("a column added", name, `ALTER TABLE ${name} ADD COLUMN x TEXT`),
      one("an index added", name, `CREATE INDEX x ON ${name} (${column})`),
      ...["INSERT", "UPDATE", "DELETE"].map((event) =>
        one("a trigger added", `${name} ${event}`, `CREATE TRIGGER x AFTER ${event} ON ${name} BEGIN SELECT 1; END`),
      ),
      rewritten("its rules removed", sql.replaceAll(" NOT NULL", "").replaceAll(/ CHECK \(([^()]|\([^()]*\))*\)/g, "")),
      rewritten("its text changed", sql.replace("CREATE TABLE", "create table")),
    ];
  });
}
