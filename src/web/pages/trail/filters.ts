/** The filters of the trail: in the address, as the API takes them, and as live events are compared with them. */
import { fits, type TrailFilter } from "../../../trail-filter.ts";
import type { Query } from "../../api/client.ts";
import type { AuditEvent } from "../../api/types.ts";
import { place } from "../../state/router.ts";
import { TRAIL_GROUPS } from "../agent/operation-groups.ts";

const HOUR_MS = 3_600_000;

/** Windows that end now. */
export const WINDOWS: Readonly<Record<string, readonly [label: string, ms: number]>> = {
  "1h": ["Last hour", HOUR_MS],
  "24h": ["Last 24 hours", 24 * HOUR_MS],
  "7d": ["Last 7 days", 7 * 24 * HOUR_MS],
  "30d": ["Last 30 days", 30 * 24 * HOUR_MS],
};

/** Filters that are words or a text, as the address and the API call them, with their labels. */
export const WORDS = [
  ["agent_id", "Agents"],
  ["actor", "Actors (ids)"],
  ["session", "Sessions"],
  ["on_behalf_of", "On behalf of"],
  ["key", "Key of data"],
  ["detector", "Detectors"],
  ["mode", "What was done about it"],
  ["policy", "Policies that refused"],
  ["text", "Part of an id"],
] as const;

/** Every parameter of the address that narrows the trail. */
export const FILTER_NAMES: readonly string[] = [
  "show",
  "result",
  "window",
  "from",
  "to",
  ...WORDS.map(([name]) => name),
];

export const here = (name: string): string => place.value.query.get(name) ?? "";

/** Returns the operations of the group in the address; null for all. */
const operationsHere = (): readonly string[] | null =>
  TRAIL_GROUPS.find(([name]) => name === here("show"))?.[2] ?? null;

/** Returns the filters in the address as parameters of the API. */
export function trailQuery(nowMs: number): Record<string, string> {
  const length = WINDOWS[here("window")]?.[1];
  const words = Object.fromEntries(WORDS.map(([name]) => [name, here(name)]));
  const query: Query = {
    ...words,
    ...(words.agent_id === "" && { scope: "all" }),
    operations: operationsHere()?.join(","),
    result: here("result"),
    start_time: length === undefined ? here("from") : new Date(nowMs - length).toISOString(),
    end_time: length === undefined ? here("to") : undefined,
  };
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => (value ? [[name, String(value)] as const] : [])),
  );
}

const list = (text: string): string[] | undefined => (text === "" ? undefined : text.split(","));

/** Reports whether a new event belongs to the list. */
export function fitsHere(event: AuditEvent): boolean {
  const end = WINDOWS[here("window")] === undefined ? here("to") : "";
  if (end !== "" && event.timestamp >= end) return false;
  const filter: TrailFilter = {
    agentIds: list(here("agent_id")),
    operations: operationsHere() ?? undefined,
    results: list(here("result")),
    actors: list(here("actor")),
    sessions: list(here("session")),
    subjects: list(here("on_behalf_of")),
    key: here("key") || undefined,
    detectors: list(here("detector")),
    modes: list(here("mode")),
    policies: list(here("policy")),
    text: here("text") || undefined,
  };
  return fits(filter, event);
}
