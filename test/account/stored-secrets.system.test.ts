/**
 * No secret of an account can be taken from the databases: whatever a person is shown or types is searched for, in every
 * form that a file could hold it, in all files except the keys.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { Secret, TOTP } from "otpauth";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { TestDaemon } from "../support/daemon.ts";
import { Browser, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";

let daemon: TestDaemon;
let owner: Person;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
afterAll(() => daemon[Symbol.asyncDispose]());

const codeAt = (secret: string, ms: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: ms });

const signIn = (code: string, email = owner.email) =>
  new Browser(daemon).post("/account/sign-in", { email, password: PASSWORD, code });

/** The forms in which a file could hold a text. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  const raw = /^[A-Z2-7]{32}$/.test(secret) ? [Buffer.from(Secret.fromBase32(secret).buffer)] : [];
  return [bytes, ...raw].flatMap((form) => [
    form,
    Buffer.from(form.toString("hex")),
    // The last digits depend on what follows.
    Buffer.from(form.toString("base64").slice(0, 4 * Math.floor(form.length / 3))),
    Buffer.from(form.toString("utf16le")),
  ]);
}

/** The names of the files outside `keys/` and `tls/` that hold one of these secrets. */
function filesWith(secrets: readonly string[]): string[] {
  const forms = secrets.flatMap(formsOf);
  const names = readdirSync(daemon.dataDir, { recursive: true }) as string[];
  return names.filter((name) => {
    const path = join(daemon.dataDir, name);
    if (/^(keys|tls)\b/.test(name) || !statSync(path).isFile()) return false;
    const content = readFileSync(path);
    return forms.some((form) => content.includes(form));
  });
}

function change(sql: string, ...values: string[]): void {
  using connection = openConnection(workspaceFile(dataDirectory(daemon.dataDir), daemon.installationId));
  expect(connection.change(sql, values)).toBe(1);
}

const keyFile = () => dataDirectory(daemon.dataDir).factorKey;

describe("secrets of accounts", () => {
  let secret: string;
  let recovery: string[];

  test("are in no database, nor in its write-ahead log", async () => {
    const begun = await owner.browser.post("/account/totp", { password: PASSWORD });
    secret = begun.json.secret;
    const confirmed = await owner.browser.post("/account/totp/confirm", { code: codeAt(secret, Date.now() - 30_000) });
    recovery = confirmed.json.recovery_codes;
    const invitation = await owner.browser.post(`/account/workspaces/${owner.workspaceId}/invitations`, {
      role: "member",
    });
    const cookies = [...owner.browser.cookies.values()];
    expect([secret, recovery.length, invitation.status, cookies.length]).toEqual([expect.any(String), 10, 201, 2]);
    const secrets = [PASSWORD, secret, ...recovery, invitation.json.token, ...cookies];
    expect(filesWith(secrets)).toEqual([]);
    await daemon.restart();
    expect(filesWith(secrets)).toEqual([]);
    expect((await signIn(codeAt(secret, Date.now()))).status).toBe(200);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  });

  test("belong to their account: another row cannot take them", async () => {
    const { email } = await invited(owner, "member");
    const taken = "SELECT totp_secret FROM accounts WHERE email = ?";
    change(`UPDATE accounts SET totp_secret = (${taken}), totp_since = 1 WHERE email = ?`, owner.email, email);
    const answer = await signIn(codeAt(secret, Date.now()), email);
    expect([answer.status, answer.json.code]).toEqual([503, "unavailable"]);
    change("UPDATE accounts SET totp_secret = NULL, totp_since = NULL WHERE email = ?", email);
  });

  test("need the key: without it a recovery code is accepted, nothing replaces it, and check says so", async () => {
    const away = `${keyFile()}.away`;
    renameSync(keyFile(), away);
    const refused = await signIn(codeAt(secret, Date.now() + 30_000));
    expect([refused.status, refused.json.code, refused.json.detail]).toEqual([
      503,
      "unavailable",
      expect.stringContaining("recovery code"),
    ]);
    expect((await signIn(recovery[0] as string)).status).toBe(200);
    const checked = await governd(["check", "--data-dir", daemon.dataDir]);
    expect(checked.out).toContain("PROBLEM  second_factor: the key does not decrypt");
    expect(checked.code).toBe(1);
    // Once nobody needs the lost key, a new one is created.
    const off = { password: PASSWORD, code: recovery[1] };
    expect((await owner.browser.post("/account/totp/disable", off)).status).toBe(204);
    const begun = await owner.browser.post("/account/totp", { password: PASSWORD });
    expect(begun.status).toBe(200);
    expect(readFileSync(keyFile(), "utf8")).not.toBe(readFileSync(away, "utf8"));
  });
});
