import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { governd } from "../cli/governd.ts";
import type { Answered } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { Browser, freshEmail, PASSWORD, signUp, tokenOf } from "./browser.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { signup: "closed" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Printed {
  kind: string;
  url: string;
  token: string;
}

const link = async (...words: string[]): Promise<Printed> => {
  const printed = await governd(["account", "link", ...words, "--json", "--data-dir", daemon.dataDir]);
  expect({ code: printed.code, err: printed.err }).toEqual({ code: 0, err: "" });
  return printed.json<Printed>();
};

test("for another account, beside a running daemon that takes no sign-ups", async () => {
  const { kind, url, token } = await link();
  expect(kind).toBe("setup");
  expect(url).toBe(`https://127.0.0.1:8443/sign-up#token=${token}`);
  const one = await signUp(daemon, tokenOf(daemon.signUpUrl));
  const two = await signUp(daemon, token);
  expect(one.workspaceId).not.toBe(two.workspaceId);
});

test("and the first account that is made by it ends the one that the start printed", async () => {
  await using other = await TestDaemon.start();
  const printed = await governd(["account", "link", "--json", "--data-dir", other.dataDir]);
  await signUp(other, printed.json<Printed>().token);
  const answer = await new Browser(other).post("/account/links/inspect", { token: tokenOf(other.signUpUrl) });
  expect([answer.status, answer.json.code]).toEqual([404, "link_not_found"]);
});

test.each([
  [["--hostnames", "*.example.com,Gov.example.com", "--listen", "0.0.0.0:443"], "https://gov.example.com/"],
  [["--hostnames", "*.example.com"], "https://127.0.0.1:8443/"],
  [["--hostnames", "fd00:0::7"], "https://[fd00::7]:8443/"],
])("name an address that a browser can open: %p", async (flags, base) => {
  expect((await link(...flags)).url).toStartWith(base);
});

test("for a workspace that the command line made", async () => {
  const { id, view } = await daemon.workspace();
  const { kind, token } = await link("--workspace", id, "--hostnames", "gov.example.com");
  expect(kind).toBe("invitation");
  const person = await signUp(daemon, token);
  expect([person.workspaceId, person.apiKey]).toEqual([id, null]);
  expect((await person.browser.get(`/account/workspaces/${id}`)).json.role).toBe("owner");
  expect(view.eventsAfter(-1).at(-1)?.line).toBe("- member.join ok");
});

test("for a password that was forgotten", async () => {
  const person = await signUp(daemon, (await link()).token);
  const { kind, token } = await link("--email", person.email.toUpperCase());
  expect(kind).toBe("reset");
  const browser = new Browser(daemon);
  const short = await browser.post("/account/password/reset", { token, new_password: "short" });
  expect([short.status, short.json.param]).toEqual([400, "new_password"]);
  const wish = { token, new_password: `${PASSWORD}, another one` };
  expect(
    (await browser.post("/account/sign-up", { ...wish, new_password: undefined, email: "a@b", password: PASSWORD }))
      .status,
  ).toBe(404);
  expect((await browser.post("/account/password/reset", wish)).status).toBe(204);
  expect((await browser.post("/account/password/reset", wish)).json.code).toBe("link_not_found");
  expect((await person.browser.get("/account")).status).toBe(401);
  const sign = (password: string) => browser.post("/account/sign-in", { email: person.email, password });
  expect((await sign(PASSWORD)).status).toBe(401);
  expect((await sign(wish.new_password)).status).toBe(200);
});

test("links are over after seven days, and accounts are listed", async () => {
  const { token } = await link();
  await daemon.restart(7 * 86_400_000 + 1_000);
  const { status } = await new Browser(daemon).post("/account/links/inspect", { token });
  expect(status).toBe(404);
  await daemon.restart();
  const { out } = await governd(["account", "list", "--json", "--data-dir", daemon.dataDir]);
  expect(JSON.parse(out).data.length).toBeGreaterThanOrEqual(4);
  expect(out).not.toContain("argon2");
});

test("what makes no sense is refused", async () => {
  for (const words of [
    ["--workspace", "ws_none"],
    ["--email", "nobody@example.com"],
    ["--email", "a@example.com", "--workspace", "ws_none"],
    ["--role", "owner"],
    ["--without-totp"],
  ]) {
    const { code, out } = await governd(["account", "link", ...words, "--data-dir", daemon.dataDir]);
    expect({ words, code, out }).toEqual({ words, code: 2, out: "" });
  }
});

test("a key is rotated on the command line", async () => {
  const { id } = await daemon.workspace();
  const made = await governd([
    "key",
    "create",
    "--workspace",
    id,
    "--label",
    "x",
    "--json",
    "--data-dir",
    daemon.dataDir,
  ]);
  const { key_id, api_key } = made.json<{ key_id: string; api_key: string }>();
  const words = ["key", "rotate", key_id, "--overlap", "0s", "--json", "--data-dir", daemon.dataDir];
  const rotated = (await governd(words)).json<{ api_key: string; replaces: string }>();
  expect(rotated.replaces).toBe(key_id);
  expect((await daemon.client(api_key).get("/v1/agents")).status).toBe(401);
  expect((await daemon.client(rotated.api_key).get("/v1/agents")).status).toBe(200);
  expect((await governd(words)).code).toBe(2);
});

test("a common password is refused wherever one is set, and never repeated", async () => {
  const { token } = await link();
  const email = freshEmail();
  const commons = ["qwertyqwerty", "Password1234", "governd-governd", email];
  const signUpWith = (password: string) => new Browser(daemon).post("/account/sign-up", { token, email, password });
  const person = { email, browser: new Browser(daemon) };
  const refusedAt = async (param: string, send: (password: string) => Promise<Answered>) => {
    for (const password of commons) {
      const { status, json, text } = await send(password);
      expect([status, json.code, json.param]).toEqual([400, "invalid_request", param]);
      expect(text.toLowerCase()).not.toContain(password.toLowerCase());
    }
  };
  await refusedAt("password", signUpWith);
  expect((await person.browser.post("/account/sign-up", { token, email, password: PASSWORD })).status).toBe(201);
  await refusedAt("new_password", (next) =>
    person.browser.put("/account/password", { current_password: PASSWORD, new_password: next }),
  );
  const reset = (await link("--email", email)).token;
  const resetTo = (next: string) =>
    new Browser(daemon).post("/account/password/reset", { token: reset, new_password: next });
  await refusedAt("new_password", resetTo);
  expect((await person.browser.get("/account")).status).toBe(200);
  expect((await resetTo(`${PASSWORD}, another one`)).status).toBe(204);
});
