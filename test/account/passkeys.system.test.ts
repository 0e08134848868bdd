/** Passkeys: making them, signing in with one, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import type { Answered } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import type { WorkspaceView } from "../support/workspace-view.ts";
import {
  AuthenticatorByHand,
  byName,
  HOST,
  madePasskey,
  newChallenge,
  signInChallenge,
  type WrongPasskey,
} from "./authenticator-by-hand.ts";
import { Browser, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";

let daemon: TestDaemon;
let owner: Person;
let log: WorkspaceView;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
  log = daemon.viewOf(daemon.installationId);
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Posts as a page of the dashboard does that was opened by this name. */
const post = (browser: Browser, path: string, body: unknown, host = HOST): Promise<Answered> =>
  browser.visit({ path, body, ...byName(host) });

type Made = Awaited<ReturnType<typeof madePasskey>>;

const add = (person: Person, name = "phone"): Promise<Made> => madePasskey(person.browser, name);

/** Signs in with a passkey in a new browser. */
async function signIn({ authenticator }: Made, wrong: WrongPasskey = {}, browser = new Browser(daemon)) {
  const body = await authenticator.sign(await signInChallenge(browser), wrong);
  return { answer: await post(browser, "/account/sign-in/passkey", body), browser, body };
}

const password = (email: string, code?: string) =>
  new Browser(daemon).post("/account/sign-in", { email, password: PASSWORD, ...(code && { code }) });

describe("a passkey", () => {
  test("signs in alone, and the password no longer does; all of it is recorded", async () => {
    const person = await invited(owner, "member");
    const head = log.head;
    assertMatchesOpenApi("POST", "/account/passkeys/begin", 200, await newChallenge(person.browser));
    const made = await add(person);
    assertMatchesOpenApi("POST", "/account/passkeys", 201, made.json);
    expect(made.codes).toHaveLength(10);
    expect((await signIn(made, { key: true })).answer.status).toBe(401);
    const { answer, browser } = await signIn(made);
    expect(answer.status).toBe(200);
    assertMatchesOpenApi("POST", "/account/sign-in/passkey", 200, answer.json);
    expect(answer.json.account).toMatchObject({ id: person.accountId, passkeys: 1, totp: false });
    expect((await browser.get("/account")).status).toBe(200);
    expect((await password(person.email)).json.code).toBe("second_factor_required");
    expect((await password(person.email, made.codes?.[0])).status).toBe(200);
    const seen = log.eventsAfter(head).map(({ line, details }) => [line, details?.second_factor ?? null]);
    expect(seen).toEqual([
      ["- account.add_passkey ok", null],
      ["- account.sign_in denied", null],
      ["- account.sign_in ok", "passkey"],
      ["- account.sign_in ok", "recovery_code"],
    ]);
    const [added, denied] = log.eventsAfter(head);
    expect(denied?.details).toMatchObject({ reasons: { passkey: 1 }, account_id: person.accountId });
    expect(added?.details).toMatchObject({ account_id: person.accountId, passkey_id: made.id, host: HOST });
  });

  test("is one of several with names, and the last factor takes the recovery codes along", async () => {
    const person = await invited(owner, "member");
    const [first, second] = [await add(person, "phone"), await add(person, "key")];
    expect(second.codes).toBeNull();
    const listed = await person.browser.get("/account/passkeys");
    assertMatchesOpenApi("GET", "/account/passkeys", 200, listed.json);
    expect(listed.json.data).toMatchObject([
      { id: first.id, name: "phone", host: HOST, last_used_at: null },
      { id: second.id, name: "key" },
    ]);
    expect((await signIn(second)).answer.status).toBe(200);
    const remove = (id: string, typed = PASSWORD) =>
      person.browser.post(`/account/passkeys/${id}/remove`, { password: typed });
    expect((await remove(first.id, "another password")).json.code).toBe("password_wrong");
    const head = log.head;
    expect((await remove(first.id)).status).toBe(204);
    const [removed] = log.eventsAfter(head);
    expect([removed?.line, removed?.details?.passkey_id]).toEqual(["- account.remove_passkey ok", first.id]);
    expect((await remove(first.id)).json.code).toBe("passkey_not_found");
    expect((await signIn(first)).answer.json.code).toBe("sign_in_failed");
    expect((await person.browser.get("/account")).json.account).toMatchObject({ passkeys: 1, recovery_codes_left: 10 });
    expect((await remove(second.id)).status).toBe(204);
    expect((await person.browser.get("/account")).json.account).toMatchObject({ passkeys: 0, recovery_codes_left: 0 });
    expect((await password(person.email)).status).toBe(200);
  });

  test("stands beside an authenticator, and keeps the codes when that is turned off", async () => {
    const person = await invited(owner, "member");
    const made = await add(person);
    const { secret } = (await person.browser.post("/account/totp", { password: PASSWORD })).json;
    const code = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate();
    const confirmed = await person.browser.post("/account/totp/confirm", { code: code() });
    const [recovery, another] = confirmed.json.recovery_codes;
    expect((await signIn(made)).answer.status).toBe(200);
    const off = await person.browser.post("/account/totp/disable", { password: PASSWORD, code: recovery });
    expect(off.status).toBe(204);
    expect((await person.browser.get("/account")).json.account).toMatchObject({ totp: false, recovery_codes_left: 9 });
    expect((await password(person.email, another)).status).toBe(200);
  });

  test("opens a workspace that requires a second factor, and its last one closes it", async () => {
    const boss = await invited(owner, "owner");
    const id = (await boss.browser.post("/account/workspaces", { name: "locked" })).json.workspace_id;
    const path = `/account/workspaces/${id}`;
    const require = () => boss.browser.put(path, { require_second_factor: true });
    expect((await require()).json.code).toBe("second_factor_missing");
    const made = await add(boss);
    expect((await require()).status).toBe(200);
    const agents = () => boss.browser.get("/v1/agents", { "x-workspace-id": id });
    expect((await agents()).status).toBe(200);
    await boss.browser.post(`/account/passkeys/${made.id}/remove`, { password: PASSWORD });
    expect((await agents()).json.code).toBe("second_factor_missing");
  });
});

describe("what is refused", () => {
  const cases: [string, WrongPasskey][] = [
    ["another origin", { origin: "https://evil.example" }],
    ["another port", { origin: `https://${HOST}:8443` }],
    ["another host", { rpId: "example.org" }],
    ["another kind of answer", { type: "webauthn.create" }],
    ["a challenge that nobody gave", { challenge: "A".repeat(43) }],
    ["a user who was only present", { unverified: true }],
    ["another key", { key: true }],
    ["a counter that goes back", { counter: 1 }],
  ];
  let made: Made;
  beforeAll(async () => {
    made = await add(await invited(owner, "member"));
    expect((await signIn(made)).answer.status).toBe(200);
  });

  test.each(cases)("%s", async (_name, wrong) => {
    const { answer, browser } = await signIn(made, wrong);
    expect([answer.status, answer.json.code]).toEqual([401, "sign_in_failed"]);
    expect(browser.session).toBeUndefined();
  });

  test("a signature that was used, and one under another name of the daemon", async () => {
    const { body, browser } = await signIn(made);
    expect((await post(browser, "/account/sign-in/passkey", body)).status).toBe(401);
    const elsewhere = await signInChallenge(browser, "other.example.org");
    const signed = await made.authenticator.sign(elsewhere);
    expect((await post(browser, "/account/sign-in/passkey", signed, "other.example.org")).status).toBe(401);
  });

  test("a new passkey with a challenge of somebody else or of a sign-in, and a second time", async () => {
    const [one, other] = [await invited(owner, "member"), await invited(owner, "member")];
    const begin = ({ browser }: Person) => newChallenge(browser);
    const authenticator = await AuthenticatorByHand.make();
    const send = async (person: Person, begun: { challenge: string; host: string }, wrong: WrongPasskey = {}) => {
      const body = { name: "x", ...(await authenticator.register(begun, wrong)) };
      return (await post(person.browser, "/account/passkeys", body)).status;
    };
    expect(await send(one, await begin(other))).toBe(400);
    expect(await send(one, await signInChallenge(one.browser))).toBe(400);
    expect(await send(one, await begin(one), { unverified: true })).toBe(400);
    expect(await send(one, await begin(one), { origin: "https://evil.example" })).toBe(400);
    const begun = await begin(one);
    expect(await send(one, begun)).toBe(201);
    expect(await send(one, begun)).toBe(400);
    expect(await send(other, await begin(other))).toBe(400);
  });

  test("a passkey for an address, and one without the password", async () => {
    const person = await invited(owner, "member");
    const atAddress = await person.browser.post("/account/passkeys/begin", { password: PASSWORD });
    expect([atAddress.status, atAddress.json.code]).toEqual([400, "invalid_request"]);
    const wrong = await post(person.browser, "/account/passkeys/begin", { password: "another password" });
    expect(wrong.json.code).toBe("password_wrong");
  });
});
