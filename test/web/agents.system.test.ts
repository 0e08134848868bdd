/** The list of agents in a real browser: its order, and what is done to many at once. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the agents", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person()).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    for (const [at, agent] of ["alpha", "beta", "gamma"].entries()) {
      const keys = Array.from({ length: 3 - at }, (_, number) => `customers/${number}`);
      const operations = [...keys, "other"].map((key) => ({ op: "write", key, value: "v" }));
      await ask("POST", "/v1/data/batch", { agent_id: agent, operations });
    }
    await ask("PUT", "/v1/config/alpha", { policies: { block_secrets: true } });
    await page.goto(`/workspaces/${kept.workspaceId}/agents`);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function ask<T>(method: string, to: string, body?: object): Promise<T> {
    const init = { method, apiKey: kept.apiKey, ...(body && { body: JSON.stringify(body) }) };
    return (await stage.daemon.ask(to, init)).json() as Promise<T>;
  }
  const names = () => page.locator("tbody th a").allTextContents();
  const dialog = () => page.getByRole("dialog");

  async function choose(...agents: readonly string[]): Promise<void> {
    for (const agent of ["alpha", "beta", "gamma"]) {
      await page.getByLabel(`Choose ${agent}`).setChecked(agents.includes(agent));
    }
  }

  test("are sorted by a column, which the address names", async () => {
    await soon(async () => expect(await names()).toEqual(["alpha", "beta", "gamma"]));
    await page.getByRole("link", { name: "Entries", exact: true }).click();
    await soon(async () => expect(await names()).toEqual(["alpha", "beta", "gamma"]));
    await page.getByRole("link", { name: "Entries", exact: true }).click();
    await soon(async () => expect(await names()).toEqual(["gamma", "beta", "alpha"]));
    await soon(async () => expect(new URL(page.url()).searchParams.get("sort")).toBe("entries"));
    await soon(async () => expect(await page.locator("th[aria-sort=ascending]").textContent()).toContain("Entries"));
  });

  test("are suspended together after a look at each; who is suspended already stays so", async () => {
    await ask("POST", "/v1/agents/beta/suspend", {});
    await choose("alpha", "beta");
    await page.getByRole("button", { name: "Suspend …" }).click();
    await dialog().getByLabel("Reason").fill("an incident");
    await dialog().getByRole("button", { name: "Preview" }).click();
    await dialog().getByText("is suspended already").waitFor();
    await dialog().getByText("active, 4 entries").waitFor();
    await dialog().getByRole("button", { name: "Suspend 1 agent" }).click();
    await dialog().getByText("is suspended", { exact: true }).waitFor();
    await dialog().getByRole("button", { name: "Done" }).click();
    await soon(async () => expect(await page.locator("tbody").getByText("suspended").count()).toBe(2));
    const { suspended_reason } = await ask<{ suspended_reason: string }>("GET", "/v1/agents/alpha");
    expect(suspended_reason).toBe("an incident");
    await page.getByRole("button", { name: "Resume …" }).click();
    await dialog().getByRole("button", { name: "Preview" }).click();
    await dialog().getByRole("button", { name: "Resume 2 agents" }).click();
    await dialog().getByRole("button", { name: "Done" }).click();
    await soon(async () => expect(await page.locator("tbody").getByText("suspended").count()).toBe(0));
  });

  test("lose the entries of a prefix together, only as many as were shown, behind a checkpoint", async () => {
    await choose("alpha", "gamma");
    await page.getByRole("button", { name: "Delete data …" }).click();
    await dialog().getByLabel("Keys that begin with").fill("customers/");
    await dialog().getByRole("button", { name: "Preview" }).click();
    await dialog().getByText("3 entries: customers/0, customers/1, customers/2").waitFor();
    await dialog().getByText("1 entry: customers/0").waitFor();
    await ask("POST", "/v1/data/write", { agent_id: "gamma", key: "customers/9", value: "written meanwhile" });
    await dialog().getByRole("button", { name: "Delete data of 2 agents" }).click();
    await dialog().getByText("3 entries are deleted").waitFor();
    await dialog().getByText("changed in the meantime, not done").waitFor();
    await dialog().getByRole("button", { name: "Look again" }).click();
    await dialog().getByText("2 entries: customers/0, customers/9").waitFor();
    await dialog().getByRole("button", { name: "Delete data of 1 agent" }).click();
    await dialog().getByText("2 entries are deleted").waitFor();
    await dialog().getByRole("button", { name: "Done" }).click();
    const { entries, checkpoints } = await ask<{ entries: number; checkpoints: number }>("GET", "/v1/agents/alpha");
    expect([entries, checkpoints]).toEqual([1, 1]);
  });

  test("get the policies of one of them, after a preview", async () => {
    await choose("alpha", "beta");
    await page.getByRole("button", { name: "Policies …" }).click();
    await dialog().getByLabel("From").selectOption("alpha");
    await dialog().getByRole("button", { name: "Choose what to copy" }).click();
    await dialog().getByRole("button", { name: "Preview for 2 agents" }).click();
    await dialog().getByRole("button", { name: "Apply to 1 agent" }).click();
    await dialog().getByText("saved as v1").waitFor();
    await dialog().getByRole("button", { name: "Done" }).click();
    const { config } = await ask<{ config: object }>("GET", "/v1/config/beta");
    expect(config).toEqual({ policies: { block_secrets: true } });
  });
});
