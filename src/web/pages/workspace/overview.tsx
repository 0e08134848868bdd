/** What a workspace holds and what happens in it. */
import { useState } from "preact/hooks";
import type { Agent, AuditEvent, Page, WorkspaceInfo } from "../../api/types.ts";
import { changesOrRefuses, useAsk, useEvents } from "../../state/load.ts";
import { paths, place, setQuery } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { count, size } from "../../ui/numbers.ts";
import { Empty, Heading, Section, Show } from "../../ui/parts.tsx";
import { ActivityCard, type ActivityWindow, WINDOWS, WindowChoice } from "../agent/activity.tsx";
import { EventRows } from "../agent/audit.tsx";
import { NoAgents } from "./agents.tsx";
import { Morning } from "./morning.tsx";

/** How many of the newest events are shown. */
const NEWEST = 12;

const windowHere = (): ActivityWindow => {
  const asked = place.value.query.get("window") ?? "";
  return Object.hasOwn(WINDOWS, asked) ? (asked as ActivityWindow) : "24h";
};

export function OverviewPage() {
  const { id, name } = useRoom();
  return (
    <>
      <Heading title={name}>
        <code>{id}</code> <CopyButton text={id} label="Copy workspace id" />
      </Heading>
      <Morning />
      <ActivitySection />
      <Numbers />
      <Newest />
    </>
  );
}

function Numbers() {
  const { id, account } = useRoom();
  const info = useAsk<WorkspaceInfo>(account);
  return (
    <Show of={info}>
      {({ storage_bytes, quota_bytes, quota_entries, members, keys }) => (
        <dl class="numbers">
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
  const { id } = useRoom();
  const window = windowHere();
  const linkTo = (from: string, to: string) => paths.events(id, { from, to });
  const choose = (id: ActivityWindow) => setQuery({ window: id === "24h" ? null : id }, { replace: true });
  return (
    <Section title="Activity" actions={<WindowChoice window={window} onWindow={choose} />}>
      <ActivityCard agentId={null} window={window} linkTo={linkTo} />
    </Section>
  );
}

/** Changes and refused requests as they happen, without reads. */
function Newest() {
  const { id } = useRoom();
  const [events, setEvents] = useState<readonly AuditEvent[]>([]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const agents = useAsk<Page<Agent>>("/v1/agents", { query: { limit: 1 } });
  useEvents((event) => {
    if (!changesOrRefuses(event)) return;
    setFresh((old) => new Set(old).add(event.id));
    setEvents((old) => [event, ...old].slice(0, NEWEST));
  });
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
