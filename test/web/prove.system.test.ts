/** Proving from the dashboard: the file is saved as the daemon sent it, and governd verifies it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { governd } from "../cli/governd.ts";
import { eventually, soon } from "../eventually.ts";
import { temporaryDirectory } from "../temporary.ts";
import { violations } from "./support/axe.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("proving what was stored", () => {
  const directory = temporaryDirectory();
  let stage: Stage;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    const settings = (roots: string) =>
      writeFileSync(directory.join("governd.toml"), `seal_interval = "1s"\nstate_roots = "${roots}"\n`);
    settings("off");
    stage = await Stage.open({ cwd: directory.path });
    page = await (await stage.person({ bypassCSP: true })).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    const { apiKey } = kept;
    const send = (path: string, body?: object) =>
      stage.daemon.ask(path, { apiKey, ...(body && { method: "POST", body: JSON.stringify(body) }) });
    const operations = ["notes/1", "plan"].map((key) => ({ op: "write", key, value: `of ${key}` }));
    await send("/v1/data/batch", { agent_id: "bot", operations });
    // Only now, so that the one root of the day has both.
    settings("daily");
    stage.daemon.signal("SIGHUP");
    await eventually("there is a state root", async () =>
      (await (await send("/v1/audit?scope=workspace")).text()).includes("state.root"),
    );
  });
  afterAll(async () => {
    await stage[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const data = (rest: string) => `/workspaces/${kept.workspaceId}/agents/bot/data${rest}`;
  const dialog = () => page.getByRole("dialog");

  /** Saves the proof that the dialog asks for. Returns what governd says of the file. */
  async function proved(): Promise<string> {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog().getByRole("button", { name: "Prove and save" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^proof-bot-\d{8}T\d{6}Z\.json$/);
    const file = join(stage.directory, download.suggestedFilename());
    await download.saveAs(file);
    const key = join(stage.daemon.ready.data_dir, "keys", "seal.pub");
    const { code, out } = await governd(["verify", file, "--public-key", key]);
    expect(code).toBe(0);
    return out;
  }

  test("an entry, with its value", async () => {
    await page.goto(data("?key=plan"));
    await page.getByRole("article").getByRole("button", { name: "Prove …" }).click();
    await dialog().getByLabel("With the values").check();
    expect(await proved()).toContain('held: bot had an entry under "plan", with the value in the file');
    await dialog().getByText("Held: bot had an entry under plan.").waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test("that a key is absent, and its neighbours are named", async () => {
    await dialog().getByLabel("Key", { exact: true }).fill("other");
    expect(await proved()).toContain('absent: bot had no entry under "other"');
    await dialog().getByText("The file also names the neighbouring entries: notes/1 of bot, plan of bot.").waitFor();
  });

  test("all entries of the agent, and those below a prefix", async () => {
    await page.goto(data(""));
    await page.getByRole("button", { name: "Prove …" }).click();
    expect(await proved()).toContain("complete: the 2 entries of the file were all that bot had");
    await page.goto(data("?prefix=notes/"));
    await page.getByRole("button", { name: "Prove …" }).click();
    const prefix = dialog().getByLabel("Prefix", { exact: true });
    await soon(async () => expect(await prefix.inputValue()).toBe("notes/"));
    expect(await proved()).toContain("complete: the 1 entry of the file was all that bot had");
  });

  test("a time before every state root is said to be gone", async () => {
    await dialog().getByLabel("At").fill("2020-01-31T08:00");
    await dialog().getByRole("button", { name: "Prove and save" }).click();
    await soon(async () =>
      expect(await dialog().getByRole("alert").textContent()).toContain("No state root is that old"),
    );
  });
});
