/** One's own account in a real browser: the second factor, a forgotten password, a second workspace. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import type { BrowserContext, Page } from "playwright-core";
import { governd } from "../cli/governd.ts";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { OWNER, settled, signIn, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("an account", () => {
  let stage: Stage;
  let context: BrowserContext;
  let page: Page;
  let recoveryCode: string;

  beforeAll(async () => {
    stage = await Stage.open();
    context = await stage.person();
    page = await context.newPage();
    await signUp(page, stage.daemon.ready.sign_up_url as string);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test("turns on a second factor with what its QR code says, and gets recovery codes", async () => {
    await page.goto("/settings");
    await page.getByRole("button", { name: "Turn on …" }).click();
    await page.getByLabel("Your password").fill(OWNER.password);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("img", { name: /QR code/ }).waitFor();
    const secret = ((await page.getByLabel("Secret", { exact: true }).textContent()) ?? "").trim();
    await page.getByLabel("Code", { exact: true }).fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await page.getByRole("button", { name: "Turn on", exact: true }).click();
    const codes = ((await page.getByRole("region", { name: "Recovery codes" }).textContent()) ?? "").trim().split("\n");
    expect(codes.length).toBe(10);
    recoveryCode = codes[0] as string;
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByText("10 recovery codes left").waitFor();
  });

  test("is asked for it, and a recovery code stands in once", async () => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Email").fill(OWNER.email);
    await page.getByLabel("Password").fill(OWNER.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Code", { exact: true }).fill("000000");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Code", { exact: true }).fill(recoveryCode);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
    await page.goto("/settings");
    await page.getByText("9 recovery codes left").waitFor();
  });

  test("gets a new password by a link of the operator", async () => {
    const words = ["account", "link", "--email", OWNER.email, "--without-totp", "--json"];
    const made = await governd([...words, "--data-dir", stage.dataDir]);
    const { url } = made.json<{ url: string }>();
    const fresh = await (await stage.person()).newPage();
    await fresh.goto(`/reset${new URL(url).hash}`);
    await fresh.getByLabel("New password").fill("another long password");
    await fresh.getByRole("button", { name: "Change the password" }).click();
    await fresh.getByRole("heading", { name: "Sign in" }).waitFor();
    await soon(async () => expect(fresh.url()).not.toContain("token"));
    await signIn(fresh, { ...OWNER, password: "another long password" });
    await page.reload();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await soon(async () => expect(new URL(page.url()).searchParams.get("next")).toBe("/settings"));
    page = fresh;
  });

  test("makes a second workspace and goes between them", async () => {
    await page.goto("/workspaces");
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Lab");
    await page.getByRole("button", { name: "Make the workspace" }).click();
    await page.getByLabel("API key", { exact: true }).waitFor();
    await page.getByRole("button", { name: "I have kept the key" }).click();
    await page.getByRole("heading", { name: "Lab", level: 1 }).waitFor();
    await page.getByRole("combobox", { name: "Workspace" }).selectOption({ label: "Acme" });
    await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Lab", level: 1 }).waitFor();
    await settled(page);
  });

  test("is erased with a second factor, once a workspace has another owner", async () => {
    await page.goto("/settings");
    await page.getByText("turn on the authenticator first").waitFor();
    const code = await turnOn("another long password");
    await page.getByRole("button", { name: "Erase the account …" }).click();
    await page.getByLabel("Your password").fill("another long password");
    await page.getByLabel("Code", { exact: true }).fill(code);
    await page.getByRole("button", { name: "Erase the account", exact: true }).click();
    await page.getByRole("alert").getByText("only owner").waitFor();
    // The operator deletes what nobody else owns; here somebody else joins instead.
    for (const { workspace_id: id } of (await workspaces()).data) {
      const words = ["account", "link", "--workspace", id, "--json", "--data-dir", stage.dataDir];
      const { token } = (await governd(words)).json<{ token: string }>();
      await joinAs(`second-${id}@example.org`, token);
    }
    await page.getByRole("button", { name: "Erase the account", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByLabel("Email").fill(OWNER.email);
    await page.getByLabel("Password").fill("another long password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
  });

  /** Turns on the second factor. Returns a recovery code. */
  async function turnOn(password: string): Promise<string> {
    await page.getByRole("button", { name: "Turn on …" }).click();
    await page.getByLabel("Your password").fill(password);
    await page.getByRole("button", { name: "Continue" }).click();
    const secret = ((await page.getByLabel("Secret", { exact: true }).textContent()) ?? "").trim();
    await page.getByLabel("Code", { exact: true }).fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await page.getByRole("button", { name: "Turn on", exact: true }).click();
    const codes = ((await page.getByRole("region", { name: "Recovery codes" }).textContent()) ?? "").trim().split("\n");
    await page.getByRole("button", { name: "I have kept them" }).click();
    return codes[0] as string;
  }

  const workspaces = async () =>
    (await governd(["workspace", "list", "--json", "--data-dir", stage.dataDir])).json<{
      data: { workspace_id: string }[];
    }>();

  /** Somebody joins a workspace by a link. */
  async function joinAs(email: string, token: string): Promise<void> {
    const fresh = await (await stage.person()).newPage();
    await fresh.goto(`/join#token=${token}`);
    await fresh.getByLabel("Your name").fill("Grace");
    await fresh.getByLabel("Email").fill(email);
    await fresh.getByLabel("Password").fill("a long enough password");
    await fresh.getByRole("button", { name: "Make the account" }).click();
    await fresh.getByRole("button", { name: "Sign out" }).waitFor();
    await fresh.close();
  }
});
