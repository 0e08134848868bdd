/** Every object of the schema changed, and every index with other entries than its table has: each is found. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { AGE_INDEX_SCHEMA } from "../../src/core/rows/age-index.ts";
import { EMBEDDINGS_SCHEMA } from "../../src/core/rows/embeddings.ts";
import { FULL_TEXT_SCHEMA } from "../../src/core/rows/full-text.ts";
import { WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import type { Verdict } from "../../src/verify/problems.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { makeBase, tamper } from "../corpus/base.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { SEED } from "../seed.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

let directory: TemporaryDirectory;
let source: string;
let copies = 0;
/** What was said of each file. */
const verdicts = new Map<string, Verdict>();
const indexes: string[] = [];
/** The indexes of tables that have rows: what those of an empty table hold cannot be wrong. */
const filled = new Set<string>();
const tables: string[] = [];

beforeAll(async () => {
  directory = temporaryDirectory();
  source = (await makeBase(directory.path)).database;
  tamper(source, exec("INSERT INTO answers VALUES (1, x'01', x'02', 0, 1, '{}', '{}')"));
  using connection = openConnection(source, { readOnly: true });
  const names = (type: string) =>
    connection
      .all<[string]>("SELECT name FROM sqlite_schema WHERE type = ? ORDER BY name", [type])
      .map(([name]) => name);
  indexes.push(...names("index"));
  tables.push(...names("table"));
  for (const table of tables) {
    if (connection.get(`SELECT 1 FROM "${table}"`) === undefined) continue;
    const its = connection.all<[string, string | null]>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?",
      [table],
    );
    for (const [name, sql] of its) {
      const condition = /\sWHERE\s([\s\S]*)$/.exec(sql ?? "")?.[1] ?? "1";
      if (connection.get(`SELECT 1 FROM "${table}" WHERE ${condition}`) !== undefined) filled.add(name);
    }
  }
}, PROCESS_TEST_MS);
afterAll(() => directory[Symbol.dispose]());

/** What is found in a copy after changes, each by a connection of its own, which reads the schema again. */
async function found(...changes: ((connection: Connection) => void)[]): Promise<[string, string]> {
  const path = directory.join(`changed-${copies++}.db`);
  copyFileSync(source, path);
  for (const change of changes) tamper(path, change);
  const { verdict, report } = await verifyDatabaseFile({ path, immutable: true }, { path });
  verdicts.set(path, verdict);
  const named = report.problems.filter(({ code }) => code === "schema_mismatch");
  return [verdict, named.map(({ message }) => message).join("\n")];
}

/** Changes the stored text of an object as an editor of the schema would. */
const rewrite = (name: string, edit: (sql: string) => string) => (connection: Connection) => {
  const [sql] = connection.get<[string]>("SELECT sql FROM sqlite_schema WHERE name = ?", [name]) ?? [""];
  connection.exec("PRAGMA writable_schema = ON");
  connection.run("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [edit(sql), name]);
};
const reindex = (name: string) => (connection: Connection) => connection.exec(`REINDEX ${name}`);
const exec = (sql: string) => (connection: Connection) => connection.exec(sql);

/** An index rebuilt under another text, which is then put back. */
const rebuiltUnder = (name: string, edit: (sql: string) => string) => {
  let genuine = "";
  return [
    rewrite(name, (sql) => {
      genuine = sql;
      return edit(sql);
    }),
    reindex(name),
    rewrite(name, () => genuine),
  ] as const;
};

const declared = () => indexes.filter((name) => !name.startsWith("sqlite_"));
const partial = (sql: string) => (sql.includes(" WHERE ") ? `${sql} AND 0` : `${sql} WHERE 0`);

test("the untouched file is verified", async () => {
  expect(await found()).toEqual(["verified", ""]);
  expect(declared().length).toBeGreaterThan(6);
  expect(indexes.length).toBeGreaterThan(declared().length);
  expect(declared().filter((name) => filled.has(name)).length).toBeGreaterThan(6);
});

describe("each index", () => {
  const cases: [string, (name: string) => readonly ((connection: Connection) => void)[]][] = [
    ["partial", (name) => [rewrite(name, partial)]],
    ["partial, its text put back", (name) => rebuiltUnder(name, partial)],
    ["dropped", (name) => [exec(`DROP INDEX ${name}`)]],
    ["with an extra column", (name) => [rewrite(name, (sql) => sql.replace(")", ", -1)"))]],
    [
      "with an extra column, its text put back",
      (name) => rebuiltUnder(name, (sql) => sql.replace(/\)(?=\s+WHERE|$)/, ", -1)")),
    ],
    ["with another collation", (name) => [rewrite(name, (sql) => sql.replace(/(,|\))/, " COLLATE NOCASE$1"))]],
  ];
  test.each(cases)("%s", async (how, changes) => {
    for (const name of declared()) {
      if (how.endsWith("put back") && !filled.has(name)) continue;
      const [verdict, named] = await found(...changes(name));
      expect([name, verdict]).toEqual([name, "tampered"]);
      expect(named).toContain(`index ${name}`);
    }
  });

  test("with the pages of another index", async () => {
    for (const [at, name] of indexes.entries()) {
      const other = indexes[(at + 1) % indexes.length] as string;
      if (!filled.has(name) && !filled.has(other)) continue;
      const [verdict] = await found((connection) => {
        const root = (index: string) =>
          connection.get<[number]>("SELECT rootpage FROM sqlite_schema WHERE name = ?", [index])?.[0] ?? 0;
        const [mine, others] = [root(name), root(other)];
        connection.exec("PRAGMA writable_schema = ON");
        connection.run("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", [others, name]);
        connection.run("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", [mine, other]);
      });
      expect([name, other, verdict]).not.toEqual([name, other, "verified"]);
    }
  });

  test("without one row, and with other rows", async () => {
    const hide = rebuiltUnder("entries_live", (sql) => `${sql} AND key <> 'k3'`);
    expect((await found(...hide))[0]).toBe("tampered");
    const turn = rebuiltUnder("entries_ended", (sql) => sql.replace(/\)(?= WHERE)/, " DESC)"));
    expect((await found(...turn))[0]).toBe("tampered");
    const forget = rebuiltUnder("events_by_agent", (sql) => `${sql} WHERE agent_seq <> 4`);
    expect((await found(...forget))[0]).toBe("tampered");
    const [verdict, named] = await found(
      rewrite("entries_ended", (sql) => sql.replace("IS NOT NULL", "IS NULL")),
      reindex("entries_ended"),
      rewrite("entries_ended", (sql) => sql.replace("IS NULL", "IS NOT NULL")),
    );
    expect([verdict, named]).toEqual(["tampered", expect.stringContaining("index entries_ended")]);
  });
});

describe("each table", () => {
  const cases: [string, (name: string) => readonly ((connection: Connection) => void)[]][] = [
    ["with an extra column", (name) => [exec(`ALTER TABLE ${name} ADD COLUMN more TEXT`)]],
    ["with a generated column", (name) => [exec(`ALTER TABLE ${name} ADD COLUMN more TEXT AS (1) VIRTUAL`)]],
    ["with a trigger", (name) => [exec(`CREATE TRIGGER more AFTER INSERT ON ${name} BEGIN SELECT 1; END`)]],
    ["with one more index", (name) => [exec(`CREATE INDEX more ON ${name} (1)`)]],
    [
      "behind a view",
      (name) => [exec(`ALTER TABLE ${name} RENAME TO hidden; CREATE VIEW ${name} AS SELECT * FROM hidden`)],
    ],
    ["with another text", (name) => [rewrite(name, (sql) => sql.replace("STRICT", " STRICT"))]],
  ];
  test.each(cases)("%s", async (_, changes) => {
    for (const name of tables) {
      const [verdict, named] = await found(...changes(name));
      // Without its events, a file is no workspace at all.
      if (name === "events" && verdict === "undetermined") continue;
      expect([name, verdict, named]).toEqual([name, "tampered", expect.stringMatching(new RegExp(`${name}|more`))]);
    }
  });

  test("dropped", async () => {
    for (const name of tables) {
      const [verdict, named] = await found(exec(`DROP TABLE ${name}`));
      expect([verdict, named]).toEqual(["tampered", expect.stringContaining(`table ${name} is missing`)]);
    }
  });

  test("a generated column that computes something else", async () => {
    const [verdict, named] = await found(rewrite("events", (sql) => sql.replace("time / 1000.0", "time / 1001.0")));
    expect([verdict, named]).toEqual(["tampered", expect.stringContaining("table events was changed")]);
  });

  test("a view or a trigger that is named like SQLite's own objects", async () => {
    const [verdict, named] = await found(exec("CREATE VIEW more AS SELECT 1"), (connection) => {
      connection.exec("PRAGMA writable_schema = ON");
      connection.run(
        "UPDATE sqlite_schema SET name = 'sqlite_more', tbl_name = 'sqlite_more', sql = 'CREATE VIEW sqlite_more AS SELECT 1' WHERE name = 'more'",
      );
    });
    expect([verdict, named]).toEqual(["tampered", expect.stringContaining("view sqlite_more was added")]);
  });

  test("the statistics of ANALYZE are no change", async () => {
    expect(await found(exec("ANALYZE"))).toEqual(["verified", ""]);
  });
});

describe.skipIf(Bun.which("python3") === null)("the second implementation", () => {
  const script = join(import.meta.dir, "../../tools/verify.py");

  test("says the same of every file", async () => {
    expect(verdicts.size).toBeGreaterThan(100);
    // Half of them in `npm test`, others in each run.
    const every = effort({ usual: 2, long: 1 });
    const first = SEED % every;
    const chosen = [...verdicts].filter((_, index) => index % every === first);
    const { stdout } = Bun.spawnSync(["python3", "-B", script, ...chosen.map(([path]) => path)]);
    const said = stdout.toString().trim().split("\n");
    const words = { verified: "holds", tampered: "TAMPERED", undetermined: "cannot be established" };
    const expected = chosen.map(([path, verdict]) => `${path}: ${words[verdict]}`);
    expect(said.map((line, at) => line.slice(0, expected[at]?.length))).toEqual(expected);
  });

  test("knows the schema, and the derived data", async () => {
    const empty = directory.join("empty.db");
    {
      using connection = openConnection(empty);
      migrate(connection, WORKSPACE_MIGRATIONS);
      connection.exec("PRAGMA journal_mode = DELETE");
    }
    const paths = [empty];
    for (const [name, sql] of Object.entries({ AGE_INDEX_SCHEMA, EMBEDDINGS_SCHEMA, FULL_TEXT_SCHEMA })) {
      const path = directory.join(`${name}.db`);
      copyFileSync(empty, path);
      tamper(path, exec(sql));
      paths.push(path);
    }
    const { stdout } = Bun.spawnSync(["python3", "-B", script, ...paths]);
    const expected = paths.map((path) => `${path}: cannot be established. the log is empty.`);
    expect(
      stdout
        .toString()
        .trim()
        .split("\n")
        .map((line) => `${line}.`.replace("..", ".")),
    ).toEqual(expected);
  });
});
