/** The first steps in a workspace: they tick themselves off, and the programs that they show work. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the first steps", () => {
  let stage: Stage;
  let page: Page;
  let kept: Kept;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person()).newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const steps = () => page.getByRole("region", { name: "First steps" });
  const made = () => steps().locator(".begin-made button").allTextContents();
  const send = async (path: string, body: object, method = "POST") => {
    const answer = await stage.daemon.ask(path, { method, apiKey: kept.apiKey, body: JSON.stringify(body) });
    expect(answer.ok).toBe(true);
  };

  /** Runs what the page shows, with the key in the environment. Returns what it prints. */
  async function run(language: string): Promise<unknown> {
    await steps().getByRole("button", { name: language, exact: true }).click();
    const shown = steps().getByLabel(`${language} example`, { exact: true });
    const text = (await shown.textContent()) ?? "";
    const file = join(stage.directory, "first.ts");
    writeFileSync(file, text);
    const ca = /NODE_EXTRA_CA_CERTS=(\S+)/.exec(text)?.[1];
    const commands: Record<string, string[]> = {
      curl: ["sh", "-c", text.replace("curl", "curl --silent")],
      Python: ["python3", "-c", text],
      TypeScript: [process.execPath, file],
    };
    const env = { ...process.env, GOVERND_API_KEY: kept.apiKey, ...(ca !== undefined && { NODE_EXTRA_CA_CERTS: ca }) };
    const child = Bun.spawn(commands[language] as string[], { env, stdout: "pipe", stderr: "pipe" });
    const printed = await new Response(child.stdout).text();
    return printed.includes("allowed") ? printed : await new Response(child.stderr).text();
  }

  test("tick themselves off as they happen", async () => {
    await soon(async () => expect(await made()).toEqual([]));
    await steps()
      .getByRole("button", { name: /^An agent writes/ })
      .click();
    const languages = ["curl", "TypeScript", ...(Bun.which("python3") === null ? [] : ["Python"])];
    for (const language of languages)
      expect([language, await run(language)]).toEqual([language, expect.stringContaining("allowed")]);
    await soon(async () => expect(await made()).toEqual(["An agent writes: done"]));
    await steps().getByRole("button", { name: "MCP" }).click();
    await steps().getByText("claude mcp add").waitFor();
    await send("/v1/policies", { policies: { screening: { pii: { mode: "block" } } } }, "PUT");
    await send("/v1/data/write", { agent_id: "assistant", key: "card", value: "My card is 4111 1111 1111 1111." });
    await send("/v1/checkpoints", { agent_id: "assistant" });
    await send("/v1/audit/verify", { scope: "workspace" });
    await soon(async () => expect((await made()).length).toBe(5));
    await steps().getByRole("button", { name: "All done: hide" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "State of the record" }).waitFor();
    await soon(async () => expect(await steps().count()).toBe(0));
  });
});
