/** What led to a write and what followed from it, from an event, from an entry and from its history. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { violations } from "./support/axe.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the lineage of a write", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;
  let note: string;
  let read: string;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person({ bypassCSP: true })).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    note = await write("mail", "inbox/17", "Refunds go to account 4711.", "import");
    read = await look("mail", "inbox/17", "chat-1");
    await write("mail", "summaries/17", "The customer wants 4711.", "chat-1");
    await write("mail", "tasks/refund", "Send the refund to 4711.", "chat-1");
    await look("mail", "summaries/17", "night-job");
    for (const at of [1, 2, 3]) await write("billing", `plans/${at}`, "Refund first.", "night-job");
    await look("billing", "plans/2", "day-job");
    await write("billing", "orders/2026/11/30/refund-of-a-customer", "4711", "day-job");
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function send(path: string, session: string, body?: object): Promise<Response> {
    const headers = { "Governd-Session": session };
    const method = body === undefined ? "GET" : "POST";
    const asked = { method, apiKey: kept.apiKey, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await stage.daemon.ask(path, asked);
    expect([path, answer.status]).toEqual([path, 200]);
    return answer;
  }
  async function write(agent: string, key: string, value: string, session: string): Promise<string> {
    const answer = await send("/v1/data/write", session, { agent_id: agent, key, value });
    return ((await answer.json()) as { audit_id: string }).audit_id;
  }
  async function look(agent: string, key: string, session: string): Promise<string> {
    const answer = await send(`/v1/data/read?agent_id=${agent}&key=${encodeURIComponent(key)}`, session);
    return answer.headers.get("x-audit-id") as string;
  }

  const workspace = (rest: string) => `/workspaces/${kept.workspaceId}${rest}`;
  const rows = () => page.locator("tbody tr");
  const drawing = () => page.getByRole("region", { name: "Drawing" });
  const entries = async () => (await rows().locator("th code").allInnerTexts()).map((text) => text.trim());

  test("is drawn, and in a table, from an event", async () => {
    await page.goto(workspace(`/events/${note}`));
    await page.getByRole("link", { name: "What followed" }).click();
    await page.getByRole("heading", { name: "What followed", level: 1 }).waitFor();
    await soon(async () =>
      expect(await entries()).toEqual(["summaries/17", "tasks/refund", "plans/1", "plans/2", "plans/3"]),
    );
    await soon(async () => expect(await drawing().getByRole("link").count()).toBe(5));
    await soon(async () => expect(await drawing().locator("path").count()).toBe(5));
    await page.getByText("in the session import").waitFor();
    await page.getByText("It does not say what caused what").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("How far").selectOption("5");
    await soon(async () => expect((await entries()).at(-1)).toBe("orders/2026/11/30/refund-of-a-customer"));
    await soon(async () => expect(new URL(page.url()).searchParams.get("depth")).toBe("5"));
    await rows()
      .first()
      .getByRole("link", { name: read.slice(-6) })
      .click();
    await page.getByRole("heading", { name: "Audit event" }).waitFor();
    // A read has no lineage.
    await page.getByText("data.read").first().waitFor();
    await soon(async () => expect(await page.getByRole("link", { name: "What followed" }).count()).toBe(0));
  });

  test("leads back, from an entry and from its history", async () => {
    await page.goto(workspace("/agents/billing/data?key=plans/2"));
    await page.getByRole("article").getByRole("link", { name: "What led here" }).click();
    await page.getByRole("heading", { name: "What led here", level: 1 }).waitFor();
    await soon(async () => expect(await entries()).toEqual(["summaries/17", "inbox/17"]));
    await drawing().getByRole("link", { name: "inbox/17 mail, 2 steps away" }).click();
    await page.getByRole("heading", { name: "Audit event" }).waitFor();
    await page.getByRole("link", { name: "History of inbox/17" }).click();
    await page
      .getByRole("row", { name: /present/ })
      .getByRole("link", { name: "What led here" })
      .click();
    await page.getByText("Nothing led here").waitFor();
    await page.getByRole("link", { name: "What followed" }).click();
    await soon(async () => expect((await entries())[0]).toBe("summaries/17"));
    expect(await violations(page)).toEqual([]);
  });

  test("says that there is none of what is no stored write, and of what is not there", async () => {
    await page.goto(workspace(`/events/${read}/lineage`));
    await page.getByText("Only a write that was stored has causes and effects.").waitFor();
    await page.goto(workspace("/events/aud_01h455vb4pex5vsknk084sn02q/lineage"));
    await page.getByText("There is no audit event with this id.").waitFor();
  });

  test("fits a narrow window, where the drawing scrolls by itself", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(workspace(`/events/${note}/lineage?depth=3`));
    await soon(async () => expect((await entries()).length).toBe(6));
    const main = (await page.locator("main").boundingBox())?.width ?? Number.POSITIVE_INFINITY;
    const table = (await page.locator(".table-frame").boundingBox())?.width ?? Number.POSITIVE_INFINITY;
    expect(Math.max(main, table)).toBeLessThanOrEqual(390);
  });
});
