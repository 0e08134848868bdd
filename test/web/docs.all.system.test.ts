/** The page of the API's documentation in a browser: the key stays, and what it shows for curl works. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { governd } from "../cli/governd.ts";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the page of the API's documentation", () => {
  let stage: Stage;
  let page: Page;
  let apiKey: string;

  beforeAll(async () => {
    stage = await Stage.open();
    const made = await governd(["workspace", "create", "--name", "demo", "--json", "--data-dir", stage.dataDir]);
    apiKey = JSON.parse(made.out).api_key;
    page = await (await stage.person()).newPage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const open = (operation: string) => page.goto(`/v1/docs#/${operation}`);

  test("keeps the key over a reload, fills in examples, and shows a command that works", async () => {
    await open("Config/configUpdate");
    await page.locator(".auth-wrapper .authorize").first().click();
    await page.locator(".auth-container input").fill(apiKey);
    await page.locator(".auth-btn-wrapper .authorize").click();
    await page.locator(".close-modal").click();
    await page.reload();
    const operation = page.locator("#operations-Config-configUpdate");
    await soon(async () =>
      expect(await operation.locator('tr[data-param-name="agent_id"] input').inputValue()).toBe("support-bot"),
    );
    const ifMatch = operation.locator('tr[data-param-name="If-Match"]');
    await soon(async () => expect(await ifMatch.locator("input").inputValue()).toBe(""));
    await soon(async () => expect(await ifMatch.textContent()).toContain('Example: "v3"'));
    await operation.locator("button.execute").click();
    const status = operation.locator(".live-responses-table tbody .response-col_status").first();
    await soon(async () => expect(await status.textContent()).toContain("200"));
    const command = (await operation.locator(".curl-command pre").first().textContent()) ?? "";
    expect(command).toContain("--cacert");
    expect(command).toContain(apiKey);
    const child = Bun.spawn(["bash", "-c", command.replace(/^curl/, "curl --silent")], {
      cwd: join(stage.dataDir, "tls"),
      stdout: "pipe",
    });
    expect(JSON.parse(await new Response(child.stdout).text())).toMatchObject({
      agent_id: "support-bot",
      version: "v2",
    });
  });
});
