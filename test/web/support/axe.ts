/** What an accessibility checker finds on a page. */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** Rules of WCAG 2.2, levels A and AA, and what axe calls best practice. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * What axe finds on the page, and whether anything is wider than the window. The page's policy forbids scripts from
 * elsewhere: the browser's context needs `bypassCSP`.
 */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async (runOnly) => {
    const { axe: tool } = globalThis as unknown as { axe: typeof import("axe-core") };
    const results = await tool.run({ runOnly });
    return results.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  }, RULES);
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  if ((overflow as number) > 0) found.push(`${overflow} pixels wider than the window`);
  return found;
}
