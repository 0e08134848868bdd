/**
 * Many rows are read from a replica that has what the server has, and from nothing else. Replicas of the server of these
 * tests are real ones. It is 0.24.32, whose replicas governd refuses, so it says through {@link Front} that it is 0.24.33,
 * which differs from it in nothing but the syncs of its replication log.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import { Replicas } from "../../src/engine-libsql/replicas.ts";
import { ServerClient } from "../../src/engine-libsql/server.ts";
import { namespaceOf, ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import type { ServerOptions } from "../../src/settings/server-options.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governdProcess } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { FaultProxy, NO_FAULT } from "../support/fault-proxy.ts";
import { LIBSQL_SERVER, LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const NEWEST = "SELECT max(number) FROM governd_commits";
const ENTRIES = 600;

/** Stands before a server, says its version, and counts what it sends. */
class Front implements AsyncDisposable {
  bytes = 0;
  requests = 0;
  readonly #server: Bun.Server<undefined>;

  constructor(target: string, version: string) {
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/version") return new Response(`sqld sqld ${version}`);
        const answered = await fetch(new URL(pathname, target), {
          method: request.method,
          headers: request.headers,
          body: await request.arrayBuffer(),
        });
        const body = await answered.arrayBuffer();
        this.requests++;
        this.bytes += body.byteLength;
        return new Response(body, { status: answered.status });
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

/** The way from replicas to their primary, which can be stopped. */
class Way implements AsyncDisposable {
  readonly #open = new Set<Socket>();
  isStopped = false;
  readonly #server = createServer((client) => {
    const server = connect(Number(new URL(this.target).port), "127.0.0.1");
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(from);
      from.on("data", (piece) => void (this.isStopped || to.write(piece)));
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
    }
  });

  constructor(private readonly target: string) {}

  async listen(): Promise<this> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    return this;
  }

  get replicationUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
  }
}

describe.skipIf(LIBSQL_SERVER === null)("many rows", () => {
  let daemon: TestDaemon;
  let server: LibsqlServer;
  let front: Front;
  let way: Way;
  let replica: LibsqlServer;
  let workspace: TestWorkspace;
  const directory = temporaryDirectory();
  let files = 0;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ engine: "libsql-server" });
    server = daemon.server as LibsqlServer;
    front = new Front(server.url, "0.24.33");
    way = await new Way(server.replicationUrl).listen();
    replica = await LibsqlServer.start({ tokens: false, primary: way });
    workspace = await daemon.workspace();
    await write(ENTRIES);
  });
  afterAll(async () => {
    for (const part of [replica, way, front, daemon]) await part?.[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const write = (count: number) =>
    workspace.client.writeAll(
      "a",
      Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: `${at} ${"x".repeat(500)}` })),
    );
  const newest = async (of: LibsqlServer) => Number(texts(await of.execute(namespaceOf(workspace.id), NEWEST))[0]?.[0]);
  const follows = () =>
    eventually("the replica has what the server has", async () => (await newest(replica)) === (await newest(server)));

  /** Makes a file of the workspace. Returns its rows, what the server sent, and what the operator is told. */
  async function pulled(replicaUrls: readonly string[], url = front.url) {
    const warnings: string[] = [];
    const options: ServerOptions = { url, authToken: server.token, adminUrl: null, adminToken: null, replicaUrls };
    const path = directory.join(`${files++}.db`);
    const before = { bytes: front.bytes, requests: front.requests };
    await new ServerEngine(options, (warning) => warnings.push(warning)).pull(workspace.id, path, null);
    using connection = openConnection(path, { readOnly: true });
    const rows = ["events", "entries", "head", "agents"].map((table) =>
      connection.all(`SELECT * FROM ${table} ORDER BY 1, 2`).map((row) => JSON.stringify(row)),
    );
    return { rows, sent: front.bytes - before.bytes, warnings, path };
  }

  test("come from a replica that has them, and the server sends little", async () => {
    await follows();
    const alone = await pulled([]);
    const helped = await pulled([replica.url]);
    expect(helped.rows).toEqual(alone.rows);
    expect(helped.rows[0]?.length).toBeGreaterThan(ENTRIES);
    expect(helped.warnings).toEqual([]);
    expect(alone.sent).toBeGreaterThan(500 * ENTRIES);
    expect(helped.sent).toBeLessThan(alone.sent / 10);
  });

  test("come from the server while the replica is behind", async () => {
    await follows();
    way.isStopped = true;
    await write(50);
    expect(await newest(replica)).toBeLessThan(await newest(server));
    const alone = await pulled([]);
    const helped = await pulled([replica.url]);
    expect(helped.rows).toEqual(alone.rows);
    expect(helped.sent).toBeGreaterThan(500 * ENTRIES);
    way.isStopped = false;
    // What was on its way is lost: the replica connects again.
    await replica.kill();
    await replica.restart();
    await follows();
  });

  test("come from the server when the replica dies in the middle, or is none", async () => {
    await follows();
    await using network = await FaultProxy.start(replica.url);
    for (const answers of [1, 2, 4]) {
      let asked = 0;
      network.faults = () => (asked++ < answers ? NO_FAULT : { kind: "cut_answer", ms: 1 });
      const helped = await pulled([network.url]);
      expect(helped.rows).toEqual((await pulled([])).rows);
      expect(helped.warnings.join()).toContain("gives no answer any more");
    }
    expect((await pulled(["http://127.0.0.1:9"])).rows).toEqual((await pulled([])).rows);
  });

  test("do not count when the server lacks what the replica has", async () => {
    await follows();
    await using other = await LibsqlServer.start({ tokens: false });
    const namespace = namespaceOf(workspace.id);
    await other.createNamespace(namespace, { durability_mode: "strong", max_row_size: 512 * 1024 * 1024 });
    // Has all commits of the server, and more that a lost disk took with it.
    const tables = texts(await server.execute(namespace, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"));
    for (const [table, sql] of tables as [string, string][]) {
      await other.execute(namespace, sql);
      const stored = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0";
      const columns = texts(await server.execute(namespace, stored, [{ type: "text", value: table }])).join(", ");
      const { rows } = await server.execute(namespace, `SELECT ${columns} FROM ${table}`);
      for (const row of rows)
        await other.execute(namespace, `INSERT INTO ${table} (${columns}) VALUES (${row.map(() => "?")})`, row);
    }
    await other.execute(namespace, "UPDATE entries SET value = '\"lost\"'");
    await other.execute(
      namespace,
      "INSERT INTO governd_commits SELECT max(number) + 100, 'lost', format, '{}' FROM governd_commits",
    );
    const helped = await pulled([other.url]);
    expect(helped.rows).toEqual((await pulled([])).rows);
    expect(helped.warnings.join()).toContain("that the libSQL server lacks");

    // So it does when the server has gone as far meanwhile.
    const warnings: string[] = [];
    const [behind, ahead] = [new ServerClient(front.url, server.token), new ServerClient(other.url, null)];
    const replicas = new Replicas(behind, [ahead], (warning) => warnings.push(warning));
    const as = { number: await newest(other), token: "the server's", oldest: 1, format: 1 };
    expect(await replicas.having(namespace, as)).toBeNull();
    expect(warnings.join()).toContain("that the libSQL server lacks");
  });

  test("are not read from replicas of a server that may lose what they have", async () => {
    await follows();
    const old = await pulled([replica.url], server.url);
    expect(old.warnings).toEqual(["replicas are not read: their server must have version 0.24.33 or newer"]);
    expect(old.rows).toEqual((await pulled([])).rows);
  });

  test("verify like those that the server sends", async () => {
    await follows();
    const before = front.bytes;
    const words = ["verify", front.url, "--engine-auth-token", server.token, "--replica-urls", replica.url, "--json"];
    const { code, out } = await governdProcess(words);
    expect([code, JSON.parse(out).verdict]).toEqual([0, "verified"]);
    expect(front.bytes - before).toBeLessThan(100 * ENTRIES);
  });

  test("reach a node that was away for long", async () => {
    const flags = { engine_url: front.url, replica_urls: replica.url };
    const node = await daemon.anotherNode(flags);
    await using _ = node;
    const read = () => node.client(workspace.client.apiKey).get("/v1/data/list?agent_id=b&limit=1");
    expect((await read()).status).toBe(200);
    await node.stop();
    for (let at = 0; at < 120; at++) {
      const body = { agent_id: "b", key: `k${at}`, value: "x".repeat(2_000) };
      expect((await workspace.client.post("/v1/data/write", body)).status).toBe(200);
    }
    await follows();
    // Nobody else serves it any more, so this node has to bring its copy up to date.
    await daemon.stop();
    const before = front.bytes;
    await node.restart();
    expect((await read()).json.data).toHaveLength(1);
    expect(front.bytes - before).toBeLessThan(120 * 2_000);
    const verified = await node.client(workspace.client.apiKey).post("/v1/audit/verify", { scope: "workspace" });
    expect(verified.json.valid).toBe(true);
  });
});
