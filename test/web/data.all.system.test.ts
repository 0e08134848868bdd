/** The data of an agent with more entries than a page of them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the keys of an agent", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person()).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    const folders = ["a", "b", "c", "d", "e", "f", "g"].flatMap((name) =>
      Array.from({ length: 130 }, (_, index) => `${name}/${index}`),
    );
    await write("bot", [...folders, "a/deep/1", "plain", "ends/"]);
    await write("colons", ["user:1:name", "user:1:mail", "user:2:name", "alone"]);
    await write(
      "crowd",
      Array.from({ length: 450 }, (_, index) => `${index}/x`),
    );
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function write(agent_id: string, keys: readonly string[]): Promise<void> {
    const operations = keys.map((key) => ({ op: "write", key, value: "v" }));
    const body = JSON.stringify({ agent_id, operations });
    const answer = await stage.daemon.ask("/v1/data/batch", { method: "POST", apiKey: kept.apiKey, body });
    expect(answer.status).toBe(200);
  }

  const open = (agent: string, query = "") => page.goto(`/workspaces/${kept.workspaceId}/agents/${agent}/data${query}`);
  const rows = async (list: "Folders" | "Entries"): Promise<string[]> => {
    const items = page.getByRole("list", { name: list }).getByRole("listitem");
    await items.first().waitFor();
    return (await items.allInnerTexts()).map((text) => text.split(/\s+/).slice(0, 2).join(" "));
  };

  test("are in all their folders, each with all its entries", async () => {
    await open("bot");
    await soon(async () =>
      expect(await rows("Folders")).toEqual([
        "a/ 131",
        ...["b", "c", "d", "e", "f", "g"].map((name) => `${name}/ 130`),
      ]),
    );
    await soon(async () => expect((await rows("Entries")).map((row) => row.split(" ")[0])).toEqual(["ends/", "plain"]));
    await page.getByRole("link", { name: /^a\// }).click();
    await page.getByText("deep/", { exact: true }).waitFor();
    await soon(async () => expect(await rows("Folders")).toEqual(["deep/ 1"]));
    await page.getByText("130 entries", { exact: true }).waitFor();
    // Only the rows in sight are in the page, so the list is scrolled through.
    const seen = new Set<string>();
    for (let last = 0; last < 130; ) {
      const items = page.getByRole("list", { name: "Entries" }).getByRole("listitem");
      const drawn = await items.evaluateAll((all) =>
        all.map((item) => [item.textContent, item.ariaPosInSet, item.ariaSetSize]),
      );
      for (const [text = "", , size] of drawn) {
        expect(size).toBe("130");
        seen.add(`${text}`.split(/\s+/)[0] as string);
      }
      last = Number(drawn.at(-1)?.[1]);
      await items.last().scrollIntoViewIfNeeded();
    }
    expect(seen.size).toBe(130);
  });

  test("are divided at colons where nothing is divided at slashes", async () => {
    await open("colons");
    await soon(async () => expect(await rows("Folders")).toEqual(["user: 3"]));
    await page.getByRole("link", { name: /^user:/ }).click();
    await page.getByText("2:", { exact: true }).waitFor();
    await soon(async () => expect(await rows("Folders")).toEqual(["1: 2", "2: 1"]));
  });

  test("can be in more folders than fit on a page", async () => {
    await open("crowd");
    await soon(async () => expect((await rows("Folders")).length).toBe(200));
    await page.getByRole("button", { name: "Show more folders" }).click();
    await soon(async () => expect((await rows("Folders")).length).toBe(400));
  });

  test("come and go in the folder that is shown", async () => {
    await open("colons", "?prefix=user:1:");
    await soon(async () => expect((await rows("Entries")).length).toBe(2));
    await write("colons", ["user:1:town"]);
    await page.getByText("town", { exact: true }).waitFor();
  });

  test("are sorted, and a search marks the words that it found", async () => {
    const operations = ["small", "much larger than that"].map((value, at) => ({ op: "write", key: `${at}`, value }));
    const body = JSON.stringify({ agent_id: "sizes", operations });
    await stage.daemon.ask("/v1/data/batch", { method: "POST", apiKey: kept.apiKey, body });
    await open("sizes");
    await page.getByRole("link", { name: "Size" }).click();
    await soon(async () => expect((await rows("Entries")).map((row) => row.split(" ")[0])).toEqual(["1", "0"]));
    await page.getByRole("searchbox").fill("larger");
    await page.keyboard.press("Enter");
    await page.locator("mark", { hasText: "larger" }).waitFor();
    await page.getByText("Has larger").waitFor();
  });
});
