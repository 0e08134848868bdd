/** Workload identity: tokens of an issuer in place of API keys, on /v1 and on MCP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { auth } from "@modelcontextprotocol/sdk/client/auth.js";
import type { JWTPayload } from "jose";
import type { WorkloadRule } from "../../src/oidc/workload-rules.ts";
import type { Settings } from "../../src/settings/definitions.ts";
import { eventually } from "../eventually.ts";
import { GENERATIONS } from "../mcp/clients.ts";
import type { Sent } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";
import { IssuerByHand } from "./issuer-by-hand.ts";

const files = temporaryDirectory();
const caFile = files.join("ca.pem");
let issuer: IssuerByHand;
/** One that never answered. */
let away: IssuerByHand;
let daemon: TestDaemon;
let one: TestWorkspace;
let two: TestWorkspace;
let rules: WorkloadRule[];

beforeAll(async () => {
  issuer = await IssuerByHand.start();
  away = await IssuerByHand.start();
  writeFileSync(caFile, issuer.authority.cert);
  daemon = await TestDaemon.start({ confided: true });
  [one, two] = [await daemon.workspace("one"), await daemon.workspace("two")];
  const rule = { issuer: issuer.url, audience: "governd", caFile, agents: null };
  rules = [
    { ...rule, workspaceId: one.id, scope: "agent", agents: ["ci", "deploy"], claims: { sub: "repo:acme/*" } },
    { ...rule, workspaceId: two.id, scope: "auditor", claims: { sub: "repo:acme/*" } },
    { ...rule, workspaceId: one.id, scope: "full", claims: { sub: "repo:acme/admin" } },
    { ...rule, workspaceId: two.id, scope: "full", claims: { sub: "ops", env: "prod" } },
    { ...rule, workspaceId: one.id, scope: "agent", claims: { sub: "*" }, issuer: away.url },
  ];
  await daemon.reload({ workload: rules });
});
beforeEach(() => {
  issuer.isDown = false;
});

/** Runs a test with other settings, as after SIGHUP. */
async function reloaded(settings: Partial<Settings>, run: () => Promise<void>): Promise<void> {
  await daemon.reload({ workload: rules, ...settings });
  try {
    await run();
  } finally {
    await daemon.reload({ workload: rules });
  }
}
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  await away[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const CI: JWTPayload = { sub: "repo:acme/app", aud: "governd" };
const OPS: JWTPayload = { sub: "ops", env: "prod", aud: ["other", "governd"] };

/** Sends a request with a token. */
const send = (token: string, sent: Sent) =>
  one.client.send({ key: null, ...sent, headers: { authorization: `Bearer ${token}`, ...sent.headers } });

const write = (token: string, agent = "ci", headers: Record<string, string> = {}) =>
  send(token, { path: "/v1/data/write", body: { agent_id: agent, key: "k", value: "v" }, headers });

describe("a token of the issuer", () => {
  test("acts with the scope and the agents of its rule, under a name that stays", async () => {
    const head = one.view.head;
    const written = await write(await issuer.token(CI));
    expect(written.status).toBe(200);
    expect((await write(await issuer.token({ ...CI, iat: 1 }), "deploy")).status).toBe(200);
    const [added, ...events] = one.view.eventsAfter(head);
    const actor = added?.details?.workload_id as string;
    expect(actor).toMatch(/^wid_/);
    expect(added).toMatchObject({
      operation: "workload.begin",
      details: { workload_id: actor, workload_digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    const workload = { issuer: issuer.url, subject: "repo:acme/app" };
    expect(events.map(({ operation, details }) => [operation, details?.workload])).toEqual([
      ["data.write", workload],
      ["data.write", workload],
    ]);
    const query = { actor, scope: "all" };
    const trail = await one.client.send({ path: "/v1/audit", query });
    expect(trail.json.data.map((event: { actor: string }) => event.actor)).toEqual([actor, actor]);
    expect((await write(await issuer.token(CI), "other")).json.code).toBe("forbidden");
    const config = await send(await issuer.token(CI), { method: "PUT", path: "/v1/config/ci", body: {} });
    expect([config.status, config.json.code]).toEqual([403, "forbidden"]);
  });

  test("says on whose behalf it acts, and the trail is filtered by it", async () => {
    const { view, client } = one;
    const actors = (count: number): object => ({ sub: `tool-${count}`, ...(count > 1 && { act: actors(count - 1) }) });
    const said = async (act: unknown) => {
      expect((await write(await issuer.token({ ...CI, act } as JWTPayload))).status).toBe(200);
      return view.eventsAfter(-1).at(-1)?.details?.on_behalf_of;
    };
    const subject = { iss: issuer.url, sub: CI.sub };
    const assistant = { iss: "https://agents.example.org", sub: "assistant" };
    expect(await said({ ...assistant, act: { sub: "planner", act: null } })).toEqual([
      subject,
      assistant,
      { iss: null, sub: "planner" },
    ]);
    expect(await said(actors(9))).toEqual([subject, ...[9, 8, 7, 6, 5].map((n) => ({ iss: null, sub: `tool-${n}` }))]);
    for (const none of [undefined, null]) expect(await said(none)).toBeUndefined();
    const found = async (sub: string) =>
      (await client.send({ path: "/v1/audit", query: { scope: "all", on_behalf_of: sub } })).json.data.length;
    expect([await found("planner"), await found("plan"), await found("tool-5,planner")]).toEqual([1, 0, 2]);
    expect(await found(CI.sub as string)).toBe(2);
    const filter = view.eventsAfter(-1).at(-1)?.details?.subjects;
    expect(filter).toEqual([CI.sub]);
  });

  test.each([
    ["no object", "assistant"],
    ["a list", [{ sub: "a" }]],
    ["without a subject", { iss: "https://agents.example.org" }],
    ["with an empty subject", { sub: "" }],
    ["whose issuer is no text", { sub: "a", iss: 7 }],
    ["whose actor has no subject", { sub: "a", act: {} }],
    ["whose last actor has no subject", [1, 2, 3, 4, 5, 6].reduce<object>((act) => ({ sub: "a", act }), {})],
  ])("with a claim act %s is refused", async (_, act) => {
    const { status, json, headers } = await write(await issuer.token({ ...CI, act } as JWTPayload));
    expect([status, json.detail]).toEqual([401, "The token is refused: its claim act is missing or not right."]);
    expect(headers.get("www-authenticate")).toContain('error="invalid_token"');
  });

  test("is the first rule that fits, of the workspace that the request names", async () => {
    const admin = await issuer.token({ ...CI, sub: "repo:acme/admin" });
    // A wider rule stands before the one for this subject.
    expect((await write(admin, "other")).status).toBe(403);
    const inTwo = { "X-Workspace-Id": two.id };
    expect((await send(admin, { path: "/v1/audit", query: { scope: "all" }, headers: inTwo })).status).toBe(200);
    expect((await write(admin, "ci", inTwo)).json.code).toBe("forbidden");
    const elsewhere = { "X-Workspace-Id": "ws_01h455vb4pex5vsknk084sn02q" };
    expect((await write(admin, "ci", elsewhere)).json.code).toBe("workspace_mismatch");
    await reloaded({ workload: rules.toReversed() }, async () => {
      expect((await write(admin, "other")).status).toBe(200);
    });
  });

  test("has its own idempotency keys and its own limit", async () => {
    await reloaded({ rate_limit: 3 }, async () => {
      const [ci, other] = [await issuer.token(CI), await issuer.token({ ...CI, sub: "repo:acme/other" })];
      const key = { "Idempotency-Key": "one" };
      const replayed = [];
      for (const token of [ci, await issuer.token(CI), other]) {
        replayed.push((await write(token, "ci", key)).headers.get("idempotent-replayed"));
      }
      expect(replayed).toEqual([null, "true", null]);
      const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await write(ci)).status));
      expect(statuses).toContain(429);
      expect((await write(other)).status).toBe(200);
    });
  });

  test("changes sinks in its own name, too", async () => {
    await reloaded({ sink_allow: ["siem.example.org"] }, async () => {
      const head = two.view.head;
      const body = { type: "webhook", url: "https://siem.example.org/in", enabled: false };
      const made = await send(await issuer.token(OPS), { path: "/v1/sinks", body });
      expect(made.status).toBe(201);
      const [added, event] = two.view.eventsAfter(head);
      expect(made.json.created_by).toBe(added?.details?.workload_id as string);
      expect(event?.details?.workload).toEqual({ issuer: issuer.url, subject: "ops" });
    });
  });

  test("has an id of its own in each workspace, and keeps it", async () => {
    const admin = await issuer.token({ ...CI, sub: "repo:acme/admin" });
    const idIn = async ({ id, view }: TestWorkspace) => {
      const sent = { path: "/v1/agents", headers: { "X-Workspace-Id": id } };
      expect((await send(admin, sent)).status).toBe(id === two.id ? 200 : 403);
      const sql = "SELECT id FROM workloads WHERE issuer = ? AND subject = ?";
      return view.connection.value<string>(sql, [issuer.url, "repo:acme/admin"]);
    };
    const ids = [await idIn(one), await idIn(two)];
    expect(new Set(ids).size).toBe(2);
    expect([await idIn(one), await idIn(two)]).toEqual(ids);
  });

  test("is refused as an API key, and beside one", async () => {
    const token = await issuer.token(CI);
    expect((await one.client.send({ path: "/v1/agents", key: token })).status).toBe(401);
    expect((await send(token, { path: "/v1/agents", key: one.client.apiKey })).status).toBe(401);
  });

  test("fits a rule that names the issuer with a slash at the end, under the same name", async () => {
    const slashed = rules.map((rule) => ({ ...rule, issuer: `${rule.issuer}/` }));
    const token = await issuer.token({ ...CI, nbf: null, iat: null, jti: null } as never);
    const head = one.view.head;
    expect((await write(token)).status).toBe(200);
    await reloaded({ workload: slashed }, async () => expect((await write(token)).status).toBe(200));
    const named = { issuer: issuer.url, subject: "repo:acme/app" };
    expect(one.view.eventsAfter(head).map(({ details }) => details?.workload)).toEqual([named, named]);
  });

  test("goes on while its issuer is down, and any other is answered with 503", async () => {
    expect((await write(await issuer.token(CI))).status).toBe(200);
    issuer.isDown = true;
    expect((await write(await issuer.token({ ...CI, sub: "repo:acme/new" }))).status).toBe(200);
    away.isDown = true;
    const refused = await write(await away.token(CI));
    expect([refused.status, refused.json.code, refused.headers.get("retry-after")]).toEqual([503, "unavailable", "30"]);
    expect(await daemon.log()).toContain("the keys of an issuer of workloads cannot be fetched");
  });

  test("no longer acts when its rule is gone, nor do streams that it opened", async () => {
    const token = await issuer.token(OPS);
    const authorization = `Bearer ${token}`;
    const live = await one.client.open({
      path: "/v1/audit/stream",
      query: { scope: "all" },
      key: null,
      headers: { authorization },
    });
    expect(live.status).toBe(200);
    let ended = false;
    const reading = (async () => {
      for await (const _ of live.body ?? []);
      ended = true;
    })();
    await reloaded({ workload: rules.slice(0, 3) }, async () => {
      const refused = await send(token, { path: "/v1/agents" });
      expect([refused.status, refused.json.code]).toEqual([401, "unauthenticated"]);
      expect(refused.json.detail).toContain("no rule fits");
      await eventually("the stream ends", () => ended);
      await reading;
    });
  });
});

describe("a token is refused", () => {
  const now = () => Math.floor(Date.now() / 1_000);
  const cases: [string, () => Promise<string>, string][] = [
    ["that has expired", () => issuer.token({ ...CI, exp: now() - 70 }), "it has expired"],
    ["for another audience", () => issuer.token({ ...CI, aud: "another" }), "no rule fits"],
    ["whose claims fit no rule", () => issuer.token({ ...OPS, env: "test" }), "no rule fits"],
    ["of an issuer that no rule names", () => issuer.token({ ...CI, iss: "https://o.example" }), "no rule names"],
    ["that is signed by somebody else", () => issuer.token(CI, { keys: issuer.strangeKeys }), "signature is wrong"],
  ];
  test.each(cases)("%s", async (_name, make, why) => {
    const head = one.view.head;
    const { status, json, headers } = await write(await make());
    expect([status, json.code]).toEqual([401, "unauthenticated"]);
    expect(json.detail).toContain(why);
    expect(headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect(one.view.head).toBe(head);
  });

  test("too often: then the address has to wait", async () => {
    await reloaded({ auth_failure_limit: 2 }, async () => {
      const bad = await issuer.token(CI, { keys: issuer.strangeKeys });
      const statuses = [];
      for (let i = 0; i < 3; i++) statuses.push((await write(bad)).status);
      expect(statuses).toEqual([401, 401, 429]);
      expect((await write(await issuer.token(CI))).status).toBe(200);
    });
  });

  test("also when the path does not exist, and nothing of any is in the log", async () => {
    const bad = await issuer.token({ ...CI, aud: "another" });
    expect((await send(bad, { path: "/v1/nothing" })).status).toBe(401);
    expect((await send(await issuer.token(CI), { path: "/v1/nothing" })).status).toBe(404);
    const log = await daemon.log();
    for (const part of bad.split(".").slice(1)) expect(log).not.toContain(part);
  });
});

describe("MCP", () => {
  test.each(Object.entries(GENERATIONS))("the client of %s works with a token", async (_version, connect) => {
    const authorization = `Bearer ${await issuer.token(CI)}`;
    await using client = await connect(one.client, { path: "/v1/mcp/agents/ci", only: { authorization } });
    const written = await client.call("memory_write", { key: "from-mcp", value: "v" });
    expect(written.structuredContent.allowed).toBe(true);
  });

  test("tells a client which issuer to ask (RFC 9728)", async () => {
    for (const path of ["/v1/mcp", "/v1/mcp/agents/ci"]) {
      const refused = await one.client.send({ path, key: null, body: {} });
      expect(refused.status).toBe(401);
      const address = `${daemon.url}/.well-known/oauth-protected-resource${path}`;
      expect(refused.headers.get("www-authenticate")).toContain(`resource_metadata="${address}"`);
      const { status, json } = await one.client.send({ path: address.slice(daemon.url.length), key: null });
      expect(status).toBe(200);
      expect(json).toEqual({
        resource: daemon.url + path,
        authorization_servers: [issuer.url, away.url],
        bearer_methods_supported: ["header"],
        resource_name: "governd",
      });
    }
    await reloaded({ workload: [] }, async () => {
      const path = "/.well-known/oauth-protected-resource/v1/mcp";
      expect((await one.client.send({ path, key: null })).status).toBe(404);
      const plain = await one.client.send({ path: "/v1/mcp", key: null, body: {} });
      expect(plain.headers.get("www-authenticate")).toBe('Bearer realm="governd", ApiKey realm="governd"');
    });
  });

  test("leads the official client to the issuer's page", async () => {
    issuer.metadata = { code_challenge_methods_supported: ["S256"], registration_endpoint: `${issuer.url}/register` };
    let page: URL | null = null;
    const ca = [daemon.ca, issuer.authority.cert];
    const result = await auth(
      {
        redirectUrl: "http://localhost:1/callback",
        clientMetadata: { redirect_uris: ["http://localhost:1/callback"] },
        clientInformation: () => ({ client_id: "mcp-client" }),
        tokens: () => undefined,
        saveTokens: () => undefined,
        saveCodeVerifier: () => undefined,
        codeVerifier: () => "",
        redirectToAuthorization: (url) => {
          page = url;
        },
      },
      {
        serverUrl: `${daemon.url}/v1/mcp`,
        fetchFn: (url, init) => fetch(url, { ...init, tls: { ca } } as RequestInit),
      },
    );
    issuer.metadata = {};
    expect(result).toBe("REDIRECT");
    const asked = page as unknown as URL;
    expect(asked.origin).toBe(issuer.url);
    expect(asked.searchParams.get("resource")).toBe(`${daemon.url}/v1/mcp`);
  });
});

compared("both verifiers accept the log, and an export that a workload asked for", async () => {
  const auditor = await issuer.token({ ...CI, act: { sub: "assistant" } });
  const exported = await send(auditor, {
    path: "/v1/audit/export",
    body: { scope: "workspace", format: "json" },
    headers: { "X-Workspace-Id": two.id },
  });
  expect(exported.status).toBe(200);
  const file = files.join("export.json");
  writeFileSync(file, exported.text);
  await using second = new SecondVerifier();
  const database = ({ id }: TestWorkspace) => join(daemon.dataDir, "workspaces", `${id}.db`);
  for (const evidence of [file, database(one), database(two)]) {
    expect(await second.run(evidence)).toMatchObject({ code: 0, codes: [] });
  }
  for (const { view } of [one, two]) expect((await view.verify()).problems).toEqual([]);
});
