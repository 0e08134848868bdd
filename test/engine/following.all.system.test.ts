/**
 * A copy is brought up to date while others commit without a pause: between any two of its requests there is a commit.
 * Each commit writes its number to several tables, so a copy with two numbers is no state that the database ever had.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { COMMITS_TABLE } from "../../src/engine-libsql/commits.ts";
import { WorkingCopy } from "../../src/engine-libsql/copy.ts";
import { pullAsIs } from "../../src/engine-libsql/pull.ts";
import { FIRST_COMMIT, pushInto } from "../../src/engine-libsql/push.ts";
import { ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { migrate, newestSchema } from "../../src/store/migrate.ts";
import { LIBSQL_SERVER, LibsqlServer } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const MIGRATIONS = [
  `CREATE TABLE events (seq INTEGER PRIMARY KEY, number INTEGER NOT NULL) STRICT;
   CREATE TABLE numbered (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
   CREATE TABLE named (name TEXT NOT NULL, bytes BLOB NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (name, bytes)) STRICT`,
];
const FORMAT = newestSchema(MIGRATIONS);
const NAME = "followed";
/** Requests that a copy may send until it is up to date. Each has one more commit before it. */
const MOST_REQUESTS = 60;
/** SQL: the text of rows of which three are too large for one answer. The server makes it. */
const LONG = "hex(zeroblob(2000000))";
const SHORT = "''";

/** Commits something before each request that it passes on. */
class BusyServer implements AsyncDisposable {
  requests = 0;
  readonly #server: Bun.Server<undefined>;

  constructor(target: string, commit: (request: number) => Promise<void>) {
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const body = await request.arrayBuffer();
        const count = ++this.requests;
        // Then nobody else writes any more: a copy that is only up to date once the others rest would be it now.
        if (count <= MOST_REQUESTS) await commit(count);
        const { method, headers } = request;
        return fetch(new URL(new URL(request.url).pathname, target), { method, headers, body });
      },
    });
  }

  get url(): string {
    return this.#server.url.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

/** What commit `number` does: it writes to every table, and removes the row that the last one made. */
const writes = (number: number, text: string): string[] => [
  `INSERT INTO events (number) VALUES (${number})`,
  ...rowsOf(text).map((id) => `INSERT OR REPLACE INTO numbered VALUES (${id}, ${number}, ${text})`),
  `INSERT OR REPLACE INTO named VALUES ('one', x'00ff', ${number})`,
  `DELETE FROM named WHERE name = 'passing ${number - 1}'`,
  `INSERT INTO named VALUES ('passing ${number}', x'01', ${number})`,
];

const rowsOf = (text: string): number[] => (text === LONG ? [1, 2, 3, 4] : [1]);

/** The keys of the rows that it changes, as nodes state them. */
const changedBy = (number: number, text: string): string =>
  JSON.stringify({
    numbered: rowsOf(text),
    named: [
      ["one", "00FF"],
      [`passing ${number - 1}`, "01"],
      [`passing ${number}`, "01"],
    ].map((key) => JSON.stringify(key)),
  });

/** The numbers of the newest commit that a file shows, one for each place where it is. */
function shown(connection: Connection): (number | undefined)[] {
  return [
    "SELECT max(number) FROM events",
    "SELECT count(*) - 1 FROM events",
    "SELECT number FROM numbered WHERE id = 1",
    "SELECT number FROM named WHERE name = 'one'",
    "SELECT max(number) FROM named",
    "SELECT min(number) FROM named",
  ].map((sql) => connection.value<number>(sql));
}

interface Case {
  /** How many commits a copy of the database lacks; null: there is no copy. */
  behind: number | null;
  /** Before which request rows are changed that are too large for one answer; null: never. */
  longAt: number | null;
}

const CASES: [string, Case][] = [
  ["a new copy", { behind: null, longAt: null }],
  ["a new copy, with rows that are too large for one answer", { behind: null, longAt: 6 }],
  ["a copy that lacks a few commits", { behind: 3, longAt: null }],
  ["a copy that lacks many commits", { behind: 250, longAt: null }],
];

test.skipIf(LIBSQL_SERVER === null).each(CASES)("%s is up to date soon", async (_name, { behind, longAt }) => {
  await using server = await LibsqlServer.start();
  using directory = temporaryDirectory();
  const engineAt = (url: string) => {
    const { token: authToken, adminUrl, adminToken } = server;
    return new ServerEngine({ url, authToken, adminUrl, adminToken, replicaUrls: [] }, () => {});
  };
  const engine = engineAt(server.url);
  await engine.ensureNamespace(NAME);
  using connection = openConnection(directory.join("pushed.db"));
  migrate(connection, MIGRATIONS);
  for (const sql of writes(0, SHORT)) connection.exec(sql);
  await pushInto(engine.namespace(NAME), connection, { format: FORMAT });
  let number = 0;
  // Without the deadline that a node has for its commits.
  const commit = async (text: string) => {
    number++;
    const row = `(${FIRST_COMMIT + number}, 'token', ${FORMAT}, '${changedBy(number, text)}')`;
    const all = [`INSERT INTO ${COMMITS_TABLE} VALUES ${row}`, ...writes(number, text)].map((sql) => ({ sql }));
    const { step_errors } = await server.transaction(NAME, all);
    expect(step_errors.filter((error) => error !== null)).toEqual([]);
  };
  await commit(SHORT);

  const path = directory.join("copy.db");
  await using busy = new BusyServer(server.url, (request) => commit(request === longAt ? LONG : SHORT));
  const namespace = engineAt(busy.url).namespace(NAME);
  if (behind === null) await pullAsIs(path, { namespace, migrations: MIGRATIONS, encryptionKey: null });
  else {
    await pullAsIs(path, { namespace: engine.namespace(NAME), migrations: MIGRATIONS, encryptionKey: null });
    for (let at = 0; at < behind; at++) await commit(SHORT);
    using copied = openConnection(path);
    await new WorkingCopy(copied, namespace, { format: FORMAT }).refresh();
  }

  expect(busy.requests).toBeLessThan(MOST_REQUESTS);
  using copied = openConnection(path, { readOnly: true });
  expect(new Set(shown(copied))).toEqual(new Set([copied.value("SELECT max(number) FROM events")]));
  // What was committed before its last request is in it.
  expect(shown(copied)[0]).toBe(number);
});
