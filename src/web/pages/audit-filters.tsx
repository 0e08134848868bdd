/** What an audit list is narrowed to; all of it is in the address. */
import type { Query } from "../api/client.ts";
import type { AuditEvent } from "../api/types.ts";
import { place, setQuery } from "../state/router.ts";
import { Select } from "../ui/field.tsx";

/** Groups of operations, as people ask for them. */
export const OPERATION_GROUPS: Record<string, readonly [label: string, operations: readonly string[]]> = {
  changes: [
    "Changes",
    [
      "config.update",
      "config.rollback",
      "checkpoint.create",
      "checkpoint.restore",
      "checkpoint.delete",
      "data.write",
      "data.delete",
      "data.delete_prefix",
      "data.erase",
      "data.expire",
      "agent.suspend",
      "agent.resume",
    ],
  ],
  writes: ["Writes", ["data.write"]],
  reads: ["Reads of data", ["data.read", "data.read_full", "data.list", "data.search", "checkpoint.read"]],
  config: ["Configuration", ["config.update", "config.rollback"]],
  checkpoints: ["Checkpoints", ["checkpoint.create", "checkpoint.restore", "checkpoint.delete"]],
  audits: ["Audits", ["audit.query", "audit.read", "audit.verify", "audit.export"]],
};

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

export interface Filters {
  group: string;
  result: string;
  window: string;
  /** `datetime-local` values, in the reader's zone. */
  from: string;
  to: string;
}

/** The filters that the address names. */
export function filtersHere(): Filters {
  const { query } = place.value;
  const get = (name: string) => query.get(name) ?? "";
  return {
    group: Object.hasOwn(OPERATION_GROUPS, get("show")) ? get("show") : "",
    result: RESULTS.some(([value]) => value === get("result")) ? get("result") : "",
    window: Object.hasOwn(WINDOWS, get("window")) || get("window") === "custom" ? get("window") : "",
    from: get("from"),
    to: get("to"),
  };
}

const instant = (local: string): string | undefined => {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
};

/** The filters as parameters of `GET /v1/audit`. */
export function filterQuery({ group, result, window, from, to }: Filters, nowMs: number): Query {
  const length = WINDOWS[window]?.[1];
  return {
    operations: OPERATION_GROUPS[group]?.[1].join(","),
    result,
    start_time: window === "custom" ? instant(from) : length && new Date(nowMs - length).toISOString(),
    end_time: window === "custom" ? instant(to) : undefined,
  };
}

/** Whether an event that just happened belongs to the list. */
export function fits({ group, result, window, to }: Filters, event: AuditEvent): boolean {
  const operations = OPERATION_GROUPS[group]?.[1];
  if (operations !== undefined && !operations.includes(event.operation)) return false;
  if (result !== "" && event.result !== result) return false;
  return window !== "custom" || to === "" || event.timestamp < (instant(to) ?? "");
}

export function FilterBar({ filters }: { filters: Filters }) {
  const set = (changes: Record<string, string | null>) =>
    setQuery({ ...changes, event: null }, { replace: true });
  return (
    <fieldset class="filters">
      <legend class="sr-only">Filters</legend>
      <Select
        label="Operations"
        value={filters.group}
        onValue={(show) => set({ show })}
        options={[
          ["", "All operations"],
          ...Object.entries(OPERATION_GROUPS).map(([id, [label]]) => [id, label] as const),
        ]}
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

/** A point in time in the reader's zone. */
export function Moment({
  label,
  value,
  onValue,
}: {
  label: string;
  value: string;
  onValue(value: string): void;
}) {
  return (
    <div class="field">
      <label>
        <span>{label}</span>
        <input type="datetime-local" value={value} onChange={(event) => onValue(event.currentTarget.value)} />
      </label>
    </div>
  );
}
