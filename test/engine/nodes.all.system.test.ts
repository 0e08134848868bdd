/** Several nodes on one libSQL server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkDatabases } from "../../src/cli/check/databases.ts";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { WORKSPACE_SCHEMA } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import type { ServerOptions } from "../../src/settings/server-options.ts";
import { openConnection } from "../../src/store/connection.ts";
import { signUp, tokenOf } from "../account/browser.ts";
import { governd } from "../cli/governd.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { serverOfDirectory } from "../support/engine.ts";
import { LIBSQL_SERVER, type LibsqlServer, texts } from "../support/libsql-server.ts";
import { anybody } from "../support/open-workspace.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

describe.skipIf(LIBSQL_SERVER === null)("two nodes on a libSQL server", () => {
  let [first, second]: TestDaemon[] = [];
  let workspace: TestWorkspace;

  beforeAll(async () => {
    first = await TestDaemon.start({ engine: "libsql-server" });
    second = await first.anotherNode();
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
        "governd-nodes",
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

  test("keys and sessions begin and end on all nodes with the next request", async () => {
    const nodes = [first as TestDaemon, second as TestDaemon];
    const person = await signUp(nodes[0] as TestDaemon, tokenOf((second as TestDaemon).signUpUrl));
    const path = `/account/workspaces/${person.workspaceId}/keys`;
    // As one browser that comes through either node.
    const browsers = nodes.map((node) => person.browser.at(node));
    for (const [made, used] of [
      [0, 1],
      [1, 0],
      [0, 1],
    ] as const) {
      const created = await browsers[made]?.post(path, { label: "key", scope: "full" });
      expect(created?.status).toBe(201);
      const client = (nodes[used] as TestDaemon).client(created?.json.api_key);
      expect((await client.get("/v1/agents")).status).toBe(200);
      expect((await browsers[made]?.delete(`${path}/${created?.json.id}`))?.status).toBe(200);
      expect((await client.get("/v1/agents")).status).toBe(401);
    }
    expect((await browsers[1]?.get("/account/sessions"))?.status).toBe(200);
    expect((await browsers[0]?.post("/account/sign-out"))?.status).toBe(204);
    expect((await browsers[1]?.get("/account/sessions"))?.status).toBe(401);
  });

  test("neither verify nor check accuses a node whose copies are missing or old", async () => {
    await write(first, "k", "in the copy of the first node");
    const [served, other] = [(first as TestDaemon).dataDir, (second as TestDaemon).dataDir];
    const findings = async (dataDir: string, of: string) => {
      const checked = await governd(["check", "--data-dir", dataDir, "--json"]);
      const { findings } = checked.json<{
        findings: { check: string; severity: string; message: string; path?: string }[];
      }>();
      return findings.filter(({ check }) => check === of);
    };
    const ofKeys = (...words: string[]) => governd(["key", ...words, "--workspace", workspace.id]);
    // A key whose event is in no copy of the first node's.
    expect((await ofKeys("create", "--scope", "auditor", "--data-dir", other)).code).toBe(0);
    expect((await ofKeys("list", "--data-dir", served)).out).toContain("auditor");
    rmSync(join(other, "workspaces", `${workspace.id}.db`));
    for (const dataDir of [served, other]) {
      const verified = await governd(["verify", dataDir, "--json"], { released: false });
      const { sources } = verified.json<{ sources: { problems: { code: string }[] }[] }>();
      const codes = sources.flatMap(({ problems }) => problems.map(({ code }) => code));
      expect([verified.code, codes]).toEqual([2, ["node_copies"]]);
      const [found] = await findings(dataDir, "database");
      expect(found).toMatchObject({
        severity: "ok",
        message: expect.stringMatching(/^copies of \d of \d logs on the server/),
      });
    }
    using directory = temporaryDirectory();
    const older = directory.join("older");
    cpSync(served, older, { recursive: true });
    using copy = openConnection(join(older, "workspaces", `${(first as TestDaemon).installationId}.db`));
    copy.exec(`PRAGMA user_version = ${WORKSPACE_SCHEMA + 1}`);
    const [newer] = await findings(older, "database");
    expect(newer).toMatchObject({ severity: "problem", message: expect.stringContaining("a newer governd (schema") });
    copy.exec(`PRAGMA user_version = ${WORKSPACE_SCHEMA}`);
    const next = WORKSPACE_SCHEMA + 1;
    const { findings: before } = await checkDatabases(dataDirectory(older), Date.now(), async () => {}, next);
    expect(before.find(({ check }) => check === "upgrade")?.message).toMatch(
      /to schema \d+, each when it is first used, on the libSQL server: back that up first/,
    );
    const { id } = await (first as TestDaemon).workspace("damaged");
    writeFileSync(join(served, "workspaces", `${id}.db`), "no database");
    const [damaged] = await findings(served, "database");
    expect(damaged).toMatchObject({ severity: "problem", message: expect.stringContaining("makes the copy again") });
    const unnamed = join(older, "workspaces", "ws_01m8h5y8shek5bxtdp5v44cdt2.db");
    writeFileSync(unnamed, "no database");
    const ofUnnamed = (await findings(older, "database")).filter(({ path }) => path === unnamed);
    expect(ofUnnamed.map(({ severity }) => severity)).toEqual(["problem", "warning"]);
  });

  test("commands beside a node that has no copy of a workspace do what they do beside any other", async () => {
    await write(first, "erased", "by the other node");
    const copy = join((second as TestDaemon).dataDir, "workspaces", `${workspace.id}.db`);
    const sealKey = join((first as TestDaemon).dataDir, "keys", "seal.key");
    const common = ["--seal-key", sealKey, "--data-dir", (second as TestDaemon).dataDir];
    const named = ["--workspace", workspace.id, "--agent", "a", "--key", "erased"];
    for (const [words, said] of [
      [["erase", ...named], "of the libSQL server and of other nodes may still hold it"],
      [["key-info"], workspace.id],
    ] as const) {
      rmSync(copy, { force: true });
      const ran = await governd([...words, ...common]);
      expect([ran.code, ran.out, ran.err]).toEqual([0, expect.stringContaining(said), ""]);
    }
    expect((await read(first, "erased")).code).toBe("entry_not_found");
    rmSync(copy, { force: true });
    const compacted = await governd(["compact", workspace.id, "--data-dir", (second as TestDaemon).dataDir]);
    expect([compacted.code, compacted.err]).toEqual([2, expect.stringContaining("no copy")]);
    const unknown = await governd(["erase", ...named.with(1, "ws_01m8h5y8shek5bxtdp5v44cdt2"), ...common]);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("There is no such workspace.")]);
  });

  test("what was looked up in a copy that is behind is looked up again", async () => {
    await write(first, "needle-1", "before");
    const engine = new ServerEngine(serverOfDirectory((first as TestDaemon).dataDir) as ServerOptions, () => {});
    using directory = temporaryDirectory();
    // A process without a lease, as a command is.
    const path = directory.join("copy.db");
    const { connection, engine: commits } = await engine.open(workspace.id, path, null);
    const writer = new WorkspaceWriter(connection, { engine: commits });
    const input = { agentId: "a", key: "needle-2", value: "after", metadata: {} } as OperationInputs["data.write"];
    const [reply] = await writer.perform([jobOf({ name: "data.write", input, principal: anybody(workspace.id) })]);
    expect(reply?.result).toBe("allowed");
    writer.close();
    const found = await through(first).post("/v1/data/query", { agent_id: "a", prefix: "needle" });
    expect(found.text).toContain("needle-2");
  });

  test("a node that was killed and is started again has its workspaces at once", async () => {
    const node = await (first as TestDaemon).anotherNode();
    await using _ = node;
    const { server } = first as TestDaemon;
    const own = await (first as TestDaemon).workspace("killed");
    const name = readFileSync(join(node.dataDir, "node.id"), "utf8").trim();
    await node.stop();
    // As when it could not give them back.
    const until = "CAST(unixepoch('subsec') * 1000 AS INTEGER) + 60000";
    const lease = `INSERT OR REPLACE INTO governd_leases VALUES ('${own.id}', '${name}', 'https://127.0.0.1:9', 1, ${until})`;
    await (server as LibsqlServer).execute("governd-nodes", lease);
    await node.restart();
    const written = await node
      .client(own.client.apiKey)
      .post("/v1/data/write", { agent_id: "a", key: "k", value: "v" });
    expect(written.status).toBe(200);
  });

  test("when a node stops, another one serves its workspaces at once", async () => {
    const third = await (first as TestDaemon).anotherNode();
    const own = await (first as TestDaemon).workspace("own");
    const there = third.client(own.client.apiKey);
    expect((await there.post("/v1/data/write", { agent_id: "a", key: "k", value: "there" })).status).toBe(200);
    await third[Symbol.asyncDispose]();
    const read = await own.client.get("/v1/data/read?agent_id=a&key=k");
    expect([read.status, read.json?.value]).toEqual([200, "there"]);
  });

  test("a node that takes over a workspace answers its first request, whatever that is", async () => {
    const third = await (first as TestDaemon).anotherNode();
    await using _ = third;
    const large = "lake ".repeat(20_000);
    const atomic = { agent_id: "a", operations: [{ op: "write", key: "batch", value: large }] };
    const requests: [string, object?][] = [
      ["/v1/data/write", { agent_id: "a", key: "large", value: large }],
      ["/v1/data/batch", atomic],
      ["/v1/data/search", { agent_id: "a", query: "river" }],
      ["/v1/audit/export", { scope: "workspace", format: "ndjson" }],
      ["/v1/audit/activity?agent_id=a"],
      ["/v1/audit/seal"],
    ];
    const owned = await Promise.all(requests.map(() => (first as TestDaemon).workspace()));
    for (const { client } of owned) {
      const there = (second as TestDaemon).client(client.apiKey);
      await there.post("/v1/data/write", { agent_id: "a", key: "k", value: "a river" });
    }
    await second?.stop();
    for (const [i, [path, body]] of requests.entries()) {
      const own = owned[i] as TestWorkspace;
      const client = third.client(own.client.apiKey);
      const { status, text } = await (body === undefined ? client.get(path) : client.post(path, body));
      expect([path, status, status < 300 ? "" : text]).toEqual([path, 200, ""]);
      expect(existsSync(join(third.dataDir, "workspaces", `${own.id}.db`))).toBe(true);
    }
  });
});
