/** What a page costs its reader: how soon it shows what it asked for, its longest task, and how much its layout shifts. */
import type { Page } from "playwright-core";

export interface Cost {
  /** From the first request for data until the first of them are shown, ms; 0 when nothing was asked for. */
  shownMs: number;
  /** The longest task after the page's own script was read, ms. */
  taskMs: number;
  /** Cumulative layout shift, without what follows the reader's own acts. */
  shift: number;
}

/** What the page notes about itself. */
interface Notes {
  askedMs: number;
  shownMs: number;
  taskMs: number;
  shift: number;
}

/** Has every page that the context opens note what it costs. */
export async function watch(page: Page): Promise<void> {
  await page.addInitScript(() => {
    interface Entry {
      name: string;
      startTime: number;
      duration: number;
      value: number;
      hadRecentInput: boolean;
    }
    type Observer = new (take: (list: { getEntries(): Entry[] }) => void) => { observe(...what: object[]): void };
    // A function that is sent to the page knows nothing of its types.
    const here = globalThis as unknown as {
      notes: Notes;
      fetch: (...request: unknown[]) => Promise<unknown>;
      PerformanceObserver: Observer;
      MutationObserver: Observer;
      document: object & {
        querySelector(selector: string): unknown;
        querySelectorAll(selector: string): { length: number };
      };
    };
    const notes: Notes = { askedMs: 0, shownMs: 0, taskMs: 0, shift: 0 };
    here.notes = notes;
    const { fetch } = here;
    here.fetch = (...request) => {
      if (notes.askedMs === 0 && /^\/v1\/|^\/account\/workspaces\//.test(String(request[0]))) {
        notes.askedMs = performance.now();
      }
      return fetch(...request);
    };
    const observe = (type: string, take: (entry: Entry) => void) =>
      new here.PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
    observe("longtask", ({ duration, startTime }) => {
      if (notes.askedMs > 0 && startTime >= notes.askedMs) notes.taskMs = Math.max(notes.taskMs, duration);
    });
    observe("layout-shift", ({ value, hadRecentInput }) => {
      if (!hadRecentInput) notes.shift += value;
    });
    // Each part that is loaded shows until then that it is busy: the first that no longer is has content.
    let most = 0;
    const look = () => {
      const { document } = here;
      if (document.querySelector("main h1") === null || notes.askedMs === 0 || notes.shownMs > 0) return;
      const busy = document.querySelectorAll("[aria-busy=true]").length;
      if (busy < most || busy === 0) notes.shownMs = performance.now();
      most = Math.max(most, busy);
    };
    const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-busy"] };
    new here.MutationObserver(look).observe(here.document, changes);
  });
}

/** Returns what the page has cost since it was loaded, or since it was last asked. */
export async function costOf(page: Page): Promise<Cost> {
  return await page.evaluate(() => {
    const { notes } = globalThis as unknown as { notes: Notes };
    const { askedMs, shownMs, taskMs, shift } = notes;
    Object.assign(notes, { taskMs: 0, shift: 0 });
    return { shownMs: Math.max(0, shownMs - askedMs), taskMs, shift };
  });
}
