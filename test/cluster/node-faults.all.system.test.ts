/** What a node itself refuses is logged and counted, and its port for other nodes follows its settings. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { Browser, signUp, tokenOf } from "../account/browser.ts";
import { Scrape } from "../metrics/scrape.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { LIBSQL_SERVER, type LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const DAY_MS = 86_400_000;

describe.skipIf(LIBSQL_SERVER === null)("a node", () => {
  let first: TestDaemon;
  let second: TestDaemon;
  let workspace: TestWorkspace;

  beforeAll(async () => {
    first = await TestDaemon.start({ engine: "libsql-server", flags: { metrics_listen: "127.0.0.1:0" } });
    second = await first.anotherNode();
    workspace = await first.workspace();
    // The first node serves it from now on.
    expect((await write(first, "k")).status).toBe(200);
  });
  afterAll(async () => {
    await second?.[Symbol.asyncDispose]();
    await first?.[Symbol.asyncDispose]();
  });

  const write = (node: TestDaemon, key: string, value = "v") =>
    node.client(workspace.client.apiKey).post("/v1/data/write", { agent_id: "a", key, value });
  const control = (sql: string) => (first.server as LibsqlServer).execute("governd-nodes", sql);

  test("logs and counts a request that it cannot pass on", async () => {
    const until = "CAST(unixepoch('subsec') * 1000 AS INTEGER) + 60000";
    const leased = ({ id }: TestWorkspace) =>
      control(`INSERT INTO governd_leases VALUES ('${id}', 'gone', 'https://127.0.0.1:9', 1, ${until})`);
    let own = await first.workspace("elsewhere");
    // The first sweep after a start takes the leases of all workspaces, perhaps just now.
    while (
      !(await leased(own).then(
        () => true,
        () => false,
      ))
    ) {
      own = await first.workspace("elsewhere");
    }
    const counted = async () =>
      (await Scrape.of(first.metricsUrl as string)).value('governd_http_problems_total{code="unavailable"}');
    const before = await counted();
    const sent = { path: "/v1/agents", headers: { "x-request-id": "passed-on-1" } };
    const { status, json, headers } = await own.client.send(sent);
    expect([status, json.code, json.request_id]).toEqual([503, "unavailable", "passed-on-1"]);
    expect([headers.get("x-request-id"), headers.get("retry-after")]).toEqual(["passed-on-1", "1"]);
    expect(await counted()).toBe(before + 1);
    const lines = (await first.log()).split("\n").filter((line) => line.includes("passed-on-1"));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "request", method: "GET", status: 503, problem: "unavailable" },
    ]);
  });

  test("answers other nodes by the settings in force", async () => {
    const big = "x".repeat(4_000);
    expect((await write(second, "big", big)).status).toBe(200);
    await first.reload({ max_body: 1_000 });
    expect((await write(second, "big", big)).status).toBe(413);
    await first.reload({});
    expect((await write(second, "big", big)).status).toBe(200);
  });

  test("has another certificate for other nodes before its own ends", async () => {
    const [[url] = []] = texts(
      await control("SELECT url FROM governd_leases WHERE name LIKE 'node:%' AND url IS NOT NULL ORDER BY until"),
    );
    const shown = async () => {
      const { hostname, port } = new URL(url as string);
      const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
      const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () =>
        resolve(new X509Certificate(socket.getPeerCertificate(true).raw)),
      );
      socket.on("error", reject);
      const found = await promise;
      socket.destroy();
      return found;
    };
    const before = await shown();
    for (const node of [first, second]) {
      node.setClock(300 * DAY_MS);
      await node.reload({});
    }
    const after = await shown();
    expect(after.serialNumber).not.toBe(before.serialNumber);
    expect(Date.parse(after.validTo) - Date.parse(before.validTo)).toBeGreaterThan(299 * DAY_MS);
    expect(after.issuer).toBe(before.issuer);
    for (const node of [first, second]) node.setClock(0);
  });
});

describe.skipIf(LIBSQL_SERVER === null)("the link that a start prints", () => {
  test("counts on each node until another start prints one, or the first account is made", async () => {
    await using first = await TestDaemon.start({ engine: "libsql-server" });
    await using second = await first.anotherNode();
    const [one, other] = [first, second].map(({ signUpUrl }) => tokenOf(signUpUrl)) as [string, string];
    const inspect = async (node: TestDaemon, token: string) =>
      (await new Browser(node).post("/account/links/inspect", { token })).status;
    for (const node of [first, second])
      expect([await inspect(node, one), await inspect(node, other)]).toEqual([404, 200]);
    await first.restart();
    const again = tokenOf(first.signUpUrl);
    for (const node of [first, second]) {
      expect([await inspect(node, one), await inspect(node, other), await inspect(node, again)]).toEqual([
        404, 404, 200,
      ]);
    }
    const person = await signUp(second, again);
    expect((await person.browser.get("/account")).status).toBe(200);
    for (const node of [first, second]) expect(await inspect(node, other)).toBe(404);
    await expect(signUp(first, other)).rejects.toThrow("link_not_found");
    await using third = await first.anotherNode();
    expect(third.signUpUrl).toBeNull();
  });
});
