/** Workspaces move to a libSQL server and back while they are used, by a command that is killed at any moment. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { namespaceOf } from "../../src/engine-libsql/server-engine.ts";
import { GOVERND, governdProcess } from "../cli/governd-process.ts";
import { violations } from "../cluster/check.ts";
import { Clients } from "../cluster/history.ts";
import { trailOf } from "../cluster/trail.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import type { Client } from "../support/client.ts";
import { LIBSQL_SERVER, LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { settled, words } from "./settled.ts";

setDefaultTimeout(effort({ usual: 3, long: 20 }) * PROCESS_TEST_MS);

/** How often the command is killed in each direction. */
const KILLS = effort({ usual: 1, long: 20 });
const ENTRIES = effort({ usual: 2_000, long: 100_000 });
const CLIENTS = 4;
/** After so many ms at most the command is killed. */
const LONGEST_LIFE_MS = effort({ usual: 900, long: 6_000 });
const MOST_PAUSE_MS = 2_000;

/** The trail without the agent that has the many entries. */
const theirs = async (client: Client) => (await trailOf(client)).filter(({ agent_id }) => agent_id !== "many");

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
  return JSON.parse(out) as { all_moved: boolean; workspaces: { problem: null; paused_ms: number }[] };
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
    expect(there.workspaces.map(({ problem }) => problem)).toEqual([null, null]);
    const pauses = there.workspaces.map(({ paused_ms }) => paused_ms);
    if (KILLS > 1) console.error(`writes waited ${pauses.join(", ")} ms after ${KILLS} kills`);
    expect(Math.max(...pauses)).toBeLessThan(MOST_PAUSE_MS);
    const before = clients.calls.length;
    while (clients.calls.length < before + 50) await Bun.sleep(10);
    const [[seq]] = texts(await server.execute(namespaceOf(workspace.id), "SELECT max(seq) FROM events")) as [[string]];
    // What is written from now on is written there.
    expect(Number(seq)).toBeGreaterThan(ENTRIES);

    const back = await migrated(random, words(daemon, server, "embedded"));
    expect(back.workspaces.map(({ problem }) => problem)).toEqual([null, null]);
    expect(back.all_moved).toBe(false);
    isOver = true;
    await load;
    await clients.finish();
    expect(clients.violations).toEqual([]);
    expect(violations(clients.calls, await theirs(client))).toEqual([]);

    await daemon.stop();
    expect((await migrated(random, words(daemon, server, "embedded"))).all_moved).toBe(true);
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
});
