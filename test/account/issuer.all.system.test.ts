/** Signing in by an OpenID issuer: who gets in, as what, and what is refused. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { Secret, TOTP } from "otpauth";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { listMembers } from "../../src/core/rows/access/members.ts";
import type { Cause } from "../../src/oidc/causes.ts";
import { governdProcess } from "../cli/governd-process.ts";
import { soon } from "../eventually.ts";
import { problemPage, Visitor as VisitorOf } from "../oidc/visitor.ts";
import { administer } from "../support/administration.ts";
import { TestDaemon } from "../support/daemon.ts";
import type { WorkspaceView } from "../support/workspace-view.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Browser, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";
import { IssuerByHand, type Wrong } from "./issuer-by-hand.ts";
import { DIGEST, SESSION_ID } from "./stated.ts";

const HOUR_MS = 3_600_000;
const files = temporaryDirectory();
let issuer: IssuerByHand;
let daemon: TestDaemon;
let owner: Person;
let log: WorkspaceView;
/** The settings, as flags. */
const flags = () => ({
  ...issuer.settings(files.path),
  oidc_role_map: "gov-owners=owner,gov-auditors=auditor,team-a=member",
  oidc_require_group: "governd-users",
});

beforeAll(async () => {
  issuer = await IssuerByHand.start();
  daemon = await TestDaemon.start({ flags: flags() });
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
  log = daemon.viewOf(daemon.installationId);
});
beforeEach(() => {
  issuer.wrong = {};
  issuer.isDown = false;
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

class Visitor extends VisitorOf {
  constructor() {
    super(daemon, issuer);
  }
}

const PEOPLE = ["governd-users"];

describe("somebody whom the issuer vouches for", () => {
  test("gets an account, and the role of the groups in every workspace", async () => {
    issuer.who = { sub: "s-1", email: "Ada@Example.org", name: "Ada", groups: [...PEOPLE, "team-a", "gov-auditors"] };
    const head = log.head;
    const ada = new Visitor();
    expect(await ada.signIn("/workspaces?x=1")).toBe("/workspaces?x=1");
    const { json } = await ada.browser.get("/account");
    expect(json.account).toMatchObject({ email: "ada@example.org", name: "Ada", totp: false });
    expect(await ada.roles()).toEqual({ [owner.workspaceId]: "member" });
    const [made, signedIn] = log.eventsAfter(head);
    expect(made).toMatchObject({
      operation: "account.create",
      details: { account_id: json.account.id, issuer: issuer.url, identity_digest: DIGEST, link_id: null },
    });
    const identity_id = String(made?.details?.identity_id);
    const identity = log.connection.all("SELECT account_id, issuer, subject FROM identities WHERE id = ?", [
      identity_id,
    ]);
    expect(identity).toEqual([[json.account.id, issuer.url, "s-1"]]);
    expect(signedIn).toMatchObject({ operation: "account.sign_in", details: { issuer: issuer.url } });
    expect(log.eventsAfter(head)).toHaveLength(2);
  });

  test("keeps the account whatever the mail address becomes, and has the roles of the next sign-in's groups", async () => {
    issuer.who = { sub: "s-2", email: "bob@example.org", groups: [...PEOPLE, "team-a"] };
    const bob = new Visitor();
    await bob.signIn();
    const { account } = (await bob.browser.get("/account")).json;
    issuer.who = { sub: "s-2", email: "robert@example.org", groups: [...PEOPLE, "gov-owners"] };
    const again = new Visitor();
    await again.signIn();
    expect((await again.browser.get("/account")).json.account).toEqual(account);
    expect(await again.roles()).toEqual({ [owner.workspaceId]: "owner" });
    issuer.who = { ...issuer.who, groups: [...PEOPLE, "gov-auditors"] };
    await again.signIn();
    expect(await again.roles()).toEqual({ [owner.workspaceId]: "auditor" });
  });

  test("loses roles and sessions when no group lets them in any more", async () => {
    issuer.who = { sub: "s-3", groups: [...PEOPLE, "team-a"] };
    const person = new Visitor();
    await person.signIn();
    expect(Object.values(await person.roles())).toEqual(["member"]);
    issuer.who = { sub: "s-3", groups: ["team-a"] };
    expect(await new Visitor().signIn()).toBe(problemPage("no_role"));
    expect((await person.browser.get("/account")).status).toBe(401);
    const members = (await owner.browser.get(`/account/workspaces/${owner.workspaceId}/members`)).json.data;
    expect(members.some(({ email }: { email: string }) => email.endsWith("@localhost"))).toBe(false);
  });

  test("has a session of 8 hours at most, used or not", async () => {
    issuer.who = { sub: "s-4", groups: [...PEOPLE, "team-a"] };
    const person = new Visitor();
    await person.signIn();
    try {
      daemon.setClock(8 * HOUR_MS - 60_000);
      expect((await person.browser.get("/account")).status).toBe(200);
      daemon.setClock(8 * HOUR_MS + 60_000);
      expect((await person.browser.get("/account")).status).toBe(401);
    } finally {
      daemon.setClock(0);
    }
  });

  test("joins the first of many workspaces at once, and the others soon", async () => {
    await administer(daemon.dataDir, async (administration) => {
      for (let i = 0; i < 55; i++) await administration.createWorkspace(`many-${i}`);
    });
    issuer.who = { sub: "s-many", groups: [...PEOPLE, "team-a"] };
    const person = new Visitor();
    await person.signIn();
    expect(Object.keys(await person.roles()).length).toBeGreaterThanOrEqual(50);
    await soon(async () => expect(Object.keys(await person.roles())).toHaveLength(56));
    // What an earlier sign-in still gives stops when the issuer no longer lets them in.
    issuer.who = { sub: "s-out", groups: [...PEOPLE, "team-a"] };
    const out = new Visitor();
    await out.signIn();
    const { id } = (await out.browser.get("/account")).json.account;
    issuer.who = { sub: "s-out", groups: [] };
    expect(await new Visitor().signIn()).toBe(problemPage("no_role"));
    const members = (await owner.browser.get(`/account/workspaces/${owner.workspaceId}/members`)).json.data;
    expect(members.some((member: { account_id: string }) => member.account_id === id)).toBe(false);
    // A role that changes is right in every workspace when the sign-in is answered.
    issuer.who = { sub: "s-many", groups: [...PEOPLE, "gov-auditors"] };
    await person.signIn();
    expect(new Set(Object.values(await person.roles()))).toEqual(new Set(["auditor"]));
  });

  test("signs in although a workspace cannot be read, and gets the roles in the others", async () => {
    const { json } = await owner.browser.post("/account/workspaces", { name: "lost" });
    const file = workspaceFile(dataDirectory(daemon.dataDir), json.workspace_id);
    const lost = json.workspace_id as string;
    const inLost = async () =>
      (await listMembers(daemon.viewOf(lost).connection)).map(({ accountId, role }) => [accountId, role]);
    const signedIn = async (sub: string, group: string) => {
      issuer.who = { sub, groups: [...PEOPLE, group] };
      const person = new Visitor();
      expect(await person.signIn()).toBe("/");
      return { person, id: (await person.browser.get("/account")).json.account.id as string };
    };
    const { id } = await signedIn("s-known", "gov-owners");
    await soon(async () => expect(await inLost()).toContainEqual([id, "owner"]));
    await daemon.stop();
    renameSync(file, `${file}.kept`);
    await daemon.restart();
    const known = await signedIn("s-known", "gov-auditors");
    const fresh = await signedIn("s-fresh", "team-a");
    for (const [{ person }, role] of [
      [known, "auditor"],
      [fresh, "member"],
    ] as const) {
      const roles = await person.roles();
      expect([roles[owner.workspaceId], roles[lost]]).toEqual([role, undefined]);
    }
    // Whom no group lets in, has no session, though not all roles can be taken away.
    issuer.who = { sub: "s-known", groups: [] };
    const address = await known.person.begin();
    expect((await known.person.browser.get(address.slice(daemon.url.length))).status).toBe(503);
    expect(await known.person.isSignedIn()).toBe(false);
    await soon(async () => expect(await daemon.log()).toContain("are given at the next sign-in only"));
    await daemon.stop();
    renameSync(`${file}.kept`, file);
    await daemon.restart();
    expect(await inLost()).toContainEqual([id, "owner"]);
    for (const [sub, group, role] of [
      ["s-known", "gov-auditors", "auditor"],
      ["s-fresh", "team-a", "member"],
    ] as const) {
      const { person } = await signedIn(sub, group);
      await soon(async () => expect((await person.roles())[lost]).toBe(role));
    }
  });

  test.each([-80, 80])("signs in although the issuer's clock is %d s off", async (clockS) => {
    issuer.who = { sub: `s-clock-${clockS}`, groups: [...PEOPLE, "team-a"] };
    issuer.wrong = { clockS };
    expect(await new Visitor().signIn()).toBe("/");
  });

  test("never gets into an account that only has the same mail address", async () => {
    issuer.who = { sub: "s-5", email: owner.email, groups: [...PEOPLE, "gov-owners"] };
    const thief = new Visitor();
    expect(await thief.signIn()).toBe(problemPage("email_taken"));
    expect(thief.browser.session).toBeUndefined();
  });
});

describe("what comes from the issuer is refused", () => {
  const from = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
  const cases: [name: string, cause: Cause, wrong: () => Wrong][] = [
    ["with another nonce", "nonce", () => ({ claims: { nonce: "another" } })],
    ["without a nonce", "nonce", () => ({ claims: { nonce: undefined } })],
    ["of another issuer", "invalid_answer", () => ({ claims: { iss: "https://elsewhere.example.org" } })],
    ["for another client", "invalid_answer", () => ({ claims: { aud: "another" } })],
    ["for two clients, and not for this one first", "invalid_answer", () => ({ claims: { aud: ["governd", "b"] } })],
    ["for two clients, by another one", "invalid_answer", () => ({ claims: { aud: ["governd", "b"], azp: "b" } })],
    ["without a subject", "invalid_answer", () => ({ claims: { sub: undefined } })],
    ["without a time", "invalid_answer", () => ({ claims: { iat: undefined } })],
    ["with a time as a text", "invalid_answer", () => ({ claims: { nbf: `${from(0)}` } })],
    ["that never expires", "invalid_answer", () => ({ claims: { exp: undefined } })],
    ["that has expired", "clock", () => ({ claims: { exp: from(-100) } })],
    ["signed with another key", "invalid_answer", () => ({ key: true })],
    ["with another iss in the redirection", "invalid_answer", () => ({ iss: "https://elsewhere.example.org" })],
    ["with another state", "state_unknown", () => ({ state: "another" })],
    ["from a clock two minutes ahead", "clock", () => ({ clockS: 120 })],
    ["that is issued later", "clock", () => ({ claims: { iat: from(15 * 60) } })],
    ["that is valid later", "clock", () => ({ claims: { nbf: from(120) } })],
  ];
  test.each(cases)("%s", async (_name, cause, wrong) => {
    issuer.who = { sub: "s-refused", groups: [...PEOPLE, "gov-owners"] };
    issuer.wrong = wrong();
    const head = log.head;
    const person = new Visitor();
    expect(await person.signIn()).toBe(problemPage(cause));
    expect(person.browser.session).toBeUndefined();
    expect(log.eventsAfter(head).every(({ result }) => result === "denied")).toBe(true);
  });

  test("when the browser did not begin the sign-in, or it is over", async () => {
    issuer.who = { sub: "s-6", groups: [...PEOPLE, "team-a"] };
    const person = new Visitor();
    const address = await issuer.visited(await person.redirected("/account/oidc/start"));
    expect(await new Visitor().back(address)).toBe(problemPage("state_unknown"));
    expect(await person.back(address)).toBe("/");
    const replayed = new Visitor();
    for (const [name, value] of person.browser.cookies) replayed.browser.cookies.set(name, value);
    expect(await replayed.back(address)).toBe(problemPage("state_unknown"));
  });

  test("when it is not there; the password still works", async () => {
    issuer.isDown = true;
    // One that has never reached it.
    await daemon.restart();
    expect(await new Visitor().signIn()).toBe(problemPage("unavailable"));
    const { status } = await new Browser(daemon).post("/account/sign-in", { email: owner.email, password: PASSWORD });
    expect(status).toBe(200);
  });

  test("and no page outside the dashboard opens", async () => {
    issuer.who = { sub: "s-7", groups: [...PEOPLE, "team-a"] };
    for (const next of ["https://elsewhere.example.org", "//elsewhere.example.org", "/\\elsewhere.example.org"]) {
      expect(await new Visitor().signIn(next)).toBe("/");
    }
  });
});

describe("the issuer ends sessions", () => {
  const logout = (token: string) =>
    new Browser(daemon).visit({
      method: "POST",
      path: "/account/oidc/back-channel-logout",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: `logout_token=${token}`,
      origin: null,
    });

  async function signedIn(sub: string, sid: string): Promise<Visitor> {
    issuer.who = { sub, sid, groups: [...PEOPLE, "team-a"] };
    const person = new Visitor();
    await person.signIn();
    return person;
  }
  const isIn = async ({ browser }: Visitor) => (await browser.get("/account")).status === 200;

  test("one of them, or all of a person", async () => {
    const [one, other, third] = [await signedIn("s-8", "a"), await signedIn("s-8", "b"), await signedIn("s-8", "c")];
    const head = log.head;
    expect((await logout(await issuer.logoutToken({ sid: "a" }))).status).toBe(204);
    expect([await isIn(one), await isIn(other), await isIn(third)]).toEqual([false, true, true]);
    expect(log.eventsAfter(head)).toMatchObject([
      { operation: "account.end_sessions", details: { sessions: [SESSION_ID], issuer: issuer.url } },
    ]);
    expect((await logout(await issuer.logoutToken({ sub: "s-8" }))).status).toBe(204);
    expect([await isIn(other), await isIn(third)]).toEqual([false, false]);
    expect((await logout(await issuer.logoutToken({ sub: "unknown" }))).status).toBe(204);
  });

  test("but no other token ends one", async () => {
    const person = await signedIn("s-9", "d");
    const tokens = await Promise.all([
      issuer.logoutToken({ sub: "s-9" }, issuer.strangeKeys),
      issuer.logoutToken({ sub: "s-9", aud: "another" }),
      issuer.logoutToken({ sub: "s-9", iss: "https://elsewhere.example.org" }),
      issuer.logoutToken({ sub: "s-9", nonce: "n" }),
      issuer.logoutToken({ sub: "s-9", events: {} }),
      issuer.logoutToken({ sub: "s-9", iat: Math.floor(Date.now() / 1_000) - 3_600 }),
      issuer.logoutToken({}),
      "not a token",
    ]);
    for (const token of tokens) expect((await logout(token)).status).toBe(400);
    expect(await isIn(person)).toBe(true);
  });
});

describe("an account with a password", () => {
  test("is linked by its owner, and keeps the roles that it has here", async () => {
    const member = await invited(owner, "member");
    expect((await member.browser.post("/account/oidc/link", { password: "wrong password 123" })).json.code).toBe(
      "password_wrong",
    );
    const head = log.head;
    const { json } = await member.browser.post("/account/oidc/link", { password: PASSWORD });
    const person = new Visitor();
    for (const [name, value] of member.browser.cookies) person.browser.cookies.set(name, value);
    issuer.who = { sub: "s-10", email: "other@example.org", groups: [...PEOPLE, "gov-auditors"] };
    expect(await person.back(await issuer.visited(json.url))).toBe("/settings");
    const byIssuer = new Visitor();
    expect(await byIssuer.signIn()).toBe("/");
    expect((await byIssuer.browser.get("/account")).json.account.id).toBe(member.accountId);
    expect(await byIssuer.roles()).toMatchObject({ [owner.workspaceId]: "member" });
    // The identity belongs to one account, and ending the link needs the password's session.
    const { json: second } = await owner.browser.post("/account/oidc/link", { password: PASSWORD });
    const thief = new Visitor();
    for (const [name, value] of owner.browser.cookies) thief.browser.cookies.set(name, value);
    expect(await thief.back(await issuer.visited(second.url))).toBe("/settings?issuer_problem=identity_taken");
    expect((await byIssuer.browser.delete("/account/oidc/link")).json.code).toBe("forbidden");
    expect((await member.browser.delete("/account/oidc/link")).status).toBe(204);
    expect((await byIssuer.browser.get("/account")).status).toBe(401);
    const lines = log.eventsAfter(head).map(({ line }) => line);
    expect(lines).toEqual(expect.arrayContaining(["- account.link_identity ok", "- account.unlink_identity ok"]));
  });
});

describe("with oidc_only", () => {
  const signIn = (person: Person, code?: string) =>
    new Browser(daemon).post("/account/sign-in", { email: person.email, password: PASSWORD, ...(code && { code }) });

  test("only an owner with a second factor signs in with a password, and only the command line undoes it", async () => {
    const member = await invited(owner, "member");
    const { secret } = (await owner.browser.post("/account/totp", { password: PASSWORD })).json;
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    await owner.browser.post("/account/totp/confirm", { code: totp.generate() });
    // The issuer is down all the while.
    issuer.isDown = true;
    await daemon.restart(0, { oidc_only: true });
    try {
      expect(await new Visitor().redirected("/account/oidc/start")).toBe(problemPage("unavailable"));
      expect((await signIn(member)).json.code).toBe("issuer_only");
      const timestamp = Date.now() + 30_000;
      daemon.setClock(30_000);
      expect((await signIn(owner, totp.generate({ timestamp }))).status).toBe(200);
      expect((await new Browser(daemon).get("/account/status")).json).toMatchObject({ issuer_only: true });
      const head = log.head;
      const cli = await governdProcess(["account", "oidc", "--only", "off", "--json", "--data-dir", daemon.dataDir]);
      expect(cli.json()).toMatchObject({ only: false });
      expect(log.eventsAfter(head)).toMatchObject([{ operation: "account.require_issuer", details: { only: false } }]);
      expect((await signIn(member)).status).toBe(200);
    } finally {
      daemon.setClock(0);
    }
  });
});
