import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openEvidenceFile } from "../../src/cli/verify/evidence-file.ts";
import { Failure } from "../../src/failure.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { inMemory, PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(inMemory(), "governd-test-"));
  file = join(directory, "ws?#%.db");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function writeRows(connection: Connection, count: number): void {
  connection.exec("BEGIN");
  for (let i = 0; i < count; i++) connection.run("INSERT INTO rows (text) VALUES (?)", ["x".repeat(500)]);
  connection.exec("COMMIT");
}

function makeDatabase(): Connection {
  const connection = openConnection(file);
  connection.exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)");
  writeRows(connection, 100);
  return connection;
}

/** Returns every file of the directory with the digest of its bytes and its time of change. */
function state(): string[] {
  return readdirSync(directory)
    .sort()
    .map((name) => {
      const path = join(directory, name);
      const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
      return `${name} ${digest} ${statSync(path, { bigint: true }).mtimeNs}`;
    });
}

async function countRows(path: string): Promise<number> {
  using evidence = await openEvidenceFile(path);
  const { immutable } = evidence;
  const connection = openConnection(evidence.path, immutable ? { immutable } : { readOnly: true });
  try {
    expect(() => connection.exec("DELETE FROM rows")).toThrow();
    return connection.get<[number]>("SELECT count(*) FROM rows")?.[0] ?? -1;
  } finally {
    connection.close();
  }
}

/** Returns null if the database changed during every attempt to copy it. @throws any other error */
function refusedAsUnsteady(error: unknown): null {
  if (error instanceof Failure && error.code === "evidence_unreadable") return null;
  throw error;
}

describe("a database as evidence", () => {
  test("alone: is read in place, and nothing is changed or made", async () => {
    const connection = makeDatabase();
    connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    connection.close();
    for (const beside of ["-wal", "-shm"]) rmSync(file + beside, { force: true });
    const before = state();
    expect(before).toHaveLength(1);
    expect(await countRows(file)).toBe(100);
    expect(state()).toEqual(before);
  });

  test("open elsewhere: what is only in the write-ahead log is read, and nothing is changed or made", async () => {
    const connection = makeDatabase();
    const before = state();
    expect(before.some((line) => line.includes("-wal"))).toBe(true);
    expect(await countRows(file)).toBe(100);
    const link = join(directory, "link.db");
    symlinkSync(file, link);
    expect(await countRows(link)).toBe(100);
    rmSync(link);
    expect(state()).toEqual(before);
    connection.close();
  });

  test("with a write-ahead log that was left behind by a killed process: it is read", async () => {
    const script = `
      import { openConnection } from ${JSON.stringify(join(import.meta.dir, "../../src/store/connection.ts"))};
      const connection = openConnection(${JSON.stringify(file)});
      connection.exec("CREATE TABLE rows (id INTEGER PRIMARY KEY); INSERT INTO rows VALUES (1), (2), (3)");
      process.kill(process.pid, "SIGKILL");`;
    await Bun.spawn([process.execPath, "-e", script]).exited;
    const before = state();
    expect(before.some((line) => line.includes("-wal"))).toBe(true);
    expect(await countRows(file)).toBe(3);
    expect(state()).toEqual(before);
  });

  test("a file that is written to while it is read in place says so", async () => {
    const connection = makeDatabase();
    connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    using evidence = await openEvidenceFile(file);
    expect(evidence.immutable).toBe(true);
    expect(evidence.unchanged()).toBe(true);
    writeRows(connection, 1);
    expect(evidence.unchanged()).toBe(false);
    connection.close();
  });

  test("a copy is one snapshot of the database while another process writes and restarts its log", async () => {
    makeDatabase().close();
    const script = `
      import { openConnection } from ${JSON.stringify(join(import.meta.dir, "../../src/store/connection.ts"))};
      const connection = openConnection(${JSON.stringify(file)});
      console.log("ready");
      // Rows are committed in tens, so no state of the database has another number of rows. Later ones are overwritten,
      // since on a busy machine the file would grow faster than it is copied.
      const text = "y".repeat(3000);
      for (let turn = 0; ; turn++) {
        connection.exec("BEGIN");
        for (let i = 1; i <= 10; i++) {
          if (turn < 1000) connection.run("INSERT INTO rows (text) VALUES (?)", [text]);
          else connection.run("UPDATE rows SET text = ? WHERE rowid = ?", [text, (turn % 1000) * 10 + i]);
        }
        connection.exec("COMMIT");
        if (turn % 1000 === 999) connection.exec("PRAGMA wal_checkpoint(RESTART)");
      }`;
    const writer = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
    try {
      await writer.stdout.getReader().read();
      let last = 0;
      // On a busy machine the writer may need more time to write enough rows.
      for (let i = 0; i < 10 || last <= 100; i++) {
        // A log that restarts during every attempt is refused, which is a valid result.
        using evidence = await openEvidenceFile(file).catch(refusedAsUnsteady);
        if (evidence === null || evidence.immutable) continue;
        const connection = openConnection(evidence.path, { readOnly: true });
        const [count = -1] = connection.get<[number]>("SELECT count(*) FROM rows") ?? [];
        expect(connection.get<[string]>("PRAGMA integrity_check")?.[0]).toBe("ok");
        connection.close();
        expect(count % 10).toBe(0);
        expect(count).toBeGreaterThanOrEqual(last);
        last = count;
      }
    } finally {
      writer.kill("SIGKILL");
      await writer.exited;
    }
  });

  test("a log that becomes empty while the file is copied does not make the file unreadable", async () => {
    const large = join(directory, "large.db");
    const log = `${large}-wal`;
    // The file takes so long to copy that the log mostly ends in the middle. Nothing reads its content.
    writeFileSync(large, "");
    truncateSync(large, 256 * 1024 * 1024);
    for (const delayMs of [0, 10, 20, 40]) {
      writeFileSync(log, Buffer.alloc(32, 1));
      const script = `await Bun.sleep(${delayMs}); require("fs").truncateSync(${JSON.stringify(log)}, 0);`;
      const child = Bun.spawn([process.execPath, "-e", `console.log(1); ${script}`], { stdout: "pipe" });
      await child.stdout.getReader().read();
      using evidence = await openEvidenceFile(large);
      expect(existsSync(evidence.path)).toBe(true);
      await child.exited;
    }
  });

  test("the private copy is removed afterwards", async () => {
    const connection = makeDatabase();
    let copy: string;
    {
      using evidence = await openEvidenceFile(file);
      copy = evidence.path;
      expect(statSync(join(copy, "..")).mode & 0o777).toBe(0o700);
    }
    expect(existsSync(join(copy, ".."))).toBe(false);
    connection.close();
  });

  test("a missing file is a failure that says so", async () => {
    const failure = await openEvidenceFile(join(directory, "absent.db")).catch((error) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect(failure.code).toBe("evidence_unreadable");
    expect(failure.message).toContain("no such file");
  });
});
