/**
 * What the API's document says of recording is so: for every operation in it, whether `X-Audit-Id` comes
 * with the answer, whether that event is there, and under which of the names that the document gives.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Secret, TOTP } from "otpauth";
import { EVENT_NAMES } from "../../src/operations.ts";
import { accountRoutes, apiRoutes } from "../../src/serve/http/app.ts";
import { camelCase } from "../../src/serve/http/documents/api/document.ts";
import { MCP_PATHS } from "../../src/serve/http/mcp/endpoint.ts";
import { DOWNLOAD_PATH } from "../../src/serve/http/pipeline/download.ts";
import {
  AuthenticatorByHand,
  byName,
  madePasskey,
  newChallenge,
  signInChallenge,
} from "../account/authenticator-by-hand.ts";
import {
  Browser,
  freshEmail,
  invited,
  PASSWORD,
  type Person,
  signUp,
  tokenOf,
  type Visit,
} from "../account/browser.ts";
import { IssuerByHand } from "../account/issuer-by-hand.ts";
import { accountDocument, assertDeclaresHeaders, document, documentsAuditId } from "../http/support/openapi.ts";
import { passwordLink } from "../support/administration.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { idleSink, prepare, requestOf, type Subject } from "../support/route-requests.ts";
import { freshAgent } from "../support/scenario.ts";
import type { SeenEvent, WorkspaceView } from "../support/workspace-view.ts";
import { temporaryDirectory } from "../temporary.ts";

const files = temporaryDirectory();
let issuer: IssuerByHand;
let daemon: TestDaemon;
let workspace: TestWorkspace;
let owner: Person;
const views = new Map<string, WorkspaceView>();

beforeAll(async () => {
  issuer = await IssuerByHand.start();
  const flags = { ...issuer.settings(files.path), oidc_default_role: "auditor", sink_allow: "127.0.0.1" };
  daemon = await TestDaemon.start({ flags });
  workspace = await daemon.workspace();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

/** Every event there is, by its id, of every workspace there is. */
function allEvents(): Map<string, SeenEvent> {
  const ids = readdirSync(join(daemon.dataDir, "workspaces")).flatMap((name) =>
    name.endsWith(".db") ? [name.slice(0, -".db".length)] : [],
  );
  const events = ids.flatMap((id) => {
    const view = views.get(id) ?? daemon.viewOf(id);
    views.set(id, view);
    return view.eventsAfter(-1);
  });
  return new Map(events.map((event) => [event.id, event]));
}

/** A request that is ready to be sent. */
type Ready = () => Promise<{ status: number; headers: Headers }>;

async function subject(path: string): Promise<Subject> {
  const { client } = workspace;
  const agent = freshAgent();
  await client.configure(agent, {});
  await client.send({ method: "PUT", path: "/v1/policies", body: { policies: {} } });
  const { audit_id: event } = (await client.write(agent, "k", "v")).json;
  const { id: checkpoint } = (await client.checkpoint(agent)).json;
  // Whoever gets a receipt has what it is of sealed.
  await client.get(`/v1/audit/${event}/receipt`);
  // A workspace has few sinks.
  return { agent, checkpoint, event, ...(path.startsWith("/v1/sinks") && { sink: await idleSink(client) }) };
}

/** The requests to `/v1`. */
const OPERATIONS = apiRoutes.map((route): [string, () => Promise<Ready>] => [
  `${route.method} ${route.path.replace("*", ":tile")}`,
  async () => {
    const about = await subject(route.path);
    await prepare(workspace.client, route, about);
    const sent = requestOf(route, about);
    return async () => {
      const path = sent.path.replace(":workspace_id", workspace.id);
      const response = await workspace.client.open({ ...sent, path });
      await response.body?.cancel();
      return response;
    };
  },
]);

const itsWorkspace = ({ workspaceId }: Person) => `/account/workspaces/${workspaceId}`;
const colleague = () => invited(owner, "member");
const invitation = async () =>
  (await owner.browser.post(`${itsWorkspace(owner)}/invitations`, { role: "member" })).json;
const newKey = async () => (await owner.browser.post(`${itsWorkspace(owner)}/keys`, {})).json;

/** Somebody with a second factor, and the codes to take its place with. */
async function withSecondFactor(): Promise<{ browser: Browser; accountId: string; codes: string[] }> {
  const { browser, accountId } = await colleague();
  const { secret } = (await browser.post("/account/totp", { password: PASSWORD })).json;
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  return { browser, accountId, codes: (await browser.post("/account/totp/confirm", { code })).json.recovery_codes };
}

/** Returns the address at the daemon to which the issuer sends a browser back that begins here. */
async function cameFromIssuer(by: Browser, address?: string): Promise<string> {
  issuer.who = { sub: `subject of ${freshEmail()}` };
  const to = address ?? ((await by.get("/account/oidc/start")).headers.get("location") as string);
  return (await issuer.visited(to)).slice(daemon.url.length);
}

/** The request of each action, and the browser that sends it; which one sends it does not matter here. */
type Asked = Visit & { by?: Browser };

const VISITS: Readonly<Record<string, () => Promise<Omit<Asked, "method" | "path"> & { path?: string }>>> = {
  status: async () => ({}),
  inspect_link: async () => ({ body: { token: (await invitation()).token } }),
  sign_up: async () => ({
    by: new Browser(daemon),
    body: { email: freshEmail(), password: PASSWORD, token: (await invitation()).token },
  }),
  sign_in: async () => ({ by: new Browser(daemon), body: { email: (await colleague()).email, password: PASSWORD } }),
  issuer_start: async () => ({ by: new Browser(daemon) }),
  issuer_callback: async () => {
    const by = new Browser(daemon);
    return { by, path: await cameFromIssuer(by) };
  },
  issuer_logout: async () => {
    const by = new Browser(daemon);
    await by.get(await cameFromIssuer(by));
    return {
      by: new Browser(daemon),
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: `logout_token=${await issuer.logoutToken({ sub: issuer.who.sub })}`,
      origin: null,
    };
  },
  link_issuer: async () => ({ by: (await colleague()).browser, body: { password: PASSWORD } }),
  unlink_issuer: async () => {
    const { browser: by } = await colleague();
    const { url } = (await by.post("/account/oidc/link", { password: PASSWORD })).json;
    await by.get(await cameFromIssuer(by, url));
    return { by };
  },
  reset_password: async () => {
    const token = await passwordLink(daemon.dataDir, (await colleague()).accountId);
    return { by: new Browser(daemon), body: { token, new_password: `${PASSWORD}!` } };
  },
  read: async () => ({}),
  update: async () => ({ body: { name: "Ada" } }),
  sign_out: async () => ({ by: (await colleague()).browser }),
  change_password: async () => ({
    by: (await colleague()).browser,
    body: { current_password: PASSWORD, new_password: `${PASSWORD}!` },
  }),
  list_sessions: async () => ({}),
  end_session: async () => {
    const { browser } = await colleague();
    const { id } = (await browser.get("/account")).json.session;
    return { by: browser, path: `/account/sessions/${id}` };
  },
  end_other_sessions: async () => {
    const { browser, email } = await colleague();
    await new Browser(daemon).post("/account/sign-in", { email, password: PASSWORD });
    return { by: browser };
  },
  begin_totp: async () => ({ by: (await colleague()).browser, body: { password: PASSWORD } }),
  confirm_totp: async () => {
    const { browser } = await colleague();
    const { secret } = (await browser.post("/account/totp", { password: PASSWORD })).json;
    return { by: browser, body: { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() } };
  },
  renew_recovery_codes: async () => {
    const { browser, codes } = await withSecondFactor();
    return { by: browser, body: { password: PASSWORD, code: codes[0] } };
  },
  erase: async () => {
    const { browser, codes } = await withSecondFactor();
    return { by: browser, body: { password: PASSWORD, code: codes[0] } };
  },
  disable_totp: async () => {
    const { browser, codes } = await withSecondFactor();
    return { by: browser, body: { password: PASSWORD, code: codes[0] } };
  },
  begin_passkey: async () => ({ by: (await colleague()).browser, body: { password: PASSWORD }, ...byName() }),
  add_passkey: async () => {
    const { browser: by } = await colleague();
    const registered = await (await AuthenticatorByHand.make()).register(await newChallenge(by));
    return { by, body: { name: "phone", ...registered }, ...byName() };
  },
  list_passkeys: async () => ({}),
  remove_passkey: async () => {
    const { browser: by } = await colleague();
    const { id } = await madePasskey(by);
    return { by, path: `/account/passkeys/${id}/remove`, body: { password: PASSWORD } };
  },
  begin_passkey_sign_in: async () => ({ by: new Browser(daemon), ...byName() }),
  sign_in_by_passkey: async () => {
    const { authenticator } = await madePasskey((await colleague()).browser);
    const by = new Browser(daemon);
    return { by, body: await authenticator.sign(await signInChallenge(by)), ...byName() };
  },
  accept_invitation: async () => {
    const { browser, accountId } = await colleague();
    await owner.browser.delete(`${itsWorkspace(owner)}/members/${accountId}`);
    return { by: browser, body: { token: (await invitation()).token } };
  },
  list_workspaces: async () => ({}),
  create_workspace: async () => ({ body: { name: "another" } }),
  read_workspace: async () => ({}),
  count_findings: async () => ({ path: `${itsWorkspace(owner)}/findings/hour` }),
  change_workspace: async () => {
    const { browser, accountId } = await withSecondFactor();
    await owner.browser.put(`${itsWorkspace(owner)}/members/${accountId}`, { role: "owner" });
    await browser.put(itsWorkspace(owner), { require_second_factor: true });
    return { by: browser, body: { require_second_factor: false } };
  },
  list_members: async () => ({}),
  change_member: async () => ({
    path: `${itsWorkspace(owner)}/members/${(await colleague()).accountId}`,
    body: { role: "auditor" },
  }),
  remove_member: async () => ({ path: `${itsWorkspace(owner)}/members/${(await colleague()).accountId}` }),
  list_invitations: async () => ({}),
  invite: async () => ({ body: { role: "member" } }),
  uninvite: async () => ({ path: `${itsWorkspace(owner)}/invitations/${(await invitation()).id}` }),
  list_keys: async () => ({}),
  create_key: async () => ({ body: {} }),
  change_key: async () => ({
    path: `${itsWorkspace(owner)}/keys/${(await newKey()).id}`,
    body: { networks: ["10.0.0.0/8"] },
  }),
  revoke_key: async () => ({ path: `${itsWorkspace(owner)}/keys/${(await newKey()).id}` }),
  rotate_key: async () => ({ path: `${itsWorkspace(owner)}/keys/${(await newKey()).id}/rotate` }),
};

/** The requests to `/account`. */
const VISITED = accountRoutes.map(({ name, method, path }): [string, () => Promise<Ready>] => [
  `${method} ${path}`,
  async () => {
    const { by = owner.browser, ...rest } = (await VISITS[name.replace("account.", "")]?.()) ?? {};
    const visit = { method, path: path.replace(":workspace_id", owner.workspaceId), ...rest };
    return () => by.visit(visit);
  },
]);

const download = async (): Promise<Ready> => () =>
  owner.browser.visit({
    path: DOWNLOAD_PATH.replace(":workspace_id", owner.workspaceId),
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "scope=workspace",
  });
const probe = (path: string) => async (): Promise<Ready> => () => owner.browser.get(path);

const LIST_TOOLS = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const messages = MCP_PATHS.map((path): [string, () => Promise<Ready>] => [
  `POST ${path}`,
  async () => () => workspace.client.open({ method: "POST", path: path.replace(":agent_id", "x"), body: LIST_TOOLS }),
]);

const REQUESTS = new Map([
  ...OPERATIONS,
  ...messages,
  ...VISITED,
  [`POST ${DOWNLOAD_PATH}`, download],
  ["GET /healthz", probe("/healthz")],
  ["GET /readyz", probe("/readyz")],
]);

const DOCUMENTED = Object.entries({ ...document.paths, ...accountDocument.paths }).flatMap(([path, operations]) =>
  Object.entries(operations).map(
    ([method, operation]) => [`${method.toUpperCase()} ${path.replace(/\{([a-z_]+)\}/g, ":$1")}`, operation] as const,
  ),
);

/** The names under which the document says that an operation is recorded: those, or of `/v1` that of its id. */
const namesIn = (path: string, { description = "", operationId }: (typeof DOCUMENTED)[number][1]): string[] => {
  const [, names] = /^Recorded as ((?:`[^`]+`| or )+)\.(?= |$)/m.exec(description) ?? [];
  if (names !== undefined) return [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string);
  if (!path.startsWith("/v1/") || /^Not recorded\./m.test(description)) return [];
  return EVENT_NAMES.filter((name) => camelCase(name) === operationId);
};

test("every documented operation is asked for here", () => {
  expect([...REQUESTS.keys()].sort()).toEqual(DOCUMENTED.map(([name]) => name).sort());
});

test.each(DOCUMENTED)("%s is recorded as the document says", async (name, documented) => {
  const send = await (REQUESTS.get(name) as () => Promise<Ready>)();
  const before = allEvents();
  const { status, headers } = await send();
  // There is no state root, which is recorded in the same way.
  expect(status).toBeLessThan(name === "POST /v1/proofs" ? 411 : 400);
  const [method = "", path = ""] = name.split(" ");
  const real = path.replace(/:[a-z_]+/g, "x");
  assertDeclaresHeaders(method, real, status, headers);
  const after = allEvents();
  const names = namesIn(path, documented);
  // Of the messages of MCP, the calls of tools are recorded.
  expect(documentsAuditId(method, real, status)).toBe(names.length > 0 || path.startsWith("/v1/mcp"));
  const auditId = headers.get("x-audit-id");
  if (names.length === 0) {
    expect(auditId).toBeNull();
    expect(after.size).toBe(before.size);
    return;
  }
  expect(before.has(auditId ?? "")).toBe(false);
  expect(names).toContain(after.get(auditId ?? "")?.operation as string);
});

test("an answer without a body or with a problem names its event, and the document says so", async () => {
  const { client } = workspace;
  await client.configure("b", {});
  const { headers } = await client.get("/v1/config/b");
  const same = await client.send({ path: "/v1/config/b", headers: { "if-none-match": headers.get("etag") as string } });
  for (const answered of [same, await client.get("/v1/config/nobody")]) {
    expect(allEvents().get(answered.headers.get("x-audit-id") as string)?.operation).toBe("config.read");
    expect(documentsAuditId("GET", "/v1/config/x", answered.status)).toBe(true);
  }
  expect([same.status, documentsAuditId("GET", "/v1/config/x", 401)]).toEqual([304, false]);
});
