import { afterAll, beforeAll, expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import { TestDaemon } from "../support/daemon.ts";
import { type Browser, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";
import { inSession } from "./stated.ts";

let daemon: TestDaemon;
let owner: Person;
let base: string;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
  base = `/account/workspaces/${owner.workspaceId}`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function turnOn(browser: Browser): Promise<void> {
  const { secret } = (await browser.post("/account/totp", { password: PASSWORD })).json;
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  expect((await browser.post("/account/totp/confirm", { code })).status).toBe(200);
}

test("an owner requires a second factor: members without one are locked out until they turn it on", async () => {
  const view = daemon.viewOf(owner.workspaceId);
  const inWorkspace = { "x-workspace-id": owner.workspaceId };
  const member = await invited(owner, "member");
  const put = (person: Person, required: unknown) => person.browser.put(base, { require_second_factor: required });

  expect((await put(member, true)).json.code).toBe("forbidden");
  expect((await put(owner, "yes")).json).toMatchObject({ code: "invalid_request", param: "require_second_factor" });
  const early = await put(owner, true);
  expect([early.status, early.json.code]).toEqual([403, "second_factor_missing"]);

  await turnOn(owner.browser);
  const head = view.head;
  const required = await put(owner, true);
  assertMatchesOpenApi("PUT", base, 200, required.json);
  expect(required.json).toMatchObject({ id: owner.workspaceId, requires_second_factor: true, locked: false });
  expect((await put(owner, true)).headers.get("x-audit-id")).toBeNull();
  const [event, ...others] = view.eventsAfter(head);
  expect(others).toEqual([]);
  expect(event?.line).toBe("- workspace.change ok");
  expect(event?.details).toEqual({ second_factor_since: expect.stringMatching(/^\d{4}-.*Z$/), ...inSession() });

  const listed = await member.browser.get("/account/workspaces");
  assertMatchesOpenApi("GET", "/account/workspaces", 200, listed.json);
  expect(listed.json.data).toMatchObject([{ requires_second_factor: true, locked: true }]);
  const refusals = [
    await member.browser.get("/v1/agents", inWorkspace),
    await member.browser.put("/v1/config/bot", {}, inWorkspace),
    await member.browser.get(base),
    await member.browser.get(`${base}/members`),
    await member.browser.get(`${base}/keys`),
    await member.browser.visit({
      path: `${base}/export`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "scope=workspace",
    }),
  ];
  for (const { status, json } of refusals) expect([status, json.code]).toEqual([403, "second_factor_missing"]);
  const client = daemon.client(owner.apiKey as string);
  expect((await client.write("bot", "k", "v")).status).toBe(200);

  await turnOn(member.browser);
  expect((await member.browser.get("/v1/agents", inWorkspace)).status).toBe(200);
  expect((await member.browser.get(base)).json).toMatchObject({ requires_second_factor: true, locked: false });
});

test("somebody without a second factor joins a locked workspace, and may leave it", async () => {
  const person = await invited(owner, "auditor");
  expect((await person.browser.get("/account/workspaces")).json.data).toMatchObject([{ locked: true }]);
  expect((await person.browser.delete(`${base}/members/${person.accountId}`)).status).toBe(204);
  expect((await person.browser.get("/account/workspaces")).json.data).toEqual([]);
});

test("it ends when an owner says so", async () => {
  const person = await invited(owner, "auditor");
  const ended = await owner.browser.put(base, { require_second_factor: false });
  expect(ended.json).toMatchObject({ requires_second_factor: false });
  const opened = await person.browser.get("/v1/agents", { "x-workspace-id": owner.workspaceId });
  expect(opened.status).toBe(200);
});
