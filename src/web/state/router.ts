/** The router. The address holds the state of each page, so that every view has a link. */
import { computed, signal } from "@preact/signals";
import { address, segment } from "../api/client.ts";
import { beginVisit, leave, restoreScroll, resumeVisit, sameVisit, storeVisit } from "./visits.ts";

interface PageLocation {
  path: string;
  query: URLSearchParams;
  hash: string;
}

const here = (): PageLocation => ({
  path: location.pathname,
  query: new URLSearchParams(location.search),
  hash: location.hash,
});

/** The current address. */
export const place = signal<PageLocation>(here());

/** The current path, for parts that do not depend on the rest of the address. */
export const path = computed(() => place.value.path);

/** Reports whether the current page is at an address or, unless `exact`, below it. */
export const isCurrent = (to: string, exact = false): boolean =>
  path.value === to || (!exact && path.value.startsWith(`${to}/`));

interface GoOptions {
  /** Replaces the entry of the history instead of adding one. */
  replace?: boolean;
}

/** Goes to an address of the dashboard. */
export function go(to: string, { replace = false }: GoOptions = {}): void {
  const before = location.pathname;
  leave();
  const isSamePage = new URL(to, location.href).pathname === before;
  if (replace) history.replaceState(sameVisit(), "", to);
  else history.pushState(beginVisit(isSamePage), "", to);
  place.value = here();
  if (location.pathname !== before) arrive();
}

/** Changes parameters of the address; null removes one. */
export function setQuery(changes: Record<string, string | null>, options: GoOptions = {}): void {
  go(withQuery(changes), options);
}

/** Returns the current address with other parameters. */
export function withQuery(changes: Record<string, string | null>): string {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? place.value.path : `${place.value.path}?${text}`;
}

/** Starts a new page at its top, with the focus on its heading for screen readers. */
function arrive(): void {
  scrollTo(0, 0);
  requestAnimationFrame(() => document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true }));
}

/** The parts that keep the page at its address, the newest last. */
const holds: (() => void)[] = [];

/** Keeps the page at its address: the browser's history buttons call `onBack`. Returns what releases it. */
export function hold(onBack: () => void): () => void {
  holds.push(onBack);
  return () => void holds.splice(holds.indexOf(onBack), 1);
}

/** Handles links of the page and the browser's history buttons. */
export function startRouter(): void {
  // The browser would scroll before the page is long enough.
  history.scrollRestoration = "manual";
  resumeVisit();
  restoreScroll();
  // Not when the page is left, which is too late for the history to take it.
  addEventListener("scrollend", storeVisit);
  addEventListener("popstate", () => {
    const onBack = holds.at(-1);
    if (onBack === undefined) {
      leave();
      resumeVisit();
      place.value = here();
      restoreScroll();
      return;
    }
    const { path: shown, query, hash } = place.peek();
    history.pushState(sameVisit(), "", address(shown, Object.fromEntries(query)) + hash);
    onBack();
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    if (link === null || link === undefined || !isOurs(link, event)) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash, { replace: link.dataset.replace !== undefined });
  });
}

function isOurs(link: HTMLAnchorElement, event: MouseEvent): boolean {
  const plain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  return (
    plain &&
    !event.defaultPrevented &&
    link.origin === location.origin &&
    link.target === "" &&
    !link.hasAttribute("download") &&
    !link.getAttribute("href")?.startsWith("#") &&
    !/^\/(v1|account|healthz|readyz)(\/|$)/.test(link.pathname)
  );
}

/** Returns the parts that a pattern such as `/workspaces/:workspace/keys` names, null when the path differs. */
export function match(pattern: string, actual: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = actual.replace(/\/$/, "").split("/");
  if (wanted.length !== given.length) return null;
  const parts: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] as string;
    if (part.startsWith(":")) {
      const value = decode(text);
      if (value === null || value === "") return null;
      parts[part.slice(1)] = value;
    } else if (part !== text) {
      return null;
    }
  }
  return parts;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const paths = {
  workspace: (id: string) => `/workspaces/${id}`,
  agents: (id: string) => `/workspaces/${id}/agents`,
  trail: (id: string) => `/workspaces/${id}/trail`,
  events: (id: string, query: Record<string, string | undefined> = {}) => address(`/workspaces/${id}/events`, query),
  proof: (id: string) => `/workspaces/${id}/proof`,
  policies: (id: string) => `/workspaces/${id}/policies`,
  keys: (id: string) => `/workspaces/${id}/keys`,
  sinks: (id: string) => `/workspaces/${id}/sinks`,
  members: (id: string) => `/workspaces/${id}/members`,
  agent: (id: string, agent: string) => `/workspaces/${id}/agents/${segment(agent)}`,
  versions: (id: string, agent: string) => `${paths.agent(id, agent)}/versions`,
  data: (id: string, agent: string, query: { prefix?: string; key?: string; at?: string } = {}) =>
    address(`${paths.agent(id, agent)}/data`, query),
  history: (id: string, agent: string, key: string) => address(`${paths.agent(id, agent)}/data/history`, { key }),
  checkpoints: (id: string, agent: string) => `${paths.agent(id, agent)}/checkpoints`,
  compare: (id: string, agent: string, query: { from?: string } = {}) =>
    address(`${paths.agent(id, agent)}/compare`, query),
  checkpoint: (id: string, agent: string, checkpoint: string) =>
    `${paths.checkpoints(id, agent)}/${segment(checkpoint)}`,
  audit: (id: string, agent: string, query: { event?: string; result?: string } = {}) =>
    address(`${paths.agent(id, agent)}/audit`, query),
  event: (id: string, event: string) => `/workspaces/${id}/events/${segment(event)}`,
  lineage: (id: string, event: string, query: { direction: string; depth?: string | undefined }) =>
    address(`${paths.event(id, event)}/lineage`, query),
} as const;
