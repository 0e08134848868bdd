/** Workspaces move to a libSQL server and back while they are used, by a command that is killed at any moment. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { namespaceOf } from "../../src/engine/server-engine.ts";
import { openConnection } from "../../src/store/connection.ts";
import { GOVERND, governdProcess } from "../cli/governd-process.ts";
import { violations } from "../cluster/check.ts";
import { Clients } from "../cluster/history.ts";
import { trailOf } from "../cluster/trail.ts";
import { effort } from "../effort.ts";
import { ended } from "../ended.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { flagsFor } from "../support/engine.ts";
import { LIBSQL_SERVER, LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(effort({ usual: 3, long: 20 }) * PROCESS_TEST_MS);

/** How often the command is killed in each direction. */
const KILLS = effort({ usual: 1, long: 20 });
const ENTRIES = effort({ usual: 2_000, long: 100_000 });
const CLIENTS = 4;
/** After so many ms at most the command is killed. */
const LONGEST_LIFE_MS = effort({ usual: 900, long: 6_000 });
const MOST_PAUSE_MS = 2_000;

/** A daemon that was embedded, and is a node of a server from now on: its workspaces are still in their files. */
async function settled(
  server: LibsqlServer,
  entriesThere = 0,
): Promise<{ daemon: TestDaemon; workspace: TestWorkspace }> {
  const daemon = await TestDaemon.start({ engine: "embedded" });
  const workspace = await daemon.workspace();
  const entries = Array.from({ length: entriesThere }, (_, i) => ({
    key: `customers/${i}`,
    value: `${i} ${"x".repeat(100)}`,
  }));
  await workspace.client.writeAll("many", entries);
  await daemon.restart(0, {
    engine: "libsql-server",
    engine_url: server.url,
    engine_auth_token: server.token,
    engine_admin_url: server.adminUrl,
    engine_admin_token: server.adminToken,
  });
  return { daemon, workspace: { ...workspace, client: daemon.client(workspace.client.apiKey) } };
}

/** The trail without the agent that has the many entries. */
const theirs = async (client: Client) => (await trailOf(client)).filter(({ agent_id }) => agent_id !== "many");

const words = (daemon: TestDaemon, server: LibsqlServer, to: string): string[] => [
  ...["migrate", "--to", to, "--json", "--data-dir", daemon.dataDir, "--engine", "libsql-server"],
  ...["--engine-url", server.url, "--engine-auth-token", server.token],
  ...["--engine-admin-url", server.adminUrl, "--engine-admin-token", server.adminToken as string],
];

/** Runs the command to its end, after it was killed a few times. */
async function migrated(random: Seeded, command: readonly string[]) {
  for (let kill = 0; kill < KILLS; kill++) {
    const child = Bun.spawn([...GOVERND, ...command], { env: {}, stdout: "ignore", stderr: "ignore" });
    await Promise.race([child.exited, Bun.sleep(random.between(150, LONGEST_LIFE_MS))]);
    child.kill("SIGKILL");
    await child.exited;
  }
  const { code, out, err } = await governdProcess(command);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out) as { control_moved: boolean; workspaces: { problem: null; paused_ms: number }[] };
}

describe.skipIf(LIBSQL_SERVER === null)("governd migrate", () => {
  test("to a server and back, under load and killed, loses nothing and doubles nothing", async () => {
    const random = new Seeded(SEED);
    await using server = await LibsqlServer.start();
    const { daemon, workspace } = await settled(server, ENTRIES);
    await using _ = daemon;
    let { client } = workspace;
    const clients = new Clients(() => [client], random);
    await clients.begin();
    let isOver = false;
    const load = Promise.all(Array.from({ length: CLIENTS }, () => clients.run(() => isOver)));

    const there = await migrated(random, words(daemon, server, server.url));
    expect(there.workspaces.map(({ problem }) => problem)).toEqual([null]);
    const pauses = there.workspaces.map(({ paused_ms }) => paused_ms);
    if (KILLS > 1) console.error(`writes waited ${pauses.join(", ")} ms after ${KILLS} kills`);
    expect(Math.max(...pauses)).toBeLessThan(MOST_PAUSE_MS);
    const before = clients.calls.length;
    while (clients.calls.length < before + 50) await Bun.sleep(10);
    const [[seq]] = texts(await server.execute(namespaceOf(workspace.id), "SELECT seq FROM head")) as [[string]];
    // What is written from now on is written there.
    expect(Number(seq)).toBeGreaterThan(ENTRIES);

    const back = await migrated(random, words(daemon, server, "embedded"));
    expect(back.workspaces.map(({ problem }) => problem)).toEqual([null]);
    expect(back.control_moved).toBe(false);
    isOver = true;
    await load;
    await clients.finish();
    expect(clients.violations).toEqual([]);
    expect(violations(clients.calls, await theirs(client))).toEqual([]);

    await daemon.stop();
    expect((await migrated(random, words(daemon, server, "embedded"))).control_moved).toBe(true);
    await daemon.restart(0, {
      engine: "embedded",
      engine_url: null,
      engine_auth_token: null,
      engine_admin_url: null,
      engine_admin_token: null,
    });
    client = daemon.client(client.apiKey);
    expect((await client.write("many", "after", "v")).json.allowed).toBe(true);
    expect(violations(clients.calls, await theirs(client))).toEqual([]);
    expect((await workspace.view.verify()).problems).toEqual([]);
    // The server has what it had.
    expect(
      Number(texts(await server.execute(namespaceOf(workspace.id), "SELECT count(*) FROM events"))[0]?.[0]),
    ).toBeGreaterThan(ENTRIES);
  });

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
      control_moved: true,
      workspaces: [{ moved: true, problem: null }],
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
    expect((await governdProcess(["restore", directory.join("backups", name), "--data-dir", restored])).code).toBe(0);
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
    expect((await governdProcess(["restore", join(backups, name), "--data-dir", restored])).code).toBe(0);
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
