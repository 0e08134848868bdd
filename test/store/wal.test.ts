/** A write-ahead log that is read as it grows is the same as one that is read at once. */
import { expect, test } from "bun:test";
import { openConnection } from "../../src/store/connection.ts";
import { WriteAheadLog } from "../../src/store/wal.ts";
import { temporaryDirectory } from "../temporary.ts";

const COMMIT_FRAMES = 40;

test("through transactions, rollbacks, and logs that are started over, shorter and longer than before", () => {
  using directory = temporaryDirectory();
  const path = directory.join("test.db");
  using connection = openConnection(path);
  connection.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX by_text ON t (text)");
  const log = new WriteAheadLog(path);
  const insert = (rows: number) => {
    for (let i = 0; i < rows; i++) connection.run("INSERT INTO t (text) VALUES (?)", [crypto.randomUUID().repeat(20)]);
  };
  let restarts = 0;
  let known = 0;
  for (let round = 0; round < 160; round++) {
    connection.exec("BEGIN");
    // Large ones are written to the log before their end.
    insert(round % 50 === 49 ? 5_000 : (round * 7) % COMMIT_FRAMES);
    connection.exec(round % 6 === 5 ? "ROLLBACK" : "COMMIT");
    if (round % 3 === 0) log.readNew();
    if (round % 37 === 36) connection.get("PRAGMA wal_checkpoint(PASSIVE)");
    const fresh = new WriteAheadLog(path);
    const frames = fresh.readNew();
    if (round % 2 === 0 || frames === 0) continue;
    if (frames < known) restarts += 1;
    known = log.readNew();
    expect(known).toBe(frames);
    expect(log.newest(known, known)).toEqual(fresh.newest(frames, frames));
  }
  expect(restarts).toBeGreaterThan(3);
});

test("without a log there are no frames", () => {
  using directory = temporaryDirectory();
  expect(new WriteAheadLog(directory.join("none.db")).readNew()).toBe(0);
});

test("a checkpoint beside a reader proves the pages that it copied, and leaves out those that changed since", () => {
  using directory = temporaryDirectory();
  const path = directory.join("test.db");
  using connection = openConnection(path);
  connection.exec("CREATE TABLE a (n INTEGER); CREATE TABLE b (n INTEGER); INSERT INTO a VALUES (0), (0)");
  const set = (n: number) => connection.run("UPDATE a SET n = ?", [n]);
  set(1);
  using reader = openConnection(path, { readOnly: true });
  reader.exec("BEGIN");
  expect(reader.value<number>("SELECT n FROM a")).toBe(1);
  connection.exec("INSERT INTO b VALUES (1)");
  set(2);
  expect(connection.truncateLog()).toBe(false);
  set(3);
  expect(reader.value<number>("SELECT n FROM a")).toBe(1);
  reader.exec("COMMIT");
  expect(connection.truncateLog()).toBe(true);
  expect(reader.value<number>("SELECT n FROM a")).toBe(3);
});
