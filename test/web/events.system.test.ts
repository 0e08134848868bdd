/** The trail of a workspace in a real browser: filters, views, links, live events and exports. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { eventually, soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the trail of a workspace", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;
  let path: string;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ acceptDownloads: true })).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    path = `/workspaces/${kept.workspaceId}/events`;
    const config = { policies: { block_secrets: true } };
    await send("PUT", "/v1/config/first-bot", config);
    await write("first-bot", "plain", "v");
    await write("first-bot", "token", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
    await write("second-bot", "plain", "v");
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function send(method: string, to: string, body: object) {
    const answer = await stage.daemon.ask(to, { method, apiKey: kept.apiKey, body: JSON.stringify(body) });
    return (await answer.json()) as { audit_id: string };
  }
  const write = (agent_id: string, key: string, value: string) =>
    send("POST", "/v1/data/write", { agent_id, key, value });

  const rows = () => page.locator(".trail-table tbody tr");
  const show = async (query: string) => {
    await page.goto(`${path}?${query}`);
    await rows().first().waitFor();
  };

  test("has columns, and filters that the address holds", async () => {
    await show("show=writes&clock=utc");
    const columns = ["Time ↓", "Agent", "Operation", "Subject", "Actor", "Result"];
    await soon(async () => expect(await page.locator(".trail-table thead th").allTextContents()).toEqual(columns));
    await soon(async () => expect(await rows().count()).toBe(3));
    await soon(async () => expect(await rows().first().textContent()).toContain("second-bot"));
    await soon(async () =>
      expect(await rows().first().locator("time").textContent()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/),
    );
    await page.getByRole("link", { name: "Refused" }).click();
    await eventually("only what was refused is shown", async () => (await rows().count()) === 1);
    await soon(async () => expect(await rows().first().textContent()).toContain("blocked"));
    await page.getByText("More filters").click();
    await page.getByLabel("Agents").fill("second-bot");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByText("Nothing fits these filters").waitFor();
    await soon(async () => expect(page.url()).toContain("agent_id=second-bot"));
  });

  test("keeps a view under its name, in this browser", async () => {
    await show("text=second");
    await page.getByLabel("Name of the view").fill("Second");
    await page.getByRole("button", { name: "Save view" }).click();
    await show("show=writes");
    await page.getByRole("link", { name: "Second" }).click();
    await eventually("the filters are those of the view", async () => page.url().endsWith("?text=second"));
    await page.getByRole("button", { name: "Forget this view" }).click();
    await page.getByRole("link", { name: "Second" }).waitFor({ state: "detached" });
  });

  test("shows what happens, if it fits", async () => {
    await show("agent_id=second-bot&show=writes");
    await page.getByText("Live", { exact: true }).waitFor();
    await write("first-bot", "elsewhere", "v");
    await write("second-bot", "arrived", "v");
    await rows().getByText("arrived").waitFor();
    await soon(async () => expect(await rows().getByText("elsewhere").count()).toBe(0));
  });

  test("a link shows its event under any filter", async () => {
    const { audit_id: id } = await write("first-bot", "linked", "v");
    await show(`agent_id=second-bot&event=${id}`);
    await page.getByRole("heading", { name: "The event of this link" }).waitFor();
    await page.locator(".event-details").getByRole("link", { name: id }).waitFor();
  });

  test("exports exactly what is filtered", async () => {
    await show("agent_id=second-bot,first-bot&show=writes&key=plain");
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export these" }).click(),
    ]);
    const lines = readFileSync(await saved.path(), "utf8")
      .trim()
      .split("\r\n")
      .slice(1);
    expect(lines.map((line) => line.split(",")[6])).toEqual(["data.write", "data.write"]);
    expect(lines.every((line) => line.includes('""key"":""plain""'))).toBe(true);
  });
});
