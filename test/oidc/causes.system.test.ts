/** Why a sign-in does not succeed: the log has one word for it, and the person a sentence of its own. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CAUSES, type Cause } from "../../src/oidc/causes.ts";
import { PASSWORD, type Person, signUp, tokenOf } from "../account/browser.ts";
import { IssuerByHand, type Wrong } from "../account/issuer-by-hand.ts";
import { eventually } from "../eventually.ts";
import { TestDaemon } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { problemPage, Visitor } from "./visitor.ts";

const files = temporaryDirectory();
let issuer: IssuerByHand;
let daemon: TestDaemon;
let owner: Person;

beforeAll(async () => {
  issuer = await IssuerByHand.start();
  daemon = await TestDaemon.start({ flags: { ...issuer.settings(files.path), oidc_role_map: "secret-club=member" } });
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
afterEach(() => {
  issuer.wrong = {};
  issuer.isDown = false;
  issuer.method = "client_secret_basic";
  issuer.metadata = {};
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const later = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
const claims = (wrong: Record<string, unknown>): Wrong => ({ claims: wrong });
const ELSEWHERE = { groups: undefined, _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "x" } } };

interface Case {
  cause: Cause;
  reason: string;
  wrong?: () => Wrong;
  /** What the issuer says of itself; the daemon reads it when it starts. */
  metadata?: Record<string, unknown>;
  /** What else is not as it should be. */
  given?: () => unknown;
}

const CASES: readonly Case[] = [
  { cause: "access_denied", reason: "access_denied", wrong: () => ({ error: "access_denied" }) },
  { cause: "access_denied", reason: "login_required", wrong: () => ({ error: "login_required" }) },
  { cause: "no_role", reason: "no group gives a role", wrong: () => claims({ groups: ["another-club"] }) },
  { cause: "no_role", reason: "no group gives a role", wrong: () => claims({ groups: [] }) },
  { cause: "no_groups", reason: "its answer names no groups", wrong: () => claims({ groups: undefined }) },
  { cause: "too_many_groups", reason: "the groups are not in the token", wrong: () => claims(ELSEWHERE) },
  {
    cause: "too_many_groups",
    reason: "the groups are not in the token",
    wrong: () => claims({ groups: undefined, hasgroups: true }),
  },
  { cause: "clock", reason: "it was issued in the future", wrong: () => claims({ iat: later(15 * 60) }) },
  { cause: "clock", reason: "it has expired", wrong: () => ({ clockS: -3_600 }) },
  {
    cause: "client_secret",
    reason: "invalid_client",
    given: () => Object.assign(issuer, { method: "client_secret_post" }),
  },
  {
    cause: "client_secret",
    reason: "OAUTH_WWW_AUTHENTICATE_CHALLENGE",
    wrong: () => ({
      tokenEndpoint: () => new Response(null, { status: 401, headers: { "www-authenticate": 'Basic realm="x"' } }),
    }),
  },
  { cause: "client_settings", reason: "invalid_scope", wrong: () => ({ error: "invalid_scope" }) },
  {
    cause: "client_settings",
    reason: "it announces private_key_jwt, tls_client_auth for its token endpoint",
    metadata: { token_endpoint_auth_methods_supported: ["private_key_jwt", "tls_client_auth", "a b"] },
  },
  {
    cause: "client_settings",
    reason: "its metadata name another issuer",
    metadata: { issuer: "https://elsewhere.example.org" },
  },
  {
    cause: "client_settings",
    reason: "it publishes no keys over https",
    metadata: { jwks_uri: "http://localhost:1/keys" },
  },
  {
    cause: "unavailable",
    reason: "it answers 503",
    metadata: {},
    given: () => Object.assign(issuer, { isDown: true }),
  },
  { cause: "unavailable", reason: "server_error", wrong: () => ({ error: "server_error" }) },
  {
    cause: "unavailable",
    reason: "OAUTH_PARSE_ERROR",
    wrong: () => ({ tokenEndpoint: () => new Response("{", { headers: { "content-type": "application/json" } }) }),
  },
  { cause: "state_unknown", reason: "this browser has not begun it", wrong: () => ({ state: "another" }) },
  { cause: "nonce", reason: "it has another nonce", wrong: () => claims({ nonce: "another" }) },
  { cause: "invalid_answer", reason: "its signature is wrong", wrong: () => ({ key: true }) },
  {
    cause: "invalid_answer",
    reason: "invalid_grant",
    wrong: () => ({ tokenEndpoint: () => Response.json({ error: "invalid_grant" }, { status: 400 }) }),
  },
  { cause: "email_taken", reason: "another account has the mail address", wrong: () => claims({ email: owner.email }) },
  {
    cause: "email_not_verified",
    reason: "another account has the mail address",
    wrong: () => claims({ email: owner.email, email_verified: false }),
  },
];

/** The lines that the log gets about sign-ins. */
async function linesOf(act: () => Promise<void>): Promise<Record<string, unknown>[]> {
  const before = (await daemon.log()).length;
  await act();
  const text = (await daemon.log()).slice(before);
  const lines = text.split("\n").filter((line) => line !== "");
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ message }) => message === "a sign-in by the issuer did not succeed");
}

test.each(CASES)("$cause: $reason", async ({ cause, reason, wrong, metadata, given }) => {
  issuer.who = { sub: "person-of-the-test", email: "person@example.org", groups: ["secret-club"] };
  issuer.wrong = wrong?.() ?? {};
  issuer.metadata = metadata ?? {};
  given?.();
  if (metadata !== undefined) await daemon.restart();
  const lines = await linesOf(async () => {
    const person = new Visitor(daemon, issuer);
    expect(await person.signIn()).toBe(problemPage(cause));
    expect(await person.isSignedIn()).toBe(false);
  });
  expect(lines).toEqual([
    expect.objectContaining({ issuer: issuer.url, cause, reason: expect.stringContaining(reason) }),
  ]);
  const log = await daemon.log();
  for (const secret of ["person-of-the-test", "person@example.org", owner.email, "secret-club", "another-club"]) {
    expect(log).not.toContain(secret);
  }
  if (metadata === undefined) return;
  // The operator is told at the start.
  await eventually("the log says so at the start", async () =>
    (await daemon.log()).includes("people cannot sign in by the issuer"),
  );
  issuer.metadata = {};
  issuer.isDown = false;
  await daemon.restart();
});

test("who begins again gets to the page that they wanted", async () => {
  issuer.wrong = claims({ nonce: "another" });
  const page = "/workspaces?x=1&y=2";
  const failed = await new Visitor(daemon, issuer).signIn(page);
  expect(failed).toBe(`${problemPage("nonce")}&next=${encodeURIComponent(page)}`);
});

test("identity_taken: somebody else's identity is not linked", async () => {
  issuer.who = { sub: "linked-already", groups: ["secret-club"] };
  await new Visitor(daemon, issuer).signIn();
  const person = new Visitor(daemon, issuer);
  for (const [name, value] of owner.browser.cookies) person.browser.cookies.set(name, value);
  const { json } = await person.browser.post("/account/oidc/link", { password: PASSWORD });
  const lines = await linesOf(async () => {
    expect(await person.back(await issuer.visited(json.url))).toBe("/settings?issuer_problem=identity_taken");
  });
  expect(lines).toMatchObject([{ cause: "identity_taken" }]);
});

test("too many groups take no role away, and do not matter where roles do not depend on groups", async () => {
  issuer.who = { sub: "overage", groups: ["secret-club"] };
  const person = new Visitor(daemon, issuer);
  await person.signIn();
  issuer.wrong = claims(ELSEWHERE);
  expect(await new Visitor(daemon, issuer).signIn()).toBe(problemPage("too_many_groups"));
  expect(Object.values(await person.roles())).toEqual(["member"]);
  await daemon.restart(0, { oidc_role_map: [], oidc_default_role: "auditor" });
  await person.signIn();
  expect(Object.values(await person.roles())).toEqual(["auditor"]);
});

test("every cause is reached here, has a sentence of its own, and is in the operator's table", () => {
  const words = Object.keys(CAUSES);
  expect(new Set([...CASES.map(({ cause }) => cause as string), "identity_taken"])).toEqual(new Set(words));
  expect(new Set(Object.values(CAUSES)).size).toBe(words.length);
  const page = readFileSync(join(import.meta.dir, "../../docs/sign-in.md"), "utf8");
  const rows = page.split("\n").filter((line) => /^\| `\w+` +\|/.test(line));
  for (const word of words) expect(rows.filter((row) => row.startsWith(`| \`${word}\` `))).toHaveLength(1);
});
