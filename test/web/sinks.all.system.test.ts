/** The page of sinks, in a browser: from the first one to its removal. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { TestReceiver } from "../sinks/receiver.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the page of sinks", () => {
  let stage: Stage;
  let receiver: TestReceiver;
  let context: BrowserContext;
  let page: Page;
  let kept: Kept;
  /** What the receiver answers. */
  let status = 200;

  beforeAll(async () => {
    receiver = await TestReceiver.start(() => status);
    stage = await Stage.open({ env: { GOVERND_SINK_ALLOW: "127.0.0.1" } });
    context = await stage.person();
    page = await context.newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
  });
  afterAll(async () => {
    await stage[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  const dialog = () => page.getByRole("dialog");
  const row = () => page.locator("main tbody tr");
  const place = () => new URL(receiver.url).host;

  test("a sink is made; its keys are shown once, until somebody says that they are kept", async () => {
    await page.goto(`/workspaces/${kept.workspaceId}`);
    await page.getByRole("link", { name: "Sinks", exact: true }).click();
    await page.getByText("No sink yet").waitFor();
    await page.getByRole("button", { name: "New sink" }).first().click();
    await dialog().getByLabel("Address").fill("https://127.0.0.2/in");
    await dialog().getByRole("button", { name: "Make the sink" }).click();
    await dialog().getByText("sink_allow").first().waitFor();
    await dialog().getByLabel("Address").fill(receiver.url);
    await dialog().getByLabel("Only these operations").fill("no.such");
    await dialog().getByRole("button", { name: "Make the sink" }).click();
    await dialog().getByText('"filter" is not valid').first().waitFor();
    await dialog().getByLabel("Only these operations").fill("");
    await dialog().getByLabel("Authority").fill(receiver.ca);
    await dialog().getByLabel("Begins").selectOption("beginning");
    await dialog().getByRole("button", { name: "Make the sink" }).click();
    const keep = dialog().getByRole("button", { name: "I have kept the secret" });
    await keep.waitFor();
    const secret = ((await dialog().locator("pre").first().textContent()) ?? "").trim();
    expect(secret).toStartWith("whsec_");
    await page.keyboard.press("Escape");
    await keep.click();
    await dialog().waitFor({ state: "detached" });
    await soon(async () => expect(await row().textContent()).toContain("0 events"));
    await soon(async () => expect(await row().textContent()).toContain(place()));
    // The rest of an address may hold a secret.
    for (const text of [secret, "confidential"])
      await soon(async () => expect(await page.content()).not.toContain(text));
  });

  test("it is tested, and its failure and recovery are shown without loading the page again", async () => {
    await page.getByRole("button", { name: `Test ${place()}` }).click();
    await page.getByText("took a record.").waitFor();
    status = 503;
    const body = JSON.stringify({ agent_id: "a", key: "k", value: "v" });
    await stage.daemon.ask("/v1/data/write", { apiKey: kept.apiKey, method: "POST", body });
    await soon(async () => expect(await row().textContent()).toContain("the receiver answered 503"));
    await soon(async () => expect(await row().textContent()).toContain("failing"));
    status = 200;
    await soon(async () => expect(await row().textContent()).not.toContain("answered 503"));
    await soon(async () => expect(await row().textContent()).toContain("0 events"));
  });

  test("it is changed, turned off and on, given new keys and removed", async () => {
    await page.getByRole("button", { name: `Change ${place()}` }).click();
    await soon(async () => expect(await dialog().getByLabel("Address").inputValue()).toBe(receiver.url));
    await dialog().getByLabel("Only these results").fill("blocked, denied");
    await dialog().getByLabel("Form of events").selectOption("ocsf");
    await dialog().getByRole("button", { name: "Change", exact: true }).click();
    await dialog().waitFor({ state: "detached" });
    await soon(async () => expect(await row().textContent()).toContain("results blocked, denied · as ocsf"));
    await page.getByRole("button", { name: `Turn off ${place()}` }).click();
    await soon(async () => expect(await row().textContent()).toContain("disabled"));
    await page.getByRole("button", { name: `Turn on ${place()}` }).click();
    await soon(async () => expect(await row().textContent()).not.toContain("disabled"));
    await page.getByRole("button", { name: `Rotate the keys of ${place()}` }).click();
    await dialog().getByRole("button", { name: "Make new keys" }).click();
    await dialog().getByRole("button", { name: "I have kept the secret" }).click();
    await page.getByRole("button", { name: `Remove ${place()}` }).click();
    await dialog().getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No sink yet").waitFor();
  });

  test("an auditor sees sinks and is offered no change", async () => {
    const made = await stage.daemon.ask("/v1/sinks", {
      apiKey: kept.apiKey,
      method: "POST",
      body: JSON.stringify({ type: "webhook", url: receiver.url, enabled: false }),
    });
    expect(made.status).toBe(201);
    await page.goto(`/workspaces/${kept.workspaceId}/members`);
    await page.getByRole("button", { name: "Invite …" }).click();
    await dialog().getByLabel("Role").selectOption("auditor");
    await dialog().getByRole("button", { name: "Make the link" }).click();
    const link = ((await page.getByLabel("Invitation link", { exact: true }).textContent()) ?? "").trim();
    const auditor = await stage.person();
    const seen = await auditor.newPage();
    await seen.goto(link);
    await seen.getByLabel("Your name").fill("Grace");
    await seen.getByLabel("Email").fill("grace@example.org");
    await seen.getByLabel("Password").fill("an honest auditor");
    await seen.getByRole("button", { name: "Make the account" }).click();
    await seen.getByRole("link", { name: "Sinks", exact: true }).click();
    await seen.locator("main tbody tr").waitFor();
    await soon(async () => expect(await seen.locator("main").getByRole("button").count()).toBe(0));
    await auditor.close();
  });
});
