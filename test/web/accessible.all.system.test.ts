/**
 * Every page, light and dark, wide and on a phone: axe finds nothing, and nothing is wider than the window. As a rule
 * a third of the pages have one of the looks, others in each run.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { effort } from "../effort.ts";
import { soon } from "../eventually.ts";
import { SEED } from "../seed.ts";
import { violations } from "./support/axe.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Inhabited, inhabit } from "./support/inhabit.ts";
import { type Kept, settled, signUp } from "./support/people.ts";
import { type Place, places } from "./support/places.ts";

setDefaultTimeout(BROWSER_TEST_MS);

const LOOKS: Record<string, BrowserContextOptions> = {
  "wide and light": { viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  "phone and dark": { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, colorScheme: "dark" },
};

/** Of the pages of each look, one in so many, others in each run. */
const EVERY = effort({ usual: 3 * Object.keys(LOOKS).length, long: 1 });
const FIRST = SEED % EVERY;

let stage: Stage;
let inhabited: Inhabited;
let storageState: NonNullable<BrowserContextOptions["storageState"]>;

/** What the checks find on the pages without a sign-in. They are checked before there is an account. */
const doors: Record<string, string[]> = {};

describe.skipIf(!hasChromium)("accessible", () => {
  beforeAll(async () => {
    stage = await Stage.open();
    const link = stage.daemon.ready.sign_up_url as string;
    for (const [name, look] of Object.entries(LOOKS)) {
      const context = await person(look);
      const page = await context.newPage();
      doors[name] = [];
      for (const path of ["/sign-in", link, "/join", "/reset"]) {
        doors[name].push(...(await check(page, { name: path, path })));
      }
      await context.close();
    }
    const context = await person({});
    const page = await context.newPage();
    const kept: Kept = await signUp(page, link);
    inhabited = await inhabit(stage, kept);
    storageState = await context.storageState();
    await context.close();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  /** The policy forbids scripts from elsewhere, so axe needs an exception; what the policy does is tested apart. */
  const person = (look: BrowserContextOptions): Promise<BrowserContext> => stage.person({ ...look, bypassCSP: true });

  async function check(page: Page, { name, path, act }: Place): Promise<string[]> {
    await page.goto(path);
    await settled(page);
    await act?.(page);
    return (await violations(page)).map((violation) => `${name}: ${violation}`);
  }

  describe.each(Object.keys(LOOKS).entries().toArray())("%i: %s", (look, name) => {
    test("doors", () => {
      expect(doors[name]).toEqual([]);
    });

    test("pages", async () => {
      const context = await person({ ...LOOKS[name], storageState });
      const page = await context.newPage();
      const found: string[] = [];
      const chosen = places(inhabited).filter((_, index) => (index + look) % EVERY === FIRST);
      for (const place of chosen) found.push(...(await check(page, place)));
      await context.close();
      expect(found).toEqual([]);
    });
  });

  test("the keyboard reaches the content past the navigation, and closes what it opened", async () => {
    const context = await stage.person({ storageState });
    const page = await context.newPage();
    await page.goto(`/workspaces/${inhabited.workspaceId}/keys`);
    await page.getByRole("button", { name: "New key" }).waitFor();
    await page.keyboard.press("Tab");
    await soon(async () =>
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content"),
    );
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await soon(async () => expect(await page.evaluate("document.activeElement.textContent")).toBe("New key"));
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await soon(async () => expect(await page.evaluate("document.activeElement.textContent")).toBe("New key"));
    await context.close();
  });

  test("the choice of a workspace moves by arrows and letters, and Enter opens it", async () => {
    const context = await person({ storageState });
    const page = await context.newPage();
    const room = `/workspaces/${inhabited.workspaceId}`;
    await page.goto(room);
    const other = await page.evaluate<string>(async () => {
      const made = await fetch("/account/workspaces", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name: "Beta" }),
      });
      return ((await made.json()) as { workspace_id: string }).workspace_id;
    });
    await page.goto(`${room}/keys`);
    await settled(page);
    const isAt = (path: string) => soon(async () => expect(new URL(page.url()).pathname).toBe(path));
    const choice = page.getByRole("combobox", { name: "Workspace" });
    const shows = (id: string) => soon(async () => expect(await choice.inputValue()).toBe(id));
    await choice.focus();
    for (const key of ["ArrowDown", "ArrowUp", "End", "Home", "b"]) await page.keyboard.press(key);
    await page.getByRole("status").filter({ hasText: "Enter opens Beta." }).waitFor();
    await shows(other);
    await isAt(`${room}/keys`);
    expect(await violations(page)).toEqual([]);
    // Without Enter the page stays, and the list shows the workspace of the page again.
    await page.keyboard.press("Tab");
    await shows(inhabited.workspaceId);
    await choice.focus();
    await page.keyboard.press("ArrowDown");
    await shows(other);
    await page.keyboard.press("Escape");
    await shows(inhabited.workspaceId);
    await isAt(`${room}/keys`);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await isAt(`/workspaces/${other}`);
    await shows(other);
    // A choice in the open list is final.
    await choice.selectOption(inhabited.workspaceId);
    await isAt(room);
    await context.close();
  });
});
