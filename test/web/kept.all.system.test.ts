/** Nothing that was typed, or that is shown only once, is lost by a key, a button or the end of a session. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, OWNER, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("what people type and get", () => {
  let stage: Stage;
  let context: BrowserContext;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    stage = await Stage.open();
    context = await stage.person();
    page = await context.newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const room = (rest = "") => `/workspaces/${kept.workspaceId}${rest}`;
  const dialog = () => page.getByRole("dialog");
  const value = () => dialog().getByRole("textbox", { name: "Value" });

  /** Opens the dialog that writes an entry, and types one. */
  async function typeEntry(key: string, text: string): Promise<void> {
    await page.goto(room("/agents/bot"));
    await page.getByRole("link", { name: "Data", exact: true }).click();
    await page.getByRole("button", { name: "Write", exact: true }).click();
    await delayFrames();
    await dialog().getByLabel("Key", { exact: true }).fill(key);
    await value().fill(text);
  }

  /** Delays what the page does after a frame, as a busy browser does: nothing may be lost meanwhile. */
  const delayFrames = () =>
    page.evaluate(() => {
      const { setTimeout } = globalThis;
      Object.assign(globalThis, {
        requestAnimationFrame: (frame: () => void) => setTimeout(frame, 1_000),
        setTimeout: (run: () => void, ms = 0) => setTimeout(run, ms + 1_000),
      });
    });

  /** Whether the browser would ask before it loads the page again. */
  const isHeld = () =>
    page.evaluate<boolean>(
      () =>
        // A function, since the page's policy forbids to evaluate a text.
        !(globalThis as unknown as EventTarget).dispatchEvent(new Event("beforeunload", { cancelable: true })),
    );

  const ways: readonly (readonly [name: string, leave: () => Promise<unknown>])[] = [
    ["Escape", () => page.keyboard.press("Escape")],
    ["the button Close", () => dialog().getByRole("button", { name: "Close" }).click()],
    ["the button Cancel", () => dialog().getByRole("button", { name: "Cancel" }).click()],
    ["the browser's button Back", () => page.goBack()],
  ];
  test.each(ways)("a typed entry survives %s, unless it is discarded", async (_way, leave) => {
    await typeEntry("notes/1", "half a thought");
    const address = page.url();
    expect(await isHeld()).toBe(true);
    await leave();
    await dialog().getByText("What you typed is not saved.").waitFor();
    await dialog().getByRole("button", { name: "Keep editing" }).click();
    expect([await value().inputValue(), page.url()]).toEqual(["half a thought", address]);
    await leave();
    await dialog().getByRole("button", { name: "Discard it" }).click();
    await dialog().waitFor({ state: "detached" });
  });

  test("a dialog in which nothing was typed closes at once, and the browser goes back", async () => {
    await page.goto(room("/keys"));
    await page.goto(room("/agents/bot/data"));
    await page.getByRole("button", { name: "Write", exact: true }).click();
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    await page.goBack();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
  });

  test("a new key stays until somebody says that it is kept", async () => {
    await page.goto(room());
    await page.getByRole("link", { name: "API keys", exact: true }).click();
    await page.getByRole("button", { name: "New key" }).click();
    await delayFrames();
    await dialog().getByLabel("Label").fill("bot");
    await dialog().getByRole("button", { name: "Make the key" }).click();
    const shown = page.getByLabel("API key", { exact: true });
    const key = await shown.textContent();
    for (let times = 0; times < 2; times++) await page.keyboard.press("Escape");
    await page.goBack();
    expect(await isHeld()).toBe(true);
    expect([await shown.textContent(), await dialog().getByRole("button", { name: "Close" }).count()]).toEqual([
      key,
      0,
    ]);
    await dialog().getByRole("button", { name: "I have kept the key" }).click();
    await dialog().waitFor({ state: "detached" });
    expect(await isHeld()).toBe(false);
  });

  test("a typed entry survives the end of the session, and is written after signing in again", async () => {
    await typeEntry("notes/2", "a whole thought");
    await context.clearCookies();
    await dialog().getByRole("button", { name: "Write", exact: true }).click();
    const again = page.getByRole("dialog", { name: "Sign in again" });
    await again.getByLabel("Password").fill(OWNER.password);
    // Nothing closes it, and it hides what is behind it.
    for (let times = 0; times < 2; times++) await page.keyboard.press("Escape");
    await again.getByRole("button", { name: "Sign in" }).click();
    await again.waitFor({ state: "detached" });
    expect(await value().inputValue()).toBe("a whole thought");
    await dialog().getByRole("button", { name: "Write", exact: true }).click();
    await page.locator("article pre", { hasText: "a whole thought" }).waitFor();
  });

  test("a view that failed when the session ended is loaded after signing in again", async () => {
    await page.goto(room("/keys"));
    await page.getByText("in force").first().waitFor();
    await context.clearCookies();
    await page.getByRole("link", { name: "Members", exact: true }).click();
    const again = page.getByRole("dialog", { name: "Sign in again" });
    await again.getByLabel("Password").fill(OWNER.password);
    await again.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(OWNER.email).waitFor();
  });

  test("the role of a member changes only when it is confirmed", async () => {
    await page.goto(room("/members"));
    await page.getByRole("button", { name: `Role of ${OWNER.name}` }).click();
    await dialog().getByLabel("Role", { exact: true }).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    expect(await page.getByRole("cell", { name: "owner" }).count()).toBe(1);
    await page.getByRole("button", { name: `Role of ${OWNER.name}` }).click();
    await dialog().getByLabel("Role", { exact: true }).selectOption("auditor");
    await dialog().getByRole("button", { name: "Change the role" }).click();
    // The only owner stays the owner, and the dialog says so.
    await dialog().getByRole("alert").waitFor();
  });
});
