/** The whole way in a real browser: from the one-time link to a log that verifies without the daemon. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { governd } from "../cli/governd.ts";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

let stage: Stage;
let page: Page;
let kept: Kept;
const failures: string[] = [];

describe.skipIf(!hasChromium)("from the one-time link to a log that verifies without the daemon", () => {
  beforeAll(async () => {
    // Any program that takes a seal will do.
    stage = await Stage.open({ env: { GOVERND_ANCHOR_COMMAND: "/bin/true", GOVERND_SEAL_INTERVAL: "1s" } });
    const context = await stage.person();
    page = await context.newPage();
    page.on("pageerror", (error) => failures.push(String(error)));
    page.on("console", (message) => {
      // Responses such as 404 and 412 are expected; the browser reports each as an error.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        failures.push(message.text());
      }
    });
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const room = (rest = "") => `/workspaces/${kept.workspaceId}${rest}`;

  /** What an agent does with its key, beside the browser. */
  async function asAgent(path: string, body: object, method = "POST"): Promise<Record<string, unknown>> {
    const response = await stage.daemon.ask(path, { method, apiKey: kept.apiKey, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  }

  const write = (key: string, value: string) => asAgent("/v1/data/write", { agent_id: "bot", key, value });

  test("the one-time link leads to an account, a workspace and a key that works", async () => {
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    expect(kept.apiKey).toMatch(/^gov_[0-9a-z]{26}_[0-9a-z]{32}_[0-9a-z]{7}$/);
    await soon(async () => expect(new URL(page.url()).pathname).toBe(room()));
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByText("No agent yet").waitFor();
  });

  test("an agent appears by itself when it does something", async () => {
    await page.goto(room("/agents"));
    await page.getByText("No agent yet").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    expect((await write("notes/1", "The report is due on Friday.")).allowed).toBe(true);
    await page.getByRole("link", { name: "bot" }).waitFor();
  });

  test("policies are set in a form, as a new version", async () => {
    await page.getByRole("link", { name: "bot" }).click();
    await page.getByLabel("Block personal data").check();
    await page.getByLabel("Everything else (JSON)").fill('{"temperature": 0.2}');
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await page.getByText("Version v1 is saved and in force.").waitFor();
    const config = await stage.daemon.ask("/v1/config/bot", { apiKey: kept.apiKey });
    expect(await config.json()).toMatchObject({
      version: "v1",
      config: { policies: { block_pii: true, block_secrets: false }, temperature: 0.2 },
    });
  });

  test("who was slower is told, and loses nothing", async () => {
    await page.getByLabel("Model").fill("mine");
    await asAgent("/v1/config/bot", { model: "theirs", policies: { block_pii: true } }, "PUT");
    await page.getByText("v2 was saved in the meantime").waitFor();
    await page.getByRole("button", { name: "Save as a new version" }).click();
    const conflict = page.getByRole("alert");
    await conflict.getByText("saved v2 in the meantime").waitFor();
    const sides = conflict.getByRole("region", { name: "v2, in force and Yours side by side" });
    await sides.getByText('"model": "theirs"').waitFor();
    await sides.getByText('"model": "mine"').waitFor();
    await soon(async () => expect(await page.getByLabel("Model").inputValue()).toBe("mine"));
    await page.getByRole("button", { name: "Save mine over v2" }).click();
    await page.getByText("Version v3 is saved and in force.").waitFor();
  });

  test("versions are compared side by side and rolled back", async () => {
    await page.getByRole("navigation", { name: "Agent" }).getByRole("link", { name: "Versions" }).click();
    await page.getByRole("region", { name: "v2 and v3 side by side" }).getByText('"model": "mine"').waitFor();
    await page.getByRole("row", { name: /^v2/ }).getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("button", { name: "Roll back to v2" }).click();
    await page.getByRole("row", { name: /^v4 in force content of v2/ }).waitFor();
  });

  test("a blocked write is shown as it happens, and says which detector and where", async () => {
    await page.getByRole("navigation", { name: "Agent" }).getByRole("link", { name: "Audit" }).click();
    await page
      .getByRole("link", { name: /saved the configuration/ })
      .first()
      .waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    expect((await write("customers/1", "Write to jane@example.com today.")).allowed).toBe(false);
    await page.getByRole("link", { name: /^blocked/ }).click();
    await page.getByText("email in the value, characters 10 to 25").waitFor();
    await soon(async () => expect(page.url()).toContain("event=aud_"));
    await page.reload();
    await page.getByText("email in the value, characters 10 to 25").waitFor();
    await soon(async () => expect(await page.content()).not.toContain("jane@example.com"));
  });

  test("one's own blocked write is marked in what was typed", async () => {
    await page.getByRole("navigation", { name: "Agent" }).getByRole("link", { name: "Data" }).click();
    await page.getByRole("button", { name: "Write" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Key", { exact: true }).fill("customers/2");
    await dialog.getByRole("textbox", { name: "Value" }).fill("Her address: joe@example.com");
    await dialog.getByRole("button", { name: "Write" }).click();
    await dialog.locator("mark").getByText("joe@example.com").waitFor();
    await dialog.getByRole("textbox", { name: "Value" }).fill("Prefers the morning.");
    await dialog.getByRole("button", { name: "Write" }).click();
    await page.getByRole("article", { name: "customers/2" }).getByText("Prefers the morning.").waitFor();
  });

  test("data are found by words, and by the tree", async () => {
    await page.getByRole("searchbox").fill("when is the report due");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("link", { name: /notes\/1/ }).click();
    await page.getByRole("article", { name: "notes/1" }).getByText("due on Friday").waitFor();
    await page.getByRole("searchbox").fill("");
    await page.getByRole("link", { name: /customers\// }).click();
    await page.getByRole("link", { name: /^2/ }).click();
    await page.getByRole("article", { name: "customers/2" }).waitFor();
  });

  test("a restore shows before what it will do, and is undone", async () => {
    const tabs = page.getByRole("navigation", { name: "Agent" });
    await tabs.getByRole("link", { name: "Checkpoints" }).click();
    await page.getByRole("button", { name: "New checkpoint" }).click();
    await page.getByLabel("Label").fill("before");
    await page.getByRole("button", { name: "Make the checkpoint" }).click();
    await page.getByRole("link", { name: /^before/ }).click();
    await page.getByText("All 2 entries are as they were.").waitFor();
    await write("notes/1", "The report is late.");
    await write("notes/2", "New.");
    await page.getByText("Restoring it: 1 entry changes back, 1 entry is removed; 1 entry stays as it is.").waitFor();
    await page.getByRole("button", { name: "Restore …" }).click();
    await page
      .getByRole("dialog")
      .getByText("1 entry changes back, 1 entry is removed; 1 entry stays as it is")
      .waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByText("1 entry came back or changed back, 1 entry was removed, 1 entry unchanged").waitFor();
    await page.getByText("All 2 entries are as they were.").waitFor();
    await write("notes/since", "written after the restore");
    await page.getByRole("button", { name: "Undo …" }).click();
    // What the agent wrote since then goes too, which it says before it does it.
    const asked = page.getByRole("dialog");
    await asked.getByText("1 entry comes back, 1 entry changes back, 1 entry is removed").waitFor();
    await asked.getByText("notes/since").waitFor();
    await asked.getByRole("button", { name: "Undo the restore" }).click();
    await page.getByText("Restoring it: 1 entry changes back, 1 entry is removed; 1 entry stays as it is.").waitFor();
    const now = await stage.daemon.ask("/v1/data/read?agent_id=bot&key=notes/1", { apiKey: kept.apiKey });
    expect(await now.json()).toMatchObject({ value: "The report is late." });
  });

  test("any two states are compared, and the address says which", async () => {
    await page.getByRole("link", { name: "With another …" }).click();
    await page.getByText("1 added, 1 changed; 1 entry is the same.").waitFor();
    await page.locator("summary", { hasText: "notes/1" }).click();
    await page.locator("mark", { hasText: "late" }).waitFor();
    // The other way round.
    const before = await page.getByLabel("From").inputValue();
    await page.getByLabel("From").selectOption("now");
    await page.getByLabel("To").selectOption(before);
    await page.getByText("1 changed, 1 removed; 1 entry is the same.").waitFor();
    await soon(async () => expect(new URL(page.url()).searchParams.get("to")).toBe(before));
  });

  test("the list marks what a restore has made", async () => {
    await page.goto(room("/agents/bot/checkpoints"));
    const marked = page.getByRole("row").filter({ hasText: "before a restore" });
    await soon(async () => expect(await marked.count()).toBe(2));
    const head = 1;
    await soon(async () => expect(await page.getByRole("row").count()).toBe(head + 2 + 1));
    await marked.first().getByRole("link").first().click();
    await page.getByText("Made before a restore").waitFor();
  });

  test("an entry gets an end, and what somebody else wrote meanwhile is shown, not overwritten", async () => {
    await page.goto(room("/agents/bot/data?prefix=notes/&key=notes/1"));
    await page.getByRole("button", { name: "Overwrite …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Ends").fill("2099-05-06T07:08");
    await dialog.getByRole("textbox", { name: "Value" }).fill("The report is done.");
    await write("notes/1", "The report is lost.");
    // The page behind the dialog shows the new value before the user goes on.
    await page.locator("article pre", { hasText: "The report is lost." }).waitFor();
    await dialog.getByRole("button", { name: "Write" }).click();
    await dialog.getByText("Nothing was overwritten").waitFor();
    const sides = dialog.getByRole("region", { name: "Stored value and Your value side by side" });
    await soon(async () =>
      expect(await sides.getByRole("row").allInnerTexts()).toEqual([
        expect.stringMatching(/Stored value\s+Your value/),
        expect.stringMatching(/The report is lost\.\s+added:\s+The report is done\./),
      ]),
    );
    const stored = async () => {
      const answered = await stage.daemon.ask("/v1/data/read-full?agent_id=bot&key=notes/1", { apiKey: kept.apiKey });
      return (await answered.json()) as { value: string; expires_at: string | null };
    };
    expect(await stored()).toMatchObject({ value: "The report is lost.", expires_at: null });
    await dialog.getByRole("button", { name: "Write mine over it" }).click();
    await page.locator("article pre", { hasText: "The report is done." }).waitFor();
    expect(await stored()).toMatchObject({ value: "The report is done." });
    expect((await stored()).expires_at).toMatch(/^2099-05-0/);
    await page.getByRole("link", { name: /^1/ }).filter({ hasText: "ends" }).waitFor();

    // Overwritten without a change of its end, it keeps it.
    await page.getByRole("button", { name: "Overwrite …" }).click();
    await dialog.getByRole("textbox", { name: "Value" }).fill("The report is late.");
    await dialog.getByRole("button", { name: "Write" }).click();
    await page.locator("article pre", { hasText: "The report is late." }).waitFor();
    expect((await stored()).expires_at).toMatch(/^2099-05-0/);

    // A new entry does not replace one that has its key.
    await page.getByRole("button", { name: "Write", exact: true }).click();
    await dialog.getByLabel("Key", { exact: true }).fill("notes/1");
    await dialog.getByRole("textbox", { name: "Value" }).fill("Another report.");
    await dialog.getByRole("button", { name: "Write" }).click();
    await dialog.getByText("Nothing was overwritten").waitFor();
    await dialog.getByRole("button", { name: "Keep theirs, drop mine" }).click();
    expect(await stored()).toMatchObject({ value: "The report is late." });
  });

  test("erasing takes an entry from everywhere", async () => {
    await page.goto(room("/agents/bot/data?key=notes/2"));
    await page.getByRole("button", { name: "Delete …" }).click();
    await page.getByLabel("Erase for good").check();
    await page.getByRole("button", { name: "Erase for good" }).click();
    await page.getByText(/^The entry notes\/2 is erased, with the details of \d+ events?\.$/).waitFor();
  });

  test("a suspended agent is refused, which is shown, and resumed", async () => {
    await page.goto(room("/agents/bot/audit"));
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Suspend …" }).click();
    await page.getByLabel("Reason").fill("looks odd");
    await page.getByRole("button", { name: "Suspend now" }).click();
    await page.getByText("looks odd").first().waitFor();
    expect((await write("notes/3", "x")).code).toBe("agent_suspended");
    await page.getByRole("link", { name: /^denied/ }).waitFor();
    await page.getByRole("button", { name: "Resume …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Suspend …" }).waitFor();
    expect((await write("notes/3", "x")).allowed).toBe(true);
  });

  test("the log is verified here, and its export without the daemon", async () => {
    await page.goto(room("/proof"));
    await page.getByRole("button", { name: "Verify the whole workspace" }).click();
    await page.getByText("Everything holds.").waitFor();
    await page.getByText(/^Complete through event [0-9,]+: a seal covers all of it\.$/).waitFor();
    await page.getByText(/^The first \d+ events are covered by a seal that was taken away/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    const file = join(stage.directory, "export.json");
    await download.saveAs(file);
    const key = (await page.getByLabel("Verifier key", { exact: true }).textContent()) ?? "";
    const verified = await governd(["verify", file, "--public-key", key.trim(), "--json"]);
    expect(verified.json()).toMatchObject({ verdict: "verified", exit_code: 0 });
  });

  test("a key is made, rotated, limited to networks and revoked", async () => {
    await page.goto(room("/keys"));
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Label").fill("crawler");
    await page.getByRole("button", { name: "Make the key" }).click();
    const first = ((await page.getByLabel("API key", { exact: true }).textContent()) ?? "").trim();
    await page.getByRole("button", { name: "I have kept the key" }).click();
    await page.getByRole("button", { name: "Rotate crawler" }).click();
    await page.getByLabel("The old key ends").selectOption("0");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByRole("heading", { name: "crawler is ready" }).waitFor();
    const second = ((await page.getByLabel("API key", { exact: true }).textContent()) ?? "").trim();
    await page.getByRole("button", { name: "I have kept the key" }).click();
    // The two keys have one label, and are told apart.
    await page.getByText(/^replaced by /).waitFor();
    await page.getByText(/^replaces /).waitFor();
    const status = async (apiKey: string) => (await stage.daemon.ask("/v1/data/list?agent_id=bot", { apiKey })).status;
    expect([await status(first), await status(second)]).toEqual([401, 200]);
    for (const [networks, expected] of [
      ["10.0.0.0/8, 2001:db8::/32", 403],
      ["", 200],
    ] as const) {
      await page.getByRole("button", { name: "Networks of crawler" }).click();
      await page.getByLabel("Only from these networks").fill(networks);
      await page.getByRole("button", { name: "Change", exact: true }).click();
      await page.getByRole("heading", { name: "Networks of crawler" }).waitFor({ state: "detached" });
      expect([networks, await status(second)]).toEqual([networks, expected]);
    }
    await page.getByRole("button", { name: "Revoke crawler" }).click();
    await page.getByRole("button", { name: "Revoke now" }).click();
    await page.getByText("is revoked: requests with it are refused.").waitFor();
    expect(await status(second)).toBe(401);
  });

  test("nothing failed in the browser on the way", () => {
    expect(failures).toEqual([]);
  });
});
