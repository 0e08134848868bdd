/**
 * A libSQL server that nodes of two versions use: the newer one brings its databases to its schema, which the older one
 * refuses. The newer one is this program with migrations that a later version might have.
 */
import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { type Pointer, readPointer } from "../../src/core/datadir/pointer.ts";
import { WORKSPACE_MIGRATIONS, WORKSPACE_SCHEMA } from "../../src/core/writer/file.ts";
import { COMMITS_TABLE } from "../../src/engine-libsql/commits.ts";
import { changesOf, withBase } from "../../src/engine-libsql/differences.ts";
import { Coordination } from "../../src/engine-libsql/nodes/coordination.ts";
import { pullAsIs } from "../../src/engine-libsql/pull.ts";
import { pushInto } from "../../src/engine-libsql/push.ts";
import { namespaceOf, ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import { readTables } from "../../src/engine-libsql/tables.ts";
import { upgrade } from "../../src/engine-libsql/upgrade.ts";
import type { ServerOptions } from "../../src/settings/server-options.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { migrate, newestSchema, schemaVersion } from "../../src/store/migrate.ts";
import { governd } from "../cli/governd.ts";
import { unpack } from "../formats/packing.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { TestDaemon } from "../support/daemon.ts";
import { flagsFor } from "../support/engine.ts";
import { FaultProxy, randomFaults } from "../support/fault-proxy.ts";
import { LIBSQL_SERVER, LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const RELEASED = join(import.meta.dir, "../formats/0.1.0");

/** What a later version of governd might do to a workspace: a table, a column, other rows, and one index less. */
const NEXT = [
  ...WORKSPACE_MIGRATIONS,
  `CREATE TABLE extras (id INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT;
   INSERT INTO extras SELECT id, key FROM entries;
   ALTER TABLE checkpoints ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
   UPDATE checkpoints SET pinned = 1 WHERE label IS NOT NULL;
   DROP INDEX events_refused`,
  (connection: Connection) => connection.exec("UPDATE entries SET updated_at = updated_at + 1 WHERE id % 2 = 0"),
];

const optionsOf = ({ url, token, adminUrl, adminToken }: LibsqlServer, through = url): ServerOptions => ({
  ...{ url: through, authToken: token, adminUrl, adminToken, replicaUrls: [] },
});

describe.skipIf(LIBSQL_SERVER === null)("a server that nodes of this version have used", () => {
  const directory = temporaryDirectory();
  let count = 0;
  let server: LibsqlServer;
  /** The data directory whose databases the server has. */
  let old: string;
  let workspaceId: string;
  let installation: string;

  beforeEach(async () => {
    await server?.[Symbol.asyncDispose]();
    server = await LibsqlServer.start();
    old = unpack(RELEASED, directory.join(`old-${count++}`));
    const engine = new ServerEngine(optionsOf(server), () => {});
    workspaceId = "ws_01kdyak348e5cr6zs3dynmva83";
    const { installation_id } = readPointer(dataDirectory(old)) as Pointer;
    installation = installation_id;
    for (const id of [workspaceId, installation]) {
      await engine.ensureNamespace(namespaceOf(id));
      using connection = openConnection(workspaceFile(dataDirectory(old), id));
      await pushInto(engine.namespace(namespaceOf(id)), connection, { format: schemaVersion(connection) });
    }
    using nodes = await Coordination.open(engine);
    await nodes.name(ensureDataDirectory(directory.join(`named-${count}`)), installation);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const formatOf = async (name: string) =>
    Number(texts(await server.execute(name, `SELECT max(format) FROM ${COMMITS_TABLE}`))[0]?.[0]);

  const workspaceOn = (through = server.url) =>
    new ServerEngine(optionsOf(server, through), () => {}).namespace(namespaceOf(workspaceId));

  /** Does what a node of the next version does when it opens the workspace, and returns its copy. */
  async function openedByNext(node: number, through?: string): Promise<string> {
    const parts = { namespace: workspaceOn(through), migrations: NEXT, encryptionKey: null };
    await upgrade({ ...parts, path: directory.join(`node-${node}-${count}.db`) });
    const path = directory.join(`copy-${node}-${count}.db`);
    await pullAsIs(path, parts);
    return path;
  }

  /** What makes the rows of a file those of another one. */
  function differences(connection: Connection, other: string): string[] {
    return withBase(connection, other, () =>
      [...readTables(connection).values()].filter((table) => {
        const { rows, gone } = changesOf(connection, table);
        return rows.length + gone.length > 0;
      }),
    ).map(({ name }) => name);
  }

  /** The file as it is when the next version upgrades it where it is. */
  function upgradedHere(): string {
    const path = directory.join(`here-${count++}.db`);
    cpSync(join(old, "workspaces", `${workspaceId}.db`), path);
    using connection = openConnection(path);
    migrate(connection, NEXT);
    return path;
  }

  test("is upgraded once by nodes of the next version that open it at once, over a network that loses answers", async () => {
    await using network = await FaultProxy.start(server.url);
    network.faults = randomFaults(new Seeded(SEED), 0.1, 50);
    const opened = await Promise.all([1, 2, 3].map((node) => openedByNext(node, network.url)));
    const here = upgradedHere();
    for (const path of opened) {
      using connection = openConnection(path);
      expect(schemaVersion(connection)).toBe(newestSchema(NEXT));
      expect(connection.value<number>("SELECT count(*) FROM extras")).toBeGreaterThan(0);
      expect(differences(connection, here)).toEqual([]);
    }
    expect(await formatOf(namespaceOf(workspaceId))).toBe(newestSchema(NEXT));
    expect(readdirSync(directory.path).filter((name) => name.includes(".upgrade-"))).toEqual([]);
  });

  test("keeps what a node of this version writes meanwhile, and refuses that node afterwards", async () => {
    const name = namespaceOf(workspaceId);
    const older = workspaceOn();
    let isOver = false;
    let written = 0;
    const writing = (async () => {
      while (!isOver) {
        const state = await older.state();
        if (state === null || state.format > WORKSPACE_SCHEMA) return;
        // The last digit of a time that nothing depends on.
        const sql = "UPDATE entries SET updated_at = updated_at + 1 WHERE id = (SELECT min(id) FROM entries)";
        const key = Number(texts(await server.execute(name, "SELECT min(id) FROM entries"))[0]?.[0]);
        const changed = JSON.stringify({ entries: [key] });
        const row = { number: state.number + 1, format: WORKSPACE_SCHEMA, changed, guards: [] };
        if ((await older.commit(row, [{ sql }])) === "committed") written++;
        await Bun.sleep(30);
      }
    })();
    const path = await openedByNext(1);
    isOver = true;
    await writing;
    using opened = openConnection(path);
    using here = openConnection(upgradedHere());
    const updatedAt = "SELECT updated_at FROM entries WHERE id = (SELECT min(id) FROM entries)";
    expect(opened.value<number>(updatedAt)).toBe((here.value<number>(updatedAt) as number) + written);
    expect(await older.commit({ number: 2, format: WORKSPACE_SCHEMA, changed: "{}", guards: [] }, [])).toBe("stale");
    const engine = new ServerEngine(optionsOf(server), () => {});
    await expect(engine.open(workspaceId, directory.join(`late-${count}.db`), null)).rejects.toThrow(
      `written by a newer governd (schema ${newestSchema(NEXT)}, this one knows ${WORKSPACE_SCHEMA}): use the newer governd`,
    );
  });

  test("whose installation the next version has upgraded is refused by a node of this one", async () => {
    const namespace = new ServerEngine(optionsOf(server), () => {}).namespace(namespaceOf(installation));
    const path = directory.join(`installation-${count}.db`);
    await upgrade({ namespace, migrations: NEXT, encryptionKey: null, path });
    expect(await formatOf(namespaceOf(installation))).toBe(newestSchema(NEXT));
    expect(await startedOn(server)).toMatch(
      new RegExp(`^newer_database: .*a newer governd \\(schema ${newestSchema(NEXT)}, .* Nothing was changed`),
    );
  });

  test("that a build before 0.1.0 has filled is refused, and nothing is written", async () => {
    const before = "a build of governd from before 0.1.0 (schema 9)";
    await server.execute(namespaceOf(workspaceId), `UPDATE ${COMMITS_TABLE} SET format = 9`);
    const engine = new ServerEngine(optionsOf(server), () => {});
    const copy = directory.join(`former-${count}.db`);
    await expect(engine.open(workspaceId, copy, null)).rejects.toThrow(before);
    await expect(engine.pull(workspaceId, copy, null)).rejects.toThrow(before);
    await server.execute(namespaceOf(installation), `UPDATE ${COMMITS_TABLE} SET format = 9`);
    expect(await startedOn(server)).toStartWith("engine_unusable: On the libSQL server, the namespace ws-");
    expect(await startedOn(server)).toContain(before);
    const verified = await governd(["verify", server.url, "--engine-auth-token", await server.tokenFor({ a: "ro" })]);
    expect([verified.code, verified.err]).toEqual([2, expect.stringContaining(before)]);
    for (const name of [installation, workspaceId].map(namespaceOf)) {
      expect(texts(await server.execute(name, `SELECT count(*), max(format) FROM ${COMMITS_TABLE}`))).toEqual([
        ["1", "9"],
      ]);
    }
  });
});

/** Returns why a node does not start on a server. */
const startedOn = (server: LibsqlServer): Promise<string> =>
  TestDaemon.start({ engine: "embedded", flags: flagsFor(server) }).then(
    () => "it started",
    ({ code, message }) => `${code}: ${message}`,
  );
