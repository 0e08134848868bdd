/** An account is erased: by its owner over the API, and by the operator on the machine. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Secret, TOTP } from "otpauth";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import type { Answered } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { compared, HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { Browser, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const python = new SecondVerifier();
let daemon: TestDaemon;
let owner: Person;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl), {
    name: "Ada Lovelace of Ockham",
    workspace_name: "Engines",
  });
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await python[Symbol.asyncDispose]();
});

const erase = (person: Person, body: object | undefined): Promise<Answered> =>
  person.browser.visit({ method: "DELETE", path: "/account", ...(body && { body }) });

/** Turns on a second factor. Returns the recovery codes. */
async function withFactor({ browser }: Person): Promise<string[]> {
  const { json } = await browser.post("/account/totp", { password: PASSWORD });
  const code = new TOTP({ secret: Secret.fromBase32(json.secret) }).generate();
  return (await browser.post("/account/totp/confirm", { code })).json.recovery_codes;
}

const signIn = ({ browser, email }: Person, code: string) =>
  browser.post("/account/sign-in", { email, password: PASSWORD, code });

/** The names of the files of the data directory that hold one of these texts. */
const filesWith = (texts: readonly string[]): string[] =>
  (readdirSync(daemon.dataDir, { recursive: true }) as string[]).filter((name) => {
    const path = join(daemon.dataDir, name);
    return statSync(path).isFile() && texts.some((text) => readFileSync(path).includes(text));
  });

/** Reads in the log of the installation. */
function inLog<T>(read: (log: Connection) => T): T {
  const path = workspaceFile(dataDirectory(daemon.dataDir), daemon.installationId);
  using log = openConnection(path, { readOnly: true });
  return read(log);
}

/** The operations of an account's own events, with whether each has its details. */
function eventsOf({ accountId }: Person): string[] {
  const sql = `SELECT operation || (CASE WHEN details IS NULL THEN '' ELSE ' with details' END) FROM events
    WHERE actor = ?1 ORDER BY seq`;
  return inLog((log) => log.all<[string]>(sql, [accountId]).flat());
}

/** The tables besides the events that name an account. */
const tablesWith = ({ accountId }: Person): string[] =>
  inLog((log) =>
    log
      .all<[string]>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'events' ORDER BY name")
      .flat()
      .filter((table) => log.all<unknown[]>(`SELECT * FROM ${table}`).flat().includes(accountId)),
  );

/** The newest event of the log of the installation that is about an account and has its details. */
function newest(): object {
  const sql =
    "SELECT operation, details FROM events WHERE operation LIKE 'account.%' AND details IS NOT NULL ORDER BY seq DESC";
  const [operation, details] = inLog((log) => log.get<[string, string]>(sql)) as [string, string];
  return { operation, details: JSON.parse(details) };
}

/** Both programs find nothing wrong with the data directory. */
async function expectVerified(): Promise<void> {
  const { code, out } = await governd(["verify", daemon.dataDir]);
  expect([code, out]).toEqual([0, expect.stringContaining("Verified")]);
  if (HAS_PYTHON) expect(await python.run(daemon.dataDir)).toMatchObject({ code: 0, codes: [] });
}

describe("by its owner", () => {
  let codes: string[];
  let guest: Person;

  test("needs the password, a second factor and its code", async () => {
    expect((await erase(owner, undefined)).json).toMatchObject({ status: 400, param: "password" });
    expect((await erase(owner, { password: "another long password" })).json.code).toBe("password_wrong");
    expect((await erase(owner, { password: PASSWORD })).json.code).toBe("second_factor_missing");
    codes = await withFactor(owner);
    expect((await erase(owner, { password: PASSWORD })).json).toMatchObject({ status: 400, param: "code" });
    expect((await erase(owner, { password: PASSWORD, code: "123-wrong" })).json.code).toBe("second_factor_failed");
    expect((await new Browser(daemon).visit({ method: "DELETE", path: "/account", body: {} })).status).toBe(401);
  });

  test("is refused while a workspace would be without an owner, and changes nothing", async () => {
    guest = await invited(owner, "member");
    const before = eventsOf(owner);
    const refused = await erase(owner, { password: PASSWORD, code: codes[0] });
    expect(refused.json).toMatchObject({ status: 409, code: "last_owner" });
    expect(eventsOf(owner)).toEqual(before);
    const path = `/account/workspaces/${owner.workspaceId}/members/${guest.accountId}`;
    expect((await owner.browser.put(path, { role: "owner" })).status).toBe(200);
  });

  test("removes rows, addresses and the details of its events; the events stay, and the log verifies", async () => {
    await owner.browser.post("/account/sign-out");
    expect((await signIn(owner, codes[1] as string)).status).toBe(200);
    const before = eventsOf(owner).map((line) => line.replace(" with details", ""));
    expect(filesWith([owner.email])).not.toEqual([]);

    const erased = await erase(owner, { password: PASSWORD, code: codes[0] });
    expect([erased.status, owner.browser.session]).toEqual([204, undefined]);
    expect((await owner.browser.get("/account")).status).toBe(401);
    expect((await signIn(owner, codes[2] as string)).json.code).toBe("sign_in_failed");
    expect(eventsOf(owner)).toEqual([
      ...before.map((name) => (name.startsWith("account.") ? name : `${name} with details`)),
      "account.erase with details",
    ]);
    expect(newest()).toMatchObject({
      operation: "account.erase",
      details: { account_id: owner.accountId, operator: false, links: [expect.stringMatching(/^inv_/)] },
    });
    // That the account made a workspace stays, under its id.
    expect(tablesWith(owner)).toEqual(["workspaces"]);
    const members = await guest.browser.get(`/account/workspaces/${owner.workspaceId}/members`);
    expect(members.json.data.map((member: { account_id: string }) => member.account_id)).toEqual([guest.accountId]);
    await daemon.restart();
    expect(filesWith([owner.email, "Ada Lovelace of Ockham"])).toEqual([]);
    await expectVerified();
  });
});

describe("by the operator", () => {
  test("says what would be lost, is refused for the only owner, and is done beside the daemon", async () => {
    const link = await governd(["account", "link", "--data-dir", daemon.dataDir, "--json"]);
    const alone = await signUp(daemon, link.json<{ token: string }>().token);
    const member = await invited(alone, "auditor");
    const words = ["account", "erase", "--data-dir", daemon.dataDir, "--json", "--email"];
    expect(await governd([...words, alone.email, "--yes"])).toMatchObject({
      code: 2,
      err: expect.stringContaining(alone.workspaceId),
    });
    const operator = ["account", "operator", "--data-dir", daemon.dataDir, "--email", member.email];
    expect((await governd(operator)).code).toBe(0);
    const asked = await governd([...words, member.email]);
    expect(asked.json()).toEqual({ account_id: member.accountId, workspaces: [alone.workspaceId], erased: false });
    expect((await member.browser.get("/account")).status).toBe(200);
    expect(tablesWith(member)).toContain("accounts");
    const done = await governd([...words, member.email, "--yes"]);
    expect([done.code, done.json().erased]).toEqual([0, true]);
    expect((await member.browser.get("/account")).status).toBe(401);
    expect(newest()).toMatchObject({ details: { account_id: member.accountId, operator: true, links: [] } });
    expect(tablesWith(member)).toEqual([]);
    await expectVerified();
    expect((await governd([...words, member.email, "--yes"])).err).toContain("no such account");
  });
});

describe("what was changed afterwards is found", () => {
  const changed = (sql: string) => async (log: Connection) => {
    expect(log.change(sql, [])).toBeGreaterThan(0);
  };

  const CHANGES: Readonly<Record<string, [string, (log: Connection) => Promise<void>]>> = {
    "the details of another account's event are gone": [
      "details_missing",
      changed(`UPDATE events SET details = NULL, details_salt = NULL WHERE seq =
        (SELECT max(seq) FROM events WHERE operation = 'account.sign_in' AND details IS NOT NULL)`),
    ],
    "the details of the erasure are gone": [
      "details_missing",
      changed("UPDATE events SET details = NULL, details_salt = NULL WHERE operation = 'account.erase'"),
    ],
    "a row of the account is back": [
      "row_added",
      changed(`INSERT INTO accounts (id, codes, email, name, password, password_changed_at, totp_step, salt, created_seq)
        SELECT 'usr_00000000000000000000000000', codes, 'x@example.com', name, password, password_changed_at, totp_step, salt, created_seq
        FROM accounts LIMIT 1`),
    ],
  };

  for (const [what, [code, change]] of Object.entries(CHANGES)) {
    compared(what, async () => {
      using copy = temporaryDirectory();
      const path = copy.join(`${daemon.installationId}.db`);
      inLog((log) => log.run("VACUUM INTO ?", [path]));
      {
        using own = openConnection(path);
        await change(own);
      }
      const said = await governd(["verify", "--json", path]);
      const codes = said
        .json<{ sources: { problems: { code: string }[] }[] }>()
        .sources[0]?.problems.map((one) => one.code);
      expect([said.code, codes]).toEqual([1, expect.arrayContaining([code])]);
      const second = await python.run(path);
      expect([second.code, second.codes]).toEqual([1, expect.arrayContaining([code])]);
    });
  }
});
