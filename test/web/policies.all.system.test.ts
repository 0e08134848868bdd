/** Policies in a real browser: of the workspace and of agents, tried before they are saved. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

let stage: Stage;
let page: Page;
let kept: Kept;
const failures: string[] = [];

describe.skipIf(!hasChromium)("policies in the dashboard", () => {
  beforeAll(async () => {
    stage = await Stage.open();
    const context = await stage.person();
    page = await context.newPage();
    page.on("pageerror", (error) => failures.push(String(error)));
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const room = (rest = "") => `/workspaces/${kept.workspaceId}${rest}`;

  /** What a program does with the workspace's key, beside the browser. */
  async function beside(path: string, body?: object, method = body === undefined ? "GET" : "POST") {
    const init = { method, apiKey: kept.apiKey, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await stage.daemon.ask(path, init);
    return (await response.json()) as Record<string, unknown>;
  }

  const write = (key: string, value: string, agent_id = "bot") => beside("/v1/data/write", { agent_id, key, value });
  const save = () => page.getByRole("button", { name: "Save as a new version" }).click();
  const tried = () => page.getByRole("region", { name: "Try a text" });
  const verdict = () => tried().getByRole("status");

  async function check(text: string, key = ""): Promise<void> {
    await tried().getByLabel("Text").fill(text);
    await tried().getByLabel("Key").fill(key);
    await tried().getByRole("button", { name: "Check" }).click();
  }

  test("the workspace's policies are set in a form", async () => {
    await page.goto(room("/policies"));
    await page.getByText("No policies yet").waitFor();
    await page.getByRole("group", { name: "Personal data" }).getByLabel("Mode").selectOption("audit");
    await page.locator("summary", { hasText: "Single detectors" }).first().click();
    await page.getByLabel("Email address", { exact: true }).selectOption("redact");
    await page.getByLabel("IBAN").selectOption("block");
    await page.getByRole("button", { name: "Add a pattern" }).click();
    const pattern = page.getByRole("group", { name: "pattern 1" });
    await pattern.getByLabel("Name").fill("project");
    await pattern.getByLabel("Regular expression").fill("(?=PRJ)");
    await pattern.getByLabel("Mode").selectOption("redact");
    await pattern.getByLabel("Only keys that begin with").fill("notes/");
    await page.getByRole("button", { name: "Add an exception" }).click();
    const exception = page.getByRole("group", { name: "exception 1" });
    await exception.getByLabel("The matched text").selectOption("ends_with");
    await exception.getByLabel("Text", { exact: true }).fill("@example.org");
    await exception.getByLabel("Reason").fill("our own addresses");
    await exception.getByLabel("Ends").fill("2099-05-06T07:08");
    await page.getByLabel("Keep data for (days)").fill("90");
    await page.getByLabel("Most bytes of a value, as UTF-8").fill("65536");
    await page.getByLabel("Let agents make exceptions").check();
    await save();
    await pattern.getByText("Use RE2 syntax").waitFor();
    await pattern.getByLabel("Regular expression").fill("PRJ-[0-9]{5}");
    await save();
    await page.getByText("Version p1 is saved and in force.").waitFor();
    expect(await beside("/v1/policies")).toMatchObject({
      version: "p1",
      require_config: false,
      exceptions_from_agents: true,
      policies: {
        retention_days: 90,
        limits: { value_bytes: 65_536 },
        screening: {
          pii: { mode: "audit", detectors: { email: "redact", iban: "block" } },
          patterns: [{ name: "project", regex: "PRJ-[0-9]{5}", mode: "redact", prefixes: ["notes/"] }],
          exceptions: [{ detector: "email", ends_with: "@example.org", reason: "our own addresses" }],
        },
      },
    });
  });

  test("a text is tried under what is saved and under what is typed, and is stored nowhere", async () => {
    await check("To jane@example.com, office@example.org and +1 415 555 2671.");
    await verdict().getByText("Stored, redacted").waitFor();
    await verdict().locator("mark.mark-redact", { hasText: "jane@example.com" }).waitFor();
    await verdict().locator("mark.mark-audit", { hasText: "+1 415 555 2671" }).waitFor();
    await verdict().getByText("To [redacted:email], office@example.org and +1 415 555 2671.").waitFor();
    await page.getByRole("group", { name: "Personal data" }).getByLabel("Mode").selectOption("block");
    await verdict().getByText("have changed since").waitFor();
    await check("To jane@example.com, office@example.org and +1 415 555 2671.");
    await verdict().getByText("Blocked by block_pii").waitFor();
    await tried().getByRole("button", { name: "Saved" }).click();
    await check("PRJ-10442", "notes/1");
    await verdict().getByText("[redacted:project]").waitFor();
    await check("PRJ-10442", "customers/1");
    await verdict().getByText("Nothing objects.").waitFor();
    await page.getByRole("button", { name: "Discard changes" }).click();
    expect((await beside("/v1/agents")).data).toEqual([]);
  });

  test("what is typed is replayed over everything that is stored", async () => {
    await write("notes/1", "Mail to joe@example.com.");
    await write("notes/2", "The report is due on Friday.");
    await write("notes/3", "Call +1 415 555 2671.", "crawler");
    const region = page.getByRole("region", { name: "Replay" });
    await page.getByLabel("Block personal data").check();
    await region.getByRole("button", { name: "Replay" }).click();
    await region.getByText("Would be blocked").waitFor();
    await soon(async () =>
      expect(await region.locator("dt").allTextContents()).toEqual([
        "Examined",
        "Unchanged",
        "Would be blocked",
        "Would be redacted",
        "Would be reported",
      ]),
    );
    await soon(async () =>
      expect(await region.locator("dd").allTextContents()).toEqual(["3 entries", "2", "1", "0", "0"]),
    );
    await region.getByText("The entries").click();
    await region.getByRole("link", { name: "notes/3" }).waitFor();
    await region.getByText("crawler").waitFor();
    await page.getByRole("button", { name: "Discard changes" }).click();
    await region.getByText("have changed since").waitFor();
  });

  test("who was slower sees both sides, and loses nothing", async () => {
    await page.getByLabel("Keep data for (days)").fill("30");
    const tabs = page.getByRole("navigation", { name: "Policies" });
    await tabs.getByRole("link", { name: "Versions" }).click();
    await page.getByRole("row", { name: /^p1 in force/ }).waitFor();
    await tabs.getByRole("link", { name: "Policies" }).click();
    await page.getByText("Not saved yet").waitFor();
    await beside("/v1/policies", { policies: { block_secrets: true }, require_config: true }, "PUT");
    await page.getByText("p2 was saved in the meantime").waitFor();
    await save();
    const alert = page.getByRole("alert");
    await alert.getByText("saved p2 in the meantime").waitFor();
    const sides = alert.getByRole("region", { name: "p2, in force and Yours side by side" });
    await sides.getByText('"require_config": true').waitFor();
    await sides.getByText('"retention_days": 30').waitFor();
    await soon(async () => expect(await page.getByLabel("Keep data for (days)").inputValue()).toBe("30"));
    await alert.getByRole("button", { name: "Save mine over p2" }).click();
    await page.getByText("Version p3 is saved and in force.").waitFor();
    expect(await beside("/v1/policies")).toMatchObject({ version: "p3", policies: { retention_days: 30 } });
  });

  test("versions are compared, and an earlier one is taken back", async () => {
    await page.getByRole("navigation", { name: "Policies" }).getByRole("link", { name: "Versions" }).click();
    await page.getByRole("region", { name: "p2 and p3 side by side" }).getByText('"retention_days": 30').waitFor();
    await page.getByRole("row", { name: /^p2/ }).getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("button", { name: "Roll back to p2" }).click();
    await page.getByRole("row", { name: /^p4 in force/ }).waitFor();
    expect(await beside("/v1/policies")).toMatchObject({ version: "p4", require_config: true });
    await page.goto(room("/trail"));
    await page
      .getByRole("link", { name: /saved the workspace's policies/ })
      .first()
      .waitFor();
  });

  test("a first configuration never replaces one that was saved meanwhile", async () => {
    await page.goto(room("/agents/new-one"));
    await page.getByText("No configuration yet").waitFor();
    await page.getByLabel("Model").fill("mine");
    await beside("/v1/config/new-one", { policies: { block_pii: true } }, "PUT");
    await save();
    await page.getByRole("alert").getByText("saved v1 in the meantime").waitFor();
    expect(await beside("/v1/config/new-one")).toMatchObject({
      version: "v1",
      config: { policies: { block_pii: true } },
    });
    await soon(async () => expect(await page.getByLabel("Model").inputValue()).toBe("mine"));
    await page.getByLabel("Block personal data").check();
    await page.getByRole("button", { name: "Save mine over v1" }).click();
    await page.getByText("Version v2 is saved and in force.").waitFor();
  });

  test("an agent's text is tried under its policies and the workspace's", async () => {
    await check("password: hunter2-Xk9 and joe@example.com");
    await verdict().getByText("Blocked by block_secrets").waitFor();
    await tried().getByRole("button", { name: "In the form" }).click();
    await check("password: hunter2-Xk9 and joe@example.com");
    await verdict().getByText("Blocked by block_pii").waitFor();
  });

  test("one policy is applied to many agents, each over the version that was shown", async () => {
    await beside("/v1/config/bot", { model: "m", policies: { retention_days: 7 } }, "PUT");
    await beside("/v1/config/crawler", { policies: { block_secrets: true } }, "PUT");
    await page.goto(room("/policies"));
    await page.getByRole("button", { name: "Apply …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Block personal data: off").waitFor();
    await soon(async () => expect(await dialog.getByLabel("Block secrets: on").isChecked()).toBe(true));
    await dialog.getByPlaceholder("Id begins with").fill("nobody");
    await dialog.getByText("No such agent").waitFor();
    await dialog.getByPlaceholder("Id begins with").fill("");
    await dialog.getByLabel("All shown").check();
    await dialog.getByRole("button", { name: "Preview for 3 agents" }).click();
    await dialog.getByText("crawler stays as it is").waitFor();
    await dialog.getByText("bot changes").click();
    await dialog.getByRole("region", { name: "v1 and Applied side by side" }).first().waitFor();
    await beside("/v1/config/bot", { model: "n", policies: { retention_days: 8 } }, "PUT");
    await dialog.getByRole("button", { name: "Apply to 2 agents" }).click();
    await dialog.getByText("new-one saved as v3").waitFor();
    await dialog.getByText("bot changed in the meantime, not saved").waitFor();
    expect(await beside("/v1/config/bot")).toMatchObject({ version: "v2" });
    await dialog.getByRole("button", { name: "Look at 1 failed one again" }).click();
    await dialog.getByRole("button", { name: "Apply to 1 agent" }).click();
    await dialog.getByText("bot saved as v3").waitFor();
    expect(await beside("/v1/config/bot")).toMatchObject({
      config: { model: "n", policies: { retention_days: 8, block_secrets: true } },
    });
    await dialog.getByRole("button", { name: "Done" }).click();
  });

  test("what is in force for an agent is shown, with what demands each part", async () => {
    const screening = { pii: { mode: "audit" } };
    await beside("/v1/policies", { policies: { retention_days: 90, screening }, require_config: true }, "PUT");
    await page.goto(room("/agents/nobody/effective"));
    await page.getByText("The workspace requires a configuration.").waitFor();
    await page.getByRole("row", { name: "Any personal data audit workspace" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await beside("/v1/config/nobody", { policies: { retention_days: 30, block_secrets: true } }, "PUT");
    await page.getByRole("row", { name: "Block secrets on configuration" }).waitFor();
    await page.getByRole("row", { name: "Keep data for (days) 30 configuration" }).waitFor();
    await beside("/v1/policies", { policies: { block_secrets: true } }, "PUT");
    await page.getByRole("row", { name: "Block secrets on workspace" }).waitFor();
  });

  test("what was blocked, redacted and reported is drawn over time, and told in a table", async () => {
    const screening = { pii: { mode: "redact", detectors: { iban: "block" } } };
    await beside("/v1/policies", { policies: { screening } }, "PUT");
    await page.goto(room("/policies/findings"));
    const blocked = page.getByRole("region", { name: "Blocked" });
    await blocked.getByText("Nothing was blocked in this time.").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await write("notes/9", "Pay to DE89 3704 0044 0532 0130 00.", "crawler");
    await write("notes/9", "Mail to joe@example.com.", "crawler");
    await blocked.getByRole("img", { name: "Blocked: 24 hours, by detector" }).waitFor();
    await blocked.getByText("As a table").click();
    await blocked.getByRole("columnheader", { name: "IBAN" }).waitFor();
    await page.getByRole("button", { name: "1 hour" }).click();
    await page
      .getByRole("region", { name: "Stored, redacted" })
      .getByText(/^Email address \d/)
      .waitFor();
  });

  test("the event of a write says what was found, and what became of it", async () => {
    const screening = { pii: { mode: "redact", detectors: { phone: "audit" } } };
    await beside("/v1/policies", { policies: { screening, limits: { value_bytes: 100 } } }, "PUT");
    const event = async (answer: Record<string, unknown>) => {
      const [newest] = (await beside("/v1/audit?agent_id=crawler&limit=1")).data as { id: string }[];
      await page.goto(room(`/events/${answer.audit_id ?? newest?.id}`));
    };
    await event(await write("notes/9", "Mail to joe@example.com or +1 415 555 2671.", "crawler"));
    await page.getByText("Stored, with what was found replaced. The policies").waitFor();
    await page.getByRole("listitem").filter({ hasText: "email in the value" }).getByText("redact").waitFor();
    await page.getByRole("listitem").filter({ hasText: "phone in the value" }).getByText("audit").waitFor();
    await event(await write("notes/9", "word ".repeat(30), "crawler"));
    await page.getByText(/The policy limits of .*p\d+ does not allow it\./).waitFor();
  });

  test("nothing failed in the browser on the way", () => {
    expect(failures).toEqual([]);
  });
});
