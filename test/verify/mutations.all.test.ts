/** Every column of every row changed, every row taken away, doubled, exchanged: each is found. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Connection } from "../../src/store/connection.ts";
import type { SqlValue } from "../../src/store/values.ts";
import { effort } from "../effort.ts";
import { doubled } from "../support/event-rows.ts";
import { inMemory } from "../temporary.ts";
import { asStored, COLUMNS, openForTampering, variants, verifyChanged } from "./mutations.ts";
import { makeSampleWorkspace } from "./sample-workspace.ts";

/** One in so many of the other values of a column is tried in a row, and of the columns that two rows may exchange. */
const VARIANTS = effort({ usual: 8, long: 1 });
const EXCHANGES = effort({ usual: 5, long: 1 });

let directory: string;
let file: Connection;

beforeAll(async () => {
  directory = mkdtempSync(join(inMemory(), "governd-evidence-"));
  const source = join(directory, "sample.db");
  await makeSampleWorkspace(source);
  file = openForTampering(source, join(directory, "copy.db"));
});

afterAll(() => {
  file.close();
  rmSync(directory, { recursive: true });
});

const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;

/** True when the database itself refuses the change: a type, NOT NULL, a key, a body that is no JSON. */
function refusedByDatabase(error: unknown): boolean {
  const { rawCode, message } = error as { rawCode?: number; message?: string };
  const code = (rawCode ?? 0) & 0xff;
  return code === SQLITE_CONSTRAINT || code === SQLITE_MISMATCH || message === "malformed JSON";
}

/** True for a text that the database turns into the number that is there already. */
function isStoredAs(value: unknown, variant: SqlValue): boolean {
  return typeof value === "number" && variant !== null && Number(variant) === value;
}

/** Verifies after a change; answers whether it was found, or null when the database refuses it. */
async function isFound(change: (connection: Connection) => void): Promise<boolean | null> {
  try {
    return !(await verifyChanged(file, change)).valid;
  } catch (error) {
    if (refusedByDatabase(error)) return null;
    throw error;
  }
}

const rowidsOf = (table: string): number[] => file.all<[number]>(`SELECT rowid FROM ${table}`).map(([id]) => id);

test("the sample is valid, and has rows in every table", async () => {
  const report = await verifyChanged(file, () => {});
  expect(report.problems).toEqual([]);
  expect(report.valid).toBe(true);
  for (const table of Object.keys(COLUMNS)) expect(rowidsOf(table).length).toBeGreaterThan(0);
});

test("what only the log as a whole can tell is found with little memory too", async () => {
  // Where restores had a part, too: entry 8 was brought back, entry 11 was written after a restore.
  const changes = [
    `DELETE FROM entries WHERE id = 8; ${counts(3, "alpha")}`,
    `DELETE FROM entries WHERE id = 13; ${counts(3, "alpha")}`,
    "UPDATE entries SET (created_seq, created_at) = (7, 1767225600014) WHERE id = 1",
    "UPDATE entries SET live_to = 41 WHERE id = 22",
    "UPDATE entries SET live_to = 16 WHERE id = 3",
    "DELETE FROM entries WHERE id = 22",
    `DELETE FROM entries WHERE id = 23; ${counts(1, "beta")}`,
  ];
  for (const change of changes) {
    const report = await verifyChanged(file, (connection) => connection.exec(change), 1);
    expect([change, report.valid]).toEqual([change, false]);
  }
  expect((await verifyChanged(file, () => {}, 1)).valid).toBe(true);
});

test("another number of entries beside an agent's newest event is found", async () => {
  for (const agent of ["alpha", "beta"]) {
    const newest = `seq = (SELECT max(seq) FROM events WHERE agent_id = '${agent}')`;
    const sql = `UPDATE events SET entries = entries + 1 WHERE ${newest}`;
    expect(await isFound((connection) => connection.exec(sql))).toBe(true);
  }
});

describe.each(Object.entries(COLUMNS))("%s", (table, columns) => {
  test.each(columns.map((column) => [column]))("a change of %s is found in every row", async (column) => {
    const missed: unknown[] = [];
    let tried = 0;
    const rowids = rowidsOf(table);
    // Of few rows, each is changed in all ways: the database refuses some.
    const every = rowids.length < VARIANTS ? 1 : VARIANTS;
    for (const rowid of rowids) {
      const [value] = file.get<[unknown]>(`SELECT ${column} FROM ${table} WHERE rowid = ?`, [rowid]) as [unknown];
      const others = variants(value, rowid).filter((one) => one !== value && !isStoredAs(value, one));
      for (const variant of others.filter((_, index) => (index + rowid) % every === 0)) {
        const found = await isFound((connection) =>
          connection.run(`UPDATE ${table} SET ${column} = ${asStored(variant, value)} WHERE rowid = ?`, [
            variant,
            rowid,
          ]),
        );
        if (found === false) missed.push([rowid, value, variant]);
        if (found !== null) tried += 1;
      }
    }
    expect(missed).toEqual([]);
    expect(tried).toBeGreaterThan(0);
  });

  test("a deleted row is found", async () => {
    for (const rowid of rowidsOf(table)) {
      const found = await isFound((connection) => connection.run(`DELETE FROM ${table} WHERE rowid = ?`, [rowid]));
      expect(found).toBe(true);
    }
  });

  test("all rows deleted are found", async () => {
    expect(await isFound((connection) => connection.run(`DELETE FROM ${table}`))).toBe(true);
  });

  test("a doubled row is found", async () => {
    let tried = 0;
    for (const rowid of rowidsOf(table)) {
      for (const change of doublings(table, columns)) {
        const found = await isFound((connection) => connection.run(change, [rowid]));
        if (found !== null) tried += 1;
        expect(found).not.toBe(false);
      }
    }
    expect(tried).toBeGreaterThan(0);
  });

  test("two rows that exchange all but their number are found", async () => {
    const rowids = rowidsOf(table);
    for (const [index, first] of rowids.entries()) {
      const second = rowids[index + 1];
      if (second === undefined) continue;
      for (const column of columns.filter((_, at) => (at + first) % EXCHANGES === 0)) {
        const found = await isFound((connection) => exchange(connection, table, column, first, second));
        expect([column, first, found]).not.toEqual([column, first, false]);
      }
    }
  });
});

/** SQL: the number of entries that the newest event of an agent states. */
const counts = (entries: number, agent: string): string =>
  `UPDATE events SET entries = ${entries} WHERE agent_id = '${agent}'`;

/** Inserts that double a row under another number, or for another agent. */
function doublings(table: string, columns: readonly string[]): string[] {
  const insert = (changed: Record<string, string>): string => {
    const values = columns.map((column) => changed[column] ?? column);
    return `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM ${table} WHERE rowid = ?`;
  };
  switch (table) {
    case "head":
      return [insert({ one: "2" })];
    case "events":
      return ["1000", "-1"].map((seq) => `${doubled(seq)} WHERE rowid = ?`);
    case "agents":
      return [insert({ first_seq: "1000", agent_id: "NULL" }), insert({ first_seq: "2", agent_id: "'gamma'" })];
    case "configs":
      return [insert({ version: "version + 10" }), insert({ agent: "0" }), insert({ agent: "999" })];
    case "entries":
      return [insert({}), insert({ agent: "0" }), insert({ agent: "999" }), insert({ agent: "22 - agent" })];
    default:
      return [insert({ id: "'cp_' || hex(id)" }), insert({ id: "'cp_' || id", agent: "999" })];
  }
}

function exchange(connection: Connection, table: string, column: string, first: number, second: number): void {
  const read = (rowid: number): SqlValue => {
    const row = connection.get<[SqlValue]>(`SELECT ${column} FROM ${table} WHERE rowid = ?`, [rowid]);
    return (row as [SqlValue])[0];
  };
  const [one, other] = [read(first), read(second)];
  if (Bun.deepEquals(one, other)) {
    connection.run("DELETE FROM head"); // nothing to exchange: any change that is found will do
    return;
  }
  const update = `UPDATE ${table} SET ${column} = ? WHERE rowid = ?`;
  connection.run(update, [column === "seq" || column === "first_seq" || column === "one" ? -5 : one, first]);
  connection.run(update, [one, second]);
  connection.run(update, [other, column === "seq" || column === "first_seq" || column === "one" ? -5 : first]);
}
