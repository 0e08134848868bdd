/** Workspaces move to a libSQL server and back, and neither place is taken for the other. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { namespaceOf } from "../../src/engine-libsql/server-engine.ts";
import { openConnection } from "../../src/store/connection.ts";
import { GOVERND, governdProcess } from "../cli/governd-process.ts";
import { ended } from "../ended.ts";
import { TestDaemon } from "../support/daemon.ts";
import { flagsFor } from "../support/engine.ts";
import { LIBSQL_SERVER, LibsqlServer } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { settled, words } from "./settled.ts";

setDefaultTimeout(PROCESS_TEST_MS);

describe.skipIf(LIBSQL_SERVER === null)("governd migrate", () => {
  test("an embedded daemon is not left behind with workspaces that have moved", async () => {
    await using server = await LibsqlServer.start();
    await using daemon = await TestDaemon.start({ engine: "embedded" });
    await daemon.workspace();
    const { code, err } = await governdProcess(words(daemon, server, server.url));
    expect(code).toBe(2);
    expect(err).toContain("has the embedded engine");
  });

  test("a daemon with the embedded engine does not write to a copy", async () => {
    await using server = await LibsqlServer.start();
    const { daemon } = await settled(server);
    await using _ = daemon;
    const embedded = ["workspace", "list", "--data-dir", daemon.dataDir];
    const { code, err } = await governdProcess(embedded);
    expect(code).toBe(2);
    expect(err).toContain("is a copy of what is on a libSQL server");
  });

  test("a node brings home what it has never served", async () => {
    await using server = await LibsqlServer.start();
    await using daemon = await TestDaemon.start({ engine: "embedded", flags: flagsFor(server) });
    const workspace = await daemon.workspace();
    await workspace.client.write("a", "k", "v");
    await daemon.stop();
    rmSync(join(daemon.dataDir, "workspaces", `${workspace.id}.db`));
    const { code, out } = await governdProcess(words(daemon, server, "embedded"));
    expect({ code, ...JSON.parse(out) }).toMatchObject({
      code: 0,
      all_moved: true,
      workspaces: [
        { moved: true, problem: null },
        { moved: true, problem: null },
      ],
    });
    expect((await workspace.view.verify()).problems).toEqual([]);
    expect(workspace.view.eventsAfter(-1).map(({ operation }) => operation)).toContain("data.write");
  });

  test("a backup of a node is restored as a directory that needs no server", async () => {
    await using server = await LibsqlServer.start();
    await using daemon = await TestDaemon.start({ engine: "embedded", flags: flagsFor(server) });
    const workspace = await daemon.workspace();
    await workspace.client.write("a", "k", "v");
    using directory = temporaryDirectory();
    const backup = await governdProcess(["backup", directory.join("backups"), "--json", "--data-dir", daemon.dataDir]);
    expect({ code: backup.code, err: backup.err }).toEqual({ code: 0, err: "" });
    const restored = directory.join("restored");
    const [name = ""] = readdirSync(directory.join("backups"));
    expect(
      (await governdProcess(["restore", "--keep-rights", directory.join("backups", name), "--data-dir", restored]))
        .code,
    ).toBe(0);
    const listed = await governdProcess(["workspace", "list", "--json", "--data-dir", restored]);
    expect({ code: listed.code, err: listed.err }).toEqual({ code: 0, err: "" });
    expect(listed.out).toContain(workspace.id);
  });

  test("a backup has what the server has, also of a workspace that the node never served", async () => {
    await using first = await TestDaemon.start({ engine: "libsql-server" });
    await using second = await first.anotherNode();
    const workspace = await first.workspace();
    await workspace.client.write("a", "k", "v");
    using directory = temporaryDirectory();
    const backups = directory.join("backups");
    const backup = ["backup", backups, "--data-dir", second.dataDir];
    const without = await ended(Bun.spawn([...GOVERND, ...backup], { env: {}, stdout: "pipe", stderr: "pipe" }));
    expect([without.code, without.err]).toEqual([2, expect.stringContaining("may be behind it")]);
    const made = await governdProcess(backup);
    expect([made.code, made.err]).toEqual([0, ""]);
    const [name = ""] = readdirSync(backups);
    const restored = directory.join("restored");
    expect((await governdProcess(["restore", "--keep-rights", join(backups, name), "--data-dir", restored])).code).toBe(
      0,
    );
    const path = join(restored, "workspaces", `${workspace.id}.db`);
    expect(existsSync(path)).toBe(true);
    using connection = openConnection(path, { readOnly: true });
    expect(connection.value("SELECT value FROM entries WHERE key = 'k'")).toBe('"v"');
  });

  test("a namespace that others use is left alone", async () => {
    await using server = await LibsqlServer.start();
    const { daemon, workspace } = await settled(server);
    await using _ = daemon;
    const name = namespaceOf(workspace.id);
    await server.createNamespace(name);
    await server.execute(
      name,
      "CREATE TABLE governd_commits (number INTEGER PRIMARY KEY, token TEXT, format INTEGER, changed TEXT)",
    );
    await server.execute(name, "INSERT INTO governd_commits VALUES (7, 't', 5, '{}')");
    const { code, err } = await governdProcess(words(daemon, server, server.url));
    expect(code).toBe(2);
    expect(err).toContain("is in use on the server");
    expect((await workspace.client.write("many", "after", "v")).json.allowed).toBe(true);
  });
});
