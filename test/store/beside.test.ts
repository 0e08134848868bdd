/** What a connection does on a thread of the driver, while the caller's thread does other work. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { nextTurn } from "../../src/timer.ts";
import { eventually } from "../eventually.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const LARGE = "x".repeat(256 * 1024);
const COUNT = 40;

let directory: TemporaryDirectory;
let connection: Connection;

beforeAll(() => {
  directory = temporaryDirectory();
  connection = openConnection(directory.join("beside.db"));
  connection.exec("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)");
});
afterAll(() => {
  connection.close();
  directory[Symbol.dispose]();
});

function fill(): void {
  connection.exec("BEGIN IMMEDIATE");
  for (let i = 0; i < COUNT; i++) connection.run("INSERT INTO t (b) VALUES (?)", [LARGE]);
}

/** The turns of the event loop that pass if the work is done on this thread. */
const TURNS_OF_ITS_OWN = 1;

/** Returns how many turns of the event loop passed before work had ended. */
async function turnsUntil(work: Promise<unknown>): Promise<number> {
  let hasEnded = false;
  void work.finally(() => {
    hasEnded = true;
  });
  let turns = 0;
  for (; !hasEnded; turns++) await nextTurn();
  await work;
  return turns;
}

/**
 * Repeats work until others have the thread meanwhile. On a busy machine, the system may not run this thread until the
 * work has ended.
 */
async function hasTurnsDuring(work: () => Promise<number>): Promise<void> {
  await eventually("others have the thread meanwhile", async () => (await work()) > TURNS_OF_ITS_OWN);
}

test("a large transaction is committed while others have the thread", async () => {
  let filled = 0;
  await hasTurnsDuring(() => {
    fill();
    filled += COUNT;
    return turnsUntil(connection.execBeside("COMMIT"));
  });
  expect(connection.inTransaction).toBe(false);
  expect(connection.value<number>("SELECT count(*) FROM t")).toBe(filled);
});

test("a failure is the one that the call itself would throw", async () => {
  const failureOf = (error: unknown) => ({ ...(error as Error), message: (error as Error).message });
  const beside = await connection.execBeside("COMMIT").catch(failureOf);
  expect(() => connection.exec("COMMIT")).toThrow();
  try {
    connection.exec("COMMIT");
  } catch (error) {
    expect(beside).toEqual(failureOf(error));
  }
});

test("a long log is copied back while others have the thread, and every page arrives", async () => {
  await hasTurnsDuring(async () => {
    fill();
    connection.exec("COMMIT");
    let turns = 0;
    for (const beside of connection.checkpointIfDueBeside(0))
      if (beside !== undefined) turns += await turnsUntil(beside);
    return turns;
  });
  const [busy, frames, copied] = connection.get<[number, number, number]>("PRAGMA wal_checkpoint(PASSIVE)") ?? [];
  expect(busy).toBe(0);
  expect(frames).toBeGreaterThan((COUNT * LARGE.length) / 4096);
  expect(copied).toBe(frames as number);
  expect(connection.value<string>("PRAGMA integrity_check")).toBe("ok");
});
