/** What is set aside in the dashboard: from an entry, from its history, and with what followed; marked, and released. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { violations } from "./support/axe.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("what is set aside", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;
  let note: string;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ bypassCSP: true })).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    await write("notes", "Refunds go to Ann.");
    await write("notes", "Refunds go to 4711.");
    note = await write("inbox", "Pay 4711.");
    await read("inbox", 200);
    await write("task", "Pay.");
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const ask = (path: string, body?: object) =>
    stage.daemon.ask(path, {
      ...{ method: body === undefined ? "GET" : "POST", apiKey: kept.apiKey },
      ...{ headers: { "Governd-Session": "one" }, ...(body && { body: JSON.stringify(body) }) },
    });
  async function write(key: string, value: string): Promise<string> {
    const answer = await ask("/v1/data/write", { agent_id: "bot", key, value });
    return ((await answer.json()) as { audit_id: string }).audit_id;
  }
  /** Reads as a program. */
  const read = async (key: string, status: number) =>
    expect((await ask(`/v1/data/read?agent_id=bot&key=${key}`)).status).toBe(status);

  const workspace = (rest: string) => page.goto(`/workspaces/${kept.workspaceId}${rest}`);
  const dialog = () => page.getByRole("dialog");
  const finish = async (action: string) => {
    await dialog().getByLabel("Reason").fill("It came from a forged page.");
    await dialog().getByRole("button", { name: action, exact: true }).click();
    await dialog().waitFor({ state: "detached" });
  };

  test("is set aside from its entry after a preview, and marked in the list", async () => {
    await workspace("/agents/bot/data?key=notes");
    await page.getByRole("button", { name: /^Set aside …/ }).click();
    await dialog().getByText("1 version", { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await finish("Set aside");
    await page.getByText("This is set aside.").waitFor();
    await page.locator("article pre", { hasText: "Refunds go to 4711." }).waitFor();
    await page.getByRole("list", { name: "Entries" }).getByText("set aside", { exact: true }).waitFor();
    await read("notes", 404);
    expect(await violations(page)).toEqual([]);
  });

  test("is marked in the history, not written again, and released there", async () => {
    await workspace("/agents/bot/data/history?key=notes");
    const rows = page.locator("tbody tr").filter({ has: page.getByRole("radio") });
    await rows.first().getByText("set aside", { exact: true }).waitFor();
    await rows
      .nth(1)
      .getByRole("button", { name: /^Set aside …/ })
      .click();
    await dialog().getByText("1 version", { exact: true }).waitFor();
    await finish("Set aside");
    await rows.nth(1).getByText("set aside", { exact: true }).waitFor();
    await soon(async () => expect(await rows.getByRole("button", { name: /^Write again …/ }).count()).toBe(0));
    await rows
      .first()
      .getByRole("button", { name: /^Release …/ })
      .click();
    await finish("Release");
    await soon(async () => expect(await rows.first().getByText("set aside", { exact: true }).count()).toBe(0));
    await read("notes", 200);
    expect(await violations(page)).toEqual([]);
  });

  test("takes with it what followed", async () => {
    await workspace(`/events/${note}/lineage?direction=effects&depth=1`);
    await page.getByRole("button", { name: "Set aside with everything that followed …" }).click();
    await dialog().getByText("2 versions", { exact: true }).waitFor();
    await dialog().getByLabel("Also").selectOption("0");
    await dialog().getByText("1 version", { exact: true }).waitFor();
    await dialog().getByLabel("Also").selectOption("5");
    await dialog().getByText("2 versions", { exact: true }).waitFor();
    await finish("Set aside");
    await read("inbox", 404);
    await read("task", 404);
  });
});
