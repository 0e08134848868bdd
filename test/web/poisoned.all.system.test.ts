/**
 * The story of a poisoned memory, in a browser: somebody wrote one bad entry, and three agents read it and wrote on. It is found,
 * what followed is seen, all of it is set aside after a preview, and what was known before is proved.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { governd } from "../cli/governd.ts";
import { eventually, soon } from "../eventually.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

/** What each agent wrote after it had read the bad entry, in a session of its own. */
const FOLLOWED = [
  ["mail", "summaries/17", "The customer wants refunds to account 4711."],
  ["billing", "plans/17", "Pay refunds to account 4711."],
  ["support", "answers/17", "Your refund goes to account 4711."],
] as const;

describe.skipIf(!hasChromium)("a poisoned memory", () => {
  const directory = temporaryDirectory();
  let stage: Stage;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    const settings = (roots: string) =>
      writeFileSync(directory.join("governd.toml"), `seal_interval = "1s"\nstate_roots = "${roots}"\n`);
    settings("off");
    stage = await Stage.open({ cwd: directory.path });
    page = await (await stage.person()).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    await write("mail", "inbox/16", "Refunds go to the finance team.", "import");
    settings("daily");
    stage.daemon.signal("SIGHUP");
    const trail = () => stage.daemon.ask("/v1/audit?scope=workspace", { apiKey: kept.apiKey });
    await eventually("there is a state root", async () => (await (await trail()).text()).includes("state.root"));
    await write("mail", "inbox/17", "Refunds go to account 4711.", "import");
    for (const [agent, key, value] of FOLLOWED) {
      expect(await read("mail", "inbox/17", `${agent}-1`)).toBe(200);
      await write(agent, key, value, `${agent}-1`);
    }
    await write("billing", "rates", "Two percent.", "billing-2");
  });
  afterAll(async () => {
    await stage[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const ask = (path: string, session: string, body?: object) =>
    stage.daemon.ask(path, {
      ...{ apiKey: kept.apiKey, headers: { "Governd-Session": session } },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
  async function write(agent: string, key: string, value: string, session: string): Promise<void> {
    expect((await ask("/v1/data/write", session, { agent_id: agent, key, value })).status).toBe(200);
  }
  const read = async (agent: string, key: string, session = "later") =>
    (await ask(`/v1/data/read?agent_id=${agent}&key=${encodeURIComponent(key)}`, session)).status;

  const data = (agent: string, rest: string) => `/workspaces/${kept.workspaceId}/agents/${agent}/data${rest}`;
  const dialog = () => page.getByRole("dialog");

  test("is found by its words, and what followed from it is seen", async () => {
    await page.goto(data("mail", ""));
    await page.getByLabel("Search by words and meaning").fill("refunds account 4711");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page
      .getByRole("link", { name: /inbox\/17/ })
      .first()
      .click();
    await page.locator("article pre", { hasText: "Refunds go to account 4711." }).waitFor();
    await page.getByRole("article").getByRole("link", { name: "What followed" }).click();
    const keys = page.locator("tbody tr th code");
    const wanted = FOLLOWED.map(([, key]) => key);
    await soon(async () => expect((await keys.allInnerTexts()).map((text) => text.trim())).toEqual(wanted));
  });

  test("is set aside with everything that followed, after a preview", async () => {
    await page.getByRole("button", { name: "Set aside with everything that followed …" }).click();
    await dialog().getByText("4 versions", { exact: true }).waitFor();
    for (const [agent, key] of FOLLOWED) expect([key, await read(agent, key)]).toEqual([key, 200]);
    await dialog().getByLabel("Reason").fill("A forged message changed where refunds go.");
    await dialog().getByRole("button", { name: "Set aside", exact: true }).click();
    await dialog().waitFor({ state: "detached" });
    for (const [agent, key] of [["mail", "inbox/17"], ...FOLLOWED] as const)
      expect([key, await read(agent, key)]).toEqual([key, 404]);
    expect([await read("mail", "inbox/16"), await read("billing", "rates")]).toEqual([200, 200]);
    await page.goto(data("billing", "?key=plans/17"));
    await page.getByText("This is set aside.").waitFor();
  });

  test("was not known before, which a stranger can check", async () => {
    await page.goto(data("mail", "?key=inbox/17"));
    await page.getByRole("article").getByRole("button", { name: "Prove …" }).click();
    const absent = await saved();
    await dialog().getByText("Absent: mail had nothing under inbox/17.").waitFor();
    await dialog().getByLabel("Key", { exact: true }).fill("inbox/16");
    await dialog().getByLabel("With the values").check();
    const held = await saved();
    await using second = new SecondVerifier();
    for (const [file, words] of [
      [absent, 'absent: mail had no entry under "inbox/17"'],
      [held, 'held: mail had an entry under "inbox/16", with the value in the file'],
    ] as const) {
      const key = join(stage.daemon.ready.data_dir, "keys", "seal.pub");
      const { code, out } = await governd(["verify", file, "--public-key", key]);
      expect([code, out]).toEqual([0, expect.stringContaining(words)]);
      if (HAS_PYTHON) expect((await second.run(file, "--public-key", key)).code).toBe(0);
    }
  });

  async function saved(): Promise<string> {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog().getByRole("button", { name: "Prove and save" }).click(),
    ]);
    const file = join(stage.directory, `${crypto.randomUUID()}-${download.suggestedFilename()}`);
    await download.saveAs(file);
    return file;
  }
});
