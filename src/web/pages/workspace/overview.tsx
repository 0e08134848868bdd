/** The contents of a workspace, and its newest events. */
import { useRef, useState } from "preact/hooks";
import type { Agent, AuditEvent, Page, WorkspaceInfo } from "../../api/types.ts";
import { changesOrRefuses, useAsk, useEvents, useThrottled } from "../../state/load.ts";
import { paths, place, setQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { count, size } from "../../ui/numbers.ts";
import { Empty, Heading, Section, Show } from "../../ui/parts.tsx";
import { ActivityCard, type ActivityWindow, WINDOWS, WindowChoice } from "../agent/activity.tsx";
import { EventRows } from "../agent/audit.tsx";
import { NoAgents } from "./agents.tsx";
import { FirstSteps } from "./begin.tsx";
import { RecordState } from "./record-state.tsx";
import { Agents, Figures, Trouble, useSinceLastVisit } from "./since-last-visit.tsx";

/** How many of the newest events are shown. */
const NEWEST = 12;

/** New events are shown together, at most this often. */
const SHOW_EVERY_MS = 250;

const windowHere = (): ActivityWindow => {
  const asked = place.value.query.get("window") ?? "";
  return Object.hasOwn(WINDOWS, asked) ? (asked as ActivityWindow) : "24h";
};

export function OverviewPage() {
  const { id, name } = useAccess();
  const sinceLastVisit = useSinceLastVisit();
  return (
    <>
      <Heading title={name}>
        <code>{id}</code> <CopyButton text={id} label="Copy workspace id" />
      </Heading>
      <FirstSteps agents={sinceLastVisit.agents} />
      <Figures {...sinceLastVisit} />
      <ActivitySection />
      <div class="overview">
        <div>
          <Trouble {...sinceLastVisit} />
          <Newest />
        </div>
        <div>
          <RecordState />
          <Agents {...sinceLastVisit} />
          <Numbers />
        </div>
      </div>
    </>
  );
}

function Numbers() {
  const { id, account } = useAccess();
  const info = useAsk<WorkspaceInfo>(account);
  return (
    <Show of={info}>
      {({ storage_bytes, quota_bytes, quota_entries, members, keys }) => (
        <dl class="numbers section">
          <Figure
            name="Storage"
            value={quota_bytes === null ? size(storage_bytes) : `${size(storage_bytes)} of ${size(quota_bytes)}`}
          />
          {quota_entries !== null && <Figure name="Entries at most" value={count(quota_entries)} />}
          <Figure name="Members" value={count(members)} href={paths.members(id)} />
          <Figure name="API keys in force" value={count(keys)} href={paths.keys(id)} />
        </dl>
      )}
    </Show>
  );
}

function Figure({ name, value, href }: { name: string; value: string; href?: string }) {
  return (
    <div class="card">
      <dt class="faint small">{name}</dt>
      <dd>{href === undefined ? value : <a href={href}>{value}</a>}</dd>
    </div>
  );
}

function ActivitySection() {
  const { id } = useAccess();
  const window = windowHere();
  const linkTo = (from: string, to: string) => paths.events(id, { from, to });
  const choose = (id: ActivityWindow) => setQuery({ window: id === "24h" ? null : id }, { replace: true });
  return (
    <Section title="Activity" actions={<WindowChoice window={window} onWindow={choose} />}>
      <ActivityCard agentId={null} window={window} linkTo={linkTo} />
    </Section>
  );
}

interface Shown {
  events: readonly AuditEvent[];
  /** The ids of the events that were added last. */
  fresh: ReadonlySet<string>;
}

/** Changes and refused requests as they happen, without reads. */
function Newest() {
  const { id } = useAccess();
  const [shown, setShown] = useState<Shown>({ events: [], fresh: new Set() });
  const arrived = useRef<AuditEvent[]>([]);
  const agents = useAsk<Page<Agent>>("/v1/agents", { query: { limit: 1 } });
  const show = useThrottled(() => {
    const events = arrived.current;
    arrived.current = [];
    setShown((old) => ({
      events: [...events, ...old.events].slice(0, NEWEST),
      fresh: new Set(events.map(({ id }) => id)),
    }));
  }, SHOW_EVERY_MS);
  useEvents((event) => {
    if (!changesOrRefuses(event)) return;
    arrived.current = [event, ...arrived.current].slice(0, NEWEST);
    show();
  });
  const { events, fresh } = shown;
  return (
    <Section title="Happening now">
      <Show of={agents}>
        {({ data }) =>
          events.length > 0 ? (
            <EventRows events={events} fresh={fresh} withAgent />
          ) : data.length === 0 ? (
            <NoAgents />
          ) : (
            <Empty title="Quiet">
              <p>Changes and refused writes of all agents appear here as they happen.</p>
              <p>
                <a class="button" href={paths.agents(id)}>
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
