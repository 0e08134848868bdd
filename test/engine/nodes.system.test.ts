/** Several nodes on one libSQL server. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { flagsFor } from "../support/engine.ts";
import { LIBSQL_SERVER, type LibsqlServer, texts } from "../support/libsql-server.ts";

/** Another node than `first`, on its server and with its key. */
function anotherNode(first: TestDaemon): Promise<TestDaemon> {
  const seal_key = join(first.dataDir, "keys", "seal.key");
  const flags = { ...flagsFor(first.server as LibsqlServer, "another directory"), seal_key };
  return TestDaemon.start({ engine: "embedded", flags });
}

describe.skipIf(LIBSQL_SERVER === null)("two nodes on a libSQL server", () => {
  let [first, second]: TestDaemon[] = [];
  let workspace: TestWorkspace;

  beforeAll(async () => {
    first = await TestDaemon.start({ engine: "libsql-server" });
    second = await anotherNode(first);
    workspace = await first.workspace();
  });
  afterAll(async () => {
    await second?.[Symbol.asyncDispose]();
    await first?.[Symbol.asyncDispose]();
  });

  const through = (node: TestDaemon | undefined) => (node as TestDaemon).client(workspace.client.apiKey);
  const write = (node: TestDaemon | undefined, key: string, value: string) =>
    through(node).post("/v1/data/write", { agent_id: "a", key, value });
  const read = async (node: TestDaemon | undefined, key: string) =>
    (await through(node).get(`/v1/data/read?agent_id=a&key=${key}`)).json;
  const leases = async () =>
    texts(
      await ((first as TestDaemon).server as LibsqlServer).execute(
        "governd-control",
        "SELECT url, epoch FROM governd_leases WHERE name LIKE 'ws_%'",
      ),
    );

  test("a request goes to the node that serves the workspace, through whichever it comes", async () => {
    expect((await write(first, "k", "1")).status).toBe(200);
    const before = await leases();
    expect(await read(second, "k")).toMatchObject({ value: "1" });
    expect((await write(second, "k", "2")).status).toBe(200);
    expect(await read(first, "k")).toMatchObject({ value: "2" });
    expect(await leases()).toEqual(before);
    const big = "x".repeat(500_000);
    expect((await write(second, "big", big)).status).toBe(200);
    expect(await read(second, "big")).toMatchObject({ value: big });
  });

  test("what refuses a request, refuses it through each node alike", async () => {
    for (const node of [first, second]) {
      const wrong = await through(node).send({ path: "/v1/data/list", query: { agent_id: "a" }, key: "gov_wrong" });
      expect([wrong.status, wrong.json.code]).toEqual([401, "unauthenticated"]);
      const missing = await through(node).post("/v1/data/write", { agent_id: "a" });
      expect([missing.status, missing.json.code]).toEqual([400, "invalid_request"]);
    }
  });

  test("a stream comes through the other node", async () => {
    const exported = await through(second).post("/v1/audit/export", { scope: "workspace", format: "ndjson" });
    expect(exported.status).toBe(200);
    expect(exported.text.trim().split("\n").length).toBeGreaterThan(5);
  });

  test("when a node stops, another one serves its workspaces at once", async () => {
    const third = await anotherNode(first as TestDaemon);
    const own = await (first as TestDaemon).workspace("own");
    const there = third.client(own.client.apiKey);
    expect((await there.post("/v1/data/write", { agent_id: "a", key: "k", value: "there" })).status).toBe(200);
    await third[Symbol.asyncDispose]();
    const read = await own.client.get("/v1/data/read?agent_id=a&key=k");
    expect([read.status, read.json?.value]).toEqual([200, "there"]);
  });
});
