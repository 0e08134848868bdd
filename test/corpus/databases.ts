/**
 * Tamperings of a workspace's file: of every kind of event that its log holds and every row of every table, as the
 * schema and the list of operations name them.
 */

import { copyFileSync, rmSync } from "node:fs";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import type { SqlValue } from "../../src/store/values.ts";
import { doubled, memberOf, setMembers } from "../support/event-rows.ts";
import { OTHER_RANDOM } from "./base.ts";
import type { Tampering } from "./judge.ts";
import { rewriteLog } from "./rewrite.ts";

export interface Change extends Omit<Tampering, "form"> {
  /** Empty when `also` makes the whole change. */
  sql: readonly (readonly [string, (readonly SqlValue[])?])[];
  also?: (connection: Connection) => Promise<void>;
}

type EventRow = [seq: number, operation: string, agent: string | null, erased: number, result: string];

/** Returns one event of each operation and result, with its details unless all of these were removed. */
export function eventKinds(connection: Connection): EventRow[] {
  const rows = connection.all<EventRow>(
    "SELECT seq, operation, agent_id, details IS NULL, result FROM events ORDER BY details IS NULL, seq",
  );
  const kinds = new Map(rows.map((row) => [`${row[1]} ${row[4]}`, row] as const).toReversed());
  return [...kinds.values()].sort(([a], [b]) => a - b);
}

const DAY = 86_400_000;

/** Returns tamperings of one event of each kind: all change what the log says. @param whole whether nothing was pruned */
export function eventChanges(connection: Connection, whole: boolean): Change[] {
  const all = connection.all<EventRow>("SELECT seq, operation, agent_id, 0, result FROM events ORDER BY seq");
  const end = (all.at(-1)?.[0] ?? 0) + 1;
  return eventKinds(connection).flatMap(([seq, operation, agent, erased, result]) => {
    const to = `${operation} ${result}`;
    const other = all.find(([at, , whose]) => at > 0 && whose !== agent) ?? all.find(([at]) => at !== seq);
    const alike = all.find(([at, what]) => at !== seq && what === operation);
    const body = memberOf(connection, seq);
    const event = (kind: string, sql: Change["sql"], also?: Change["also"]): Change => ({
      ...{ kind, to, exit: 1, sql },
      ...(also && { also }),
    });
    const moved = new Date(Date.parse(body.timestamp) - DAY).toISOString();
    const whose = agent === null ? "alpha" : agent === "gamma" ? "beta" : "gamma";
    const set = (change: object): Change["sql"] => [setMembers(seq, { ...body, ...change })];
    const rewritten = (change: object) => (connection: Connection) => rewriteLog(connection, seq, change);
    return [
      ...(erased
        ? []
        : [event("blanked", [["UPDATE events SET details = NULL, details_salt = NULL WHERE seq = ?", [seq]]])]),
      event("changed", [[`UPDATE events SET details = '{"x":1}' WHERE seq = ?`, [seq]]]),
      event("removed", [["DELETE FROM events WHERE seq = ?", [seq]]]),
      event("removed, the rest closed up", [
        ["DELETE FROM events WHERE seq = ?", [seq]],
        ["UPDATE events SET seq = -seq WHERE seq > ?", [seq]],
        ["UPDATE events SET seq = -seq - 1 WHERE seq < 0"],
      ]),
      event("duplicated at the end", [[`${doubled("?", { random: OTHER_RANDOM })} WHERE seq = ?`, [end, seq]]]),
      event("swapped with another agent's", swapEvents(seq, other?.[0] ?? 0)),
      ...(alike ? [event("swapped with one of its kind", swapDetails(seq, alike[0]))] : []),
      event("moved in time", set({ timestamp: moved })),
      ...(whole
        ? [
            event("moved in time, log rewritten", [], rewritten({ timestamp: moved })),
            event("changed, log rewritten", [], rewritten({ operation: otherOperation(operation) })),
          ]
        : []),
      event("given to another agent", set({ agent_id: whose })),
    ];
  });
}

const otherOperation = (operation: string): string => (operation === "data.read" ? "data.list" : "data.read");

const swapEvents = (one: number, other: number): Change["sql"] => [
  ["UPDATE events SET seq = -1 WHERE seq = ?", [one]],
  ["UPDATE events SET seq = ? WHERE seq = ?", [one, other]],
  ["UPDATE events SET seq = ? WHERE seq = -1", [other]],
];

const swapDetails = (one: number, other: number): Change["sql"] => [
  ["CREATE TEMP TABLE taken AS SELECT seq, details, details_salt FROM events WHERE seq IN (?, ?)", [one, other]],
  ...[
    [one, other],
    [other, one],
  ].map(
    ([to, from]) =>
      [
        "UPDATE events SET (details, details_salt) = (SELECT details, details_salt FROM taken WHERE seq = ?) WHERE seq = ?",
        [from, to] as SqlValue[],
      ] as const,
  ),
];

/** Returns the tables of a file and their stored columns; those that are no part of the record with `alsoNoRecord`. */
export function columnsOf(connection: Connection, { alsoNoRecord = false } = {}): Map<string, string[]> {
  const tables = connection.all<[string]>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'search_%'",
  );
  return new Map(
    tables
      .filter(([table]) => alsoNoRecord || !NO_RECORD.has(table))
      .map(([table]) => [
        table,
        connection.all<[number, string]>(`PRAGMA table_info(${table})`).map(([, column]) => column),
      ]),
  );
}

/** Columns that say when or where in the log something happened. */
export const IS_TIME = /(^|_)(seq|size|from|to|at)$/;

/** SQL: another text of the same form. */
const another = (column: string): string => `substr(${column}, 1, length(${column}) - 4) || '0000'`;

/** Columns of rows that events state, which are different in each row. */
const OWN = [
  ...[
    "keys.id",
    "keys.digest",
    "members.account_id",
    "invitations.id",
    "invitations.digest",
    "workspace.id",
    "sinks.id",
  ],
  ...["workspaces.id", "accounts.id", "accounts.email", "accounts.link_id", "passkeys.id", "passkeys.credential_id"],
  ...["identities.id", "identities.account_id", "identities.subject", "links.id", "links.digest"],
  ...["sessions.id", "sessions.digest"],
];

/** The values by which a duplicate differs from its row, so that SQLite accepts both. */
const RENAMED: Record<string, string> = {
  ...Object.fromEntries(OWN.map((name) => [name, another(name.slice(name.indexOf(".") + 1))])),
  "agents.first_seq": "first_seq + 1000",
  "agents.agent_id": "agent_id || 'x'",
  "configs.version": "version + 1000",
  "checkpoints.id": another("id"),
  "entries.id": "NULL",
  "entries.key": "CASE WHEN live_to IS NULL THEN key || 'x' ELSE key END",
  "seals.id": "NULL",
  "seal_keys.announced_seq": "announced_seq + 1",
  "tiles.tile": "tile + 1",
};

/** Numbers beyond those that a double holds exactly: a reader may miss the rows that have them. */
const OUTSIDE = ["9007199254740993", "9223372036854775807", "-9007199254740993", "-9223372036854775808"];

/** Adds rows where no row of a log can be. */
const added = (): Change[] =>
  OUTSIDE.flatMap((number): Change[] => {
    const one = (table: string, sql: string): Change => ({
      ...{ kind: "added out of range", to: `${table} row ${number}`, exit: 1 },
      sql: [[sql]],
    });
    return [
      one("events", `${doubled(number, { random: OTHER_RANDOM })} WHERE seq = 0`),
      {
        ...{ kind: "moved out of range", to: `events row ${number}`, exit: 1 },
        sql: [[`UPDATE events SET seq = ${number} WHERE seq = (SELECT max(seq) FROM events)`]],
      },
      one("agents", `INSERT INTO agents (first_seq, agent_id) VALUES (${number}, 'nobody')`),
      one("seals", `UPDATE seals SET id = ${number} WHERE id = (SELECT min(id) FROM seals)`),
    ];
  });

/** Returns tamperings of the rows of all tables but the events. */
export function rowChanges(connection: Connection): Change[] {
  const tables = [...columnsOf(connection)].filter(([table]) => table !== "events");
  const changed = tables.flatMap(([table, columns]) => {
    const types = columns.map((column) => `typeof(${column})`).join();
    const agent = columns.includes("agent") ? "agent" : "NULL";
    const rows = connection
      .all<[number, number | null, ...string[]]>(`SELECT rowid, ${agent}, ${types} FROM ${table} ORDER BY rowid`)
      .map(([row, whose, ...found]): Row => ({ table, row, whose, columns, types: found }));
    return rows.flatMap((row) => changesOfRow(row, rows));
  });
  return [...changed, ...added()];
}

interface Row {
  table: string;
  row: number;
  /** The agent that it belongs to. */
  whose: number | null;
  columns: readonly string[];
  types: readonly string[];
}

function changesOfRow({ table, row, whose, columns, types }: Row, all: readonly Row[]): Change[] {
  const where = `WHERE rowid = ${row}`;
  const one = (kind: string, column: string | null, ...sql: string[]): Change => ({
    kind,
    to: `${table}${column === null ? "" : `.${column}`} row ${row}`,
    exit: isHarmless(kind, table, row === all.at(-1)?.row) ? 0 : 1,
    sql: sql.map((text) => [text] as const),
  });
  const values = columns.map((column) => RENAMED[`${table}.${column}`] ?? column);
  const changes = [
    one("removed", null, `DELETE FROM ${table} ${where}`),
    one("duplicated", null, `INSERT INTO ${table} (${columns.join()}) SELECT ${values.join()} FROM ${table} ${where}`),
  ];
  for (const [index, column] of columns.entries()) {
    if (MEANS_NOTHING.has(`${table}.${column}`)) continue;
    const set = (kind: string, value: string) => one(kind, column, `UPDATE ${table} SET ${column} = ${value} ${where}`);
    if (types[index] !== "null") changes.push(set("blanked", "NULL"));
    if (types[index] === "null" || !IS_TIME.test(column)) {
      changes.push(set("changed", OTHER[types[index] as keyof typeof OTHER](column)));
      continue;
    }
    changes.push(set("moved in time by one", `${column} + 1`), set("moved back in time by one", `${column} - 1`));
  }
  const other = all.find((one) => one.whose !== whose)?.row;
  if (other !== undefined) changes.push(one("swapped between agents", null, ...swapAgents(table, row, other)));
  return changes;
}

const swapAgents = (table: string, one: number, other: number): string[] => {
  const both = `WHERE rowid IN (${one}, ${other})`;
  return [
    `CREATE TEMP TABLE taken AS SELECT rowid AS row, agent FROM ${table} ${both}`,
    `UPDATE ${table} SET agent = -rowid ${both}`,
    `UPDATE ${table} SET agent = (SELECT agent FROM taken WHERE row <> ${table}.rowid) ${both}`,
  ];
};

/** Another value of a type, as SQL. */
export const OTHER = {
  null: () => "1",
  integer: (column: string) => `${column} + 7`,
  text: (column: string) =>
    `substr(${column}, 1, length(${column}) - 1) || CASE substr(${column}, -1) WHEN 'x' THEN 'y' ELSE 'x' END`,
  blob: (column: string) => `randomblob(length(${column}))`,
};

/** Row numbers without a meaning, and one that can have no other value. */
export const MEANS_NOTHING: ReadonlySet<string> = new Set(["entries.id", "seals.id", "head.one"]);

/** Tables that are not part of the record, which the report states. */
const NO_RECORD: ReadonlySet<string> = new Set([
  ...["answers", "key_use", "session_use", "sink_positions"],
  ...["directory", "sink_workspaces", "devices"],
]);

/** No tampering: other seals cover what a removed one covered, and the newest one twice says no more than once. */
const isHarmless = (kind: string, table: string, last: boolean): boolean =>
  table === "seals" && (kind === "removed" || (kind === "duplicated" && last));

/** The messages with which SQLite refuses a change. */
export const IS_REFUSED = /constraint|cannot store|datatype mismatch/;

/** Makes changes in copies of a file, one at a time. */
export class Copies {
  #count = 0;

  /** @param place the path of every copy; by default each has its own in `root` */
  constructor(
    private readonly original: string,
    private readonly root: string,
    private readonly place: string | null = null,
  ) {}

  /**
   * Makes a change in a copy and calls `look` with its path. Returns null when SQLite refuses the change. With `log`,
   * the change is in the write-ahead log alone.
   */
  async with<T>(change: Change, log: boolean, look: (path: string) => Promise<T>): Promise<T | null> {
    const path = this.place ?? `${this.root}/copy-${this.#count++}.db`;
    copyFileSync(this.original, path);
    let writer: Connection | null = openConnection(path);
    try {
      writer.exec("PRAGMA foreign_keys = OFF; BEGIN");
      if (!(await made(writer, change))) return null;
      writer.exec("COMMIT");
      if (!log) {
        writer.truncateLog();
        writer.close();
        writer = null;
      }
      return await look(path);
    } finally {
      writer?.close();
      for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    }
  }
}

async function made(connection: Connection, { sql, also, kind, to }: Change): Promise<boolean> {
  try {
    let rows = 0;
    for (const [text, values = []] of sql) rows += connection.change(text, [...values]);
    await also?.(connection);
    if (rows === 0 && also === undefined) throw new Error(`${kind} ${to} changes nothing`);
    return true;
  } catch (error) {
    if (error instanceof Error && IS_REFUSED.test(error.message)) {
      connection.exec("ROLLBACK");
      return false;
    }
    throw error;
  }
}
