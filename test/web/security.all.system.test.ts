/** What a thief, another site and an auditor come to. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { inhabit } from "./support/inhabit.ts";
import { type Kept, OWNER, settled, signIn, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

const COOKIE = "__Host-governd_session";

/** Compressed, page, style sheet and script together. */
const MAX_FIRST_PAGE_BYTES = 150 * 1024;
/** Compressed. */
const MAX_SCRIPT_BYTES = 101_000;
/** The face, which no page waits for. */
const MAX_FACE_BYTES = 100_000;

let stage: Stage;
let context: BrowserContext;
let page: Page;
let kept: Kept;
let checkpointId: string;

describe.skipIf(!hasChromium)("secure", () => {
  beforeAll(async () => {
    stage = await Stage.open();
    context = await stage.person();
    page = await context.newPage();
    kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    checkpointId = (await inhabit(stage, kept)).checkpointId;
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const cookieOf = async (person: BrowserContext) =>
    (await person.cookies()).find(({ name }) => name === COOKIE) as { value: string };

  /** A request as a program sends it, which can claim whatever it likes. */
  const claim = (path: string, cookie: string, init: { method?: string; origin?: string; body?: object } = {}) =>
    stage.daemon.ask(path, {
      method: init.method ?? (init.body === undefined ? "GET" : "POST"),
      headers: {
        cookie: `${COOKIE}=${cookie}`,
        "x-workspace-id": kept.workspaceId,
        ...(init.origin === undefined ? {} : { origin: init.origin }),
      },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    });

  describe("the page", () => {
    test("comes with the headers that keep others out", async () => {
      const { headers, status } = await stage.daemon.ask("/workspaces/any/agents/deep?link=1");
      expect(status).toBe(200);
      const policy = headers.get("content-security-policy") ?? "";
      for (const directive of [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]) {
        expect(policy).toContain(directive);
      }
      expect(policy).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("referrer-policy")).toBe("same-origin");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    });

    test("is no answer to other addresses and methods", async () => {
      const status = async (path: string, method = "GET") => (await stage.daemon.ask(path, { method })).status;
      expect(await status("/nothing")).toBe(404);
      expect(await status("/assets/dashboard-0000000000000000.js")).toBe(404);
      expect(await status("/workspaces", "POST")).toBe(405);
      expect(await status("/v1/nothing")).toBe(401);
    });

    test("is small, and its assets are kept for good", async () => {
      let total = 0;
      const html = await (await stage.daemon.ask("/")).text();
      const assets = Array.from(html.matchAll(/\/assets\/[^"]+/g), ([path]) => path);
      expect(assets.length).toBe(3);
      const face = assets.find((path) => path.endsWith(".woff2")) as string;
      expect((await (await stage.daemon.ask(face)).arrayBuffer()).byteLength).toBeLessThan(MAX_FACE_BYTES);
      for (const path of ["/", ...assets]) {
        const init = { headers: { "accept-encoding": "gzip" }, decompress: false } as RequestInit;
        const response = await stage.daemon.ask(path, init);
        const { byteLength } = await response.arrayBuffer();
        if (path.endsWith(".js")) expect(byteLength).toBeLessThan(MAX_SCRIPT_BYTES);
        if (path !== face) total += byteLength;
        if (path === "/") continue;
        expect(response.headers.get("content-encoding")).toBe("gzip");
        expect(response.headers.get("cache-control")).toContain("immutable");
      }
      expect(total).toBeLessThan(MAX_FIRST_PAGE_BYTES);
    });

    test("shows something before the daemon has answered anything else", async () => {
      const fresh = await stage.person();
      const first = await fresh.newPage();
      const held: string[] = [];
      // Never answered: whatever the page asks the API for.
      await first.route(/\/(account|v1)\b/, (route) => void held.push(route.request().url()));
      await first.goto("/sign-in");
      await first.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
      await fresh.close();
      expect(held.filter((url) => !url.startsWith(stage.url))).toEqual([]);
    });

    test("runs no script that is put into it, and asks nobody else for anything", async () => {
      const asked: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).origin));
      await page.goto(`/workspaces/${kept.workspaceId}`);
      await settled(page);
      await page.evaluate(`{
      const script = document.createElement("script");
      try { script.textContent = "window.broken = true"; document.head.append(script); } catch {}
      try { document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.broken = true'>"); } catch {}
    }`);
      await page.waitForTimeout(200);
      await soon(async () => expect(await page.evaluate("window.broken")).toBeUndefined());
      expect([...new Set(asked)]).toEqual([stage.url]);
    });
  });

  describe("the browser keeps nothing", () => {
    test("no key, no token, only when it was here last in its storage, and no cookie within reach of scripts", async () => {
      const visited = await page.evaluate("JSON.stringify(localStorage)");
      const visit = { seenMs: expect.any(Number), sinceMs: expect.any(Number) };
      const places = Object.entries(JSON.parse(visited as string) as Record<string, string>);
      expect(places.map(([name, text]) => [name, JSON.parse(text)])).toEqual([
        [`governd.visit.${kept.workspaceId}`, visit],
      ]);
      const stored = await page.evaluate(`(async () => [
      document.cookie,
      JSON.stringify(sessionStorage),
      (await indexedDB.databases()).length,
      (await caches.keys()).length,
      location.hash,
    ])()`);
      expect(stored).toEqual(["", "{}", 0, 0, ""]);
      const cookie = (await context.cookies()).find(({ name }) => name === COOKIE);
      expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict", path: "/" });
    });
  });

  describe("another site", () => {
    test("cannot act with a visitor's session: no origin, another one, or none of the workspace", async () => {
      const { value } = await cookieOf(context);
      const body = { agent_id: "support-bot", key: "planted", value: "x" };
      for (const origin of [undefined, "https://evil.example", "null", `${stage.url}.evil.example`]) {
        const answer = await claim("/v1/data/write", value, { body, ...(origin === undefined ? {} : { origin }) });
        expect(answer.status).toBe(403);
      }
      const signOut = await claim("/account/sign-out", value, { body: {}, origin: "https://evil.example" });
      expect(signOut.status).toBe(403);
      expect((await claim("/account", value)).status).toBe(200);
    });

    test("gets no cookie from the browser, and no frame", async () => {
      const other = await context.newPage();
      // Another origin of the same host: another port.
      const evil = Bun.serve({
        port: 0,
        fetch: () =>
          new Response(
            `<iframe src="${stage.url}/settings"></iframe>
           <form method="post" enctype="text/plain" action="${stage.url}/account/sign-out"><button>go</button></form>`,
            { headers: { "content-type": "text/html" } },
          ),
      });
      await other.goto(`http://127.0.0.1:${evil.port}/`);
      await other.waitForTimeout(300);
      const framed = other.frames().find((frame) => frame.url().startsWith(stage.url));
      await soon(async () => expect(framed === undefined ? "" : await framed.content()).not.toContain('id="app"'));
      await other.getByRole("button", { name: "go" }).click();
      await other.waitForURL(`${stage.url}/account/sign-out`);
      await soon(async () => expect(await other.content()).toContain("request_id"));
      await other.close();
      await evil.stop(true);
      await page.goto("/settings");
      await page.getByRole("heading", { name: "Your account" }).waitFor();
    });

    test("cannot send anybody on after signing in", async () => {
      const fresh = await stage.person();
      const visitor = await fresh.newPage();
      for (const next of ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]) {
        await visitor.goto(`/sign-in?next=${encodeURIComponent(next)}`);
        if (next.startsWith("https")) {
          await visitor.getByLabel("Email").fill(OWNER.email);
          await visitor.getByLabel("Password").fill(OWNER.password);
          await visitor.getByRole("button", { name: "Sign in" }).click();
        }
        await visitor.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
        await soon(async () => expect(new URL(visitor.url()).origin).toBe(stage.url));
      }
      await fresh.close();
    });
  });

  describe("a stolen session", () => {
    test("ends when it is ended, and the page that used it says so", async () => {
      const thief = await stage.person();
      const stolen = await thief.newPage();
      await signIn(stolen, OWNER);
      const { value } = await cookieOf(thief);
      await page.goto("/settings");
      await page.getByRole("button", { name: "End all others" }).click();
      await page.getByRole("button", { name: "End all others" }).waitFor({ state: "detached" });
      expect((await claim("/account", value)).status).toBe(401);
      // Its live stream ends with the session, so nobody need click there.
      await stolen.getByRole("heading", { name: "Sign in" }).waitFor();
      await thief.close();
    });

    test("signing out ends it at the daemon, not only here", async () => {
      const person = await stage.person();
      const visitor = await person.newPage();
      await signIn(visitor, OWNER);
      const { value } = await cookieOf(person);
      expect((await claim("/account", value)).status).toBe(200);
      await visitor.getByRole("button", { name: "Sign out" }).click();
      await visitor.getByRole("heading", { name: "Sign in" }).waitFor();
      expect((await claim("/account", value)).status).toBe(401);
      await person.close();
    });
  });

  describe("an auditor", () => {
    let auditor: BrowserContext;
    let seen: Page;

    test("joins by a link", async () => {
      await page.goto(`/workspaces/${kept.workspaceId}/members`);
      await page.getByRole("button", { name: "Invite …" }).click();
      await page.getByRole("dialog").getByLabel("Role").selectOption("auditor");
      await page.getByRole("button", { name: "Make the link" }).click();
      const link = ((await page.getByLabel("Invitation link", { exact: true }).textContent()) ?? "").trim();
      auditor = await stage.person();
      seen = await auditor.newPage();
      await seen.goto(link);
      await seen.getByLabel("Your name").fill("Grace");
      await seen.getByLabel("Email").fill("grace@example.org");
      await seen.getByLabel("Password").fill("an honest auditor");
      await seen.getByRole("button", { name: "Make the account" }).click();
      await seen.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
    });

    test("sees the log and no stored value, and is offered no change", async () => {
      const agent = `/workspaces/${kept.workspaceId}/agents/support-bot`;
      const expectButtons = async (path: string, expected: readonly string[]) => {
        await seen.goto(path);
        await settled(seen);
        const buttons = seen.locator("main").getByRole("button");
        await soon(async () => expect(await buttons.allInnerTexts()).toEqual([...expected]));
      };
      await expectButtons(agent, []);
      await expectButtons(`${agent}/data`, ["Prove …"]);
      await seen.getByText("Auditors see no stored values").waitFor();
      await expectButtons(`${agent}/data/history?key=greeting`, []);
      await seen.getByRole("link", { name: "the events of its key" }).click();
      await seen.getByText("data.write").first().waitFor();
      await expectButtons(`${agent}/versions`, []);
      await expectButtons(`${agent}/checkpoints`, []);
      await expectButtons(`/workspaces/${kept.workspaceId}/keys`, []);
      await expectButtons(`/workspaces/${kept.workspaceId}/members`, ["Leave"]);
      await seen.goto(`${agent}/audit?result=blocked`);
      await seen.getByText("block_secrets").first().waitFor();
    });

    test("can change nothing, whatever the page offers", async () => {
      const { value } = await cookieOf(auditor);
      const W = `/account/workspaces/${kept.workspaceId}`;
      const attempts: [method: string, path: string, body?: object][] = [
        ["PUT", "/v1/config/support-bot", {}],
        ["POST", "/v1/config/support-bot/rollback", { version: "v1" }],
        ["POST", "/v1/data/write", { agent_id: "support-bot", key: "k", value: "v" }],
        ["DELETE", "/v1/data?agent_id=support-bot&key=greeting"],
        ["DELETE", "/v1/data/prefix?agent_id=support-bot&prefix=c"],
        ["POST", "/v1/checkpoints", { agent_id: "support-bot" }],
        ["POST", `/v1/checkpoints/${checkpointId}/restore`, {}],
        ["DELETE", `/v1/checkpoints/${checkpointId}`],
        ["POST", "/v1/agents/support-bot/suspend", {}],
        ["GET", "/v1/data/read?agent_id=support-bot&key=greeting"],
        ["GET", "/v1/data/versions?agent_id=support-bot&key=greeting"],
        ["POST", "/v1/data/revert", { agent_id: "support-bot", key: "greeting", version: "aud_1" }],
        ["GET", `/v1/checkpoints/${checkpointId}`],
        ["POST", `${W}/keys`, { scope: "full" }],
        ["POST", `${W}/invitations`, { role: "owner" }],
      ];
      for (const [method, path, body] of attempts) {
        const answer = await claim(path, value, { method, origin: stage.url, ...(body ? { body } : {}) });
        expect([path, answer.status]).toEqual([path, 403]);
      }
      await auditor.close();
    });
  });
});
