/** What a daemon refuses at its start on a libSQL server, and how it says to fix it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { SettingName } from "../../src/settings/definitions.ts";
import { signUp, tokenOf } from "../account/browser.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { TestDaemon } from "../support/daemon.ts";
import { flagsFor, noteServer } from "../support/engine.ts";
import { FaultProxy, NO_FAULT } from "../support/fault-proxy.ts";
import { LIBSQL_SERVER, LibsqlServer } from "../support/libsql-server.ts";
import { temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** The server is lost at one in this many requests of a command, which waits 2 s for it each time. */
const LOST_EVERY = effort({ usual: 10, long: 5 });

describe.skipIf(LIBSQL_SERVER === null)("a daemon refuses", () => {
  let server: LibsqlServer;
  beforeAll(async () => {
    server = await LibsqlServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const start = (flags: Partial<Record<SettingName, string>>, on = server) =>
    TestDaemon.start({ engine: "embedded", flags: { ...flagsFor(on), ...flags } });
  const refused = (flags: Partial<Record<SettingName, string>>, on = server) =>
    start(flags, on).then(
      () => "nothing",
      (error) => `${error.code}: ${error.message}`,
    );

  test("a server that is not there", async () => {
    expect(await refused({ engine_url: "http://127.0.0.1:9" })).toMatch(
      /engine_unusable: .*does not answer.*engine_url/,
    );
  });

  test(
    "a server that is lost in the middle of a command, and says so",
    async () => {
      await using there = await LibsqlServer.start();
      await using network = await FaultProxy.start(there.url);
      using directory = temporaryDirectory();
      const { token: authToken, adminUrl, adminToken } = there;
      noteServer(directory.path, { url: network.url, authToken, adminUrl, adminToken, replicaUrls: [] });
      const create = ["workspace", "create", "--name", "W", "--data-dir", directory.path];
      for (let passing = 1, code = 2; code !== 0; passing += LOST_EVERY) {
        let left = passing;
        network.faults = () => (left-- > 0 ? NO_FAULT : { kind: "lose_request", ms: 1 });
        const said = await governd(create, { released: false });
        code = said.code;
        // From where the workspace is recorded on, the command says so.
        if (code !== 0)
          expect(said.err).toMatch(
            /^(governd: recorded, but .*\n)?governd: (The (libSQL server|engine)|It was recorded,?) .*\n$/,
          );
      }
    },
    PROCESS_TEST_MS,
  );

  test("to create a workspace without its admin API, and says what to set", async () => {
    await using there = await LibsqlServer.start();
    using directory = temporaryDirectory();
    const { url, token: authToken, adminUrl, adminToken } = there;
    const create = async (admin: { adminUrl: string | null; adminToken: string | null }) => {
      noteServer(directory.path, { url, authToken, replicaUrls: [], ...admin });
      const words = ["workspace", "create", "--name", "W", "--data-dir", directory.path];
      return governd(words, { released: false });
    };
    expect((await create({ adminUrl, adminToken })).code).toBe(0);
    for (const [admin, remedy] of [
      [{ adminUrl: null, adminToken: null }, "set engine_admin_url and engine_admin_token"],
      [{ adminUrl, adminToken: "another" }, "check the server's admin API"],
      [{ adminUrl: "http://127.0.0.1:9", adminToken }, "check the server's admin API"],
    ] as const) {
      const { code, err } = await create(admin);
      expect([code, err]).toEqual([2, expect.stringMatching(/^governd: The engine cannot be used now: .*\n$/)]);
      expect(err).toContain(remedy);
    }
    expect((await create({ adminUrl, adminToken })).code).toBe(0);
    const { out } = await governd(["workspace", "list", "--data-dir", directory.path]);
    expect(out.match(/^ws_/gm)).toHaveLength(2);
  });

  test("people a new workspace without its admin API, and its log says what to set", async () => {
    await using first = await start({});
    const { browser } = await signUp(first, tokenOf(first.signUpUrl));
    const { engine_admin_url: _, engine_admin_token: __, ...flags } = flagsFor(server);
    const sealKey = { seal_key: join(first.dataDir, "keys", "seal.key") };
    await using second = await TestDaemon.start({ engine: "embedded", flags: { ...flags, ...sealKey } });
    // The other one would make it, since it serves the log of the installation.
    await first.stop();
    const { status, json } = await browser.at(second).post("/account/workspaces", { name: "W" });
    expect([status, json.code]).toEqual([503, "unavailable"]);
    expect(await second.log()).toMatch(/"reason":"the namespace .*: set engine_admin_url and engine_admin_token"/);
  });

  test("wrong tokens, and one that only reads", async () => {
    expect(await refused({ engine_admin_token: "another" })).toMatch(/engine_unusable: .*engine_admin_token/);
    expect(await refused({ engine_auth_token: "another" })).toMatch(/accept the token|401/);
    const reading = await server.tokenFor({ a: "ro" });
    expect(await refused({ engine_auth_token: reading })).toMatch(/403|permission/);
  });

  test("an admin API without a key", async () => {
    await using open = await LibsqlServer.start({ adminToken: null });
    const flags = { engine_admin_url: open.adminUrl, engine_admin_token: "none" };
    expect(await refused(flags, open)).toContain("--admin-auth-key");
  });

  test("a server whose replicas could have what it lost", async () => {
    expect(await refused({ replica_urls: "http://127.0.0.1:1" })).toContain("0.24.33");
  });

  test("a namespace that is not durable", async () => {
    await using lax = await LibsqlServer.start();
    await lax.createNamespace("governd-nodes", {});
    expect(await refused({}, lax)).toContain('{"durability_mode":"strong"}');
  });

  test("fewer namespaces than there are workspaces, another seal key, and the embedded engine's data", async () => {
    await using full = await LibsqlServer.start();
    await using daemon = await start({}, full);
    await daemon.workspace();
    await daemon.workspace();
    const sealKey = { seal_key: join(daemon.dataDir, "keys", "seal.key") };
    expect(await refused({ engine_max_namespaces: "2", ...sealKey }, full)).toContain(
      "--max-active-namespaces of at least",
    );
    expect(await refused({}, full)).toContain("set seal_key to the same key on all nodes");
    await using embedded = await TestDaemon.start({ engine: "embedded" });
    await embedded.workspace();
    const copy = `${embedded.dataDir}-copy`;
    cpSync(embedded.dataDir, copy, { recursive: true });
    expect(await refused({ data_dir: copy }, full)).toContain("governd migrate --to URL");
    rmSync(copy, { recursive: true });
  });

  test("to be a node while the installation is still in the directory of another one", async () => {
    await using there = await LibsqlServer.start();
    await using embedded = await TestDaemon.start({ engine: "embedded" });
    await embedded.workspace();
    const copy = `${embedded.dataDir}-copy`;
    cpSync(embedded.dataDir, copy, { recursive: true });
    {
      await using _ = await start({ data_dir: copy }, there);
      const sealKey = { seal_key: join(copy, "keys", "seal.key") };
      expect(await refused(sealKey, there)).toMatch(/^engine_unusable: .*governd migrate --to URL/);
    }
    rmSync(copy, { recursive: true });
  });
});
