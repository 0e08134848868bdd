/** The begin of a transaction while another connection, also of this thread, has one. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { sqliteCode } from "../../src/store/damage.ts";
import { temporaryDirectory } from "../temporary.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let one: Connection;
let other: Connection;

beforeEach(() => {
  directory = temporaryDirectory();
  const path = join(directory.path, "some.db");
  one = openConnection(path);
  one.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
  other = openConnection(path);
});
afterEach(() => {
  one.close();
  other.close();
  directory[Symbol.dispose]();
});

test("waits for a transaction of the same thread, which goes on meanwhile", async () => {
  one.exec("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
  const begun = other.beginWhenFree();
  await Bun.sleep(20);
  expect(other.inTransaction).toBe(false);
  one.exec("COMMIT");
  await begun;
  expect(other.value<number>("SELECT count(*) FROM t")).toBe(1);
  other.exec("COMMIT");
});

test("begins at once when there is none, and waits afterwards as other statements do", async () => {
  const before = other.value<number>("PRAGMA busy_timeout");
  await other.beginWhenFree();
  expect(other.inTransaction).toBe(true);
  expect(other.value<number>("PRAGMA busy_timeout")).toBe(before as number);
});

test("throws what the database has against it, and does not wait for that", async () => {
  await other.beginWhenFree();
  const again = await other.beginWhenFree().then(
    () => null,
    (error: unknown) => sqliteCode(error),
  );
  expect(again).toBe("SQLITE_ERROR");
});
