/** The overview in a real browser: what was refused since the last visit, what the record's safety is, and the chart. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, settled, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the overview", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ viewport: { width: 1200, height: 900 } })).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function send(method: string, to: string, body: object) {
    const answer = await stage.daemon.ask(to, { method, apiKey: kept.apiKey, body: JSON.stringify(body) });
    await answer.text();
  }
  const open = () => page.goto(`/workspaces/${kept.workspaceId}`);

  test("is calm when nothing is wrong, and says what it checked", async () => {
    await open();
    await page
      .getByText("Nothing was refused, denied or redacted: every event since then was looked through.")
      .waitFor();
    const state = page.locator("section", { has: page.getByRole("heading", { name: "State of the record" }) });
    await state.getByText("Certificate").first().waitFor();
    const names = await state.locator("li strong").allTextContents();
    expect(names).toEqual(["Seals", "Anchors", "Backups", "Disk", "Certificate"]);
  });

  test("counts what was refused and redacted, and each number leads to its events", async () => {
    const screening = { pii: { mode: "off", detectors: { email: "redact" } } };
    await send("PUT", "/v1/config/bot", { policies: { block_secrets: true, screening } });
    const write = (key: string, value: string) => send("POST", "/v1/data/write", { agent_id: "bot", key, value });
    await write("token", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
    await write("token", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
    await write("mail", "Ask jane@example.com.");
    await open();
    await page.getByRole("link", { name: "2 blocked or denied" }).waitFor();
    await page.getByRole("link", { name: "1 stored, with parts redacted" }).waitFor();
    await page.getByRole("link", { name: "token", exact: true }).click();
    await page.locator(".trail-table tbody tr").first().waitFor();
    const address = new URL(page.url());
    expect([address.searchParams.get("result"), address.searchParams.get("key")]).toEqual(["blocked,denied", "token"]);
    await soon(async () => expect(await page.locator(".trail-table tbody tr").count()).toBe(2));
  });

  test("has a chart with a scale, and a stretch of it leads to its events", async () => {
    await open();
    const chart = page.locator("figure.chart").first();
    await chart.locator(".chart-scale span").first().waitFor();
    await soon(async () => expect(await chart.locator(".chart-scale span").allTextContents()).toContain("0"));
    await settled(page);
    const bars = chart.locator("svg");
    const { width = 0, height = 0 } = (await bars.boundingBox()) ?? {};
    const at = (share: number) => ({ x: width * share, y: height / 2 });
    await bars.dragTo(bars, { sourcePosition: at(0.52), targetPosition: at(0.99) });
    await page.getByRole("heading", { name: "Trail", level: 1 }).waitFor();
    const { searchParams } = new URL(page.url());
    const length = Date.parse(searchParams.get("to") as string) - Date.parse(searchParams.get("from") as string);
    expect(length).toBeGreaterThanOrEqual(12 * 3_600_000);
    expect(length).toBeLessThanOrEqual(13 * 3_600_000);
  });
});
