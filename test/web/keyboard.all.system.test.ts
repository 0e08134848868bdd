/** The palette, the keys of every page, the theme, and what the title of the tab warns of. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Inhabited, inhabit } from "./support/inhabit.ts";
import { settled, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("every page of the dashboard", () => {
  let stage: Stage;
  let page: Page;
  let inhabited: Inhabited;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ colorScheme: "light" })).newPage();
    inhabited = await inhabit(stage, await signUp(page, stage.daemon.ready.sign_up_url as string));
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const room = (rest = "") => `/workspaces/${inhabited.workspaceId}${rest}`;
  const dialog = () => page.getByRole("dialog");
  const field = () => dialog().getByRole("combobox");
  const open = async (path: string) => {
    await page.goto(path);
    await settled(page);
  };
  const isAt = (path: string) => soon(async () => expect(new URL(page.url()).pathname).toBe(path));
  const focused = () =>
    page.evaluate<string>(
      () =>
        (globalThis as unknown as { document: { activeElement: { textContent: string } } }).document.activeElement
          .textContent,
    );

  test("goes to pages, agents and events by a few letters", async () => {
    await open(room());
    await page.keyboard.press("Control+k");
    await field().pressSequentially("memb");
    await page.keyboard.press("Enter");
    await isAt(room("/members"));
    await page.keyboard.press("Control+k");
    await field().fill("night");
    await dialog().getByRole("option", { name: "nightly-report" }).waitFor();
    await page.keyboard.press("Enter");
    await isAt(room("/agents/nightly-report"));
    await page.keyboard.press("Control+k");
    await field().fill(inhabited.blockedEventId);
    await page.keyboard.press("Enter");
    await isAt(room(`/events/${inhabited.blockedEventId}`));
  });

  test("moves the choice with the arrows, and closes with Escape", async () => {
    await open(room());
    await page.keyboard.press("Control+k");
    const chosen = dialog().locator('[aria-selected="true"]');
    await chosen.filter({ hasText: "Overview" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await chosen.filter({ hasText: "Agents" }).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await chosen.filter({ hasText: "Theme: dark" }).waitFor();
    await field().fill("no such thing");
    await dialog().getByText("Nothing is called that.").waitFor();
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
  });

  test("is used with keys alone", async () => {
    await open(room("/agents"));
    await page.getByRole("link", { name: "support-bot" }).waitFor();
    await page.keyboard.press("j");
    await soon(async () => expect(await focused()).toBe("nightly-report"));
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await soon(async () => expect(await focused()).toBe("research"));
    await page.keyboard.press("/");
    // What is typed into a field is text.
    await page.keyboard.type("j?k/");
    await soon(async () => expect(await page.getByLabel("Agents whose id contains").inputValue()).toBe("j?k/"));
    await open(room("/members"));
    await page.keyboard.press("?");
    await dialog().getByText("The next and the previous row of a list").waitFor();
  });

  test("has the theme that was chosen, also after a load", async () => {
    await open("/settings");
    const ground = () =>
      page.evaluate<string>(() => {
        const { document, getComputedStyle } = globalThis as unknown as {
          document: { documentElement: object };
          getComputedStyle(element: object): { backgroundColor: string };
        };
        return getComputedStyle(document.documentElement).backgroundColor;
      });
    const light = await ground();
    await page.getByRole("button", { name: "dark" }).click();
    await soon(async () => expect(await ground()).not.toBe(light));
    await page.reload();
    await settled(page);
    await soon(async () => expect(await ground()).not.toBe(light));
    await page.getByRole("button", { name: "system" }).click();
    await soon(async () => expect(await ground()).toBe(light));
  });

  test("says in the title of its tab that writes were refused, until somebody looks", async () => {
    await open(room("/keys"));
    await page.getByText("Live", { exact: true }).waitFor();
    const body = JSON.stringify({ agent_id: "support-bot", key: "k", value: "Card 4111 1111 1111 1111" });
    await stage.daemon.ask("/v1/data/write", { method: "POST", apiKey: inhabited.apiKey, body });
    await soon(async () => expect(await page.title()).toBe("1 write refused · API keys · Acme · governd"));
    await page.getByRole("link", { name: "1 write refused" }).click();
    await soon(async () => expect(await page.title()).toBe("Agents · Acme · governd"));
  });
});
