/** The audit trail: filtered, paged, and growing at its top as events happen. The address holds the filters. */
import { useState } from "preact/hooks";
import { type Query, segment } from "../../api/client.ts";
import type { AuditEvent } from "../../api/types.ts";
import { useAsk, useList } from "../../state/load.ts";
import { place, setQuery, withQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { type Tail, useTail } from "../../state/tail.ts";
import { Button } from "../../ui/button.tsx";
import { Moment, Select } from "../../ui/field.tsx";
import { ResultBadge, Time } from "../../ui/inline.tsx";
import { type SortedColumn, SortLinks, sortedByApi } from "../../ui/lists/sort.tsx";
import { instant } from "../../ui/local-time.ts";
import { count } from "../../ui/numbers.ts";
import { Empty, Heading, policyName, Section, Show, ShowItems } from "../../ui/parts.tsx";
import { AgentActivity } from "./activity.tsx";
import { EventDetails, Sentence } from "./event.tsx";
import { AGENT_GROUPS, INSTALLATION_GROUPS, type OperationGroup, WORKSPACE_GROUPS } from "./operation-groups.ts";

export const RESULTS = [
  ["", "Any result"],
  ["blocked", "Blocked"],
  ["denied", "Denied"],
  ["allowed", "Allowed"],
  ["ok", "OK"],
  ["not_found", "Not found"],
  ["conflict", "Conflict"],
] as const;

const HOUR_MS = 3_600_000;

/** The column that a trail is sorted by, and its order until a reader reverses it. */
export const TIME: SortedColumn = { id: "time", name: "Time", isMostFirst: true };
export const NEWEST_FIRST = "-time";

/** Windows that end now. */
const WINDOWS: Record<string, readonly [label: string, ms: number]> = {
  "1h": ["Last hour", HOUR_MS],
  "24h": ["Last 24 hours", 24 * HOUR_MS],
  "7d": ["Last 7 days", 7 * 24 * HOUR_MS],
  "30d": ["Last 30 days", 30 * 24 * HOUR_MS],
};

interface Filters {
  group: string;
  /** The operations of the group, null for all. */
  operations: readonly string[] | null;
  result: string;
  window: string;
  /** `datetime-local` values, in the reader's zone. */
  from: string;
  to: string;
}

/** Returns the filters in the address. */
function filtersHere(groups: readonly OperationGroup[]): Filters {
  const { query } = place.value;
  const get = (name: string) => query.get(name) ?? "";
  const [group, , operations] = groups.find(([name]) => name === get("show")) ?? (groups[0] as OperationGroup);
  return {
    group,
    operations,
    result: RESULTS.some(([value]) => value === get("result")) ? get("result") : "",
    window: Object.hasOwn(WINDOWS, get("window")) || get("window") === "custom" ? get("window") : "",
    from: get("from"),
    to: get("to"),
  };
}

/** Returns the filters as parameters of `GET /v1/audit`. */
function filterQuery({ operations, result, window, from, to }: Filters, nowMs: number): Query {
  const length = WINDOWS[window]?.[1];
  return {
    operations: operations?.join(","),
    result,
    start_time: window === "custom" ? instant(from) : length && new Date(nowMs - length).toISOString(),
    end_time: window === "custom" ? instant(to) : undefined,
  };
}

/** Reports whether a new event belongs to the list. */
function fits({ operations, result, window, to }: Filters, event: AuditEvent): boolean {
  if (operations !== null && !operations.includes(event.operation)) return false;
  if (result !== "" && event.result !== result) return false;
  return window !== "custom" || to === "" || event.timestamp < (instant(to) ?? "");
}

function FilterBar({ groups, filters }: { groups: readonly OperationGroup[]; filters: Filters }) {
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

export function AgentAudit({ agentId }: { agentId: string }) {
  return (
    <>
      <AgentActivity agentId={agentId} />
      <AuditList agentId={agentId} />
    </>
  );
}

/** The events of an agent; of the workspace itself when `agentId` is null. */
function AuditList({ agentId }: { agentId: string | null }) {
  const { id: workspace, isInstallation } = useAccess();
  const groups = agentId !== null ? AGENT_GROUPS : isInstallation ? INSTALLATION_GROUPS : WORKSPACE_GROUPS;
  const filters = filtersHere(groups);
  const { order } = sortedByApi([TIME], NEWEST_FIRST);
  const key = [workspace, agentId ?? "", order, ...Object.values(filters)].join(" ");
  // Fixed for the list, so that all its pages are pages of the same query.
  const [openedMs, setOpenedMs] = useState({ key, ms: Date.now() });
  if (openedMs.key !== key) setOpenedMs({ key, ms: Date.now() });
  const whose = agentId === null ? { scope: "workspace" } : { agent_id: agentId };
  const events = useList<AuditEvent>("/v1/audit", { ...whose, ...filterQuery(filters, openedMs.ms), order });
  const open = place.value.query.get("event");
  const isLive = order === "desc";
  const belongs = (event: AuditEvent) => isLive && event.agent_id === agentId && fits(filters, event);
  const tail = useTail(events, belongs, open !== null);
  return (
    <>
      <FilterBar groups={groups} filters={filters} />
      <div class="row trail-bar">
        {isLive && <TailBar tail={tail} />}
        <SortLinks columns={[TIME]} initially={NEWEST_FIRST} />
      </div>
      <ShowItems of={events} empty={<NoEvents filters={filters} agentId={agentId} />}>
        {(items) => (
          <>
            {open !== null && items.every(({ id }) => id !== open) && <Linked eventId={open} />}
            <EventRows events={items} fresh={tail.fresh} />
          </>
        )}
      </ShowItems>
    </>
  );
}

/** Whether new events appear by themselves, and how many wait. */
export function TailBar({ tail: { waiting, paused, setPaused, showNew } }: { tail: Tail }) {
  const show = () => {
    scrollTo(0, 0);
    showNew();
  };
  const toggle = () => {
    setPaused(!paused);
    if (paused) show();
  };
  return (
    <div class="row tail">
      <Button small onClick={toggle}>
        {paused ? "Follow" : "Pause"}
      </Button>
      <span role="status">{waiting > 0 && <Button small onClick={show}>{`${count(waiting)} new`}</Button>}</span>
    </div>
  );
}

/** The event of the address, when it is not among the rows that are loaded. */
function Linked({ eventId }: { eventId: string }) {
  const event = useAsk<AuditEvent>(`/v1/audit/${segment(eventId)}`);
  return (
    <Section title="The event of this link">
      <Show of={event}>{(found) => <EventRows events={[found]} withAgent />}</Show>
    </Section>
  );
}

function NoEvents({ filters, agentId }: { filters: Filters; agentId: string | null }) {
  const { group, result, window } = filters;
  const narrowed = group !== "" || result !== "" || window !== "";
  if (narrowed) {
    return (
      <Empty title="Nothing fits these filters">
        <p>
          <a href={`${place.value.path}?show=all`}>Show everything</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing yet">
      <p>
        {agentId === null
          ? "Changes of members and keys appear here."
          : "Everything that this agent does, including reads and refused writes, appears here at once."}
      </p>
    </Empty>
  );
}

interface RowsProps {
  events: readonly AuditEvent[];
  /** The ids of events that arrived while the list was shown. */
  fresh?: ReadonlySet<string>;
  /** Shows which agent each event is about. */
  withAgent?: boolean;
}

export function EventRows({ events, fresh, withAgent = false }: RowsProps) {
  const open = place.value.query.get("event");
  return (
    <ol class="events">
      {events.map((event) => {
        const isOpen = event.id === open;
        return (
          <li key={event.id} class={fresh?.has(event.id) ? "event event-fresh" : "event"}>
            <a
              class="event-row"
              href={withQuery({ event: isOpen ? null : event.id })}
              data-replace
              aria-expanded={isOpen}
            >
              <span class="event-result">
                <ResultBadge result={event.result} />
              </span>
              <span class="event-text">
                {withAgent && event.agent_id !== null && <strong>{event.agent_id}: </strong>}
                <Sentence event={event} />
                {event.blocked_by !== null && <span class="bad"> · {policyName(event.blocked_by)}</span>}
              </span>
              <span class="nowrap faint small">
                <Time at={event.timestamp} />
              </span>
            </a>
            {isOpen && <EventDetails event={event} />}
          </li>
        );
      })}
    </ol>
  );
}

/** The workspace's own events: what people and the command line did to members, keys and the workspace. */
export function TrailPage() {
  const { isInstallation } = useAccess();
  return (
    <>
      {isInstallation ? (
        <Heading title="Installation log">
          Sign-ins, passwords and second factors of all accounts, and what the operator does to them.
        </Heading>
      ) : (
        <Heading title="Administration log">
          Changes of members, invitations and API keys, in a chain of their own. What agents do is in each agent's audit
          tab.
        </Heading>
      )}
      <AuditList agentId={null} />
    </>
  );
}
