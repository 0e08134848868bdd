import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import { TestDaemon } from "../support/daemon.ts";
import { Browser, freshEmail, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";

/** A test that starts the daemon several times, on a busy machine. */
const RESTARTS_MS = 300_000;

let daemon: TestDaemon;
let owner: Person;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
afterAll(() => daemon[Symbol.asyncDispose]());

const signIn = (browser: Browser, email: string, password = PASSWORD, rest: object = {}) =>
  browser.post("/account/sign-in", { email, password, ...rest });

describe("signing in", () => {
  test("begins a session, and signing out ends it", async () => {
    const browser = new Browser(daemon);
    const { status, json } = await signIn(browser, owner.email.toUpperCase());
    expect(status).toBe(200);
    assertMatchesOpenApi("POST", "/account/sign-in", 200, json);
    expect(json.workspaces).toMatchObject([{ id: owner.workspaceId, role: "owner" }]);
    expect((await browser.get("/account")).json.account).toMatchObject({ email: owner.email });
    const stolen = browser.session as string;
    expect((await browser.post("/account/sign-out")).status).toBe(204);
    expect(browser.session).toBeUndefined();
    browser.cookies.set("__Host-governd_session", stolen);
    expect((await browser.get("/account")).status).toBe(401);
  });

  test("answers the same for no account and for a wrong password", async () => {
    const member = await invited(owner, "member");
    const known = await signIn(new Browser(daemon), member.email, "not the password");
    const unknown = await signIn(new Browser(daemon), freshEmail(), "not the password");
    const strip = ({ json: { request_id: _, ...rest }, status }: typeof known) => ({ status, ...rest });
    expect(strip(known)).toEqual(strip(unknown));
    expect(known.json.code).toBe("sign_in_failed");
    expect(known.headers.get("www-authenticate")).toContain("Session");
  });

  test("is limited for a pair of account and address, whether the account exists or not", async () => {
    const member = await invited(owner, "member");
    for (const email of [member.email, freshEmail()]) {
      const statuses = [];
      for (let i = 0; i < 6; i++) statuses.push((await signIn(new Browser(daemon), email, "wrong")).status);
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    }
    // Others at the same address, and the browser that the person has always used, are not concerned.
    expect((await signIn(new Browser(daemon), owner.email)).status).toBe(200);
    expect((await signIn(member.browser, member.email)).status).toBe(200);
    expect((await signIn(new Browser(daemon), member.email)).status).toBe(429);
  });
});

describe("sessions", () => {
  test("need no more than the cookie, and are refused when it is anything else", async () => {
    for (const cookie of ["", "x", "A".repeat(43), `${owner.browser.session}A`]) {
      const browser = new Browser(daemon);
      browser.cookies.set("__Host-governd_session", cookie);
      for (const path of ["/account", "/v1/agents", "/account/workspaces"]) {
        const { status, json } = await browser.get(path, { "x-workspace-id": owner.workspaceId });
        expect([status, json.code]).toEqual([401, "unauthenticated"]);
      }
    }
  });

  test("are listed and revoked", async () => {
    const other = new Browser(daemon);
    await signIn(other, owner.email);
    const listed = await owner.browser.get("/account/sessions");
    assertMatchesOpenApi("GET", "/account/sessions", 200, listed.json);
    const sessions: { id: string; current: boolean; address: string }[] = listed.json.data;
    expect(sessions.filter(({ current }) => current)).toHaveLength(1);
    expect(sessions[0]?.address).toBe("127.0.0.1");
    const { json } = await other.get("/account");
    expect((await owner.browser.delete(`/account/sessions/${json.session.id}`)).status).toBe(204);
    expect((await other.get("/account")).status).toBe(401);
    const gone = await owner.browser.delete(`/account/sessions/${json.session.id}`);
    expect([gone.status, gone.json.code]).toEqual([404, "session_not_found"]);
    const member = await invited(owner, "member");
    const foreign = await member.browser.delete(`/account/sessions/${sessions[0]?.id}`);
    expect(foreign.json.code).toBe("session_not_found");
  });

  test("all others end at once", async () => {
    const others = [new Browser(daemon), new Browser(daemon)];
    for (const browser of others) await signIn(browser, owner.email);
    const { json } = await owner.browser.delete("/account/sessions");
    expect(json.ended).toBeGreaterThanOrEqual(2);
    for (const browser of others) expect((await browser.get("/account")).status).toBe(401);
    expect((await owner.browser.get("/account")).status).toBe(200);
  });

  test(
    "end when they are idle, and at last in any case",
    async () => {
      await using own = await TestDaemon.start();
      const person = await signUp(own, tokenOf(own.signUpUrl));
      const HOUR = 3_600_000;
      await own.restart(11 * HOUR);
      expect((await person.browser.get("/account")).status).toBe(200);
      await own.restart(22 * HOUR);
      expect((await person.browser.get("/account")).status).toBe(200);
      await own.restart(35 * HOUR);
      expect((await person.browser.get("/account")).status).toBe(401);
      expect((await signIn(person.browser, person.email)).status).toBe(200);
      for (let hours = 35 + 11; hours < 35 + 7 * 24; hours += 11) {
        own.setClock(hours * HOUR);
        expect((await person.browser.get("/account")).status).toBe(200);
      }
      own.setClock((35 + 7 * 24 + 1) * HOUR);
      expect((await person.browser.get("/account")).status).toBe(401);
    },
    RESTARTS_MS,
  );
});

describe("a page of another site", () => {
  test("changes nothing with the browser's cookie", async () => {
    for (const origin of [null, "https://evil.example", "null", daemon.url.replace("https", "http")]) {
      for (const [method, path, body] of [
        ["POST", "/account/sign-out", undefined],
        ["PUT", "/account", { name: "Eve" }],
        ["POST", "/account/sign-in", { email: owner.email, password: PASSWORD }],
        ["DELETE", "/account/sessions", undefined],
        ["PUT", "/v1/config/bot", {}],
      ] as const) {
        const { status, json } = await owner.browser.visit({
          method,
          path,
          origin,
          headers: { "x-workspace-id": owner.workspaceId },
          ...(body === undefined ? {} : { body }),
        });
        expect([status, json.code, json.param]).toEqual([403, "forbidden", "Origin"]);
      }
    }
    expect((await owner.browser.get("/account")).status).toBe(200);
  });
});

describe("the password", () => {
  test("is changed with the present one; other sessions end, this one stays", async () => {
    const person = await invited(owner, "member");
    const other = new Browser(daemon);
    await signIn(other, person.email);
    const path = "/account/password";
    const wrong = await person.browser.put(path, { current_password: "wrong", new_password: `${PASSWORD}!` });
    expect([wrong.status, wrong.json.code]).toEqual([403, "password_wrong"]);
    const done = await person.browser.put(path, { current_password: PASSWORD, new_password: `${PASSWORD}!` });
    expect(done.status).toBe(204);
    expect((await other.get("/account")).status).toBe(401);
    expect((await person.browser.get("/account")).status).toBe(200);
    expect((await signIn(new Browser(daemon), person.email)).status).toBe(401);
    expect((await signIn(new Browser(daemon), person.email, `${PASSWORD}!`)).status).toBe(200);
  });

  test("is the same however a keyboard composes it", async () => {
    const person = await invited(owner, "member");
    const change = { current_password: PASSWORD, new_password: "cafe\u0301 cre\u0300me glace\u0301" };
    expect((await person.browser.put("/account/password", change)).status).toBe(204);
    expect((await signIn(new Browser(daemon), person.email, "caf\u00e9 cr\u00e8me glac\u00e9")).status).toBe(200);
  });
});

describe("the second factor", () => {
  const codeAt = (secret: string, ms: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: ms });

  test("is begun, confirmed, asked for, and each code is taken once", async () => {
    const person = await invited(owner, "member");
    const begun = await person.browser.post("/account/totp", { password: PASSWORD });
    assertMatchesOpenApi("POST", "/account/totp", 200, begun.json);
    const { secret, uri } = begun.json;
    expect(uri).toStartWith("otpauth://totp/governd");
    // Not asked for before it is confirmed.
    expect((await signIn(new Browser(daemon), person.email)).status).toBe(200);
    const bad = await person.browser.post("/account/totp/confirm", { code: "000000x" });
    expect([bad.status, bad.json.code]).toEqual([403, "second_factor_failed"]);
    // Codes are taken from a step before their own to a step after it, whatever the time within a step.
    const now = Date.now();
    const first = codeAt(secret, now);
    const confirmed = await person.browser.post("/account/totp/confirm", { code: first });
    expect(confirmed.status).toBe(200);
    const codes: string[] = confirmed.json.recovery_codes;
    expect(new Set(codes).size).toBe(10);
    expect((await person.browser.post("/account/totp", { password: PASSWORD })).json.code).toBe("totp_on");

    const browser = new Browser(daemon);
    const asked = await signIn(browser, person.email);
    expect([asked.status, asked.json.code]).toEqual([401, "second_factor_required"]);
    expect(browser.session).toBeUndefined();
    expect((await signIn(browser, person.email, "wrong")).json.code).toBe("sign_in_failed");
    const again = await signIn(browser, person.email, PASSWORD, { code: first });
    expect([again.status, again.json.code]).toEqual([403, "second_factor_failed"]);
    const next = codeAt(secret, now + 30_000);
    expect((await signIn(browser, person.email, PASSWORD, { code: next })).status).toBe(200);
    expect((await signIn(new Browser(daemon), person.email, PASSWORD, { code: next })).status).toBe(403);

    const recovery = (codes[0] as string).toUpperCase().replaceAll("-", " ");
    expect((await signIn(new Browser(daemon), person.email, PASSWORD, { code: recovery })).status).toBe(200);
    expect((await signIn(new Browser(daemon), person.email, PASSWORD, { code: recovery })).status).toBe(403);
    expect((await browser.get("/account")).json.account).toMatchObject({ totp: true, recovery_codes_left: 9 });

    const renewed = await browser.post("/account/totp/recovery-codes", { password: PASSWORD, code: codes[1] });
    expect(renewed.json.recovery_codes).toHaveLength(10);
    const off = { password: PASSWORD, code: renewed.json.recovery_codes[3] };
    expect((await browser.post("/account/totp/disable", { ...off, code: codes[2] })).status).toBe(403);
    expect((await browser.post("/account/totp/disable", off)).status).toBe(204);
    expect((await signIn(new Browser(daemon), person.email)).status).toBe(200);
    expect(await daemon.log()).not.toContain(secret);
  });
});
