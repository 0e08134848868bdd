/** Migrations are atomic and follow a copy; a newer database is not changed by a byte. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { workspaceFile } from "../../src/core/datadir/layout.ts";
import { openWorkspaceFile, WORKSPACE_SCHEMA } from "../../src/core/writer/file.ts";
import { openConnection } from "../../src/store/connection.ts";
import {
  copiesBeforeMigration,
  FIRST_SCHEMA,
  type Migration,
  MigrationFailed,
  openMigrated,
  schemaVersion,
  UnknownSchema,
} from "../../src/store/migrate.ts";
import { copyDatabase, fileState } from "../../src/store/snapshot.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
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
    expect(rows(path)).toEqual([FIRST_SCHEMA + 2, [1, "kept"]]);
    expect(rows(`${path}.before-v${FIRST_SCHEMA + 2}`)).toEqual([FIRST_SCHEMA, [1, "kept"]]);
    expect(statSync(`${path}.before-v${FIRST_SCHEMA + 2}`).mode & 0o777).toBe(0o600);
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
    expect(copiesBeforeMigration(path)).toEqual([`${path}.before-v${FIRST_SCHEMA + 1}`]);
    openMigrated(path, THIRD).close();
    expect(copiesBeforeMigration(path)).toEqual([`${path}.before-v${FIRST_SCHEMA + 2}`]);
  });
});

describe("a migration that fails half way", () => {
  test("leaves the database as it was, and the copy beside it, and says what to do", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, FIRST);
    expect(() => openMigrated(path, BROKEN)).toThrow(MigrationFailed);
    expect(() => openMigrated(path, BROKEN)).toThrow(
      new RegExp(
        `from schema version ${FIRST_SCHEMA} to ${FIRST_SCHEMA + 2}: .*nowhere.* Nothing was changed, and a copy of it is .*before-v${FIRST_SCHEMA + 2}`,
      ),
    );
    expect(rows(path)).toEqual([FIRST_SCHEMA, [1, "kept"]]);
    expect(rows(`${path}.before-v${FIRST_SCHEMA + 2}`)).toEqual([FIRST_SCHEMA, [1, "kept"]]);
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
    expect(rows(path)[0]).toBe(FIRST_SCHEMA + 2);
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
    expect([rows(path), tables(path)]).toEqual([[FIRST_SCHEMA, [1, "kept"]], ["t"]]);
  });
});

/** Gives a database the schema version of another program. */
function renumber(path: string, version: number): void {
  const connection = openConnection(path);
  connection.exec(`PRAGMA user_version = ${version}; PRAGMA wal_checkpoint(TRUNCATE)`);
  connection.close();
}

describe("a database of a newer program", () => {
  test("is refused untouched, also one that is not in WAL mode or has a log beside it", () => {
    using directory = temporaryDirectory();
    const path = directory.join("a.db");
    make(path, THIRD);
    const plain = directory.join("plain.db");
    const connection = openConnection(path, { readOnly: true });
    connection.exec(`VACUUM INTO '${plain}'`);
    connection.close();
    const before = digest(plain);
    expect(() => openMigrated(plain, FIRST)).toThrow(UnknownSchema);
    expect(digest(plain)).toBe(before);

    // As a daemon that was killed leaves it.
    const writer = openConnection(path);
    writer.run("INSERT INTO t (a, b) VALUES (2, 'in the log')");
    const left = directory.join("left.db");
    writeFileSync(left, readFileSync(path));
    writeFileSync(`${left}-wal`, readFileSync(`${path}-wal`));
    writer.close();
    const both = [digest(left), digest(`${left}-wal`)];
    expect(() => openMigrated(left, SECOND)).toThrow(UnknownSchema);
    expect([digest(left), digest(`${left}-wal`)]).toEqual(both);
  });
});

/** Numbers of other programs for a database with this newest schema, and what is said of each. */
const OTHERS = (newest: number): [version: number, said: RegExp][] => [
  [1, /a build of governd from before 0\.1\.0 \(schema 1\), which no release can read: use that build, or/],
  [FIRST_SCHEMA - 1, new RegExp(`from before 0\\.1\\.0 \\(schema ${FIRST_SCHEMA - 1}\\)`)],
  [
    newest + 1,
    new RegExp(`a newer governd \\(schema ${newest + 1}, this one knows ${newest}\\): use the newer governd`),
  ],
];

describe("a database of a build before 0.1.0, or of a newer governd, is refused and keeps every byte", () => {
  test.each(OTHERS(WORKSPACE_SCHEMA))("a workspace of schema %d", async (version, said) => {
    using directory = temporaryDirectory();
    const path = directory.join("w.db");
    (await Driver.create(path)).close();
    renumber(path, version);
    const before = digest(path);
    expect(() => openWorkspaceFile(path)).toThrow(UnknownSchema);
    expect(() => openWorkspaceFile(path)).toThrow(said);
    const { verdict, report } = await verifyDatabaseFile({ path, immutable: false }, { path });
    expect([verdict, report.problems[0]?.message]).toEqual(["undetermined", expect.stringMatching(said)]);
    expect([digest(path), copiesBeforeMigration(path)]).toEqual([before, []]);
  });

  test.each(OTHERS(WORKSPACE_SCHEMA))(
    "by every command, in a data directory whose installation has schema %d",
    async (version, said) => {
      using from = await FilledDirectory.make(1);
      const [id] = from.ids as [string];
      using backups = temporaryDirectory();
      const path = workspaceFile(from.data, from.installation);
      renumber(path, version);
      const before = digest(path);
      for (const words of [
        ["key", "create", "--workspace", id],
        ["account", "list"],
        ["backup", backups.path],
        ["compact"],
      ]) {
        const { code, err } = await governd([...words, "--data-dir", from.data.root]);
        expect([words[0], code, err]).toEqual([words[0], 2, expect.stringMatching(said)]);
        expect(err).toMatch(/Nothing was changed\./);
      }
      const checked = await governd(["check", "--data-dir", from.data.root]);
      expect([checked.code, checked.out]).toEqual([1, expect.stringMatching(said)]);
      expect((await governd(["verify", from.data.root])).code).toBe(2);
      expect(digest(path)).toBe(before);
    },
  );

  test.each(OTHERS(WORKSPACE_SCHEMA))("by a command that opens a workspace of schema %d", async (version, said) => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    const path = workspaceFile(from.data, id);
    renumber(path, version);
    const before = digest(path);
    const { code, err } = await governd(["key", "create", "--workspace", id, "--data-dir", from.data.root]);
    expect([code, err]).toEqual([2, expect.stringMatching(said)]);
    expect(digest(path)).toBe(before);
  });
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
