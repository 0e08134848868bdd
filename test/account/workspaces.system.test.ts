import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { PRECONDITION_HEADERS } from "../../src/api/precondition.ts";
import { accountRoutes } from "../../src/serve/http/app.ts";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import { TestDaemon } from "../support/daemon.ts";
import type { WorkspaceView } from "../support/workspace-view.ts";
import { Browser, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";
import { inSession } from "./stated.ts";

let daemon: TestDaemon;
let owner: Person;
let view: WorkspaceView;
let base: string;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
  view = daemon.viewOf(owner.workspaceId);
  base = `/account/workspaces/${owner.workspaceId}`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** The events that something appended. */
async function appended(work: () => Promise<unknown>) {
  const head = view.head;
  await work();
  return view.eventsAfter(head).map(({ line, details }) => [line, details] as const);
}

describe("a change takes no precondition and no key for retries, and ignores none", () => {
  test.each(accountRoutes.filter(({ method }) => method !== "GET").map(({ method, path }) => [method, path] as const))(
    "%s %s",
    async (method, path) => {
      const { head } = view;
      const address = path.replace(":workspace_id", owner.workspaceId).replaceAll(/:[a-z_]+/g, "none");
      for (const name of [...PRECONDITION_HEADERS, "Idempotency-Key"]) {
        const answer = await owner.browser.visit({ method, path: address, headers: { [name]: "*" } });
        expect(answer.json).toMatchObject({ status: 400, code: "invalid_request", param: name });
      }
      expect(view.eventsAfter(head)).toEqual([]);
    },
  );
});

describe("members", () => {
  test("are invited, join, and are recorded", async () => {
    const made = await owner.browser.post(`${base}/invitations`, {
      role: "auditor",
      label: "Grace",
      expires_in_days: 3,
    });
    expect(made.status).toBe(201);
    assertMatchesOpenApi("POST", `${base}/invitations`, 201, made.json);
    expect(made.json.url).toBe(`${daemon.url}/join#token=${made.json.token}`);
    const listed = await owner.browser.get(`${base}/invitations`);
    expect(listed.json.data).toMatchObject([{ id: made.json.id, role: "auditor", label: "Grace" }]);
    expect(listed.text).not.toContain(made.json.token);
    const inspected = await new Browser(daemon).post("/account/links/inspect", { token: made.json.token });
    expect(inspected.json).toMatchObject({ kind: "invitation", role: "auditor", workspace: { id: owner.workspaceId } });
    let person: Person | undefined;
    const events = await appended(async () => {
      person = await signUp(daemon, made.json.token);
    });
    expect(person?.apiKey).toBeNull();
    expect(person?.workspaceId).toBe(owner.workspaceId);
    expect(events).toEqual([
      [
        "- member.join ok",
        { account_id: person?.accountId, invitation_id: made.json.id, role: "auditor", ...inSession() },
      ],
    ]);
    expect((await owner.browser.get(`${base}/invitations`)).json.data).toEqual([]);
    const members = await owner.browser.get(`${base}/members`);
    assertMatchesOpenApi("GET", `${base}/members`, 200, members.json);
    expect(members.json.data).toMatchObject([
      { account_id: owner.accountId, role: "owner", you: true },
      { account_id: person?.accountId, role: "auditor", you: false },
    ]);
    expect(JSON.stringify(view.eventsAfter(-1))).not.toContain("example.com");
  });

  test("who have an account accept an invitation with it, once", async () => {
    const [one, two] = [await invited(owner, "member"), await invited(owner, "member")];
    const made = await one.browser.post("/account/workspaces", { name: "mine" });
    expect([made.status, made.json.code]).toEqual([403, "forbidden"]);
    const second = await owner.browser.post("/account/workspaces", { name: "second" });
    assertMatchesOpenApi("POST", "/account/workspaces", 201, second.json);
    const path = `/account/workspaces/${second.json.workspace_id}/invitations`;
    const { json } = await owner.browser.post(path, { role: "member" });
    const { token } = json;
    const accepted = await one.browser.post("/account/invitations/accept", { token });
    expect([accepted.status, accepted.json]).toEqual([
      200,
      expect.objectContaining({ id: second.json.workspace_id, role: "member" }),
    ]);
    const late = await two.browser.post("/account/invitations/accept", { token });
    expect([late.status, late.json.code]).toEqual([404, "link_not_found"]);
    const again = await owner.browser.post(path, { role: "member" });
    const twice = await one.browser.post("/account/invitations/accept", { token: again.json.token });
    expect([twice.status, twice.json.code]).toEqual([409, "already_member"]);
    expect((await one.browser.get("/account/workspaces")).json.data).toHaveLength(2);
    const gone = await owner.browser.delete(`${path}/${again.json.id}`);
    expect(gone.status).toBe(204);
    const withdrawn = daemon.viewOf(second.json.workspace_id).eventsAfter(-1).at(-1);
    expect([withdrawn?.line, withdrawn?.details]).toEqual([
      "- member.uninvite ok",
      { invitation_id: again.json.id, ...inSession() },
    ]);
    expect((await owner.browser.delete(`${path}/${again.json.id}`)).json.code).toBe("invitation_not_found");
    const void_ = await two.browser.post("/account/invitations/accept", { token: again.json.token });
    expect(void_.json.code).toBe("link_not_found");
  });

  test("change and leave at once, but the last owner stays", async () => {
    const person = await invited(owner, "member");
    const own = `${base}/members/${owner.accountId}`;
    expect((await owner.browser.put(own, { role: "member" })).json.code).toBe("last_owner");
    expect((await owner.browser.delete(own)).json.code).toBe("last_owner");
    const workspace = { "x-workspace-id": owner.workspaceId };
    expect((await person.browser.put("/v1/config/bot", {}, workspace)).status).toBe(200);
    const path = `${base}/members/${person.accountId}`;
    const events = await appended(async () => {
      expect((await owner.browser.put(path, { role: "auditor" })).json.role).toBe("auditor");
      expect((await owner.browser.put(path, { role: "auditor" })).headers.get("x-audit-id")).toBeNull();
    });
    expect(events).toEqual([
      ["- member.change ok", { account_id: person.accountId, role: "auditor", role_before: "member", ...inSession() }],
    ]);
    expect((await person.browser.put("/v1/config/bot", {}, workspace)).status).toBe(403);
    expect((await appended(() => owner.browser.delete(path)))[0]?.[0]).toBe("- member.remove ok");
    const after = await person.browser.get("/v1/agents", workspace);
    expect([after.status, after.json.code]).toEqual([403, "workspace_mismatch"]);
    expect((await person.browser.get(base)).json.code).toBe("workspace_not_found");
    const leaver = await invited(owner, "member");
    expect((await leaver.browser.delete(`${base}/members/${leaver.accountId}`)).status).toBe(204);
  });
});

describe("roles", () => {
  test("an auditor reads and changes nothing, and sees no stored value", async () => {
    const auditor = await invited(owner, "auditor");
    const client = daemon.client(owner.apiKey as string);
    await client.write("bot", "k", "the stored value");
    const { json: checkpoint } = await client.checkpoint("bot");
    const head = view.head;
    const headers = { "x-workspace-id": owner.workspaceId };
    const visits: [string, string, unknown?][] = [
      ["PUT", "/v1/config/bot", {}],
      ["POST", "/v1/data/write", { agent_id: "bot", key: "k", value: "v" }],
      ["GET", "/v1/data/read?agent_id=bot&key=k"],
      ["GET", "/v1/data/list?agent_id=bot"],
      ["POST", "/v1/data/search", { agent_id: "bot", query: "stored" }],
      ["DELETE", "/v1/data?agent_id=bot&key=k"],
      ["POST", "/v1/checkpoints", { agent_id: "bot" }],
      ["GET", `/v1/checkpoints/${checkpoint.id}`],
      ["POST", `/v1/checkpoints/${checkpoint.id}/restore`],
      ["POST", "/v1/agents/bot/suspend"],
      ["POST", "/v1/agents/bot/resume"],
      ["POST", `${base}/keys`, {}],
      ["GET", `${base}/invitations`],
      ["POST", `${base}/invitations`, { role: "owner" }],
      ["PUT", `${base}/members/${auditor.accountId}`, { role: "owner" }],
      ["DELETE", `${base}/members/${owner.accountId}`],
    ];
    for (const [method, path, body] of visits) {
      const visit = { method, path, headers, ...(body === undefined ? {} : { body }) };
      const { status, json } = await auditor.browser.visit(visit);
      expect([method, path, status, json.code]).toEqual([method, path, 403, "forbidden"]);
    }
    expect(view.head).toBe(head);
    for (const path of ["/v1/agents", "/v1/agents/bot", "/v1/audit?agent_id=bot", "/v1/config/bot"]) {
      expect([path, (await auditor.browser.get(path, headers)).status]).not.toEqual([path, 403]);
    }
    expect((await auditor.browser.get(`${base}/keys`)).status).toBe(200);
  });

  test("a stranger finds nothing", async () => {
    const { json } = await owner.browser.post("/account/workspaces", { name: "other" });
    const stranger = await signUp(
      daemon,
      (await owner.browser.post(`/account/workspaces/${json.workspace_id}/invitations`, { role: "owner" })).json.token,
    );
    for (const path of [base, `${base}/members`, `${base}/keys`, `${base}/invitations`]) {
      const { status, json: problem } = await stranger.browser.get(path);
      expect([status, problem.code]).toEqual([404, "workspace_not_found"]);
    }
    const { json: keys } = await owner.browser.get(`${base}/keys`);
    const foreign = `/account/workspaces/${json.workspace_id}/keys/${keys.data[0].id}`;
    expect((await stranger.browser.delete(foreign)).json.code).toBe("key_not_found");
  });
});

describe("sessions on /v1", () => {
  test("choose the workspace, and are the actor", async () => {
    const missing = await owner.browser.get("/v1/agents");
    expect([missing.status, missing.json.code, missing.json.param]).toEqual([400, "invalid_request", "X-Workspace-Id"]);
    const headers = { "x-workspace-id": owner.workspaceId };
    const written = await owner.browser.post("/v1/data/write", { agent_id: "person", key: "k", value: "v" }, headers);
    expect(written.json.allowed).toBe(true);
    expect(await view.event(written.json.audit_id)).toMatchObject({ actor: owner.accountId });
    // A key that is sent as well counts alone.
    const both = await owner.browser.get("/v1/agents", { ...headers, "x-api-key": "gov_wrong" });
    expect(both.status).toBe(401);
  });
});

describe("keys", () => {
  test("are made, listed, rotated with an overlap, and revoked", async () => {
    const wish = { label: "bot", scope: "agent", agents: ["bot", "bot"], expires_in_days: 30 };
    const made = await owner.browser.post(`${base}/keys`, wish);
    expect(made.status).toBe(201);
    assertMatchesOpenApi("POST", `${base}/keys`, 201, made.json);
    expect(made.json).toMatchObject({ label: "bot", scope: "agent", agents: ["bot"], state: "in_force" });
    const old = daemon.client(made.json.api_key);
    expect((await old.write("bot", "k", "v")).status).toBe(200);
    expect((await old.write("other", "k", "v")).status).toBe(403);

    const rotated = await owner.browser.post(`${base}/keys/${made.json.id}/rotate`, { overlap_hours: 1 });
    assertMatchesOpenApi("POST", `${base}/keys/${made.json.id}/rotate`, 201, rotated.json);
    expect(rotated.json).toMatchObject({ label: "bot", scope: "agent", agents: ["bot"], replaces: made.json.id });
    expect((await old.write("bot", "k", "v")).status).toBe(200);
    expect((await daemon.client(rotated.json.api_key).write("bot", "k", "v")).status).toBe(200);

    const now = await owner.browser.post(`${base}/keys/${rotated.json.id}/rotate`, { overlap_hours: 0 });
    expect((await daemon.client(rotated.json.api_key).write("bot", "k", "v")).status).toBe(401);
    const ended = await owner.browser.post(`${base}/keys/${rotated.json.id}/rotate`);
    expect([ended.status, ended.json.code]).toEqual([409, "key_ended"]);

    const revoked = await owner.browser.delete(`${base}/keys/${now.json.id}`);
    expect([revoked.status, revoked.json.state]).toEqual([200, "revoked"]);
    expect((await owner.browser.delete(`${base}/keys/${now.json.id}`)).json).toEqual(revoked.json);
    expect((await daemon.client(now.json.api_key).write("bot", "k", "v")).status).toBe(401);

    const listed = await owner.browser.get(`${base}/keys`);
    assertMatchesOpenApi("GET", `${base}/keys`, 200, listed.json);
    expect(listed.json.data.map((key: { state: string }) => key.state)).toEqual([
      "in_force",
      "in_force",
      "expired",
      "revoked",
    ]);
    expect(listed.text).not.toContain("gov_");
    const lines = view
      .eventsAfter(-1)
      .filter(({ operation }) => operation.startsWith("key."))
      .map(({ operation, details }) => [operation, details?.key_id ?? null]);
    expect(lines.slice(-4)).toEqual([
      ["key.create", made.json.id],
      ["key.rotate", rotated.json.id],
      ["key.rotate", now.json.id],
      ["key.revoke", now.json.id],
    ]);
    expect((await view.verify()).valid).toBe(true);
  });

  test("are limited to networks by owners, when they are made and later", async () => {
    const made = await owner.browser.post(`${base}/keys`, { networks: ["127.0.0.0/8", "::1", "::1"] });
    expect([made.status, made.json.networks]).toEqual([201, ["127.0.0.0/8", "::1"]]);
    const client = daemon.client(made.json.api_key);
    expect((await client.get("/v1/agents")).status).toBe(200);
    const path = `${base}/keys/${made.json.id}`;
    const limited = await owner.browser.put(path, { networks: ["10.0.0.0/8"] });
    assertMatchesOpenApi("PUT", path, 200, limited.json);
    expect(limited.json).toMatchObject({ id: made.json.id, networks: ["10.0.0.0/8"] });
    const refused = await client.get("/v1/agents");
    expect([refused.status, refused.json.code]).toEqual([403, "forbidden"]);
    const again = await owner.browser.put(path, { networks: ["10.0.0.0/8"] });
    expect([again.status, again.headers.get("x-audit-id")]).toEqual([200, null]);
    expect((await owner.browser.put(path, { networks: null })).json.networks).toBeNull();
    expect((await client.get("/v1/agents")).status).toBe(200);
    for (const networks of [[], ["10.0.0.0/33"], ["localhost"], "10.0.0.0/8", undefined, Array(101).fill("::1")]) {
      expect([networks, (await owner.browser.put(path, { networks })).status]).toEqual([networks, 400]);
    }
    const member = await invited(owner, "member");
    expect((await member.browser.put(path, { networks: null })).status).toBe(403);
    await owner.browser.delete(path);
    const ended = await owner.browser.put(path, { networks: null });
    expect([ended.status, ended.json.code]).toEqual([409, "key_ended"]);
  });

  test("of the command line are seen, and show their last use", async () => {
    const client = await daemon.clientWith(owner.workspaceId, { scope: "auditor" });
    await client.get("/v1/agents");
    await daemon.restart();
    const { json } = await owner.browser.get(`${base}/keys`);
    expect(json.data.at(-1)).toMatchObject({ scope: "auditor", created_by: "cli" });
    expect(json.data.at(-1).last_used_at).toMatch(/^2\d{3}-/);
  });
});

test("a workspace shows what it occupies and how many share it", async () => {
  const { json } = await owner.browser.get(base);
  assertMatchesOpenApi("GET", base, 200, json);
  expect(json.storage_bytes).toBeGreaterThan(10_000);
  expect([json.quota_bytes, json.quota_entries]).toEqual([null, null]);
  expect(json.keys).toBeGreaterThanOrEqual(1);
});

test("what the policies found is counted over time, by detector", async () => {
  const client = daemon.client(owner.apiKey as string);
  const findings = async (interval: string) => owner.browser.get(`${base}/findings/${interval}`);
  expect((await findings("hour")).json.data).toHaveLength(24);
  const pii = { mode: "audit", detectors: { email: "redact", iban: "block" } };
  await client.configure("screened", { policies: { screening: { pii }, limits: { value_bytes: 50 } } });
  for (const text of [
    "jane.roe@acme.io",
    "joe@acme.io, +1 415 555 2671",
    "Call +1 415 555 2671 or +1 415 555 2672.",
    "DE89 3704 0044 0532 0130 00 and kim@acme.io",
    "nothing",
    "a text that is longer than the limit, which is fifty bytes",
  ]) {
    await client.write("screened", "k", text);
  }
  const events = await appended(async () => {
    for (const [interval, count] of [
      ["minute", 60],
      ["hour", 24],
      ["day", 30],
    ] as const) {
      const { status, json } = await findings(interval);
      assertMatchesOpenApi("GET", `${base}/findings/${interval}`, status, json);
      expect([json.interval, json.data.length]).toEqual([interval, count]);
      const total = (member: string) => {
        const sums: Record<string, number> = {};
        for (const each of json.data) {
          for (const [name, times] of Object.entries(each[member])) sums[name] = (sums[name] ?? 0) + Number(times);
        }
        return sums;
      };
      expect(total("blocked")).toEqual({ iban: 1, limits: 1 });
      expect(total("redacted")).toEqual({ email: 2 });
      expect(total("reported")).toEqual({ phone: 2 });
    }
  });
  expect(events.map(([line]) => line)).toEqual(Array(3).fill("- audit.activity ok"));
  expect(events[0]?.[1]).toMatchObject({ scope: "workspace", interval: "minute" });
  const unknown = await findings("year");
  expect([unknown.status, unknown.json.param]).toEqual([400, "interval"]);
});

test("every route of /account without a session is refused, and says what it takes", async () => {
  const { accountDocument } = await import("../http/support/openapi.ts");
  for (const [path, methods] of Object.entries(accountDocument.paths)) {
    for (const method of Object.keys(methods)) {
      // biome-ignore lint/suspicious/noExplicitAny: the document has every form
      const operation = (methods as any)[method];
      if (operation.security?.length === 0) continue;
      const visit = { method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, "x") };
      const { status, json } = await new Browser(daemon).visit(visit);
      expect([method, path, status, json.code]).toEqual([method, path, 401, "unauthenticated"]);
    }
  }
  const wrong = await owner.browser.visit({ method: "PUT", path: "/account/sign-out" });
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "OPTIONS, POST"]);
  const query = await owner.browser.get("/account?x=1");
  expect([query.status, query.json.param]).toEqual([400, "x"]);
  const unknown = await owner.browser.put("/account", { name: "Ada", admin: true });
  expect([unknown.status, unknown.json.param]).toEqual([400, "admin"]);
  expect((await daemon.log()).includes(PASSWORD)).toBe(false);
});
