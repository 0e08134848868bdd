/** The log of the installation: what people and the operator do to accounts, and who may read it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { Secret, TOTP } from "otpauth";
import { dataDirectory, presentWorkspaces, workspaceFile } from "../../src/core/datadir/layout.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { governdProcess } from "../cli/governd-process.ts";
import { TestDaemon } from "../support/daemon.ts";
import type { SeenEvent, WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";
import { Browser, freshEmail, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";
import { killed } from "./killed.ts";
import { DIGEST, inSession, SESSION_ID } from "./stated.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

let daemon: TestDaemon;
let founder: Person;
let logId: string;
let log: WorkspaceView;
/** Everything secret that these tests sent or were sent. */
const secrets = new Set([PASSWORD]);

beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { signup: "open" } });
  const token = tokenOf(daemon.signUpUrl);
  secrets.add(token);
  founder = await signUp(daemon, token);
  logId = daemon.installationId;
  log = daemon.viewOf(logId);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const cli = (...words: string[]) => governdProcess([...words, "--json", "--data-dir", daemon.dataDir]);

/** Does something and returns the events that it appended to the log of the installation. */
async function appended(work: () => Promise<unknown>): Promise<SeenEvent[]> {
  const before = log.head;
  await work();
  return log.eventsAfter(before).filter(({ operation }) => operation !== "installation.heads");
}

async function onlyEvent(line: string, work: () => Promise<unknown>): Promise<Record<string, unknown>> {
  const events = await appended(work);
  expect(events.map((event) => event.line)).toEqual([line]);
  return events[0]?.details as Record<string, unknown>;
}

const done = async (answer: Promise<{ status: number; text: string }>) => {
  const { status, text } = await answer;
  if (status >= 300) throw new Error(`${status}: ${text}`);
};

const LOCAL = { address: "127.0.0.1", address_kind: "loopback" };

/** Returns the id of the session of a browser. */
async function currentSession(browser: Browser): Promise<string> {
  const { data } = (await browser.get("/account/sessions")).json as { data: { id: string; current: boolean }[] };
  return data.find(({ current }) => current)?.id as string;
}

function noteSecrets(browser: Browser, ...others: string[]): void {
  for (const secret of [...browser.cookies.values(), ...others]) secrets.add(secret);
}

describe("what people do to their accounts is recorded", () => {
  test("the link that a start printed, and the first account", () => {
    const [genesis, heads, link, created, signedIn, added] = log.eventsAfter(-1);
    expect([genesis?.line, heads?.line]).toEqual(["- workspace.create ok", "- installation.heads ok"]);
    const account_id = founder.accountId;
    const stated = link?.details as { link_id: string };
    expect([link?.line, stated]).toMatchObject(["- account.link ok", { kind: "setup", account_id: null }]);
    expect([created?.line, signedIn?.line]).toEqual(["- account.create ok", "- account.sign_in ok"]);
    expect(created?.details).toEqual({ account_id, account_digest: DIGEST, link_id: stated.link_id, ...LOCAL });
    expect(added?.line).toBe("- installation.add_workspace ok");
    const [first] = daemon
      .viewOf(founder.workspaceId)
      .connection.all("SELECT lower(hex(hash)) FROM events WHERE seq = 0")
      .flat();
    expect(added?.details).toEqual({
      ...{ account_id, for_workspace_id: founder.workspaceId, name: expect.any(String), genesis: first },
      ...inSession(null, signedIn?.details?.session_id as string),
    });
  });

  test("signing up by an invitation, and without one", async () => {
    let guest: Person | undefined;
    const events = await appended(async () => {
      guest = await invited(founder, "member");
    });
    expect(events.map(({ line }) => line)).toEqual(["- account.create ok", "- account.sign_in ok"]);
    const [joined = {}, signedIn = {}] = events.map((event) => event.details as Record<string, unknown>);
    const { details } = daemon.viewOf(founder.workspaceId).eventsAfter(-1).at(-1) as SeenEvent;
    const account_id = guest?.accountId;
    const { invitation_id } = joined;
    expect(details).toEqual({ account_id, invitation_id, role: "member", ...inSession(null, signedIn.session_id) });
    expect(joined).toEqual({
      ...{ account_id, account_digest: DIGEST, link_id: null },
      ...{ invitation_id: expect.stringMatching(/^inv_/), ...LOCAL },
    });
    const open = await appended(async () => {
      const browser = new Browser(daemon);
      await done(browser.post("/account/sign-up", { email: freshEmail(), password: PASSWORD }));
      noteSecrets(browser);
    });
    expect(open.map(({ line }) => line)).toEqual([
      ...["- account.create ok", "- account.sign_in ok", "- installation.add_workspace ok"],
    ]);
    expect(open[0]?.details?.link_id).toBeNull();
  });

  test("signing in, and ending sessions", async () => {
    const person = await invited(founder, "member");
    const first = await currentSession(person.browser);
    const browser = new Browser(daemon);
    const credentials = { email: person.email, password: PASSWORD };
    const details = await onlyEvent("- account.sign_in ok", () => done(browser.post("/account/sign-in", credentials)));
    const id = await currentSession(browser);
    expect(details).toEqual({
      ...{ account_id: person.accountId, second_factor: null, known_device: false },
      ...{ session_id: id, session_digest: DIGEST, expires_at: expect.any(String), ...LOCAL },
    });
    noteSecrets(browser);
    const others = await onlyEvent("- account.end_sessions ok", () => done(browser.delete("/account/sessions")));
    expect(others).toEqual({ account_id: person.accountId, sessions: [first], ...inSession(null, id) });
    expect(await appended(() => done(browser.delete("/account/sessions")))).toEqual([]);
    const own = await onlyEvent("- account.end_sessions ok", () => done(browser.post("/account/sign-out")));
    expect(own).toEqual({ account_id: person.accountId, sessions: [id], ...inSession(null, id) });
  });

  test("a wrong password in a session, and a changed name", async () => {
    const { browser, accountId: account_id } = await invited(founder, "member");
    const wrong = { current_password: "wrong", new_password: `${PASSWORD} 3` };
    const denied = await onlyEvent("- account.sign_in denied", async () => {
      expect((await browser.put("/account/password", wrong)).status).toBe(403);
    });
    expect(denied).toEqual({
      ...{ attempts: 1, account_id, unknown_account: 0, reasons: { password_again: 1 } },
      ...LOCAL,
    });
    const named = () => done(browser.put("/account", { name: "Grace" }));
    expect(await onlyEvent("- account.rename ok", named)).toEqual({
      account_id,
      account_digest: DIGEST,
      ...inSession(),
    });
    expect(await appended(named)).toEqual([]);
    expect((await browser.get("/account")).json.account.name).toBe("Grace");
  });

  test("a workspace that the operator creates", async () => {
    let workspaceId = "";
    const created = await onlyEvent("- installation.add_workspace ok", async () => {
      workspaceId = (await cli("workspace", "create", "--name", "By hand")).json<{ workspace_id: string }>()
        .workspace_id;
    });
    const genesis = DIGEST;
    expect(created).toEqual({ account_id: null, for_workspace_id: workspaceId, name: "By hand", genesis });
  });

  test("a changed password, and one that was set with a link of the command line", async () => {
    const { browser, accountId, email } = await invited(founder, "member");
    const account_id = accountId;
    const next = `${PASSWORD} 2`;
    secrets.add(next);
    const changed = await onlyEvent("- account.change_password ok", () =>
      done(browser.put("/account/password", { current_password: PASSWORD, new_password: next })),
    );
    expect(changed).toEqual({ account_id, account_digest: DIGEST, sessions_ended: [], ...inSession() });
    let token = "";
    const link = await onlyEvent("- account.link ok", async () => {
      token = (await cli("account", "link", "--email", email, "--without-totp")).json<{ token: string }>().token;
    });
    secrets.add(token);
    expect(link).toEqual({
      link_id: expect.stringMatching(/^inv_/),
      link_digest: new Bun.CryptoHasher("sha256").update(token).digest("hex"),
      kind: "reset",
      account_id,
      second_factor_ends: true,
      expires_at: expect.any(String),
    });
    const reset = await onlyEvent("- account.reset_password ok", () =>
      done(new Browser(daemon).post("/account/password/reset", { token, new_password: PASSWORD })),
    );
    expect(reset).toEqual({
      ...{ account_id, account_digest: DIGEST, link_id: link.link_id, second_factor_ended: true, ...LOCAL },
      ...{ passkeys_ended: [], sessions_ended: [SESSION_ID] },
    });
  });

  test("each step of a second factor, and a sign-in with it", async () => {
    const { browser, accountId: account_id, email } = await invited(founder, "member");
    let secret = "";
    expect(
      await onlyEvent("- account.begin_totp ok", async () => {
        secret = (await browser.post("/account/totp", { password: PASSWORD })).json.secret;
      }),
    ).toEqual({ account_id, account_digest: DIGEST, ...inSession() });
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
    let codes: string[] = [];
    expect(
      await onlyEvent("- account.confirm_totp ok", async () => {
        codes = (await browser.post("/account/totp/confirm", { code })).json.recovery_codes;
      }),
    ).toEqual({ account_id, account_digest: DIGEST, ...inSession() });
    noteSecrets(browser, secret, ...codes);
    const signedIn = await onlyEvent("- account.sign_in ok", () =>
      done(new Browser(daemon).post("/account/sign-in", { email, password: PASSWORD, code: codes[0] })),
    );
    expect(signedIn).toMatchObject({ account_id, second_factor: "recovery_code" });
    const asked = { password: PASSWORD, code: codes[1] };
    await onlyEvent("- account.renew_codes ok", async () => {
      const { json } = await browser.post("/account/totp/recovery-codes", asked);
      codes = json.recovery_codes;
    });
    noteSecrets(browser, ...codes);
    const end = { password: PASSWORD, code: codes[0] };
    await onlyEvent("- account.disable_totp ok", () => done(browser.post("/account/totp/disable", end)));
  });

  test("a workspace that an account creates, and an invitation by the operator", async () => {
    let id = "";
    const made = await onlyEvent("- installation.add_workspace ok", async () => {
      id = (await founder.browser.post("/account/workspaces", { name: "more" })).json.workspace_id;
    });
    expect(made).toEqual({
      ...{ account_id: founder.accountId, for_workspace_id: id, name: "more", genesis: DIGEST },
      ...inSession(),
    });
    // An invitation is recorded in its workspace alone.
    expect(await appended(() => cli("account", "link", "--workspace", id))).toEqual([]);
    const invitation = daemon.viewOf(id).eventsAfter(-1).at(-1);
    expect(invitation).toMatchObject({ line: "- member.invite ok", details: { role: "owner", label: null } });
  });
});

describe("failed sign-ins", () => {
  const fail = async (own: TestDaemon, email: string) => {
    const { status } = await new Browser(own).post("/account/sign-in", { email, password: "not the password" });
    expect([401, 429]).toContain(status);
  };

  test("are one event at first, and one with a count for the rest of a minute", async () => {
    await using own = await TestDaemon.start();
    const person = await signUp(own, tokenOf(own.signUpUrl));
    const view = own.viewOf(own.installationId);
    const nobody = freshEmail();
    const { head } = view;
    await fail(own, nobody);
    expect(view.eventsAfter(head)).toMatchObject([
      {
        line: "- account.sign_in denied",
        details: { attempts: 1, account_id: null, unknown_account: 1, reasons: { password: 1 }, ...LOCAL },
      },
    ]);
    for (let i = 0; i < 6; i++) await fail(own, person.email);
    expect(view.eventsAfter(head + 1)).toEqual([]);
    // Also those of a session: of its password and of its second factor.
    const { browser } = person;
    expect((await browser.post("/account/totp", { password: "not the password" })).status).toBe(403);
    expect((await browser.post("/account/totp", { password: PASSWORD })).status).toBe(200);
    expect((await browser.post("/account/totp/confirm", { code: "no code" })).json.code).toBe("second_factor_failed");
    expect(view.eventsAfter(head + 1).map(({ line }) => line)).toEqual(["- account.begin_totp ok"]);
    await own.restart();
    expect(view.eventsAfter(head + 2)).toMatchObject([
      {
        line: "- account.sign_in denied",
        details: {
          attempts: 8,
          account_id: person.accountId,
          unknown_account: 0,
          reasons: { password: 5, rate_limited: 1, password_again: 1, second_factor_again: 1 },
          since: expect.any(String),
          until: expect.any(String),
        },
      },
    ]);
    const stored = JSON.stringify(view.eventsAfter(-1));
    for (const text of [nobody, person.email, "not the password"]) expect(stored).not.toContain(text);
  });
});

describe("reading the log", () => {
  const inLog = { "x-workspace-id": "installation" };

  test("is for operators, whom only the command line names", async () => {
    const path = "/v1/audit?scope=installation";
    const { browser, email, accountId, workspaceId } = founder;
    const refused = await browser.get(path);
    expect([refused.status, refused.json.code]).toEqual([403, "forbidden"]);
    for (const headers of [inLog, { "x-workspace-id": logId }]) {
      expect((await browser.get("/v1/audit?scope=workspace", headers)).status).toBe(403);
    }
    const own = await browser.get(path, { "x-workspace-id": workspaceId });
    expect([own.status, own.json.code]).toEqual([403, "forbidden"]);
    expect((await daemon.client(founder.apiKey as string).get(path)).status).toBe(403);
    expect((await new Browser(daemon).get(path)).status).toBe(401);
    expect((await browser.get("/account")).json.installation).toBeNull();

    const named = await onlyEvent("- member.join ok", () => cli("account", "operator", "--email", email));
    expect(named).toEqual({ account_id: accountId, role: "auditor" });
    const again = await cli("account", "operator", "--email", email);
    expect(again.json()).toEqual({ account_id: accountId, operator: true, audit_id: null });

    expect((await browser.get(path)).status).toBe(200);
    const { installation, workspaces } = (await browser.get("/account")).json;
    expect(installation).toMatchObject({ id: logId, role: "auditor" });
    expect(workspaces.map(({ id }: { id: string }) => id)).not.toContain(logId);
    expect((await browser.get(`/account/workspaces/${logId}/members`)).status).toBe(404);
  });

  test("newest first, in pages, with filters", async () => {
    const { browser } = founder;
    const path = "/v1/audit?scope=installation&operations=account.create&limit=1";
    const filtered = await browser.get(path);
    expect(filtered.json.data.map(({ operation }: { operation: string }) => operation)).toEqual(["account.create"]);
    const next = `${path}&cursor=${filtered.json.next_cursor}`;
    const { data } = (await browser.get(next)).json;
    expect(data[0].seq).toBeLessThan(filtered.json.data[0].seq);
    const { json } = await browser.get("/v1/audit?scope=installation&limit=1");
    expect(json.data[0]).toMatchObject({ workspace_id: logId, agent_id: null });
  });

  test("verified, exported and sealed", async () => {
    const { browser } = founder;
    const verified = await browser.post("/v1/audit/verify", { scope: "installation" }, inLog);
    expect(verified.json).toMatchObject({ valid: true });
    const exported = await browser.post("/v1/audit/export", { scope: "installation" }, inLog);
    expect(exported.status).toBe(200);
    using directory = temporaryDirectory();
    const file = directory.join("export.json");
    await Bun.write(file, exported.text);
    expect((await governdProcess(["verify", file])).code).toBe(0);
    expect((await browser.get("/v1/audit/key", inLog)).json.origin).toContain(logId);
  });

  test("and changing nothing: not its data, keys or members", async () => {
    const { browser } = founder;
    const write = await browser.post("/v1/data/write", { agent_id: "a", key: "k", value: "v" }, inLog);
    expect([write.status, write.json.code]).toEqual([403, "forbidden"]);
    for (const words of [
      ["key", "create", "--workspace", logId],
      ["account", "link", "--workspace", logId],
    ]) {
      const { code, err } = await cli(...words);
      expect([code === 0, err]).toEqual([false, expect.stringContaining("no such workspace")]);
    }
    expect((await cli("workspace", "list")).out).not.toContain(logId);
  });

  test("ends with the next request after the command line ended it", async () => {
    const { browser, email } = founder;
    await onlyEvent("- member.remove ok", () => cli("account", "operator", "--email", email, "--end"));
    expect((await browser.get("/v1/audit?scope=installation")).status).toBe(403);
  });
});

describe("governd audit", () => {
  test("shows the newest events beside the daemon, and records that", async () => {
    const words = ["audit", "--installation", "--operations", "account.link,account.create", "--limit", "3"];
    let shown: { data: { operation: string; seq: number }[] } | undefined;
    await onlyEvent("- audit.query ok", async () => {
      shown = (await cli(...words)).json();
    });
    const seqs = shown?.data.map(({ seq }) => seq) ?? [];
    expect(seqs).toHaveLength(3);
    expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
    const none = await cli("audit", "--installation", "--since", "2100-01-01");
    expect(none.json()).toMatchObject({ data: [] });
    expect((await cli("audit", "--installation", "--operations", "no.such")).code).toBe(2);
  });

  test("exports a file that verifies, and does not overwrite it", async () => {
    using directory = temporaryDirectory();
    const file = directory.join("export.ndjson");
    const words = ["audit", "--installation", "--export", file, "--format", "ndjson"];
    await onlyEvent("- audit.export ok", () => cli(...words));
    expect((await governdProcess(["verify", file])).code).toBe(0);
    const again = await cli(...words);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("cannot be created")]);
    // The command line of this test adds --json, so its result is JSON on the other stream.
    const streamed = await cli("audit", "--installation", "--export", "-", "--format", "ndjson");
    writeFileSync(directory.join("streamed.ndjson"), streamed.out);
    expect((await governdProcess(["verify", directory.join("streamed.ndjson")])).code).toBe(0);
    expect(JSON.parse(streamed.err)).toEqual({ export: "-", bytes: Buffer.byteLength(streamed.out) });
  });
});

describe.each(["before", "after"] as const)("killed %s an event is recorded", (at) => {
  const isDone = at === "after";

  test("an act on an account is done, or never happened, and the next one follows", async () => {
    const { accountId, browser } = await invited(founder, "member");
    const events = await appended(async () => {
      expect(await killed(daemon.dataDir, { at, nth: 1 }, `rename(parts, "${accountId}", "killed")`)).not.toBe(0);
      await daemon.restart();
    });
    expect(events.map(({ line }) => line)).toEqual(isDone ? ["- account.rename ok"] : []);
    const { name } = (await browser.get("/account")).json.account;
    expect(name === "killed").toBe(isDone);
    expect(await onlyEvent("- account.rename ok", () => browser.put("/account", { name: "next" }))).toEqual({
      ...{ account_id: accountId, account_digest: DIGEST, ...inSession() },
    });
  });

  test("a sign-up has its account, then its session, and then its workspace, each with its event", async () => {
    // The third event is the first of the workspace's own log. The file of a workspace without the fourth is removed.
    for (const nth of [1, 2, 3, 4]) {
      const email = freshEmail();
      const wish = JSON.stringify({ email, password: PASSWORD, name: null, workspaceName: null, token: null });
      const origin = `{ address: "127.0.0.1", userAgent: "", device: null }`;
      const what = `signUp({ ...parts, signup: "open" }, ${wish}, ${origin})`;
      const events = await appended(async () => {
        expect(await killed(daemon.dataDir, { at, nth }, what)).not.toBe(0);
        await daemon.restart();
      });
      const all = ["- account.create ok", "- account.sign_in ok", null, "- installation.add_workspace ok"];
      const recorded = all.slice(0, isDone ? nth : nth - 1).filter((line) => line !== null);
      expect(events.map(({ line }) => line)).toEqual(recorded as string[]);
      const [account] = log.connection.all<[string]>("SELECT id FROM accounts WHERE email = ?", [email]).flat();
      expect(account !== undefined).toBe(nth > 1 || isDone);
      const founded = log.connection.all<[string]>("SELECT id FROM workspaces WHERE founder = ?", [
        account ?? "nobody",
      ]);
      expect(founded).toHaveLength(nth === 4 && isDone ? 1 : 0);
      const known = log.connection.all<[string]>("SELECT id FROM workspaces WHERE deleted_seq IS NULL").flat();
      expect(presentWorkspaces(dataDirectory(daemon.dataDir)).sort()).toEqual([logId, ...known].sort());
    }
  });
});

test("the log holds no secret", () => {
  expect(secrets.size).toBeGreaterThan(20);
  const stored = log.connection.all("SELECT * FROM events").map((row) => JSON.stringify(row));
  for (const suffix of ["", "-wal"]) {
    const bytes = readFileSync(`${workspaceFile(dataDirectory(daemon.dataDir), logId)}${suffix}`, "latin1");
    for (const secret of secrets) expect(bytes.includes(secret)).toBe(false);
  }
  for (const secret of secrets) expect(stored.some((row) => row.includes(secret))).toBe(false);
  expect(stored.some((row) => /@example\.com/.test(row))).toBe(false);
});

describe("verification", () => {
  const second = new SecondVerifier();
  afterAll(() => second[Symbol.asyncDispose]());

  /** Verifies a copy of the directory with a change of the log, by both programs. */
  async function verified(sql: string | null) {
    using directory = temporaryDirectory();
    const root = directory.join("data");
    cpSync(daemon.dataDir, root, { recursive: true });
    if (sql !== null) {
      using connection = openConnection(workspaceFile(dataDirectory(root), logId));
      connection.exec(sql);
      connection.truncateLog();
    }
    const ours = await governd(["verify", root, "--json"], { released: false });
    const theirs = await second.run(root);
    return { codes: [ours.code, theirs.code], said: theirs.out, out: ours.out };
  }

  compared("finds nothing in an honest one", async () => {
    const { codes, said, out } = await verified(null);
    expect([codes, said]).toEqual([[0, 0], expect.stringContaining("holds")]);
    expect(out).toContain(logId);
  });

  compared.each([
    ["details", `UPDATE events SET details = '{}' WHERE seq = 1`],
    ["an actor", "UPDATE events SET actor = replace(actor, 'usr_', 'key_') WHERE seq = 3"],
    ["blanked details", "UPDATE events SET details = NULL, details_salt = NULL WHERE seq = 2"],
    ["a removed event", "DELETE FROM events WHERE seq = 2"],
    ["a cut end", "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)"],
  ])("finds %s", async (_, sql) => {
    expect((await verified(sql)).codes).toEqual([1, 1]);
  });
});
