/** The filters of an audit list. The address holds all of them. */
import type { Query } from "../../api/client.ts";
import type { AuditEvent } from "../../api/types.ts";
import { place, setQuery } from "../../state/router.ts";
import { Moment, Select } from "../../ui/field.tsx";
import type { OperationGroup } from "./operation-groups.ts";

const RESULTS = [
  ["", "Any result"],
  ["blocked", "Blocked"],
  ["denied", "Denied"],
  ["allowed", "Allowed"],
  ["ok", "OK"],
  ["not_found", "Not found"],
  ["conflict", "Conflict"],
] as const;

const HOUR_MS = 3_600_000;

/** Windows that end now. */
const WINDOWS: Record<string, readonly [label: string, ms: number]> = {
  "1h": ["Last hour", HOUR_MS],
  "24h": ["Last 24 hours", 24 * HOUR_MS],
  "7d": ["Last 7 days", 7 * 24 * HOUR_MS],
  "30d": ["Last 30 days", 30 * 24 * HOUR_MS],
};

/** Returns the operations of a group, undefined for all. */
function operationsOf(groups: readonly OperationGroup[], group: string): readonly string[] | undefined {
  return groups.find(([name]) => name === group)?.[2] ?? undefined;
}

export interface Filters {
  group: string;
  result: string;
  window: string;
  /** `datetime-local` values, in the reader's zone. */
  from: string;
  to: string;
}

/** Returns the filters in the address. */
export function filtersHere(groups: readonly OperationGroup[]): Filters {
  const { query } = place.value;
  const get = (name: string) => query.get(name) ?? "";
  return {
    group: groups.some(([name]) => name === get("show")) ? get("show") : "",
    result: RESULTS.some(([value]) => value === get("result")) ? get("result") : "",
    window: Object.hasOwn(WINDOWS, get("window")) || get("window") === "custom" ? get("window") : "",
    from: get("from"),
    to: get("to"),
  };
}

/** Returns a `datetime-local` value as a UTC time, undefined when it is empty. */
export const instant = (local: string): string | undefined => {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
};

/** Returns the filters as parameters of `GET /v1/audit`. */
export function filterQuery(groups: readonly OperationGroup[], filters: Filters, nowMs: number): Query {
  const { group, result, window, from, to } = filters;
  const length = WINDOWS[window]?.[1];
  return {
    operations: operationsOf(groups, group)?.join(","),
    result,
    start_time: window === "custom" ? instant(from) : length && new Date(nowMs - length).toISOString(),
    end_time: window === "custom" ? instant(to) : undefined,
  };
}

/** Reports whether a new event belongs to the list. */
export function fits(groups: readonly OperationGroup[], filters: Filters, event: AuditEvent): boolean {
  const { group, result, window, to } = filters;
  const operations = operationsOf(groups, group);
  if (operations !== undefined && !operations.includes(event.operation)) return false;
  if (result !== "" && event.result !== result) return false;
  return window !== "custom" || to === "" || event.timestamp < (instant(to) ?? "");
}

export function FilterBar({ groups, filters }: { groups: readonly OperationGroup[]; filters: Filters }) {
  const set = (changes: Record<string, string | null>) => setQuery({ ...changes, event: null }, { replace: true });
  return (
    <fieldset class="filters">
      <legend class="sr-only">Filters</legend>
      <Select
        label="Operations"
        value={filters.group}
        onValue={(show) => set({ show })}
        options={groups.map(([name, label]) => [name, label] as const)}
      />
      <Select label="Result" value={filters.result} onValue={(result) => set({ result })} options={RESULTS} />
      <Select
        label="Time"
        value={filters.window}
        onValue={(window) => set({ window, from: null, to: null })}
        options={[
          ["", "Any time"],
          ...Object.entries(WINDOWS).map(([id, [label]]) => [id, label] as const),
          ["custom", "From … to …"],
        ]}
      />
      {filters.window === "custom" && (
        <>
          <Moment label="From" value={filters.from} onValue={(from) => set({ from })} />
          <Moment label="To" value={filters.to} onValue={(to) => set({ to })} />
        </>
      )}
    </fieldset>
  );
}
