import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConnection } from "../../src/store/connection.ts";
import { Driver, makeSampleWorkspace } from "../verify/sample-workspace.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

describe.skipIf(!HAS_PYTHON)("the second implementation on a workspace file", () => {
  let scratch = "";
  let original = "";
  let copies = 0;
  const second = new SecondVerifier();
  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), "governd-second-"));
    original = join(scratch, "original.db");
    await makeSampleWorkspace(original);
  });
  afterAll(async () => {
    await second[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true });
  });

  /** What it says of the file after some SQL was run on it, and the exit code. */
  function judge(...sql: string[]): Promise<{ code: number; out: string }> {
    copies += 1;
    const path = join(scratch, `${copies}.db`);
    copyFileSync(original, path);
    if (existsSync(`${original}-wal`)) copyFileSync(`${original}-wal`, `${path}-wal`);
    const connection = openConnection(path);
    for (const statement of sql) connection.run(statement);
    connection.close();
    return second.run(path);
  }

  test("holds as it was written", async () => {
    expect(await judge()).toMatchObject({ code: 0, out: expect.stringContaining("unsealed") });
  });

  test.each([
    ["an event's body", `UPDATE events SET body = replace(body, '"ok"', '"conflict"') WHERE seq = 1`],
    ["a hash", "UPDATE events SET hash = printf('%064d', 0) WHERE seq = 4"],
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
    expect((await judge("DROP TABLE events", "DROP TABLE head", "DROP TABLE agents")).code).toBe(2);
  });

  test("a workspace file without its events was changed", async () => {
    expect((await judge("DROP TABLE events")).code).toBe(1);
  });
});
