/** The audit trail: filtered, paged, and growing at its top as events happen. */
import { useState } from "preact/hooks";
import type { AuditEvent } from "../../api/types.ts";
import { useEvents } from "../../state/events.ts";
import { useList } from "../../state/load.ts";
import { place, withQuery } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { ResultBadge } from "../../ui/badge.tsx";
import { subject, verb } from "../../ui/event-words.ts";
import { Empty, Heading, More, Show } from "../../ui/parts.tsx";
import { Time } from "../../ui/time.tsx";
import { AgentActivity } from "./activity.tsx";
import { FilterBar, type Filters, filterQuery, filtersHere, fits } from "./audit-filters.tsx";
import { EventDetails } from "./event.tsx";
import { AGENT_GROUPS, WORKSPACE_GROUPS } from "./operation-groups.ts";

export function AgentAudit({ room, agentId }: { room: Room; agentId: string }) {
  return (
    <>
      <AgentActivity room={room} agentId={agentId} />
      <AuditList room={room} agentId={agentId} />
    </>
  );
}

interface ListProps {
  room: Room;
  /** Null for the workspace's own events. */
  agentId: string | null;
}

function AuditList({ room, agentId }: ListProps) {
  const groups = agentId === null ? WORKSPACE_GROUPS : AGENT_GROUPS;
  const filters = filtersHere(groups);
  const key = [room.workspace.id, agentId ?? "", ...Object.values(filters)].join(" ");
  // Fixed for the list, so that all its pages are pages of the same query.
  const [openedMs, setOpenedMs] = useState({ key, ms: Date.now() });
  if (openedMs.key !== key) setOpenedMs({ key, ms: Date.now() });
  const whose = agentId === null ? { scope: "workspace" } : { agent_id: agentId };
  const events = useList<AuditEvent>(room.workspace.id, "/v1/audit", {
    ...whose,
    ...filterQuery(groups, filters, openedMs.ms),
  });
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  useEvents((event) => {
    if (event.agent_id !== agentId || !fits(groups, filters, event)) return;
    setFresh((old) => new Set(old).add(event.id));
    events.set((old) => (old.some(({ id }) => id === event.id) ? old : inserted(old, event)));
  }, events.reload);
  return (
    <>
      <FilterBar groups={groups} filters={filters} />
      <Show of={events}>
        {(items) =>
          items.length === 0 ? (
            <NoEvents filters={filters} agentId={agentId} />
          ) : (
            <>
              <EventRows room={room} events={items} fresh={fresh} />
              <More of={events} />
            </>
          )
        }
      </Show>
    </>
  );
}

/** Inserts an event, newest first. A query may already have returned newer events than the stream. */
function inserted(events: AuditEvent[], event: AuditEvent): AuditEvent[] {
  const at = events.findIndex(({ seq }) => seq < event.seq);
  return at === -1 ? [...events, event] : events.toSpliced(at, 0, event);
}

function NoEvents({ filters, agentId }: { filters: Filters; agentId: string | null }) {
  const narrowed = Object.values(filters).some((value) => value !== "");
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
  room: Room;
  events: readonly AuditEvent[];
  /** The ids of events that arrived while the list was shown. */
  fresh?: ReadonlySet<string>;
  /** Shows which agent each event is about. */
  withAgent?: boolean;
}

export function EventRows({ room, events, fresh, withAgent = false }: RowsProps) {
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
                <Actor id={event.actor} /> {verb(event)} {subject(event) !== null && <code>{subject(event)}</code>}
                {event.blocked_by !== null && <span class="bad"> · {event.blocked_by.replace("policy:", "")}</span>}
              </span>
              <span class="event-time faint small">
                <Time at={event.timestamp} />
              </span>
            </a>
            {isOpen && <EventDetails room={room} event={event} />}
          </li>
        );
      })}
    </ol>
  );
}

/** The workspace's own events: what people and the command line did to members, keys and the workspace. */
export function TrailPage({ room }: { room: Room }) {
  return (
    <>
      <Heading title="Administration log" name="Administration log">
        Changes of members, invitations and API keys, in a chain of their own. What agents do is in each agent's audit
        tab.
      </Heading>
      <AuditList room={room} agentId={null} />
    </>
  );
}
