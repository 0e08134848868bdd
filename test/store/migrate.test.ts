/** Migrations are atomic and follow a copy; a newer database is not changed by a byte. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { openWorkspaceFile, WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { Failure } from "../../src/failure.ts";
import { CONTROL_MIGRATIONS, ControlDatabase } from "../../src/ops/directory/database.ts";
import { openConnection } from "../../src/store/connection.ts";
import {
  copiesBeforeMigration,
  type Migration,
  MigrationFailed,
  NewerDatabase,
  openMigrated,
  schemaVersion,
} from "../../src/store/migrate.ts";
import { copyDatabase, fileState } from "../../src/store/snapshot.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { governd } from "../cli/governd.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Driver } from "../verify/sample-workspace.ts";

const FIRST = ["CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) STRICT"];
const SECOND = [...FIRST, "ALTER TABLE t ADD COLUMN c TEXT"];
const THIRD = [...SECOND, "CREATE TABLE u (a INTEGER) STRICT; UPDATE t SET c = b"];
const BROKEN = [...SECOND, "CREATE TABLE u (a INTEGER) STRICT; UPDATE t SET c = 'half'; UPDATE nowhere SET a = 1"];

const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

function make(path: string, migrations: readonly string[]): void {
  const connection = openMigrated(path, migrations);
  connection.run("INSERT INTO t (a, b) VALUES (1, 'kept')");
  connection.close();
}

function rows(path: string): unknown[] {
  const connection = openConnection(path, { readOnly: true });
  try {
    return [schemaVersion(connection), ...connection.all("SELECT a, b FROM t")];
  } finally {
    connection.close();
  }
}

describe("before an existing database is changed it is copied", () => {
  test("the copy has the old schema and the data, and is private", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, FIRST);
    openMigrated(path, THIRD).close();
    expect(rows(path)).toEqual([3, [1, "kept"]]);
    expect(rows(`${path}.before-v3`)).toEqual([1, [1, "kept"]]);
    expect(statSync(`${path}.before-v3`).mode & 0o777).toBe(0o600);
  });

  test("a new database needs no copy, and one that is up to date none", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, SECOND);
    openMigrated(path, SECOND).close();
    expect(copiesBeforeMigration(path)).toEqual([]);
  });

  test("one copy stays, that of the last migration", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, FIRST);
    openMigrated(path, SECOND).close();
    expect(copiesBeforeMigration(path)).toEqual([`${path}.before-v2`]);
    openMigrated(path, THIRD).close();
    expect(copiesBeforeMigration(path)).toEqual([`${path}.before-v3`]);
  });
});

describe("a migration that fails half way", () => {
  test("leaves the database as it was, and the copy beside it, and says what to do", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, FIRST);
    expect(() => openMigrated(path, BROKEN)).toThrow(MigrationFailed);
    expect(() => openMigrated(path, BROKEN)).toThrow(
      /could not be migrated from schema version 1 to 3: .*nowhere.* Nothing was changed, and a copy of it is .*before-v3/,
    );
    expect(rows(path)).toEqual([1, [1, "kept"]]);
    expect(rows(`${path}.before-v3`)).toEqual([1, [1, "kept"]]);
    const connection = openMigrated(path, FIRST);
    expect(connection.all("SELECT name FROM sqlite_schema WHERE name = 'u'")).toEqual([]);
    connection.close();
    expect(readdirSync(directory.path).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("succeeds later, with a fixed program", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, FIRST);
    expect(() => openMigrated(path, BROKEN)).toThrow(MigrationFailed);
    openMigrated(path, THIRD).close();
    expect(rows(path)[0]).toBe(3);
  });
});

describe("a migration that the file's content decides on", () => {
  const byContent: Migration[] = [
    ...FIRST,
    (connection) => {
      if (connection.get("SELECT 1 FROM t") !== undefined) connection.exec("CREATE TABLE u (a INTEGER) STRICT");
    },
  ];
  const tables = (path: string): unknown[] => {
    const connection = openConnection(path, { readOnly: true });
    try {
      return connection.all("SELECT name FROM sqlite_schema ORDER BY name").flat();
    } finally {
      connection.close();
    }
  };

  test("sees what is there", () => {
    using directory = temporaryDirectory();
    const [empty, filled] = [directory.join("a.db"), directory.join("b.db")];
    openMigrated(empty, FIRST).close();
    make(filled, FIRST);
    for (const path of [empty, filled]) openMigrated(path, byContent).close();
    expect([tables(empty), tables(filled)]).toEqual([["t"], ["t", "u"]]);
  });

  test("leaves the database as it was when it or a later one fails", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, FIRST);
    const fail = () => {
      throw new Error("no");
    };
    expect(() => openMigrated(path, [...byContent, fail])).toThrow(MigrationFailed);
    expect(() => openMigrated(path, [...byContent, "UPDATE nowhere SET a = 1"])).toThrow(MigrationFailed);
    expect([rows(path), tables(path)]).toEqual([[1, [1, "kept"]], ["t"]]);
  });
});

describe("a database of a newer program", () => {
  const newer = (path: string, version: number) => {
    const connection = openConnection(path);
    connection.exec(`PRAGMA user_version = ${version}; PRAGMA wal_checkpoint(TRUNCATE)`);
    connection.close();
  };

  test("is refused untouched, also one that is not in WAL mode or has a log beside it", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, THIRD);
    const plain = directory.join("plain.db");
    const connection = openConnection(path, { readOnly: true });
    connection.exec(`VACUUM INTO '${plain}'`);
    connection.close();
    const before = digest(plain);
    expect(() => openMigrated(plain, FIRST)).toThrow(NewerDatabase);
    expect(digest(plain)).toBe(before);

    // As a daemon that was killed leaves it.
    const writer = openConnection(path);
    writer.run("INSERT INTO t (a, b) VALUES (2, 'in the log')");
    const left = directory.join("left.db");
    writeFileSync(left, readFileSync(path));
    writeFileSync(`${left}-wal`, readFileSync(`${path}-wal`));
    writer.close();
    const both = [digest(left), digest(`${left}-wal`)];
    expect(() => openMigrated(left, SECOND)).toThrow(NewerDatabase);
    expect([digest(left), digest(`${left}-wal`)]).toEqual(both);
  });

  test("workspace and control database alike", async () => {
    using directory = temporaryDirectory();
    const path = directory.join("w.db");
    (await Driver.create(path)).close();
    newer(path, WORKSPACE_MIGRATIONS.length + 1);
    const before = digest(path);
    expect(() => openWorkspaceFile(path)).toThrow(NewerDatabase);
    expect(digest(path)).toBe(before);

    const data = dataDirectory(directory.path);
    ControlDatabase.open(data)[Symbol.dispose]();
    newer(data.control, CONTROL_MIGRATIONS.length + 1);
    const control = digest(data.control);
    expect(() => ControlDatabase.open(data)).toThrow(Failure);
    expect(() => ControlDatabase.open(data)).toThrow(/written by a newer governd/);
    expect(digest(data.control)).toBe(control);
    expect(existsSync(`${data.control}.before-v${CONTROL_MIGRATIONS.length}`)).toBe(false);
  });
});

test("a command refuses a workspace of a newer program, and changes nothing", async () => {
  using from = await FilledDirectory.make(1);
  const [id] = from.ids as [string];
  const path = workspaceFile(from.data, id);
  const connection = openConnection(path);
  connection.exec("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
  connection.close();
  const before = digest(path);
  const { code, err } = await governd(["key", "create", "--workspace", id, "--data-dir", from.data.root]);
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/schema 99, this one knows \d+\)\. Nothing was changed\. Use the newer governd/),
  ]);
  expect(digest(path)).toBe(before);
});

describe("a copy of a database", () => {
  test("is taken in one state while another process's connection writes to it", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, SECOND);
    const writer = openConnection(path);
    for (let round = 0; round < 20; round++) {
      writer.exec("BEGIN IMMEDIATE");
      writer.run("INSERT INTO t (b) VALUES (?)", [`${round}`]);
      const target = directory.join(`copy-${round}.db`);
      copyDatabase(path, target);
      // What is not committed is not in it; what is, is.
      expect(rows(target).length).toBe(2 + round);
      writer.exec("COMMIT");
    }
    writer.close();
  });

  test("names the state that it is of only when that is certain", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, SECOND);
    expect(fileState(path, Date.now())).toBeNull();
    const later = Date.now() + 10_000;
    const state = fileState(path, later);
    expect(state).toBeString();
    // A time that is set back changes nothing about that.
    utimesSync(path, new Date(0), new Date(0));
    expect(fileState(path, later)).not.toBe(state);
  });

  test("is not left half made", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, SECOND);
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096);
    writeFileSync(directory.join("bad.db"), bytes);
    expect(() => copyDatabase(directory.join("bad.db"), directory.join("copy.db"))).toThrow();
    expect(existsSync(directory.join("copy.db"))).toBe(false);
  });
});
