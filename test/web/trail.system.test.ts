/** The trail of an agent while much happens. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { eventually, soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the trail of an agent", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;
  let first: string;
  let written = 0;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ viewport: { width: 1000, height: 600 } })).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    [first = ""] = await write(150);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  /** Writes entries, each with an event of its own. Returns the ids of the events. */
  async function write(entries: number): Promise<string[]> {
    const operations = Array.from({ length: entries }, () => ({ op: "write", key: `k/${written++}`, value: "v" }));
    const body = JSON.stringify({ agent_id: "bot", operations });
    const answer = await stage.daemon.ask("/v1/data/batch", { method: "POST", apiKey: kept.apiKey, body });
    const { results } = (await answer.json()) as { results: { audit_id: string }[] };
    return results.map(({ audit_id }) => audit_id);
  }

  const rows = () => page.locator(".events > li");
  const newest = (entry = written - 1) => rows().first().getByText(`k/${entry}`, { exact: true });
  const follow = async () => {
    await page.goto(`/workspaces/${kept.workspaceId}/agents/bot/audit`);
    await newest().waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
  };

  test("shows what happens, in a list that does not grow without end", async () => {
    await follow();
    const shown = await rows().count();
    await write(1);
    await newest().waitFor();
    await soon(async () => expect(await rows().count()).toBe(shown + 1));
    for (let times = 0; times < 3; times++) {
      await write(180);
      await newest().waitFor();
    }
    await soon(async () => expect(await rows().count()).toBeLessThanOrEqual(shown + 200));
  });

  test("keeps every row where it is while somebody reads further down, and says how much is new", async () => {
    await follow();
    const row = rows().nth(40);
    await row.scrollIntoViewIfNeeded();
    const before = await row.boundingBox();
    const seen = written - 1;
    await write(3);
    await page.getByRole("button", { name: "3 new" }).waitFor();
    await soon(async () => expect([await row.boundingBox(), await newest(seen).count()]).toEqual([before, 1]));
    await page.getByRole("button", { name: "3 new" }).click();
    await newest().waitFor();
    await soon(async () => expect(await page.getByRole("button", { name: /new$/ }).count()).toBe(0));
  });

  test("can be paused", async () => {
    await follow();
    await page.getByRole("button", { name: "Pause" }).click();
    const seen = written - 1;
    await write(2);
    await page.getByRole("button", { name: "2 new" }).waitFor();
    await soon(async () => expect(await newest(seen).count()).toBe(1));
    await page.getByRole("button", { name: "Follow" }).click();
    await newest().waitFor();
  });

  test("shows the event of a link, wherever it is", async () => {
    await page.goto(`/workspaces/${kept.workspaceId}/agents/bot/audit?event=${first}`);
    await page.getByRole("heading", { name: "The event of this link" }).waitFor();
    const details = page.locator(".event-details");
    await eventually("its details are open", async () => (await details.count()) === 1);
    await soon(async () => expect(await details.getByRole("link", { name: first }).count()).toBe(1));
  });
});
