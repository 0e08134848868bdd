import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import { makeStartLink } from "../support/administration.ts";
import { TestDaemon } from "../support/daemon.ts";
import { Browser, freshEmail, PASSWORD, signUp, tokenOf } from "./browser.ts";
import { inSession } from "./stated.ts";

let daemon: TestDaemon;
let first: string;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  first = tokenOf(daemon.signUpUrl);
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("before there is an account", async () => {
  const browser = new Browser(daemon);
  expect((await browser.get("/account/status")).json).toEqual({
    signup: "invite",
    first_account: true,
    issuer: null,
    issuer_only: false,
  });
  const without = await browser.post("/account/sign-up", { email: freshEmail(), password: PASSWORD });
  expect([without.status, without.json.code]).toEqual([403, "sign_up_closed"]);
  const wrong = await browser.post("/account/sign-up", {
    email: freshEmail(),
    password: PASSWORD,
    token: `${first.slice(0, -1)}${first.endsWith("A") ? "B" : "A"}`,
  });
  expect([wrong.status, wrong.json.code]).toEqual([404, "link_not_found"]);
});

test("a start replaces the link that the start before it printed", async () => {
  await daemon.restart();
  const old = first;
  first = tokenOf(daemon.signUpUrl);
  expect(first).not.toBe(old);
  const browser = new Browser(daemon);
  expect((await browser.post("/account/links/inspect", { token: old })).status).toBe(404);
  const late = await browser.post("/account/sign-up", { email: freshEmail(), password: PASSWORD, token: old });
  expect([late.status, late.json.code]).toEqual([404, "link_not_found"]);
  const links = daemon
    .viewOf(daemon.installationId)
    .eventsAfter(-1)
    .filter(({ operation }) => /link/.test(operation));
  expect(links.map(({ line }) => line)).toEqual(["- account.link ok", "- account.unlink ok", "- account.link ok"]);
  expect(links[1]?.details?.link_id).toBe(links[0]?.details?.link_id as string);
  const inspected = await browser.post("/account/links/inspect", { token: first });
  expect(inspected.json).toMatchObject({ kind: "setup", workspace: null, role: null });
  assertMatchesOpenApi("POST", "/account/links/inspect", 200, inspected.json);
});

test("the link makes the first account, once, with a workspace and a key that works", async () => {
  const browser = new Browser(daemon);
  // Two nodes that start together may each print one that the other has not seen.
  const another = await makeStartLink(daemon.dataDir);
  expect((await browser.post("/account/links/inspect", { token: another })).status).toBe(200);
  const body = { email: "Ada@Example.com", password: PASSWORD, workspace_name: "Engines", token: first };
  const made = await browser.post("/account/sign-up", body);
  expect(made.status).toBe(201);
  assertMatchesOpenApi("POST", "/account/sign-up", 201, made.json);
  expect(made.json).toMatchObject({
    account: { email: "ada@example.com", name: "ada", totp: false },
    workspace: { name: "Engines", role: "owner" },
  });
  expect((await browser.post("/account/links/inspect", { token: another })).status).toBe(404);
  const second = await browser.post("/account/sign-up", { email: freshEmail(), password: PASSWORD, token: another });
  expect([second.status, second.json.code]).toEqual([404, "link_not_found"]);
  for (const line of made.headers.getSetCookie()) {
    expect(line).toMatch(
      /^__Host-governd_(session|device)=[A-Za-z0-9_-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
    );
  }
  const client = daemon.client(made.json.api_key);
  expect((await client.write("bot", "k", "v")).json.allowed).toBe(true);

  const view = daemon.viewOf(made.json.workspace_id);
  const events = view.eventsAfter(-1);
  expect(events.map(({ line }) => line)).toEqual([
    "- workspace.create ok",
    "- key.create ok",
    "bot data.write allowed",
  ]);
  expect(made.headers.get("x-audit-id")).toBe(events[1]?.id as string);
  expect(await view.event(events[1]?.id as string)).toMatchObject({ actor: made.json.account.id });
  expect(events[1]?.details).toEqual({
    key_id: made.json.key_id,
    key_digest: new Bun.CryptoHasher("sha256").update(made.json.api_key).digest("hex"),
    label: "first key",
    scope: "full",
    agents: null,
    networks: null,
    expires_at: null,
    ...inSession(),
  });
  expect((await view.verify()).valid).toBe(true);

  const again = await new Browser(daemon).post("/account/sign-up", { ...body, email: freshEmail() });
  expect([again.status, again.json.code]).toEqual([404, "link_not_found"]);
  expect((await browser.get("/account/status")).json.first_account).toBe(false);
  expect(await daemon.log()).not.toContain(first);
});

test("of many concurrent sign-ups with one link one succeeds, and the others leave nothing", async () => {
  await using own = await TestDaemon.start();
  const token = tokenOf(own.signUpUrl);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      new Browser(own).post("/account/sign-up", { email: freshEmail(), password: PASSWORD, token }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...new Array(7).fill(404)]);
  const files = readdirSync(join(own.dataDir, "workspaces")).filter((name) => name.endsWith(".db"));
  // The workspace, and the log of the installation.
  expect(files).toHaveLength(2);
});

test("afterwards no start prints a link", async () => {
  await daemon.restart();
  expect(daemon.signUpUrl).toBeNull();
});

test("a sign-up needs a link, and malformed members are named", async () => {
  const browser = new Browser(daemon);
  const closed = await browser.post("/account/sign-up", { email: freshEmail(), password: PASSWORD });
  expect([closed.status, closed.json.code]).toEqual([403, "sign_up_closed"]);
  const token = "gvl_x";
  for (const [body, param] of [
    [{ email: "nobody", password: PASSWORD, token }, "email"],
    [{ email: "a@b@c", password: PASSWORD, token }, "email"],
    [{ email: freshEmail(), password: "x".repeat(11), token }, "password"],
    [{ email: freshEmail(), password: "x".repeat(1025), token }, "password"],
    [{ email: freshEmail(), password: PASSWORD, name: " ", token }, "name"],
    [{ email: freshEmail(), password: PASSWORD, token, admin: true }, "admin"],
    [{ password: PASSWORD, token }, "email"],
  ] as const) {
    const { status, json, text } = await browser.post("/account/sign-up", body);
    expect([status, json.code, json.param]).toEqual([400, "invalid_request", param]);
    expect(text).not.toContain(PASSWORD);
  }
});

test("in open mode anybody signs up, but not before the first account", async () => {
  await using open = await TestDaemon.start({ flags: { signup: "open" } });
  const browser = new Browser(open);
  const body = () => ({ email: freshEmail(), password: PASSWORD });
  expect((await browser.post("/account/sign-up", body())).json.code).toBe("sign_up_closed");
  await signUp(open, tokenOf(open.signUpUrl));
  const taken = body();
  expect((await browser.post("/account/sign-up", taken)).status).toBe(201);
  expect((await browser.post("/account/sign-up", taken)).json.code).toBe("email_taken");
  // Making accounts is limited by address, whether it works or not.
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => new Browser(open).post("/account/sign-up", taken)),
  );
  expect(answers.map(({ status }) => status)).toContain(429);
  expect(answers.find(({ status }) => status === 429)?.headers.get("retry-after")).toMatch(/^\d+$/);
});

test("in closed mode only links of the operator work", async () => {
  await using closed = await TestDaemon.start({ flags: { signup: "closed" } });
  const owner = await signUp(closed, tokenOf(closed.signUpUrl));
  const path = `/account/workspaces/${owner.workspaceId}/invitations`;
  const { json } = await owner.browser.post(path, { role: "member" });
  const { token } = json;
  const refused = await new Browser(closed).post("/account/sign-up", {
    email: freshEmail(),
    password: PASSWORD,
    token,
  });
  expect([refused.status, refused.json.code]).toEqual([403, "sign_up_closed"]);
});
