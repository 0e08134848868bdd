/** Passkeys in a real browser, with an authenticator that the browser plays. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { CDPSession, Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { OWNER, settled, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

/** A phone or a laptop with a finger reader, whose user is always there. */
const AUTHENTICATOR = {
  protocol: "ctap2",
  transport: "internal",
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

describe.skipIf(!hasChromium)("a passkey", () => {
  let stage: Stage;
  let page: Page;
  let device: CDPSession;
  let authenticatorId: string;
  /** By name: a passkey belongs to no address. */
  let home: string;

  beforeAll(async () => {
    stage = await Stage.open();
    home = `https://localhost:${new URL(stage.url).port}`;
    page = await (await stage.person({ baseURL: home })).newPage();
    device = await page.context().newCDPSession(page);
    await device.send("WebAuthn.enable", { enableUI: false });
    const options = { options: AUTHENTICATOR };
    ({ authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", options));
    const link = new URL(stage.daemon.ready.sign_up_url as string);
    await signUp(page, `${home}${link.pathname}${link.search}${link.hash}`);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const credentials = async () =>
    (await device.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length;

  async function signOut(): Promise<void> {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  }

  async function add(name: string): Promise<void> {
    await page.goto("/settings");
    await settled(page);
    await page.getByRole("button", { name: "Add a passkey …" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill(name);
    await page.getByLabel("Your password").fill(OWNER.password);
    await page.getByRole("button", { name: "Continue" }).click();
  }

  test("is made in the settings, with recovery codes, and then signs in instead of the password", async () => {
    await add("This laptop");
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByText("This laptop").waitFor();
    expect(await credentials()).toBe(1);
    // The browser offers it at once where the address is typed, and the one who is there takes it.
    const signedIn = page.waitForResponse((response) => response.url() === `${home}/account/sign-in/passkey`);
    await page.getByRole("button", { name: "Sign out" }).click();
    expect((await signedIn).status()).toBe(200);
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  });

  test("signs in by the button, too, and the password then needs a code", async () => {
    await device.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: false });
    await signOut();
    await page.getByLabel("Email").fill(OWNER.email);
    await page.getByLabel("Password").fill(OWNER.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Code").waitFor();
    await device.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: true });
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  });

  test("cannot be made twice in one device", async () => {
    await add("Again");
    await page.getByText("This authenticator has a passkey of the account already.").waitFor();
    await page.keyboard.press("Escape");
    expect(await credentials()).toBe(1);
  });

  test("is removed after a warning that it is the last factor", async () => {
    await page.goto("/settings");
    await settled(page);
    await page.getByRole("button", { name: "Remove …" }).click();
    await page.getByText("It is your last factor").waitFor();
    await page.getByLabel("Your password").fill(OWNER.password);
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("None. With a passkey").waitFor();
    await device.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: false });
    await signOut();
    await page.getByLabel("Email").fill(OWNER.email);
    await page.getByLabel("Password").fill(OWNER.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await soon(async () => expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(1));
  });
});
