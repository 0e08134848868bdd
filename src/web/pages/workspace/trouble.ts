/** Refused and redacted operations since the last visit, counted by what they have in common. */
import type { AuditEvent, JsonObject } from "../../api/types.ts";

/** How long somebody must be away before the next visit counts as a new one, ms. */
const SILENCE_MS = 30 * 60_000;
/** How far a first visit looks back, ms. */
const FIRST_MS = 24 * 60 * 60_000;

interface Visit {
  seenMs: number;
  sinceMs: number;
}

/** Returns when the visit before this one ended, as this browser remembers it, and notes that there is a visit now. */
export function lastVisit(workspace: string, nowMs: number): number {
  const name = `governd.visit.${workspace}`;
  const stored = localStorage.getItem(name);
  const before: Visit = stored === null ? { seenMs: nowMs, sinceMs: nowMs - FIRST_MS } : JSON.parse(stored);
  const sinceMs = nowMs - before.seenMs > SILENCE_MS ? before.seenMs : before.sinceMs;
  localStorage.setItem(name, JSON.stringify({ seenMs: nowMs, sinceMs } satisfies Visit));
  return sinceMs;
}

/** A property that events are counted by: the name of the list, the filter of the trail, and the words of an event. */
const KINDS = [
  ["By agent", "agent_id", ({ agent_id }: AuditEvent) => (agent_id === null ? [] : [agent_id])],
  ["By detector", "detector", detectorsOf],
  ["By key", "key", ({ details }: AuditEvent) => (typeof details?.key === "string" ? [details.key] : [])],
  ["By person or API key", "actor", ({ actor }: AuditEvent) => [actor]],
] as const;

interface Tally {
  title: string;
  /** The filter of the trail that a word belongs to. */
  filter: (typeof KINDS)[number][1];
  /** The most frequent first. */
  counts: readonly (readonly [word: string, count: number])[];
}

/** Rows of one list. */
const MOST = 5;

export function tallies(events: readonly AuditEvent[]): Tally[] {
  return KINDS.map(([title, filter, wordsOf]) => {
    const counts = new Map<string, number>();
    for (const event of events) for (const word of wordsOf(event)) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { title, filter, counts: [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST) };
  });
}

function detectorsOf({ details }: AuditEvent): string[] {
  const findings = Array.isArray(details?.findings) ? (details.findings as JsonObject[]) : [];
  return [...new Set(findings.map(({ detector }) => String(detector)))];
}
