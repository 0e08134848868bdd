/**
 * The dashboard before a workspace of many agents: how soon each view shows what it asked for, its longest task, how much
 * it shifts, and what ten thousand live events leave behind. `GOVERND_TEST_LONG=1` makes the directory with 100 agents,
 * 50,000 entries and 1,000,000 events.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, BrowserContextOptions, CDPSession, Page } from "playwright-core";
import { governdProcess, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually, soon } from "../eventually.ts";
import { SEED } from "../seed.ts";
import { violations } from "./support/axe.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Fleet, makeFleet, WHOLE_FLEET } from "./support/fleet.ts";
import { OWNER, settled } from "./support/people.ts";
import { type Cost, costOf, watch } from "./support/watch.ts";

setDefaultTimeout(BROWSER_TEST_MS * effort({ usual: 1, long: 5 }));

const LIVE_EVENTS = effort({ usual: 1_500, long: 10_000 });
/** Entries in one request, each of which is an event. */
const BATCH = 250;

/** What a view may cost. Where other tests run beside this one, times say little: those of the long form count. */
const MOST: Cost = {
  shownMs: effort({ usual: 5_000, long: 500 }),
  taskMs: effort({ usual: 1_000, long: 100 }),
  shift: 0.05,
};

/** Of the views in each look, one in so many is checked for what some people cannot use, others in each run. */
const CHECK_EVERY = effort({ usual: 12, long: 1 });

const LOOKS: Record<string, BrowserContextOptions> = {
  "wide and light": { viewport: { width: 1360, height: 860 }, colorScheme: "light" },
  "wide and dark": { viewport: { width: 1360, height: 860 }, colorScheme: "dark" },
  "phone and light": { viewport: { width: 320, height: 740 }, isMobile: true, hasTouch: true, colorScheme: "light" },
  "phone and dark": { viewport: { width: 320, height: 740 }, isMobile: true, hasTouch: true, colorScheme: "dark" },
};

/** Loads of a view; the quickest counts, since the machine does other things, too. */
const LOADS = effort({ usual: 1, long: 4 });

describe.skipIf(!hasChromium)("a workspace of many agents", () => {
  let stage: Stage;
  let context: BrowserContext;
  let page: Page;
  let fleet: Fleet;
  const failed: string[] = [];

  beforeAll(async () => {
    const small = { agents: 20, entries: 1_000, events: 8_000, spanMs: WHOLE_FLEET.spanMs };
    stage = await Stage.open({}, async (dataDir) => {
      fleet = await makeFleet(dataDir, effort({ usual: 0, long: 1 }) === 1 ? WHOLE_FLEET : small);
    });
    const words = ["account", "link", "--workspace", fleet.workspaceId, "--json", "--data-dir", stage.dataDir];
    const { url } = (await governdProcess(words)).json<{ url: string }>();
    context = await stage.person({ viewport: { width: 1360, height: 860 } });
    page = await context.newPage();
    page.on("pageerror", (error) => failed.push(error.message));
    await page.goto(url.slice(url.indexOf("/join")));
    await page.getByLabel("Your name").fill(OWNER.name);
    await page.getByLabel("Email").fill(OWNER.email);
    await page.getByLabel("Password").fill(OWNER.password);
    await page.getByRole("button", { name: "Make the account" }).click();
    await page.getByRole("heading", { name: "Fleet", level: 1 }).waitFor();
    await watch(page);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const room = (rest = "") => `/workspaces/${fleet.workspaceId}${rest}`;
  const agent = (rest = "") => room(`/agents/billing-bot-01${rest}`);

  /** What a load of a page costs: the least time of several, and the most shift. */
  async function load(path: string): Promise<Cost> {
    const costs: Cost[] = [];
    for (let times = 0; times < LOADS; times++) {
      await page.goto(path);
      await settled(page);
      costs.push(await costOf(page));
    }
    const least = (of: (cost: Cost) => number) => Math.min(...costs.map(of));
    return {
      shownMs: least((cost) => cost.shownMs),
      taskMs: least((cost) => cost.taskMs),
      shift: Math.max(...costs.map((cost) => cost.shift)),
    };
  }

  const views = (): string[] => [
    room(),
    ...["", "?sort=blocked"].map((rest) => room(`/agents${rest}`)),
    ...["", "/effective", "/versions", "/data", "/data?prefix=customers/0/", "/data?search=morning+delivery"].map(
      agent,
    ),
    ...["/checkpoints", "/checkpoints?sort=-entry_count", "/compare", "/versions?sort=version"].map(agent),
    ...["/audit", "/audit?sort=time", "/audit?result=blocked"].map(agent),
    ...["", "?sort=time", "?result=blocked%2Cdenied", "?mode=redact&result=allowed", "?detector=iban&window=7d"].map(
      (rest) => room(`/events${rest}`),
    ),
    ...["/policies", "/policies/findings", "/policies/versions", "/proof", "/trail", "/keys", "/members"].map(room),
  ];

  test("each view shows its content soon, without a long task, and nothing moves", async () => {
    const dear: unknown[] = [];
    for (const path of views()) {
      const cost = await load(path);
      const isDear = (Object.keys(MOST) as (keyof Cost)[]).some((name) => cost[name] > MOST[name]);
      if (isDear) dear.push([path.replace(room(), ""), cost]);
    }
    expect(dear).toEqual([]);
  });

  test.each(Object.keys(LOOKS).entries().toArray())("%i: each view can be used by everybody, %s", async (at, look) => {
    const storageState = await context.storageState();
    const other = await stage.person({ ...LOOKS[look], bypassCSP: true, storageState });
    const found: string[] = [];
    const seen = await other.newPage();
    for (const [index, path] of views().entries()) {
      if ((index + at) % CHECK_EVERY !== SEED % CHECK_EVERY) continue;
      await seen.goto(path);
      await settled(seen);
      found.push(...(await violations(seen)).map((violation) => `${path}: ${violation}`));
    }
    await other.close();
    expect(found).toEqual([]);
  });

  /** Has an agent write, as many events as that. */
  async function write(events: number): Promise<void> {
    const operations = Array.from({ length: BATCH }, (_, at) => ({ op: "write", key: `live/${at}`, value: "v" }));
    const body = JSON.stringify({ agent_id: "billing-bot-01", operations });
    for (let sent = 0; sent < events; sent += BATCH) {
      const answer = await stage.daemon.ask("/v1/data/batch", { method: "POST", apiKey: fleet.apiKey, body });
      expect(answer.status).toBe(200);
      await answer.text();
    }
  }

  /** What the page has in use after a collection: bytes of its heap, and elements. */
  async function held(devtools: CDPSession): Promise<{ bytes: number; elements: number }> {
    await devtools.send("HeapProfiler.collectGarbage");
    const { metrics } = await devtools.send("Performance.getMetrics");
    const of = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
    return { bytes: of("JSHeapUsedSize"), elements: of("Nodes") };
  }

  test.each(["/events", ""])("live events leave nothing behind on %p", async (view) => {
    await page.goto(room(view));
    await settled(page);
    await page.getByText("Live", { exact: true }).waitFor();
    const devtools = await context.newCDPSession(page);
    await devtools.send("Performance.enable");
    // Views that grow to their bound have reached it.
    await write(1_000);
    await eventually("the page shows what is written", async () => (await page.getByText("live/").count()) > 0);
    await settled(page);
    const before = await held(devtools);
    await costOf(page);
    await write(LIVE_EVENTS);
    await settled(page);
    await soon(async () => {
      const after = await held(devtools);
      expect(after.bytes).toBeLessThan(before.bytes * 1.25 + 2_000_000);
      expect(after.elements).toBeLessThan(before.elements * 1.25 + 500);
    });
    const { taskMs } = await costOf(page);
    expect(taskMs).toBeLessThanOrEqual(MOST.taskMs);
    await devtools.detach();
  });

  test("a slow network moves nothing and loses nothing", async () => {
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    const slow = { offline: false, latency: 600, downloadThroughput: 50_000, uploadThroughput: 50_000 };
    await devtools.send("Network.emulateNetworkConditions", slow);
    for (const path of [room(), agent("/data")]) {
      await page.goto(path);
      await settled(page);
      const { shift } = await costOf(page);
      expect([path, shift < MOST.shift]).toEqual([path, true]);
    }
    await page.getByRole("button", { name: "Write", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Key", { exact: true }).fill("slowly");
    await dialog.getByRole("textbox", { name: "Value" }).fill("typed before the answer came");
    await dialog.getByRole("button", { name: "Write" }).click();
    await dialog.waitFor({ state: "detached" });
    await devtools.send("Network.emulateNetworkConditions", { ...slow, latency: 0, downloadThroughput: -1 });
    await page.goto(agent("/data?key=slowly"));
    await page.getByText("typed before the answer came").waitFor();
    await devtools.detach();
  });

  /** Opens the dialog that writes an entry, and types one. */
  async function typeEntry(tab: Page, key: string, value: string): Promise<void> {
    await tab.goto(agent("/data"));
    await tab.getByRole("button", { name: "Write", exact: true }).click();
    await tab.getByRole("dialog").getByLabel("Key", { exact: true }).fill(key);
    await tab.getByRole("dialog").getByRole("textbox", { name: "Value" }).fill(value);
  }

  test("two tabs and an ended session lose nothing that was typed", async () => {
    const other = await context.newPage();
    await typeEntry(page, "tabs", "typed in the first tab");
    await typeEntry(other, "tabs", "typed in the second tab");
    const write = (tab: Page) => tab.getByRole("dialog").getByRole("button", { name: "Write", exact: true }).click();
    await write(other);
    await other.getByRole("dialog").waitFor({ state: "detached" });
    await context.clearCookies();
    await write(page);
    const again = page.getByRole("dialog", { name: "Sign in again" });
    await again.getByLabel("Password").fill(OWNER.password);
    await again.getByRole("button", { name: "Sign in" }).click();
    await again.waitFor({ state: "detached" });
    await write(page);
    const sides = page.getByRole("region", { name: "Stored value and Your value side by side" });
    await soon(async () => expect(await sides.textContent()).toMatch(/second[\s\S]*first/));
    await page.getByRole("button", { name: "Write mine over it" }).click();
    await page.locator("article pre", { hasText: "typed in the first tab" }).waitFor();
    await other.close();
  });

  test("the daemon away and back: what is shown is loaded, and what was typed is written", async () => {
    await typeEntry(page, "away", "typed while it was away");
    const { port } = new URL(stage.url);
    await stage.daemon.stop();
    await page.getByRole("dialog").getByRole("button", { name: "Write", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    const back = await startGovernd(stage.dataDir, ["--listen", `127.0.0.1:${port}`]);
    try {
      await page.getByRole("dialog").getByRole("button", { name: "Write", exact: true }).click();
      await page.locator("article pre", { hasText: "typed while it was away" }).waitFor();
      await page.goto(room("/events"));
      await page.getByText("Live", { exact: true }).waitFor();
    } finally {
      await back.stop();
    }
  });

  test("nothing failed in the browser on the way", () => {
    expect(failed).toEqual([]);
  });
});
