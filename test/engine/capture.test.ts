/** What a transaction changed, taken as data, brings another database to the same rows. */
import { expect, test } from "bun:test";
import { ChangeCapture } from "../../src/engine-libsql/capture.ts";
import { readTables, statementsOf } from "../../src/engine-libsql/tables.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { temporaryDirectory } from "../temporary.ts";

const SCHEMA = `
  CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT NOT NULL, details TEXT) STRICT;
  CREATE TABLE entries (id INTEGER PRIMARY KEY, value TEXT, bytes BLOB) STRICT;
  CREATE TABLE pairs (one INTEGER, other TEXT, value INTEGER, PRIMARY KEY (one, other)) STRICT;
  CREATE UNIQUE INDEX entries_by_value ON entries (value);`;
/** More than the distinct statements of a connection. */
const TRANSACTIONS = 300;
const TEXTS = ["", "plain", 'a "quoted" \\ text', "Ärger 😀", "[1,2]", "line\nline"];

function changeSomething(connection: Connection, seeded: Seeded): void {
  const [text, id] = [seeded.pick(TEXTS), seeded.below(20)];
  const seq = (connection.value<number>("SELECT coalesce(max(seq), -1) FROM events") as number) + 1;
  const bytes = seeded.chance(0.5) ? null : Uint8Array.from({ length: seeded.below(5) }, () => seeded.below(256));
  switch (seeded.below(7)) {
    case 0:
    case 1:
      return void connection.run("INSERT INTO events (seq, body, details) VALUES (?, ?, ?)", [seq, text, text]);
    case 2:
      return void connection.run("UPDATE events SET details = NULL WHERE seq = ?", [seeded.below(seq + 1)]);
    case 3:
      // Replaces a row by its key, or another one by its value.
      return void connection.run("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", [id, `${text}${id % 3}`, bytes]);
    case 4:
      return void connection.run("DELETE FROM entries WHERE id < ? AND id % 2 = 0", [id]);
    case 5:
      return void connection.run("UPDATE OR IGNORE entries SET id = id + 1 WHERE id = ?", [id]);
    default:
      return void connection.run(
        "INSERT INTO pairs VALUES (?, ?, ?) ON CONFLICT (one, other) DO UPDATE SET value = excluded.value",
        [id % 4, text, seq],
      );
  }
}

const rowsOf = (connection: Connection) =>
  ["events", "entries", "pairs"].map((table) => connection.all(`SELECT * FROM ${table} ORDER BY 1, 2`));

test("what transactions changed, applied elsewhere, makes the same rows", () => {
  using directory = temporaryDirectory();
  using here = openConnection(directory.join("here.db"));
  using there = openConnection(directory.join("there.db"));
  for (const connection of [here, there]) connection.exec(SCHEMA);
  const capture = new ChangeCapture(here);
  const seeded = new Seeded(SEED);
  for (let transaction = 0; transaction < TRANSACTIONS; transaction++) {
    capture.watch();
    const logEnd = capture.logEnd();
    here.exec("BEGIN IMMEDIATE");
    for (let change = seeded.below(6); change >= 0; change--) changeSomething(here, seeded);
    const { tables, changes, keys } = capture.take(logEnd);
    capture.forget();
    here.exec("COMMIT");
    for (const { sql, args = [] } of statementsOf(tables, changes)) there.run(sql, args);
    expect(rowsOf(there)).toEqual(rowsOf(here));
    for (const [name, { gone }] of changes) {
      const noted = JSON.parse(keys.get(name) ?? "[]") as unknown[];
      expect(noted).toEqual(expect.arrayContaining(gone));
    }
  }
});

test("a table that a transaction makes is taken whole", () => {
  using directory = temporaryDirectory();
  using here = openConnection(directory.join("here.db"));
  here.exec(SCHEMA);
  const capture = new ChangeCapture(here);
  capture.watch();
  here.exec("BEGIN IMMEDIATE; CREATE TABLE more (name TEXT PRIMARY KEY) STRICT; INSERT INTO more VALUES ('a'), ('b')");
  const { made, changes, keys } = capture.take(-1);
  expect(made.map(({ name }) => name)).toEqual(["more"]);
  expect(changes.get("more")).toEqual({ rows: ['["a"]', '["b"]'], gone: [] });
  expect(JSON.parse(keys.get("more") as string)).toEqual(['["a"]', '["b"]']);
  expect([...readTables(here).keys()]).toContain("more");
});

test("text that is not UTF-8 is not sent", () => {
  using directory = temporaryDirectory();
  using here = openConnection(directory.join("here.db"));
  here.exec(SCHEMA);
  const capture = new ChangeCapture(here);
  capture.watch();
  here.exec("BEGIN IMMEDIATE; INSERT INTO entries VALUES (1, CAST(x'ff41' AS TEXT), NULL)");
  expect(() => capture.take(-1)).toThrow("damaged");
});
