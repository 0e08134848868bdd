/** Signing in by a real OpenID issuer, in a real browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { soon } from "../eventually.ts";
import { temporaryDirectory } from "../temporary.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { OWNER, signIn, signUp } from "./support/people.ts";
import { Provider } from "./support/provider.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium).each(["client_secret_basic", "client_secret_post"] as const)(
  "signing in by an issuer that takes %s alone",
  (method) => {
    const files = temporaryDirectory();
    let provider: Provider;
    let stage: Stage;
    let workspaceId: string;

    beforeAll(async () => {
      provider = await Provider.start(method);
      const env = { ...provider.settings(files.path), GOVERND_OIDC_ROLE_MAP: "officers=owner,readers=auditor" };
      stage = await Stage.open({ env });
      provider.accept({ url: stage.url, ca: readFileSync(stage.daemon.ready.ca_file as string, "utf8") });
      const page = await (await stage.person()).newPage();
      ({ workspaceId } = await signUp(page, stage.daemon.ready.sign_up_url as string));
    });
    afterAll(async () => {
      await stage[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
      files[Symbol.dispose]();
    });

    /** Says at the issuer who one is. */
    async function nameOneself(page: Page, name: string): Promise<void> {
      await page.waitForURL(`${provider.url}/interaction/**`);
      await page.locator("input[name=login]").fill(name);
      await page.locator("input[name=password]").fill("any");
      await page.locator("button[type=submit]").click();
    }

    /** Signs in at the issuer, and agrees to what the client asks for. */
    async function signInAt(page: Page, name: string): Promise<void> {
      await nameOneself(page, name);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.waitForURL(`${stage.url}/**`);
    }

    const newPage = async () => (await stage.person({ ignoreHTTPSErrors: true })).newPage();

    test("opens the page that was asked for, with the role of the groups, which the next sign-in changes", async () => {
      provider.groups.set("carla", ["officers"]);
      const page = await newPage();
      await page.goto(`/workspaces/${workspaceId}/members`);
      await page.getByRole("link", { name: "Sign in by localhost" }).click();
      await signInAt(page, "carla");
      await page.getByRole("heading", { name: "Members" }).waitFor();
      await soon(async () => expect(new URL(page.url()).pathname).toBe(`/workspaces/${workspaceId}/members`));
      const row = page.getByRole("row").filter({ hasText: "carla@example.org" });
      await row.getByText("owner").first().waitFor();

      provider.groups.set("carla", ["readers"]);
      const again = await newPage();
      await again.goto("/sign-in");
      await again.getByRole("link", { name: "Sign in by localhost" }).click();
      await signInAt(again, "carla");
      await again.goto(`/workspaces/${workspaceId}/members`);
      await again.getByRole("row").filter({ hasText: "carla@example.org" }).getByText("auditor").first().waitFor();
    });

    // How the issuer takes the secret matters where a code becomes a token, which every sign-in does in the same way.
    if (method === "client_secret_post") return;

    test("in two tabs at the same time", async () => {
      provider.groups.set("tom", ["officers"]);
      const context = await stage.person({ ignoreHTTPSErrors: true });
      const [one, two] = [await context.newPage(), await context.newPage()];
      for (const page of [one, two]) {
        await page.goto("/sign-in?next=/settings");
        await page.getByRole("link", { name: "Sign in by localhost" }).click();
        await page.waitForURL(`${provider.url}/interaction/**`);
      }
      await signInAt(one, "tom");
      // The issuer remembers in the second tab what the person agreed to in the first.
      await nameOneself(two, "tom");
      for (const page of [one, two]) await page.getByRole("heading", { name: "Your account" }).waitFor();
    });

    test("says so to somebody who declines at the issuer", async () => {
      const page = await newPage();
      await page.goto("/sign-in");
      await page.getByRole("link", { name: "Sign in by localhost" }).click();
      await page.getByRole("link", { name: "Cancel" }).click();
      await page.getByRole("alert").getByText("The issuer did not let you in: you declined there").waitFor();
    });

    test("says why somebody does not get in", async () => {
      provider.groups.set("eve", ["others"]);
      const page = await newPage();
      await page.goto("/sign-in");
      await page.getByRole("link", { name: "Sign in by localhost" }).click();
      await signInAt(page, "eve");
      await page.getByRole("alert").getByText("your groups there give you no role").waitFor();
    });

    test("signing out at the issuer ends the session here", async () => {
      provider.groups.set("bob", ["officers"]);
      const page = await newPage();
      await page.goto("/sign-in");
      await page.getByRole("link", { name: "Sign in by localhost" }).click();
      await signInAt(page, "bob");
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      await page.goto(`${provider.url}/session/end`);
      await page.getByRole("button", { name: "Yes, sign me out" }).click();
      await page.getByText("Sign-out Success").first().waitFor();
      await page.goto(`/workspaces/${workspaceId}`);
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
    });

    test("links an account that exists, which its owner asks for with the password", async () => {
      provider.groups.set("olga", ["readers"]);
      const page = await newPage();
      await signIn(page, OWNER);
      await page.goto("/settings");
      await page.getByRole("button", { name: "Link to the issuer" }).click();
      await page.getByRole("dialog").getByLabel("Current password").fill(OWNER.password);
      await page.getByRole("button", { name: "Go to the issuer" }).click();
      await signInAt(page, "olga");
      await page.getByRole("heading", { name: "Your account" }).waitFor();

      const other = await newPage();
      await other.goto("/sign-in?next=/settings");
      await other.getByRole("link", { name: "Sign in by localhost" }).click();
      await signInAt(other, "olga");
      await other.getByRole("heading", { name: "Your account" }).waitFor();
      await other.getByText(OWNER.email).first().waitFor();
    });
  },
);
