/** The rows of one call never depend on the calls before it, whether those succeeded or failed. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import Database from "libsql";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { WrongParameters } from "../../src/store/values.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { temporaryDirectory } from "../temporary.ts";

const KEYS = [1, 2, 3, 4];
const BY_KEY = "SELECT value FROM kept WHERE key = ?";
/** Fails for a text that is not JSON. */
const OF_JSON = "SELECT ? -> '$'";
const INSERT = "INSERT INTO kept VALUES (?, ?) RETURNING value";

function opened(): { connection: Connection } & Disposable {
  const directory = temporaryDirectory();
  const connection = openConnection(join(directory.path, "kept.db"));
  connection.exec("CREATE TABLE kept (key INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT");
  for (const key of KEYS) connection.run("INSERT INTO kept VALUES (?, ?)", [key, `value ${key}`]);
  return {
    connection,
    [Symbol.dispose]: () => {
      connection.close();
      directory[Symbol.dispose]();
    },
  };
}

test("a query that failed while the file was locked returns the next key's row, and not the one it failed for", () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, "locked.db");
  const other = new Database(path);
  other.exec("CREATE TABLE kept (key INTEGER PRIMARY KEY, value TEXT); INSERT INTO kept VALUES (1, 'a'), (2, 'b')");
  const connection = openConnection(path, { readOnly: true });
  connection.exec("PRAGMA busy_timeout = 0");
  expect(connection.value<string>(BY_KEY, [2])).toBe("b");
  other.exec("BEGIN EXCLUSIVE");
  expect(() => connection.value(BY_KEY, [1])).toThrow("locked");
  other.exec("COMMIT");
  expect(connection.value<string>(BY_KEY, [2])).toBe("b");
  connection.close();
  other.close();
});

test("an insertion that was refused does not make the next one fail", () => {
  using file = opened();
  expect(() => file.connection.get(INSERT, [1, "again"])).toThrow("UNIQUE");
  expect(file.connection.value<string>(INSERT, [9, "other"])).toBe("other");
  expect(file.connection.all<[number, string]>("SELECT * FROM kept WHERE key > 4")).toEqual([[9, "other"]]);
});

test("calls in any order return what a new connection returns", () => {
  using file = opened();
  const { connection } = file;
  const random = new Seeded(SEED);
  for (let i = 0; i < 2_000; i++) {
    const key = random.pick(KEYS);
    const calls = [
      () => expect(connection.get<[string]>(BY_KEY, [key])).toEqual([`value ${key}`]),
      () => expect(connection.value<string>(BY_KEY, [key])).toBe(`value ${key}`),
      () => expect(connection.all<[string]>(BY_KEY, [key])).toEqual([[`value ${key}`]]),
      () => expect(connection.value<string>(OF_JSON, [`[${key}]`])).toBe(`[${key}]`),
      () => expect(connection.all<[string]>(OF_JSON, [`[${key}]`])).toEqual([[`[${key}]`]]),
      () => expect(() => connection.get(OF_JSON, [`[${key}`])).toThrow("malformed JSON"),
      () => expect(() => connection.all(OF_JSON, [`[${key}`])).toThrow("malformed JSON"),
      () => expect(() => connection.get(INSERT, [key, "x"])).toThrow("UNIQUE"),
      () => expect(() => connection.run(INSERT, [key, "x"])).toThrow("UNIQUE"),
      () => expect(() => connection.change(INSERT, [key, "x"])).toThrow("UNIQUE"),
      () => expect(connection.change("UPDATE kept SET key = key WHERE key = ?", [key])).toBe(1),
    ];
    random.pick(calls)();
  }
});

test.each<[string, number]>([
  ["SELECT 1", 0],
  ["SELECT ?, ?", 2],
  ["SELECT ?2, ?1, ?2", 2],
  ["SELECT ?3, ?", 4],
  [`SELECT '?', 'it''s ?', -- really?\n ? AS "?"`, 1],
])("%p takes exactly its parameters", (sql, count) => {
  using file = opened();
  const given = (length: number) => Array.from({ length }, (_, index) => index);
  for (const length of [0, 1, 2, 3, 4, 5]) {
    for (const call of ["get", "all", "run", "change"] as const) {
      if (length === count) file.connection[call](sql, given(length));
      else expect(() => file.connection[call](sql, given(length)), `${length}`).toThrow(WrongParameters);
    }
  }
});
