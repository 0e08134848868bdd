/**
 * `bun run screenshots [NAME…]`: starts a daemon with sample data and takes screenshots of every page of the
 * dashboard, light and dark, wide and phone, into test/screenshots/ (not in version control).
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { Stage } from "../test/web/support/browser.ts";
import { inhabit } from "../test/web/support/inhabit.ts";
import { settled, signUp } from "../test/web/support/people.ts";
import { type Place, places } from "../test/web/support/places.ts";

const OUT = join(import.meta.dir, "../test/screenshots");

const SIZES = {
  wide: { viewport: { width: 1360, height: 860 } },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
} satisfies Record<string, BrowserContextOptions>;

async function take(page: Page, name: string, { path, act }: Pick<Place, "path" | "act">): Promise<void> {
  await page.goto(path);
  await settled(page);
  await act?.(page);
  await page.waitForTimeout(150);
  const fullPage = (await page.getByRole("dialog").count()) === 0;
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage });
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
await using stage = await Stage.open();
const first = await stage.person(SIZES.wide);
const owner = await first.newPage();
await owner.goto(stage.daemon.ready.sign_up_url as string);
await owner.locator("h1").waitFor();
await owner.screenshot({ path: join(OUT, "sign-up.png") });
const kept = await signUp(owner, stage.daemon.ready.sign_up_url as string);
const inhabited = await inhabit(stage, kept);
const storageState = await first.storageState();
const only = process.argv.slice(2);
for (const [size, sized] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"] as const) {
    const suffix = `${size}-${colorScheme}`;
    const visitor = await stage.person({ ...sized, colorScheme });
    const stranger = await visitor.newPage();
    if (only.length === 0) await take(stranger, `sign-in-${suffix}`, { path: "/sign-in" });
    await visitor.close();
    const context = await stage.person({ ...sized, colorScheme, storageState });
    const page = await context.newPage();
    for (const place of places(inhabited)) {
      if (only.length > 0 && !only.includes(place.name)) continue;
      await take(page, `${place.name}-${suffix}`, place);
    }
    await context.close();
  }
}
console.log(`pictures are in ${OUT}`);
