/** A daemon whose workspaces are on a libSQL server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { namespaceOf } from "../../src/engine-libsql/server-engine.ts";
import { governd } from "../cli/governd.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { flagsFor } from "../support/engine.ts";
import { LIBSQL_SERVER, type LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const PRESENT = "key = 'k' AND live_to IS NULL";

describe.skipIf(LIBSQL_SERVER === null)("a daemon on a libSQL server", () => {
  let daemon: TestDaemon;
  let server: LibsqlServer;
  let workspace: TestWorkspace;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ engine: "libsql-server" });
    server = daemon.server as LibsqlServer;
    workspace = await daemon.workspace();
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  const write = (key: string, value: string, through = workspace) =>
    through.client.post("/v1/data/write", { agent_id: "a", key, value });
  const read = async (key: string, through = workspace) =>
    (await through.client.get(`/v1/data/read?agent_id=a&key=${key}`)).json;
  const countOf = async (what: string) =>
    Number(texts(await server.execute(namespaceOf(workspace.id), `SELECT count(*) FROM ${what}`))[0]?.[0]);

  test("what was answered is on the server", async () => {
    for (const value of ["one", "two"]) expect((await write("k", value)).status).toBe(200);
    expect(await countOf("events WHERE operation = 'data.write'")).toBe(2);
    expect(await countOf(`entries WHERE value = '"two"' AND live_to IS NULL`)).toBe(1);
    expect(await read("k")).toMatchObject({ value: "two" });
    // The read is recorded, too.
    expect(await countOf("events WHERE operation = 'data.read'")).toBe(1);
  });

  test("its log verifies", async () => {
    const verified = await workspace.client.post("/v1/audit/verify", { scope: "workspace" });
    expect(verified.json).toMatchObject({ valid: true });
  });

  test("governd verify pulls what is on the server, and verifies it like files", async () => {
    const token = await server.tokenFor({ a: "ro" });
    const ran = await governd(["verify", server.url, "--engine-auth-token", token]);
    expect(ran.err).toBe("");
    expect([ran.code, ran.out]).toEqual([0, expect.stringContaining(`${server.url}/workspaces/${workspace.id}.db`)]);
    await server.execute(namespaceOf(workspace.id), `UPDATE entries SET value = '"forged"' WHERE ${PRESENT}`);
    const forged = await governd(["verify", server.url, "--engine-auth-token", token]);
    expect([forged.code, forged.out]).toEqual([1, expect.stringContaining("TAMPERED")]);
    await server.execute(namespaceOf(workspace.id), `UPDATE entries SET value = '"two"' WHERE ${PRESENT}`);
  });

  test("a lost working copy is made again from the server", async () => {
    await write("kept", "value");
    await daemon.restart();
    workspace = { ...workspace, client: daemon.client(workspace.client.apiKey) };
    expect(await read("kept")).toMatchObject({ value: "value" });
    rmSync(join(daemon.dataDir, "workspaces", `${workspace.id}.db`));
    expect(await read("kept")).toMatchObject({ value: "value" });
    expect(await read("k")).toMatchObject({ value: "two" });
  });

  test("another node goes on where the first one is, and the first one where that is", async () => {
    const sealKey = join(daemon.dataDir, "keys", "seal.key");
    const flags = { ...flagsFor(server), seal_key: sealKey };
    await using other = await TestDaemon.start({ engine: "embedded", flags });
    const there = { ...workspace, client: other.client(workspace.client.apiKey) };
    for (const round of ["1", "2", "3"]) {
      expect((await write(round, "here")).status).toBe(200);
      expect(await read(round, there)).toMatchObject({ value: "here" });
      expect((await write(round, "there", there)).status).toBe(200);
      expect(await read(round)).toMatchObject({ value: "there" });
    }
    const verified = await there.client.post("/v1/audit/verify", { scope: "workspace" });
    expect(verified.json).toMatchObject({ valid: true });
  });
});
