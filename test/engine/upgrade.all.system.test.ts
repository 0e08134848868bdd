/** A libSQL server that nodes of an older version have used: its databases are brought to the present schema. */
import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { COMMITS_TABLE } from "../../src/engine-libsql/commits.ts";
import { changesOf, withBase } from "../../src/engine-libsql/differences.ts";
import { pushInto } from "../../src/engine-libsql/push.ts";
import { CONTROL_NAMESPACE, namespaceOf, ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import { readTables } from "../../src/engine-libsql/tables.ts";
import { CONTROL_MIGRATIONS } from "../../src/ops/directory/database.ts";
import type { ServerOptions } from "../../src/settings/server-options.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { migrate, schemaVersion } from "../../src/store/migrate.ts";
import { governd } from "../cli/governd.ts";
import { unpack } from "../formats/packing.ts";
import { sealPem } from "../formats/seal-pem.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { makeKey } from "../support/administration.ts";
import { TestDaemon } from "../support/daemon.ts";
import { flagsFor } from "../support/engine.ts";
import { FaultProxy, randomFaults } from "../support/fault-proxy.ts";
import { LIBSQL_SERVER, LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const RELEASED = join(import.meta.dir, "../formats/0.1.0");

/** Takes the newest migrations back from a data directory: a version that lacked them could have made it. */
function makeOlder(directory: string, file: string): void {
  const undone = {
    "control.db": `DROP TABLE passkeys; PRAGMA user_version = ${CONTROL_MIGRATIONS.length - 1}`,
    [`workspaces/${file}`]: `DROP INDEX entries_by_expiry; ALTER TABLE entries DROP COLUMN expires_at; DROP TABLE answers;
      PRAGMA user_version = ${WORKSPACE_MIGRATIONS.length - 2}`,
  };
  for (const [path, sql] of Object.entries(undone)) {
    using connection = openConnection(join(directory, path));
    connection.exec(sql);
  }
}

const optionsOf = ({ url, token, adminUrl, adminToken }: LibsqlServer, through = url): ServerOptions => ({
  ...{ url: through, authToken: token, adminUrl, adminToken, replicaUrls: [] },
});

describe.skipIf(LIBSQL_SERVER === null)("a server with an older schema", () => {
  const directory = temporaryDirectory();
  let count = 0;
  let server: LibsqlServer;
  /** The data directory whose databases the server has, as they were. */
  let old: string;
  let workspaceId: string;

  beforeEach(async () => {
    await server?.[Symbol.asyncDispose]();
    server = await LibsqlServer.start();
    old = unpack(RELEASED, directory.join(`old-${count++}`));
    const engine = new ServerEngine(optionsOf(server), () => {});
    const [file = ""] = readdirSync(join(old, "workspaces"));
    makeOlder(old, file);
    workspaceId = file.replace(".db", "");
    for (const [name, path] of [
      [CONTROL_NAMESPACE, "control.db"],
      [namespaceOf(workspaceId), join("workspaces", file)],
    ] as const) {
      await engine.ensureNamespace(name);
      using connection = openConnection(join(old, path));
      await pushInto(engine.namespace(name), connection, { format: schemaVersion(connection) });
    }
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const formatOf = async (name: string) =>
    Number(texts(await server.execute(name, `SELECT max(format) FROM ${COMMITS_TABLE}`))[0]?.[0]);

  /** What makes the rows of a file those of another one. */
  function differences(connection: Connection, other: string): string[] {
    return withBase(connection, other, () =>
      [...readTables(connection).values()].filter((table) => {
        const { rows, gone } = changesOf(connection, table);
        return rows.length + gone.length > 0;
      }),
    ).map(({ name }) => name);
  }

  /** The file as it is when this program upgrades it where it is. */
  function upgradedHere(): string {
    const path = directory.join(`here-${count++}.db`);
    cpSync(join(old, "workspaces", `${workspaceId}.db`), path);
    using connection = openConnection(path);
    migrate(connection, WORKSPACE_MIGRATIONS);
    return path;
  }

  test("is upgraded by the first node that uses it, and verifies before and after", async () => {
    expect(await formatOf(CONTROL_NAMESPACE)).toBeLessThan(CONTROL_MIGRATIONS.length);
    expect(await formatOf(namespaceOf(workspaceId))).toBeLessThan(WORKSPACE_MIGRATIONS.length);
    const reading = ["verify", server.url, "--engine-auth-token", await server.tokenFor({ a: "ro" })];
    const codes = async () => {
      const { json } = await governd([...reading, "--json", "--public-key", sealPem().publicPem]);
      return json<{ sources: { problems: { code: string }[] }[] }>().sources.flatMap(({ problems }) =>
        problems.map(({ code }) => code),
      );
    };
    // Only the key that the fixture has more than its log.
    expect(await codes()).toEqual(["key_added"]);
    const flags = { ...flagsFor(server), seal_key: join(old, "keys/seal.key") };
    await using node = await TestDaemon.start({ engine: "embedded", flags });
    expect(await formatOf(CONTROL_NAMESPACE)).toBe(CONTROL_MIGRATIONS.length);
    const client = node.client((await makeKey(node.dataDir, workspaceId)).apiKey);
    expect((await client.write("after", "k", "v")).json.allowed).toBe(true);
    expect((await client.read("after", "k")).json.value).toBe("v");
    expect(await formatOf(namespaceOf(workspaceId))).toBe(WORKSPACE_MIGRATIONS.length);
    await using other = await TestDaemon.start({ engine: "embedded", flags });
    expect((await other.client(client.apiKey).read("after", "k")).json.value).toBe("v");
    expect(await codes()).toEqual(["key_added"]);
  });

  test("is upgraded once by nodes that open it at once, over a network that loses answers", async () => {
    await using network = await FaultProxy.start(server.url);
    network.faults = randomFaults(new Seeded(SEED), 0.1, 50);
    const opened = await Promise.all(
      [1, 2, 3].map(async (node) => {
        const engine = new ServerEngine(optionsOf(server, network.url), () => {});
        const path = directory.join(`node-${node}-${count}.db`);
        const { connection } = await engine.open(workspaceId, path, null);
        connection.close();
        return path;
      }),
    );
    const here = upgradedHere();
    for (const path of opened) {
      using connection = openConnection(path);
      expect(differences(connection, here)).toEqual([]);
    }
    expect(readdirSync(directory.path).filter((name) => name.includes(".upgrade-"))).toEqual([]);
  });

  test("keeps what a node of the older version writes meanwhile, and refuses that node afterwards", async () => {
    const engine = new ServerEngine(optionsOf(server), () => {});
    const name = namespaceOf(workspaceId);
    const format = await formatOf(name);
    const older = engine.namespace(name);
    let isOver = false;
    let written = 0;
    const writing = (async () => {
      while (!isOver) {
        const state = await older.state();
        if (state === null || state.format > format) return;
        // The last digit of a time that nothing depends on.
        const sql = "UPDATE entries SET updated_at = updated_at + 1 WHERE id = (SELECT min(id) FROM entries)";
        const key = Number(texts(await server.execute(name, "SELECT min(id) FROM entries"))[0]?.[0]);
        const row = { number: state.number + 1, format, changed: JSON.stringify({ entries: [key] }), guards: [] };
        if ((await older.commit(row, [{ sql }])) === "committed") written++;
        await Bun.sleep(30);
      }
    })();
    const path = directory.join(`busy-${count}.db`);
    const { connection } = await engine.open(workspaceId, path, null);
    isOver = true;
    await writing;
    using opened = connection;
    const updatedAt = "SELECT updated_at FROM entries WHERE id = (SELECT min(id) FROM entries)";
    using before = openConnection(join(old, "workspaces", `${workspaceId}.db`));
    expect(opened.value<number>(updatedAt)).toBe((before.value<number>(updatedAt) as number) + written);
    expect(await older.commit({ number: 2, format, changed: "{}", guards: [] }, [])).toBe("stale");
  });

  test("that a newer version has upgraded is refused", async () => {
    await server.execute(CONTROL_NAMESPACE, `UPDATE ${COMMITS_TABLE} SET format = 999`);
    const started = TestDaemon.start({ engine: "embedded", flags: flagsFor(server) }).then(
      () => "it started",
      ({ code, message }) => `${code}: ${message}`,
    );
    expect(await started).toMatch(/^newer_database: .*upgraded by a newer governd \(schema 999/);
  });
});
