/** Every event of a person states the session in which it was done, and what one person does at the same time in several. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { TestDaemon } from "../support/daemon.ts";
import type { SeenEvent, WorkspaceView } from "../support/workspace-view.ts";
import { Browser, freshEmail, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";
import { SESSION_ID } from "./stated.ts";

let daemon: TestDaemon;
let owner: Person;
/** The log of the owner's workspace, and that of the installation. */
let view: WorkspaceView;
let log: WorkspaceView;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { signup: "open", rate_limit: "1000" } });
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
  view = daemon.viewOf(owner.workspaceId);
  log = daemon.viewOf(daemon.installationId);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const codeAt = (secret: string, ms: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: ms });

const sessionOf = async (browser: Browser): Promise<string> => (await browser.get("/account")).json.session.id;

async function signedIn(email: string, code?: string): Promise<Browser> {
  const browser = new Browser(daemon);
  const { status, text } = await browser.post("/account/sign-in", { email, password: PASSWORD, ...(code && { code }) });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return browser;
}

/** Begins a second factor in a session. Returns its secret, and the recovery codes. */
async function secondFactor(browser: Browser): Promise<{ secret: string; codes: string[] }> {
  const { secret } = (await browser.post("/account/totp", { password: PASSWORD })).json;
  const { json } = await browser.post("/account/totp/confirm", { code: codeAt(secret, Date.now() - 30_000) });
  return { secret, codes: json.recovery_codes };
}

/** Does something and returns the events that it appended to the two logs. */
async function appended(work: () => Promise<unknown>): Promise<SeenEvent[]> {
  const heads = [view, log].map((one) => [one, one.head] as const);
  await work();
  const events = heads.flatMap(([one, head]) => one.eventsAfter(head));
  return events.filter(({ operation }) => operation !== "installation.heads");
}

let renames = 0;

/** Acts in every way in which a person can. Returns the name and the session of each event. */
async function acts({ browser }: { browser: Browser }, base = `/account/workspaces/${owner.workspaceId}`) {
  const inWorkspace = { "x-workspace-id": owner.workspaceId };
  const events = await appended(async () => {
    const answers = [
      await browser.put("/account", { name: `name ${++renames}` }),
      await browser.post(`${base}/keys`, { label: "k" }),
      await browser.post(`${base}/invitations`, { role: "member" }),
      await browser.put("/v1/config/bot", { policies: {} }, inWorkspace),
      await browser.post("/v1/audit/verify", { scope: "workspace" }, inWorkspace),
      await browser.post("/account/workspaces", { name: "more" }),
    ];
    expect(answers.map(({ status }) => status < 300)).toEqual(answers.map(() => true));
  });
  expect(events.map(({ operation }) => operation).sort()).toEqual([
    ...["account.rename", "audit.verify", "config.update", "installation.add_workspace", "key.create", "member.invite"],
  ]);
  return events.map(({ details }) => details?.authorised_by);
}

/** When an event was recorded. */
const timeOf = (one: WorkspaceView, seq: number) =>
  one.connection.value<string>("SELECT timestamp FROM events WHERE seq = ?", [seq]);

describe("an event of a person states the session", () => {
  test("without a second factor, also after the account has got one", async () => {
    const person = await invited(owner, "owner");
    const session = { session_id: await sessionOf(person.browser), second_factor: null, second_factor_at: null };
    for (const one of await acts(person)) expect(one).toEqual(session);
    await secondFactor(person.browser);
    // The session began without it.
    for (const one of await acts(person)) expect(one).toEqual(session);
  });

  test("with the second factor with which it began, and when", async () => {
    const { browser, email } = await invited(owner, "owner");
    const { secret, codes } = await secondFactor(browser);
    for (const [second_factor, code] of [
      ["totp", codeAt(secret, Date.now())],
      ["recovery_code", codes[0]],
    ] as const) {
      const head = log.head;
      const other = await signedIn(email, code);
      const [begun] = log.eventsAfter(head);
      expect(begun).toMatchObject({ operation: "account.sign_in", details: { second_factor } });
      const session_id = await sessionOf(other);
      expect(begun?.details?.session_id).toBe(session_id);
      const second_factor_at = await timeOf(log, begun?.seq as number);
      for (const one of await acts({ browser: other }))
        expect(one).toEqual({ session_id, second_factor, second_factor_at });
    }
  });

  test("and one of a key or of the command line states none", async () => {
    const events = await appended(() => daemon.client(owner.apiKey as string).write("bot", "k", "v"));
    expect(events.map(({ operation, details }) => [operation, details?.authorised_by])).toEqual([
      ["data.write", undefined],
    ]);
    const made = log.eventsAfter(-1).filter(({ operation }) => operation === "account.create");
    expect(made.filter(({ details }) => details?.authorised_by !== undefined)).toEqual([]);
  });

  test("and what is looked at in another session is another view", async () => {
    const others = [owner.browser, await signedIn(owner.email)];
    const look = (browser: Browser) => browser.get("/v1/agents/bot", { "x-workspace-id": owner.workspaceId });
    const events = await appended(async () => {
      for (const browser of [...others, ...others]) expect((await look(browser)).status).toBe(200);
    });
    const ids = await Promise.all(others.map(sessionOf));
    expect(events.map(({ operation, details }) => [operation, details?.authorised_by])).toEqual(
      ids.map((session_id) => ["dashboard.view", { session_id, second_factor: null, second_factor_at: null }]),
    );
  });
});

describe("of two at the same time", () => {
  test("one takes a code of the authenticator, and one a recovery code", async () => {
    const { browser, email } = await invited(owner, "member");
    const { secret, codes } = await secondFactor(browser);
    for (const code of [codeAt(secret, Date.now()), codes[0] as string]) {
      const events = await appended(async () => {
        const answers = await Promise.all([1, 2].map(() => signedIn(email, code).catch((error: Error) => error)));
        const refused = answers.filter((one) => one instanceof Error);
        expect(refused.map(({ message }) => message)).toEqual([expect.stringContaining("second_factor_failed")]);
      });
      expect(events.filter(({ line }) => line === "- account.sign_in ok")).toHaveLength(1);
    }
    // The same for two acts that take a code.
    const [, one, other] = codes as [string, string, string];
    const renew = (code: string) => browser.post("/account/totp/recovery-codes", { password: PASSWORD, code });
    const twice = await Promise.all([renew(one), renew(one)]);
    expect(twice.map(({ status }) => status).sort()).toEqual([200, 403]);
    expect((await renew(other)).status).toBe(403);
  });

  test("one makes an account with a mail address, in any case of its letters", async () => {
    const email = freshEmail();
    const forms = [email, email.toUpperCase(), ` ${email} `.trim(), email];
    const answers = await Promise.all(
      forms.map((form) => new Browser(daemon).post("/account/sign-up", { email: form, password: PASSWORD })),
    );
    expect(answers.map(({ status, json }) => json.code ?? status).sort()).toEqual([
      201,
      ...Array(3).fill("email_taken"),
    ]);
    expect(log.connection.value("SELECT count(*) FROM accounts WHERE email = ?", [email])).toBe(1);
    expect((await signedIn(email)).session).toBeString();
  });

  test("one confirms a second factor, and one changes the password", async () => {
    const { browser } = await invited(owner, "member");
    const { secret } = (await browser.post("/account/totp", { password: PASSWORD })).json;
    const confirm = () => browser.post("/account/totp/confirm", { code: codeAt(secret, Date.now()) });
    const confirmed = await Promise.all([confirm(), confirm()]);
    expect(confirmed.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    const change = (to: string) =>
      browser.put("/account/password", { current_password: PASSWORD, new_password: `${PASSWORD} ${to}` });
    const changed = await Promise.all([change("one"), change("two")]);
    expect(changed.map(({ status }) => status).sort()).toEqual([204, 403]);
  });
});

describe("a session that is ended stops at once", () => {
  const inWorkspace = () => ({ "x-workspace-id": owner.workspaceId });
  const stopped = async (browser: Browser) => {
    const answers = await Promise.all([
      browser.get("/account"),
      browser.put("/account", { name: "again" }),
      browser.get("/v1/agents", inWorkspace()),
      browser.put("/v1/config/bot", {}, inWorkspace()),
      browser.get(`/account/workspaces/${owner.workspaceId}/keys`),
    ]);
    return answers.map(({ status }) => status);
  };
  const STOPPED = Array(5).fill(401);

  test("by itself, by another one, by a sign-out, and by a changed or a new password", async () => {
    const { browser: first, email } = await invited(owner, "owner");
    const itself = await signedIn(email);
    expect((await itself.delete(`/account/sessions/${await sessionOf(itself)}`)).status).toBe(204);
    // The answer takes the cookie away. A thief keeps it.
    expect(itself.session).toBeUndefined();
    const [stolen, other] = [await signedIn(email), await signedIn(email)];
    const [cookie, copy] = [stolen.session as string, new Browser(daemon)];
    copy.cookies.set("__Host-governd_session", cookie);
    expect((await stolen.post("/account/sign-out")).status).toBe(204);
    expect(await stopped(copy)).toEqual(STOPPED);
    expect((await first.delete(`/account/sessions/${await sessionOf(other)}`)).status).toBe(204);
    expect(await stopped(other)).toEqual(STOPPED);
    const third = await signedIn(email);
    const id = await sessionOf(third);
    const next = { current_password: PASSWORD, new_password: `${PASSWORD} next` };
    const [changed] = await appended(() => first.put("/account/password", next));
    expect(await stopped(third)).toEqual(STOPPED);
    expect(changed).toMatchObject({ operation: "account.change_password", details: { sessions_ended: [id] } });
    expect((await first.get("/account")).status).toBe(200);
  });

  test("and no request that comes later is recorded", async () => {
    const { email } = owner;
    const other = await signedIn(email);
    const id = await sessionOf(other);
    let isEnded = false;
    const late: number[] = [];
    const requests = async () => {
      for (let i = 0; i < 30; i++) {
        const wasEnded = isEnded;
        const { status } = await other.put("/account", { name: `name ${i}` });
        if (wasEnded) late.push(status);
      }
    };
    const head = log.head;
    await Promise.all([
      requests(),
      (async () => {
        await Bun.sleep(50);
        await owner.browser.delete(`/account/sessions/${id}`);
        isEnded = true;
      })(),
    ]);
    expect((await other.put("/account", { name: "last" })).status).toBe(401);
    expect(late.filter((status) => status !== 401)).toEqual([]);
    const events = log.eventsAfter(head).filter(({ details }) => details?.account_id === owner.accountId);
    const end = events.findIndex(({ operation }) => operation === "account.end_sessions");
    const after = events.slice(end + 1).map(({ details }) => details?.authorised_by as { session_id: string });
    // At most the one request that had come before.
    expect(after.filter(({ session_id }) => session_id === id).length).toBeLessThanOrEqual(1);
    expect(events[end]?.details).toMatchObject({ sessions: [id], authorised_by: { session_id: SESSION_ID } });
  });
});
