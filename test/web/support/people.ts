/** What people do at the door. */
import type { Page } from "playwright-core";

export const OWNER = { name: "Ada", email: "ada@example.org", password: "correct horse battery" } as const;

/** Waits until nothing is being loaded; the live stream keeps the network from ever being idle. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  // A function, since the page's policy forbids to evaluate a text.
  await page.waitForFunction(() => {
    const { document } = globalThis as unknown as { document: { querySelector(selector: string): unknown } };
    return document.querySelector("[aria-busy=true]") === null;
  });
}

/** What the page after signing up shows once. */
export interface Kept {
  workspaceId: string;
  apiKey: string;
}

/** Makes the first account by its link, keeps what is shown once, and goes to the workspace. */
export async function signUp(page: Page, link: string, workspace = "Acme"): Promise<Kept> {
  await page.goto(link);
  await page.getByLabel("Your name").fill(OWNER.name);
  await page.getByLabel("Email").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("textbox", { name: "Workspace" }).fill(workspace);
  await page.getByRole("button", { name: "Make the account" }).click();
  const text = async (label: string) => ((await page.getByLabel(label, { exact: true }).textContent()) ?? "").trim();
  const kept = { workspaceId: await text("Workspace id"), apiKey: await text("API key") };
  await page.getByRole("button", { name: /I have kept the key/ }).click();
  await page.getByRole("heading", { name: workspace, level: 1 }).waitFor();
  return kept;
}

export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
