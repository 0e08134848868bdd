/** An export by the browser itself: large, recorded, and out of reach of other sites. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { governd } from "../cli/governd.ts";
import { soon } from "../eventually.ts";
import { Client } from "../support/client.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { type Kept, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

const COOKIE = "__Host-governd_session";
const FORM = "application/x-www-form-urlencoded";
/** Long keys make long events: this many come to more than `LARGE_BYTES`. */
const WRITES = 4_000;
const LARGE_BYTES = 3 * 2 ** 20;

describe.skipIf(!hasChromium)("an export", () => {
  let stage: Stage;
  let context: BrowserContext;
  let page: Page;
  let kept: Kept;
  let client: Client;

  beforeAll(async () => {
    stage = await Stage.open();
    context = await stage.person();
    page = await context.newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    const ca = readFileSync(stage.daemon.ready.ca_file as string, "utf8");
    client = new Client(stage.url, ca, kept.apiKey);
    const entries = Array.from({ length: WRITES }, (_, i) => ({ key: `${i}/`.padEnd(500, "k"), value: "x" }));
    await client.writeAll("bot", entries);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const path = () => `/account/workspaces/${kept.workspaceId}/export`;
  const exports = async () =>
    (await client.get("/v1/audit", { scope: "workspace", operations: "audit.export" })).json.data;

  test("of a large log is saved as it comes, without passing through the page, and is recorded", async () => {
    const types = new Map<string, string>();
    page.on("request", (request) => types.set(new URL(request.url()).pathname, request.resourceType()));
    await page.goto(`/workspaces/${kept.workspaceId}/proof`);
    await page.getByLabel("Format", { exact: true }).selectOption("ndjson");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^audit-ws_.*\.ndjson$/);
    await page.getByText(`The export ${download.suggestedFilename()} is being saved by the browser.`).waitFor();
    const [seal] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save the seal" }).click(),
    ]);
    // The command names the files that were just saved.
    const command = page.getByLabel("Offline check", { exact: true });
    await command.filter({ hasText: `--seal ${seal.suggestedFilename()}` }).waitFor();
    await soon(async () =>
      expect(await command.textContent()).toContain(`governd verify ${download.suggestedFilename()} `),
    );
    const file = join(stage.directory, "large.ndjson");
    await download.saveAs(file);
    expect(statSync(file).size).toBeGreaterThan(LARGE_BYTES);
    // A navigation, whose answer no script gets to see.
    expect(types.get(path())).toBe("document");
    const key = (await page.getByLabel("Verifier key", { exact: true }).textContent()) ?? "";
    const verified = await governd(["verify", file, "--public-key", key.trim(), "--json"]);
    expect(verified.json()).toMatchObject({ verdict: "verified", exit_code: 0 });
    const recorded = await exports();
    expect(recorded).toHaveLength(1);
    expect(recorded[0].actor).toStartWith("usr_");
  });

  test("that cannot be made says why on the page", async () => {
    await page.goto(`/workspaces/${kept.workspaceId}/proof`);
    await page.getByLabel("Agent").fill("nobody");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("alert").filter({ hasText: "does not exist" }).waitFor();
    await soon(async () => expect(await page.getByText("is being saved").count()).toBe(0));
    await soon(async () => expect(new URL(page.url()).pathname).toEndWith("/proof"));
  });

  test("is for a page of this server and a session of the workspace alone", async () => {
    const { value } = (await context.cookies()).find(({ name }) => name === COOKIE) as { value: string };
    const before = (await exports()).length;
    const send = async (change: { headers?: Record<string, string | null>; path?: string; body?: string }) => {
      const headers: Record<string, string> = {};
      const wanted = { cookie: `${COOKIE}=${value}`, origin: stage.url, "content-type": FORM, ...change.headers };
      for (const [name, text] of Object.entries(wanted)) if (text !== null) headers[name] = text;
      const ca = readFileSync(stage.daemon.ready.ca_file as string, "utf8");
      const body = change.body ?? "scope=workspace&format=csv&start_time=";
      const url = `${stage.url}${change.path ?? path()}`;
      return fetch(url, { method: "POST", headers, body, tls: { ca } });
    };
    const status = async (change: Parameters<typeof send>[0]) => (await send(change)).status;
    expect(await status({ headers: { origin: null } })).toBe(403);
    expect(await status({ headers: { origin: "https://evil.example" } })).toBe(403);
    expect(await status({ headers: { cookie: null } })).toBe(401);
    expect(await status({ headers: { cookie: null, "x-api-key": kept.apiKey } })).toBe(401);
    expect(await status({ headers: { "content-type": "application/json" }, body: "{}" })).toBe(415);
    expect(await status({ path: "/account/workspaces/ws_01h455vb4pex5vsknk084sn02q/export" })).toBe(403);
    expect(await status({ body: "scope=workspace&scope=workspace" })).toBe(400);
    expect(await status({ body: "scope=workspace&planted=1" })).toBe(400);
    expect(await status({ body: `scope=workspace&format=${"x".repeat(10_000)}` })).toBe(413);
    expect((await stage.daemon.ask(path(), { headers: { cookie: `${COOKIE}=${value}` } })).status).toBe(405);
    expect((await exports()).length).toBe(before);
    const good = await send({});
    expect(good.status).toBe(200);
    expect(good.headers.get("content-disposition")).toStartWith("attachment; ");
    await good.text();
    expect((await exports()).length).toBe(before + 1);
  });
});
