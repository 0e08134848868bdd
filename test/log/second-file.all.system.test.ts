import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { recount } from "../corpus/rewrite.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { inMemory } from "../temporary.ts";
import { Driver, makeSampleWorkspace } from "../verify/sample-workspace.ts";
import { codesOf, HAS_PYTHON, type Said, SecondVerifier } from "../verify/second-verifier.ts";

describe.skipIf(!HAS_PYTHON)("the second implementation on a workspace file", () => {
  let scratch = "";
  let original = "";
  let copies = 0;
  const second = new SecondVerifier();
  beforeAll(async () => {
    scratch = mkdtempSync(join(inMemory(), "governd-second-"));
    original = join(scratch, "original.db");
    await makeSampleWorkspace(original);
  });
  afterAll(async () => {
    await second[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true });
  });

  /** What it says of the file after some SQL was run on it, and the exit code. */
  async function judge(...sql: (string | [sql: string, rowid: number])[]): Promise<Said | null> {
    copies += 1;
    const path = join(scratch, `${copies}.db`);
    copyFileSync(original, path);
    if (existsSync(`${original}-wal`)) copyFileSync(`${original}-wal`, `${path}-wal`);
    const connection = openConnection(path);
    try {
      for (const statement of sql) {
        if (typeof statement === "string") connection.run(statement);
        else if (!changesRow(connection, ...statement)) return null;
      }
    } finally {
      connection.close();
    }
    return await second.run(path);
  }

  /** Applies a change to one row. False when the database refuses it, or nothing is different then. */
  function changesRow(connection: Connection, sql: string, rowid: number): boolean {
    const state = () =>
      JSON.stringify(["entries", "checkpoints", "configs"].map((table) => connection.all(`SELECT * FROM ${table}`)));
    const before = state();
    try {
      connection.run(sql, [rowid]);
    } catch {
      return false;
    }
    recount(connection);
    return state() !== before;
  }

  test("holds as it was written", async () => {
    expect(await judge()).toMatchObject({ code: 0, out: expect.stringContaining("unsealed") });
  });

  test.each([
    ["an event", "UPDATE events SET result = 'conflict' WHERE seq = 1"],
    ["a hash", "UPDATE events SET hash = zeroblob(32) WHERE seq = 4"],
    ["details", `UPDATE events SET details = replace(details, '"', ' "') WHERE seq = 1`],
    ["a missing event", "DELETE FROM events WHERE seq = 5"],
    ["the tail", "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)"],
    ["a value", `UPDATE entries SET value = '"forged"' WHERE id = (SELECT min(id) FROM entries)`],
    ["a config", `UPDATE configs SET config = '{}' WHERE version = 1`],
    ["a missing config", "DELETE FROM configs WHERE version = 1"],
    ["the head", "UPDATE head SET seq = seq - 1"],
  ])("a change of %s is found", async (_, sql) => {
    expect(await judge(sql)).toMatchObject({ code: 1, out: expect.stringContaining("TAMPERED") });
  });

  /** Changes of stored rows that leave the agents' counts right. Each is applied to one row. */
  const CHANGES: Record<string, string[]> = {
    entries: [
      "DELETE FROM entries WHERE rowid = ?",
      "UPDATE entries SET live_to = NULL WHERE rowid = ?",
      "UPDATE entries SET live_to = live_from + 1 WHERE rowid = ?",
      "UPDATE entries SET live_to = (SELECT max(seq) FROM events) WHERE rowid = ?",
      "UPDATE entries SET live_from = live_from + 1 WHERE rowid = ?",
      "UPDATE entries SET created_seq = written_seq, created_at = updated_at WHERE rowid = ?",
      `INSERT INTO entries (agent, key, value, metadata, salt, written_seq, created_seq, live_from, live_to, created_at, updated_at)
        SELECT agent, key, value, metadata, salt, written_seq, created_seq, live_from, (SELECT max(as_of_seq) + 1 FROM checkpoints),
        created_at, updated_at FROM entries WHERE rowid = ?`,
    ],
    checkpoints: [
      "DELETE FROM checkpoints WHERE rowid = ?",
      "UPDATE checkpoints SET as_of_seq = as_of_seq - 1 WHERE rowid = ?",
    ],
    configs: ["DELETE FROM configs WHERE rowid = ?", "UPDATE configs SET config = '{}' WHERE rowid = ?"],
  };

  /** Of the rows of a table, each change is applied to one in so many. */
  const EVERY = effort({ usual: 3, long: 1 });

  test(
    "agrees with the first on each changed row, after restores, expiries and deletions by prefix",
    async () => {
      const wrong: unknown[] = [];
      let found = 0;
      for (const [table, statements] of Object.entries(CHANGES)) {
        for (const [index, sql] of statements.entries()) {
          const source = openConnection(original);
          const ids = source.all<[number]>(`SELECT rowid FROM ${table}`).flat();
          source.close();
          for (const id of ids.filter((_, row) => (row + index) % EVERY === 0)) {
            const said = await judge([sql, id]);
            if (said === null) continue;
            const path = join(scratch, `${copies}.db`);
            const { report, verdict } = await verifyDatabaseFile({ path, immutable: false }, { path });
            const ours = codesOf(report.problems.map(({ code }) => code));
            found += verdict === "tampered" ? 1 : 0;
            const agrees = Bun.deepEquals(codesOf(said.codes), ours) && (said.code === 1) === (verdict === "tampered");
            if (!agrees) wrong.push([table, index, id, ours, said]);
          }
        }
      }
      expect(wrong).toEqual([]);
      expect(found).toBeGreaterThan(60 / EVERY);
    },
    PROCESS_TEST_MS,
  );

  test("a file that a daemon writes to is never accused", async () => {
    let writing = true;
    const write = async () => {
      for (let at = 0; writing; at++) {
        const driver = new Driver(original, Date.UTC(2026, 6, 1) + at * 60_000);
        for (let i = 0; i < 20; i++) await driver.write("live", `k${i}`, `${at}`);
        if (at % 3 === 0) driver.connection.truncateLog();
        // The log beside the file disappears with the last connection.
        driver.close();
        await Bun.sleep(1);
      }
    };
    const writer = write();
    const codes = new Set<number>();
    for (let i = 0; i < 12; i++) codes.add((await second.run(original)).code);
    writing = false;
    await writer;
    expect(codes).not.toContain(1);
    expect(codes).toContain(0);
  });

  test("what is no workspace file cannot be established", async () => {
    expect((await judge("DROP TABLE events", "DROP TABLE head", "DROP TABLE agents"))?.code).toBe(2);
  });

  test("a workspace file without its events was changed", async () => {
    expect((await judge("DROP TABLE events"))?.code).toBe(1);
  });
});
