/** What a workspace has been doing, and what it is made of. */
import { useState } from "preact/hooks";
import { ask } from "../api/client.ts";
import type { Activity, Agent, AuditEvent, WorkspaceInfo } from "../api/types.ts";
import { changesSomething, useEvents, useThrottled } from "../state/events.ts";
import { useLoad } from "../state/load.ts";
import { paths } from "../state/paths.ts";
import { place, setQuery } from "../state/router.ts";
import type { Room } from "../state/session.ts";
import { ActivityChart } from "../ui/chart.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { count, size } from "../ui/numbers.ts";
import { Empty, Heading, Section, Show } from "../ui/parts.tsx";
import { NoAgents } from "./agents.tsx";
import { EventRows } from "./audit.tsx";

/** How many events the list of the newest ones keeps. */
const NEWEST = 12;

/** The chart follows the events at most this often. */
const REFRESH_MS = 10_000;

const HOUR_MS = 3_600_000;

/** Windows of the chart, each with intervals that make readable bars. */
const WINDOWS = {
  "1h": { label: "1 hour", interval: "minute", ms: HOUR_MS },
  "24h": { label: "24 hours", interval: "hour", ms: 24 * HOUR_MS },
  "30d": { label: "30 days", interval: "day", ms: 30 * 24 * HOUR_MS },
} as const;

type Window = keyof typeof WINDOWS;

const windowHere = (): Window => {
  const asked = place.value.query.get("window") ?? "";
  return Object.hasOwn(WINDOWS, asked) ? (asked as Window) : "24h";
};

export function OverviewPage({ room }: { room: Room }) {
  const { workspace } = room;
  return (
    <>
      <Heading title={workspace.name} name={workspace.name}>
        <code>{workspace.id}</code> <CopyButton text={workspace.id} label="Copy workspace id" />
      </Heading>
      <Numbers room={room} />
      <ActivitySection room={room} />
      <Newest room={room} />
    </>
  );
}

function Numbers({ room }: { room: Room }) {
  const { id } = room.workspace;
  const info = useLoad<WorkspaceInfo>(id, (signal) =>
    ask<WorkspaceInfo>(`/account/workspaces/${id}`, { signal }),
  );
  return (
    <Show of={info}>
      {({ storage_bytes, members, keys }) => (
        <dl class="numbers">
          <Fact name="Storage" value={size(storage_bytes)} />
          <Fact name="Members" value={count(members)} href={paths.members(id)} />
          <Fact name="API keys in force" value={count(keys)} href={paths.keys(id)} />
        </dl>
      )}
    </Show>
  );
}

function Fact({ name, value, href }: { name: string; value: string; href?: string }) {
  return (
    <div class="card">
      <dt class="faint small">{name}</dt>
      <dd>{href === undefined ? value : <a href={href}>{value}</a>}</dd>
    </div>
  );
}

function ActivitySection({ room }: { room: Room }) {
  const shown = windowHere();
  const { label, interval, ms } = WINDOWS[shown];
  const activity = useLoad<Activity>(`${room.workspace.id} ${shown}`, (signal) =>
    room.api.ask<Activity>("/v1/audit/activity", {
      query: { scope: "workspace", interval, start_time: new Date(Date.now() - ms).toISOString() },
      signal,
    }),
  );
  const refresh = useThrottled(activity.reload, REFRESH_MS);
  useEvents((event) => {
    if (changesSomething(event) || event.result === "blocked" || event.result === "denied") refresh();
  }, activity.reload);
  return (
    <Section
      title="Activity"
      actions={
        <fieldset class="segments">
          <legend class="sr-only">Time shown</legend>
          {Object.entries(WINDOWS).map(([id, each]) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === shown}
              onClick={() => setQuery({ window: id === "24h" ? null : id }, { replace: true })}
            >
              {each.label}
            </button>
          ))}
        </fieldset>
      }
    >
      <div class="card chart-place">
        <Show of={activity}>
          {(data) => <ActivityChart activity={data} label={`Events of the last ${label}`} />}
        </Show>
      </div>
    </Section>
  );
}

/** Events as they happen. Reads are left out: this is for seeing what changed or was refused. */
function Newest({ room }: { room: Room }) {
  const [events, setEvents] = useState<readonly AuditEvent[]>([]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const agents = useLoad<Agent[]>(room.workspace.id, async (signal) => {
    const page = await room.api.page<Agent>("/v1/agents", { limit: 1 }, null, signal);
    return page.data;
  });
  useEvents((event) => {
    if (!changesSomething(event) && event.result !== "blocked" && event.result !== "denied") return;
    setFresh((old) => new Set(old).add(event.id));
    setEvents((old) => [event, ...old].slice(0, NEWEST));
  });
  return (
    <Section title="Happening now">
      <Show of={agents}>
        {(items) =>
          events.length > 0 ? (
            <EventRows room={room} events={events} fresh={fresh} withAgent />
          ) : items.length === 0 ? (
            <NoAgents />
          ) : (
            <Empty title="Quiet">
              <p>Changes and refused writes of all agents appear here as they happen.</p>
              <p>
                <a class="button" href={paths.agents(room.workspace.id)}>
                  See the agents
                </a>
              </p>
            </Empty>
          )
        }
      </Show>
    </Section>
  );
}
