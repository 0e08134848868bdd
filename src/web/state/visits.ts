/**
 * The state of each page in the browser's history when it was left: how far it was scrolled, how many pages of a list
 * it showed, and their data. Going back restores it. Loaded data stays only in memory.
 */
import { useState } from "preact/hooks";

interface Visit {
  y: number;
  /** The values that views keep, by their names. */
  kept: Map<string, unknown>;
}

/** What the browser stores with an entry of its history: numbers only. */
interface Entry {
  visit?: string;
  y?: number;
  numbers?: Record<string, number>;
}

/** More pages than these are forgotten, the oldest first. */
const MOST_VISITS = 40;

/** How long to wait until a loading page is as long as it was, ms. */
const PATIENCE_MS = 8_000;

const visits = new Map<string, Visit>();
let made = 0;
let current = "";

const entryHere = (): Entry => (history.state ?? {}) as Entry;

function visitOf(id: string): Visit {
  const known = visits.get(id);
  if (known !== undefined) return known;
  const visit: Visit = { y: 0, kept: new Map() };
  visits.set(id, visit);
  const [oldest] = visits.keys();
  if (visits.size > MOST_VISITS && oldest !== undefined) visits.delete(oldest);
  return visit;
}

const here = (): Visit => visitOf(current);

/** Notes where the page is before it is left. */
export function leave(): void {
  here().y = scrollY;
  stopRestoring();
}

/**
 * Begins a visit, of which the caller adds the returned state to the browser's history. Another view of the same page
 * knows what the page had.
 */
export function beginVisit(isSamePage: boolean): Entry {
  const { kept } = here();
  current = `${performance.timeOrigin}.${++made}`;
  if (isSamePage) for (const [name, value] of kept) here().kept.set(name, value);
  return { visit: current };
}

/** Returns the state of the present visit, for an entry that replaces its own. */
export const sameVisit = (): Entry => ({ visit: current });

/** Takes up the visit that the browser's history is at: after Back, Forward, or when the page is loaded again. */
export function resumeVisit(): void {
  const { visit, y, numbers = {} } = entryHere();
  if (visit === undefined) {
    history.replaceState(beginVisit(true), "");
    return;
  }
  current = visit;
  if (visits.has(visit)) return;
  here().y = y ?? 0;
  for (const [name, value] of Object.entries(numbers)) here().kept.set(name, value);
}

/** Keeps the numbers of the present visit with the browser, for when the page is loaded again. */
export function storeVisit(): void {
  const numbers = [...here().kept].filter((pair): pair is [string, number] => typeof pair[1] === "number");
  const entry: Entry = { visit: current, y: scrollY, numbers: Object.fromEntries(numbers) };
  history.replaceState(entry, "");
}

/** Forgets what was loaded, when somebody signs out. */
export function forgetVisits(): void {
  visits.clear();
}

/** Returns what was kept, and undefined for a page that nobody just came back to: it shows what it loads. */
export const keptOnReturn = <T>(name: string): T | undefined => (isReturning ? kept<T>(name) : undefined);

export const kept = <T>(name: string): T | undefined => here().kept.get(name) as T | undefined;

export function keep(name: string, value: unknown): void {
  here().kept.set(name, value);
}

/** A state of a component that going back restores. `name` is unique on its page. */
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const [value, set] = useState<T>(() => kept<T>(name) ?? initial);
  return [
    value,
    (next) => {
      keep(name, next);
      set(next);
    },
  ];
}

/** Somebody came back to the page, and did nothing on it yet. */
let isReturning = false;

let stopRestoring = () => {};

/** Scrolls to where the page was, as soon as it is long enough, unless the reader scrolls first. */
export function restoreScroll(): void {
  stopRestoring();
  const { y } = here();
  isReturning = true;
  const over = new AbortController();
  const end = () => {
    isReturning = false;
    over.abort();
  };
  stopRestoring = end;
  /** Where the page got to: less than `y` while it is too short. */
  let reached = scrollY;
  const to = () => {
    scrollTo(0, y);
    reached = scrollY;
  };
  const observer = new ResizeObserver(to);
  over.signal.addEventListener("abort", () => observer.disconnect());
  for (const input of ["wheel", "keydown", "pointerdown", "touchstart"]) {
    addEventListener(input, end, { signal: over.signal, passive: true });
  }
  // Ends when something else scrolls a page that is long enough. The browser reports the page's own scroll late: the page
  // may have grown since.
  const isLong = () => document.documentElement.scrollHeight - innerHeight >= y;
  const isAt = (place: number) => Math.abs(scrollY - place) <= 1;
  addEventListener("scroll", () => isLong() && !isAt(y) && !isAt(reached) && end(), { signal: over.signal });
  setTimeout(end, PATIENCE_MS);
  requestAnimationFrame(() => {
    if (over.signal.aborted) return;
    to();
    if (y > 0) observer.observe(document.body);
  });
}
