/** The history of an entry: who wrote and ended each version, what differs, and how one is written again. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { violations } from "./support/axe.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the history of an entry", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ bypassCSP: true })).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    for (const [value, source] of [
      ["Refunds go to Ann.", "crm"],
      ["Refunds go to the finance team.", "crm"],
      ["Refunds go to the finance team at once.", "mail"],
    ]) {
      await write("notes/refunds", value as string, { source });
    }
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function send(method: string, path: string, body: object): Promise<{ id?: string }> {
    const answer = await stage.daemon.ask(path, { method, apiKey: kept.apiKey, body: JSON.stringify(body) });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as { id?: string };
  }
  const write = (key: string, value: string, metadata: object = {}) =>
    send("POST", "/v1/data/write", { agent_id: "bot", key, value, metadata });
  const configure = (policies: object) => send("PUT", "/v1/config/bot", { policies });

  const data = (rest: string) => `/workspaces/${kept.workspaceId}/agents/bot/data${rest}`;
  const history = (key: string) => page.goto(data(`/history?key=${key}`));
  const dialog = () => page.getByRole("dialog");
  const rows = () => page.locator("tbody tr").filter({ has: page.getByRole("radio") });
  const again = () => dialog().getByRole("button", { name: "Write again" });
  const marked = async (of: Locator): Promise<string[]> =>
    (await of.locator("mark").allInnerTexts()).map((text) => text.trim());

  test("is there after the entry was deleted, with who wrote and what ended each version", async () => {
    await page.goto(data("?key=notes/refunds"));
    await page.getByRole("button", { name: "Delete …" }).click();
    await dialog().getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("There is no entry under this key now").waitFor();
    await page.getByRole("link", { name: "History", exact: true }).click();
    await soon(async () => expect(await rows().count()).toBe(3));
    const ends = rows().locator("td[data-label=Ended] a");
    const endings = async () => (await ends.allInnerTexts()).map((text) => text.split(" ")[0]);
    await soon(async () => expect(await endings()).toEqual(["deleted", "overwritten", "overwritten"]));
    await page.getByText(/^What was overwritten or deleted before .+ is no longer kept\.$/).waitFor();
    await ends.first().click();
    await page.getByText("data.delete").first().waitFor();
    await page.getByRole("link", { name: "History of notes/refunds" }).click();
    await soon(async () => expect(await rows().count()).toBe(3));
  });

  test("shows the words in which any two versions differ", async () => {
    await history("notes/refunds");
    const differences = page.getByRole("region", { name: "Differences" });
    await soon(async () => expect(await marked(differences)).toEqual(["at once", "crm", "mail"]));
    // The keyboard chooses, too: the radio buttons of a side are one group.
    await rows().nth(1).getByLabel("as the older side").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await soon(async () =>
      expect(await marked(differences)).toEqual(["Ann", "the finance team at once", "crm", "mail"]),
    );
    await rows().nth(1).getByLabel("as the newer side").check();
    await differences.getByText("The metadata is the same.").waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test("writes a version again, after showing what that changes", async () => {
    await history("notes/refunds");
    await rows()
      .nth(2)
      .getByRole("button", { name: /^Write again …/ })
      .click();
    await dialog().getByText("The entry does not exist now.").waitFor();
    await dialog().getByText("Refunds go to Ann.").waitFor();
    await again().click();
    await rows().first().getByText("present", { exact: true }).waitFor();
    await rows().first().getByText("content of aud_").waitFor();

    await rows()
      .nth(1)
      .getByRole("button", { name: /^Write again …/ })
      .click();
    await soon(async () => expect(await marked(dialog())).toEqual(["Ann", "the finance team at once", "crm", "mail"]));
    expect(await violations(page)).toEqual([]);
    await write("notes/refunds", "Refunds go to Bob.");
    await again().click();
    await dialog().getByText("Somebody changed the entry in the meantime.").waitFor();
    await soon(async () => expect((await marked(dialog()))[0]).toBe("Bob"));
    await again().click();
    await dialog().waitFor({ state: "detached" });
    await soon(async () => expect(await rows().count()).toBe(6));
    await page.getByRole("link", { name: "The entry" }).click();
    await page.locator("article pre", { hasText: "Refunds go to the finance team at once." }).waitFor();
  });

  test("says why a version cannot be written again", async () => {
    await write("contact", "Call Jane on +1 415 555 2671.");
    await write("contact", "Call nobody.");
    await configure({ block_pii: true });
    await history("contact");
    await rows()
      .nth(1)
      .getByRole("button", { name: /^Write again …/ })
      .click();
    await soon(async () => expect(await again().isEnabled()).toBe(true));
    await again().click();
    await dialog().getByText("Blocked by block_pii.").waitFor();
    await dialog().locator("pre.marked mark", { hasText: "+1 415 555 2671" }).waitFor();
    // While the dialog is open, the policies end the history.
    await configure({ history_days: 0 });
    await soon(async () => expect(await rows().count()).toBe(1));
    await again().click();
    await dialog().getByText("This version is no longer kept.").waitFor();
    await soon(async () => expect(await again().isEnabled()).toBe(false));
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    await page.getByRole("region", { name: "Content" }).getByText("Call nobody.").waitFor();
    await configure({});
  });

  test("has a version once that a restore brought back", async () => {
    await write("plan", "small");
    const { id } = await send("POST", "/v1/checkpoints", { agent_id: "bot" });
    await write("plan", "large");
    await send("POST", `/v1/checkpoints/${id}/restore`, {});
    await history("plan");
    await rows().nth(0).getByText("ended by a restore").waitFor();
    await rows().nth(1).getByText("present", { exact: true }).waitFor();
    await soon(async () => expect(await rows().count()).toBe(2));
  });

  test("shows the state of an earlier moment, and what differs from now", async () => {
    const agent = "past";
    const put = (key: string, value: string) =>
      send("POST", "/v1/data/write", { agent_id: agent, key, value }) as Promise<{ audit_id?: string }>;
    await put("stays", "as it is");
    await put("goes", "for now");
    const { audit_id } = await put("changes", "the first text");
    await put("changes", "the second text");
    await send("DELETE", `/v1/data?agent_id=${agent}&key=goes`, {});
    await put("comes", "later");
    await page.goto(`/workspaces/${kept.workspaceId}/events/${audit_id}`);
    await page.getByRole("link", { name: "what the agent had right after it" }).click();
    await page.getByText(/^The state of .+, right after event \d+\./).waitFor();
    const keys = page.getByRole("list", { name: "Entries" }).getByRole("link");
    await soon(async () =>
      expect((await keys.allInnerTexts()).map((text) => text.split(/\s/)[0])).toEqual(["changes", "goes", "stays"]),
    );
    await keys.first().click();
    await page.locator("article pre", { hasText: "the first text" }).waitFor();
    await soon(async () => expect(await page.getByRole("button", { name: "Overwrite …" }).count()).toBe(0));
    await page.getByRole("button", { name: "What differs from now" }).click();
    const differences = page.getByRole("region", { name: "Differences from now" });
    await soon(async () =>
      expect((await differences.getByRole("listitem").allInnerTexts()).map((text) => text.trim())).toEqual([
        "changes changed since",
        "comes added since",
        "goes gone since",
      ]),
    );
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("State at").fill("2001-01-01T00:00");
    await page.getByRole("button", { name: "Show this time" }).click();
    await page.getByText("Not all that the agent had at this moment is kept.").waitFor();
    await page.getByRole("button", { name: "Back to now" }).click();
    await page.locator("article pre", { hasText: "the second text" }).waitFor();
  });

  test("of values as long as they may be does not hold up the page", async () => {
    const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at} of a long text that changes near its end`);
    await write("long", lines.join("\n"));
    lines[19_000] = "another line";
    await write("long", lines.join("\n"));
    await history("long");
    await page.getByText("from line 19,001, in which they begin to differ").waitFor();
    await page.getByRole("cell", { name: "another line" }).waitFor();
  });
});
