/** The log of the installation in a real browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { governdProcess } from "../cli/governd-process.ts";
import { soon } from "../eventually.ts";
import { BROWSER_TEST_MS, hasChromium, Stage } from "./support/browser.ts";
import { OWNER, settled, signIn, signUp } from "./support/people.ts";

setDefaultTimeout(BROWSER_TEST_MS);

describe.skipIf(!hasChromium)("the log of the installation", () => {
  let stage: Stage;
  let page: Page;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await (await stage.person()).newPage();
    await signUp(page, stage.daemon.ready.sign_up_url as string);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const rows = () => page.locator("ol.events > li");
  const link = () => page.getByRole("link", { name: "Installation log" });

  test("is not shown to an owner who is no operator", async () => {
    await settled(page);
    await soon(async () => expect(await link().count()).toBe(0));
  });

  test("is shown to an operator, newest first, with failed sign-ins", async () => {
    const named = await governdProcess([
      ...["account", "operator", "--email", OWNER.email],
      ...["--data-dir", stage.daemon.ready.data_dir as string],
    ]);
    expect([named.code, named.err]).toEqual([0, ""]);
    const other = await (await stage.person()).newPage();
    await other.goto("/sign-in");
    await other.getByLabel("Email").fill(OWNER.email);
    await other.getByLabel("Password").fill("not the password");
    await other.getByRole("button", { name: "Sign in" }).click();
    await other.getByText("password is wrong").waitFor();
    await signIn(other, OWNER);
    await page.reload();
    await link().click();
    await page.getByRole("heading", { name: "Installation log", level: 1 }).waitFor();
    await settled(page);
    for (const words of ["signed in", "Somebody tried to sign in", "joined", "made an account"])
      await rows().filter({ hasText: words }).first().waitFor();
    const texts = await rows().allTextContents();
    const order = ["signed in", "Somebody tried to sign in", "joined", "made an account"].map((words) =>
      texts.findIndex((text) => text.includes(words)),
    );
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test("has filters and details, and grows at its top", async () => {
    await page.getByLabel("Operations").selectOption({ label: "Sign-ins and sessions" });
    await page.getByLabel("Result").selectOption({ label: "Denied" });
    await settled(page);
    await soon(async () => expect(await rows().count()).toBe(1));
    await rows().first().getByRole("link").first().click();
    await page.getByText('"address_kind": "loopback"').waitFor();
    await page.getByText("The address, the password or the code was wrong").waitFor();
    await page.getByLabel("Result").selectOption({ label: "OK" });
    await rows().filter({ hasText: "signed in" }).first().waitFor();
    const before = await rows().count();
    await signIn(await (await stage.person()).newPage(), OWNER);
    await rows().nth(before).waitFor();
    await soon(async () => expect(await rows().first().textContent()).toContain("signed in"));
  });

  test("is verified on its page Proof", async () => {
    await page.getByRole("link", { name: "Proof" }).click();
    await page
      .getByRole("button", { name: /Verify/ })
      .first()
      .click();
    await page.getByText("Everything holds.").waitFor();
  });
});
