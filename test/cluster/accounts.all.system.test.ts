/** People whose requests come through different nodes: what one node was told, counts for all. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { type Pointer, readPointer } from "../../src/core/datadir/pointer.ts";
import { byName, HOST, madePasskey, signInChallenge } from "../account/authenticator-by-hand.ts";
import { Browser, invited, type Person, signUp, tokenOf } from "../account/browser.ts";
import { IssuerByHand } from "../account/issuer-by-hand.ts";
import { governdProcess } from "../cli/governd-process.ts";
import { administer } from "../support/administration.ts";
import { TestDaemon } from "../support/daemon.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

describe.skipIf(LIBSQL_SERVER === null)("people come through any node", () => {
  const files = temporaryDirectory();
  let issuer: IssuerByHand;
  let nodes: [TestDaemon, TestDaemon];
  let owner: Person;

  beforeAll(async () => {
    issuer = await IssuerByHand.start();
    const flags = { ...issuer.settings(files.path), oidc_default_role: "member" };
    const first = await TestDaemon.start({ engine: "libsql-server", flags });
    nodes = [first, await first.anotherNode(flags)];
    owner = await signUp(first, tokenOf(nodes[1].signUpUrl));
  });
  afterAll(async () => {
    for (const node of nodes.toReversed()) await node[Symbol.asyncDispose]();
    await issuer[Symbol.asyncDispose]();
    files[Symbol.dispose]();
  });

  test("and have as many attempts with a password as through one", async () => {
    const { email } = await invited(owner, "member");
    const statuses: number[] = [];
    for (let i = 0; i < 7; i++) {
      const stranger = new Browser(nodes[i % 2] as TestDaemon);
      statuses.push((await stranger.post("/account/sign-in", { email, password: "wrong" })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });

  test("and come back from the issuer through the other one", async () => {
    issuer.who = { sub: "s-1", email: "ada@example.org", groups: [] };
    const begun = new Browser(nodes[0]);
    const named = byName().headers;
    const sent = await begun.get("/account/oidc/start?next=/", named);
    const back = new URL(await issuer.visited(sent.headers.get("location") as string));
    expect(back.host).toBe(HOST);
    const browser = begun.at(nodes[1]);
    expect((await browser.get(back.pathname + back.search, named)).headers.get("location")).toBe("/");
    expect((await browser.get("/account", named)).json.account.email).toBe("ada@example.org");
  });

  test("and join, get another role and lose it through any of them", async () => {
    const base = `/account/workspaces/${owner.workspaceId}`;
    const headers = { "x-workspace-id": owner.workspaceId };
    const write = { agent_id: "a", key: "k", value: "v" };
    for (const [one, other] of [nodes, nodes.toReversed()] as [TestDaemon, TestDaemon][]) {
      const by = owner.browser.at(one);
      const { token } = (await by.post(`${base}/invitations`, { role: "member" })).json;
      const { browser, accountId } = await signUp(other, token);
      const both = [browser, browser.at(one)];
      for (const each of both) {
        const { workspaces } = (await each.get("/account")).json;
        expect(workspaces.map(({ id, role }: { id: string; role: string }) => [id, role])).toEqual([
          [owner.workspaceId, "member"],
        ]);
        expect((await each.post("/v1/data/write", write, headers)).status).toBe(200);
      }
      expect((await by.put(`${base}/members/${accountId}`, { role: "auditor" })).status).toBe(200);
      for (const each of both) expect((await each.post("/v1/data/write", write, headers)).status).toBe(403);
      for (const each of both) expect((await each.get("/v1/agents", headers)).status).toBe(200);
      expect((await by.delete(`${base}/members/${accountId}`)).status).toBe(204);
      for (const each of both) {
        expect((await each.get("/v1/agents", headers)).json.code).toBe("workspace_mismatch");
        expect((await each.get("/account")).json.workspaces).toEqual([]);
      }
    }
  });

  test("and lose at every node what the command line has ended when it answers", async () => {
    const where = ["--data-dir", nodes[0].dataDir];
    const run = async (...words: string[]) => {
      const ran = await governdProcess([...words, ...where]);
      expect([ran.code, ran.err]).toEqual([0, ""]);
      return ran;
    };
    const { installation_id } = readPointer(dataDirectory(nodes[0].dataDir)) as Pointer;
    const headers = { "x-workspace-id": installation_id };
    const { email, browser } = owner;
    // A node that was not waited for may have heard of a change by chance.
    for (let i = 0; i < 3; i++) {
      const made = await run("key", "create", "--workspace", owner.workspaceId, "--json");
      const { api_key: apiKey, key_id: id } = made.json<{ api_key: string; key_id: string }>();
      const withKey = () =>
        Promise.all(nodes.map(async (node) => (await node.client(apiKey).get("/v1/agents")).status));
      expect(await withKey()).toEqual([200, 200]);
      await run("key", "revoke", id, "--workspace", owner.workspaceId);
      expect(await withKey()).toEqual([401, 401]);

      await run("account", "operator", "--email", email);
      const asOperator = () =>
        Promise.all(nodes.map(async (node) => (await browser.at(node).get("/v1/agents", headers)).status));
      expect(await asOperator()).toEqual([200, 200]);
      await run("account", "operator", "--email", email, "--end");
      expect(await asOperator()).toEqual([403, 403]);
    }
  });

  test("and answer with a passkey through the other one", async () => {
    const person = await invited(owner, "member");
    const { authenticator } = await madePasskey(person.browser);
    const body = await authenticator.sign(await signInChallenge(new Browser(nodes[0])));
    const answer = await new Browser(nodes[1]).visit({ path: "/account/sign-in/passkey", body, ...byName() });
    expect([answer.status, answer.json.account?.id]).toEqual([200, person.accountId]);
  });
});

test.skipIf(LIBSQL_SERVER === null)(
  "behind a TLS proxy, a node passes on whose request it is, and only what came by HTTPS",
  async () => {
    const flags = { tls: "off", trusted_proxies: "127.0.0.1" };
    await using first = await TestDaemon.start({ engine: "libsql-server", flags });
    await using second = await first.anotherNode(flags);
    const { apiKey } = await administer(first.dataDir, async (administration) => {
      const { workspace } = await administration.createWorkspace("w");
      const wish = { workspaceId: workspace.id, label: null, scope: "full", agents: null, expiresInMs: null } as const;
      return administration.createKey({ ...wish, networks: ["198.51.100.0/24"] });
    });
    const by = (node: TestDaemon, address: string, proto = "https") =>
      fetch(`${node.url}/v1/agents`, {
        headers: { "x-api-key": apiKey, "x-forwarded-proto": proto, "x-forwarded-for": address },
      });
    for (const node of [first, second]) {
      expect((await by(node, "198.51.100.1")).status).toBe(200);
      expect((await by(node, "203.0.113.1")).status).toBe(403);
      const plain = await by(node, "198.51.100.1", "http");
      expect([plain.status, ((await plain.json()) as { code: string }).code]).toEqual([403, "https_required"]);
    }
  },
);
