/** Ways back, titles of tabs, a daemon that goes away, and texts that would hide or turn something. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { startGovernd } from "../cli/governd-process.ts";
import { eventually, soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Inhabited, inhabit } from "./support/inhabit.ts";
import { settled, signUp } from "./support/people.ts";
import { places } from "./support/places.ts";

setDefaultTimeout(BROWSER_TEST_MS);

/** More than a page of a list. */
const ENTRIES = 1_250;

/** Right-to-left override, a zero-width space, and a tag that no font shows. */
const HIDDEN = "\u202efdp\u200b\u{e0041}";
const ESCAPED = "⟨U+202E⟩fdp⟨U+200B⟩⟨U+E0041⟩";

describe.skipIf(!hasChromium)("the dashboard", () => {
  let stage: Stage;
  let page: Page;
  let inhabited: Inhabited;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ viewport: { width: 1280, height: 700 }, locale: "de-DE" })).newPage();
    inhabited = await inhabit(stage, await signUp(page, stage.daemon.ready.sign_up_url as string));
    const keys = Array.from({ length: ENTRIES }, (_, index) => `entry-${String(index).padStart(4, "0")}`);
    for (const from of [0, 500, 1_000]) await batch("many", keys.slice(from, from + 500));
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const room = (rest = "") => `/workspaces/${inhabited.workspaceId}${rest}`;
  const scrolled = () => page.evaluate<number>(() => (globalThis as unknown as { scrollY: number }).scrollY);

  async function batch(agent_id: string, keys: readonly string[]): Promise<void> {
    const operations = keys.map((key) => ({ op: "write", key, value: `of ${key}` }));
    const body = JSON.stringify({ agent_id, operations });
    const answer = await stage.daemon.ask("/v1/data/batch", { method: "POST", apiKey: inhabited.apiKey, body });
    expect(answer.status).toBe(200);
  }

  const scrollTo = (y: number) =>
    page.evaluate((to) => (globalThis as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, to), y);
  const rows = () => page.getByRole("list", { name: "Entries" }).getByRole("listitem");
  const keysAreShown = () => page.getByRole("button", { name: "New key" }).waitFor();

  /** Loads all pages of the list, scrolls to a place in it, and returns the place and the name of a row there. */
  async function readFar(): Promise<{ place: number; name: string }> {
    await page.goto(room("/agents/many/data"));
    await page.getByText("entry-0000", { exact: true }).waitFor();
    // The next page is loaded as its place comes near.
    const end = page.getByText(`entry-${ENTRIES - 1}`, { exact: true });
    await eventually("the last row is there", async () => {
      await scrollTo(1_000_000);
      return (await end.count()) === 1;
    });
    await soon(async () => expect(await rows().count()).toBeLessThan(200));
    await scrollTo(20_000);
    await soon(async () => expect(await end.count()).toBe(0));
    expect(await scrolled()).toBe(20_000);
    return { place: 20_000, name: (await rows().locator(".tree-name").nth(45).textContent()) ?? "" };
  }

  // Several rounds: whether the rows arrive before or after the browser reports a scroll is different in each.
  test.each(Array.from({ length: 6 }, (_, round) => round))(
    "goes back to the rows and the place where somebody was, also after a load of the page (%i)",
    async () => {
      await page.goto(room("/keys"));
      const { place, name } = await readFar();
      const last = page.getByText(name, { exact: true });
      // A link that is in sight, so that nothing scrolls to it.
      await page.getByRole("link", { name: "API keys", exact: true }).click();
      await keysAreShown();
      await page.goBack();
      await eventually("the place is restored", async () => (await scrolled()) === place);
      await soon(async () => expect(await last.count()).toBe(1));
      await page.goForward();
      await keysAreShown();
      expect(await scrolled()).toBe(0);
      await page.goBack();
      await eventually("the place is restored again", async () => (await scrolled()) === place);
      const stored = () =>
        page.evaluate<number>(() => (globalThis as unknown as { history: { state: { y: number } } }).history.state.y);
      await eventually("the browser knows the place", async () => (await stored()) === place);
      await page.reload();
      await eventually("the place is restored after a load", async () => (await scrolled()) === place);
      await soon(async () => expect(await last.count()).toBe(1));
    },
  );

  test("has a title for each page and tab", async () => {
    const titles = new Map<string, string>();
    for (const { path } of places(inhabited).filter((place) => place.act === undefined)) {
      if (path.includes("?") || path.endsWith("/none/of/yours")) continue;
      await page.goto(path);
      await settled(page);
      await eventually(`${path} has a title`, async () => (await page.title()).includes(" · "));
      titles.set(path, await page.title());
    }
    expect(titles.get(room("/agents/support-bot/versions"))).toBe("Versions · support-bot · Acme · governd");
    expect(new Set(titles.values()).size).toBe(titles.size);
  });

  test("shows times in one form, with UTC, whatever the browser's language is", async () => {
    await page.goto(room(`/events/${inhabited.blockedEventId}`));
    const time = page.getByRole("time").last();
    await time.waitFor();
    await soon(async () =>
      expect(await time.textContent()).toMatch(/^\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d:\d\d [A-Z]/),
    );
    await soon(async () =>
      expect(await time.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/),
    );
  });

  test("shows what cannot be seen as escapes, wherever it is", async () => {
    const key = `invoice-${HIDDEN}`;
    await batch("odd", [key]);
    const agent = room("/agents/odd");
    for (const path of [`${agent}/audit`, `${agent}/data`, `${agent}/data?key=${encodeURIComponent(key)}`]) {
      await page.goto(path);
      await page.getByText(ESCAPED).first().waitFor();
      const left = await page.evaluate<string[]>(() => {
        const { document } = globalThis as unknown as { document: { documentElement: { innerHTML: string } } };
        return document.documentElement.innerHTML.match(/[\u202e\u200b\u{e0041}]/gu) ?? [];
      });
      expect([path, left.filter((character) => character !== "")]).toEqual([path, []]);
    }
    await soon(async () => expect(await page.title()).toContain(ESCAPED));
    await page.getByRole("button", { name: "Overwrite …" }).click();
    await page.getByText("characters that cannot be seen here: ⟨U+202E⟩").first().waitFor();
  });

  test("lets an officer look at what a suspended agent stored, and change nothing", async () => {
    await page.goto(room("/agents/nightly-report/data?key=2026/11/20"));
    await page.getByText("All sources were reached.").waitFor();
    await soon(async () => expect(await page.getByRole("alert").count()).toBe(0));
    await page.getByRole("button", { name: "Overwrite …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Write", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").filter({ hasText: "agent_suspended" }).waitFor();
  });

  test("finds agents by any part of their ids", async () => {
    await page.goto(room("/agents"));
    await page.getByLabel("Agents whose id contains").fill("bot");
    await page.getByRole("link", { name: "research" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "support-bot" }).waitFor();
  });

  test("names the entry that keeps a checkpoint from being restored", async () => {
    const send = (path: string, body: object, method = "POST") =>
      stage.daemon.ask(path, { method, apiKey: inhabited.apiKey, body: JSON.stringify(body) });
    await send("/v1/data/write", { agent_id: "strict", key: "notes/card", value: "secret project PRJ-1" });
    const made = (await (await send("/v1/checkpoints", { agent_id: "strict", label: "early" })).json()) as {
      id: string;
    };
    await send("/v1/data/write", { agent_id: "strict", key: "notes/card", value: "nothing" });
    const patterns = [{ name: "project", regex: "PRJ-[0-9]+", mode: "block" }];
    await send("/v1/config/strict", { policies: { screening: { patterns } } }, "PUT");
    await page.goto(room(`/agents/strict/checkpoints/${made.id}`));
    await page.getByText("1 entry changes back").first().waitFor();
    await page.getByRole("button", { name: "Restore …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByRole("alert").getByText("The entry is notes/card").waitFor();
  });

  test.skipIf(Bun.which("curl") === null)("gives a first command that works wherever the data are", async () => {
    await page.goto(room("/keys"));
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Make the key" }).click();
    const command = (await page.getByLabel("curl command", { exact: true }).textContent()) ?? "";
    const run = Bun.spawn(["sh", "-c", command], { cwd: "/", stdout: "pipe", stderr: "ignore" });
    expect(JSON.parse(await new Response(run.stdout).text())).toMatchObject({ allowed: true });
    await page.getByRole("button", { name: "I have kept the key" }).click();
  });

  test("loads what is shown when the daemon is back", async () => {
    const port = new URL(stage.url).port;
    await page.goto(room("/members"));
    await page.getByText("ada@example.org").waitFor();
    await stage.daemon.stop();
    await page.getByRole("link", { name: "API keys", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "No response from the daemon" }).waitFor();
    const again = await startGovernd(stage.dataDir, ["--listen", `127.0.0.1:${port}`]);
    try {
      await page.getByText("in force", { exact: true }).first().waitFor();
      await soon(async () => expect(await page.getByRole("alert").count()).toBe(0));
      await page.getByText("Live", { exact: true }).waitFor();
    } finally {
      await again.stop();
    }
  });
});
