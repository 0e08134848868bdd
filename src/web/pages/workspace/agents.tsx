/** The agents of a workspace, as they are now. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { Agent } from "../../api/types.ts";
import { changesOrRefuses, type LoadedList, useEvents, useList, useThrottled } from "../../state/load.ts";
import { paths, place, setQuery } from "../../state/router.ts";
import { session, useAccess } from "../../state/session.ts";
import { BlockedByHour } from "../../ui/chart.tsx";
import { FirstPrograms } from "../../ui/copy.tsx";
import { Badge, PolicyBadges, Time } from "../../ui/inline.tsx";
import { type SortColumn, SortHead, sorted } from "../../ui/lists/sort.tsx";
import { useWindow } from "../../ui/lists/windowed.ts";
import { count } from "../../ui/numbers.ts";
import { Empty, Heading, ShowItems, Table } from "../../ui/parts.tsx";
import { BulkActions } from "./bulk.tsx";

/** Rows of agents with new events are reloaded at most this often. */
const REFRESH_MS = 2_000;

/** The largest page of the API: agents are sorted here. */
const PAGE_SIZE = 1_000;

const COLUMNS: readonly SortColumn<Agent>[] = [
  { id: "agent", name: "Agent", by: ({ agent_id }) => agent_id },
  { id: "state", name: "State", by: ({ state }) => state, isMostFirst: true },
  { id: "entries", name: "Entries", by: ({ entries }) => entries, isMostFirst: true, isNumber: true },
  { id: "events", name: "Events", by: ({ events }) => events, isMostFirst: true, isNumber: true },
  { id: "blocked", name: "Blocked, 24 h", by: ({ blocked_24h }) => blocked_24h, isMostFirst: true, isNumber: true },
  { id: "activity", name: "Last activity", by: ({ last_activity_at }) => last_activity_at, isMostFirst: true },
];

export function AgentsPage() {
  const part = place.value.query.get("contains") ?? "";
  const agents = useList<Agent>("/v1/agents", { contains: part, limit: PAGE_SIZE });
  useFreshAgents(agents);
  return (
    <>
      <Heading title="Agents">An agent appears here with its first configuration, write or checkpoint.</Heading>
      {(part !== "" || (agents.data?.length ?? 0) > 0) && <Filter part={part} />}
      <ShowItems
        of={agents}
        empty={
          part === "" ? (
            <NoAgents />
          ) : (
            <Empty title="No id has that in it">
              <p>Try a shorter part.</p>
            </Empty>
          )
        }
      >
        {(items) => <ChosenAgents agents={items} onDone={agents.reload} />}
      </ShowItems>
    </>
  );
}

/** Reloads the agents that events are about. The other rows stay as they are. */
function useFreshAgents({ set, reload }: LoadedList<Agent>): void {
  const { api } = useAccess();
  const [changed] = useState(() => new Set<string>());
  const refresh = useThrottled(async () => {
    const ids = [...changed];
    changed.clear();
    const fresh = await Promise.allSettled(ids.map((id) => api.ask<Agent>(`/v1/agents/${segment(id)}`)));
    for (const result of fresh) {
      if (result.status === "fulfilled") set((old) => replaced(old, result.value));
    }
  }, REFRESH_MS);
  useEvents((event) => {
    if (event.agent_id === null || !changesOrRefuses(event)) return;
    changed.add(event.agent_id);
    refresh();
  }, reload);
}

function replaced(agents: Agent[], fresh: Agent): Agent[] {
  const at = agents.findIndex(({ agent_id }) => agent_id === fresh.agent_id);
  if (at !== -1) return agents.with(at, fresh);
  const before = agents.findIndex(({ agent_id }) => agent_id > fresh.agent_id);
  return before === -1 ? [...agents, fresh] : agents.toSpliced(before, 0, fresh);
}

function Filter({ part }: { part: string }) {
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Agents whose id contains"
        placeholder="Id contains …"
        value={part}
        onInput={(event) => setQuery({ contains: event.currentTarget.value }, { replace: true })}
      />
    </div>
  );
}

/** The agents. Some can be selected for actions on many at once. */
function ChosenAgents({ agents, onDone }: { agents: readonly Agent[]; onDone(): void }) {
  const { canWrite } = useAccess();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const shown = agents.map(({ agent_id }) => agent_id);
  const here = shown.filter((id) => chosen.has(id));
  return (
    <>
      {canWrite && here.length > 0 && <BulkActions agents={here} onDone={onDone} />}
      <AgentTable
        agents={sorted(agents, COLUMNS)}
        chosen={canWrite ? chosen : null}
        onChosen={(ids, isIn) =>
          setChosen(new Set(isIn ? [...chosen, ...ids] : here.filter((id) => !ids.includes(id))))
        }
      />
    </>
  );
}

interface TableProps {
  agents: readonly Agent[];
  /** Null for people who may change nothing. */
  chosen: ReadonlySet<string> | null;
  onChosen(ids: readonly string[], isIn: boolean): void;
}

function AgentTable({ agents, chosen, onChosen }: TableProps) {
  const { element, from, to, before, after } = useWindow<HTMLTableSectionElement>(agents.length);
  const [agent, state, entries, events, blocked, activity] = COLUMNS.map((column) => (
    <SortHead key={column.id} column={column} />
  ));
  return (
    <Table
      body={element}
      head={[
        chosen !== null && (
          <th key="choose" scope="col" class="choose">
            <Choose
              label="All agents shown"
              checked={agents.every(({ agent_id }) => chosen.has(agent_id))}
              onChecked={(isIn) =>
                onChosen(
                  agents.map(({ agent_id }) => agent_id),
                  isIn,
                )
              }
            />
          </th>
        ),
        agent,
        state,
        "Policies of its own",
        entries,
        events,
        blocked,
        activity,
      ]}
    >
      {before > 0 && <Space height={before} />}
      {agents.slice(from, to).map((each) => (
        <AgentRow key={each.agent_id} agent={each} chosen={chosen} onChosen={onChosen} />
      ))}
      {after > 0 && <Space height={after} />}
    </Table>
  );
}

/** Rows that are not visible. */
const Space = ({ height }: { height: number }) => <tr class="space" style={{ height: `${height}px` }} />;

function Choose(props: { label: string; checked: boolean; onChecked(checked: boolean): void }) {
  return (
    <input
      type="checkbox"
      aria-label={props.label}
      checked={props.checked}
      onChange={(event) => props.onChecked(event.currentTarget.checked)}
    />
  );
}

function AgentRow({ agent, chosen, onChosen }: Omit<TableProps, "agents"> & { agent: Agent }) {
  const { id } = useAccess();
  const { agent_id } = agent;
  return (
    <tr>
      {chosen !== null && (
        <td class="choose">
          <Choose
            label={`Choose ${agent_id}`}
            checked={chosen.has(agent_id)}
            onChecked={(isIn) => onChosen([agent_id], isIn)}
          />
        </td>
      )}
      <th scope="row">
        <a href={paths.agent(id, agent_id)}>{agent_id}</a>
      </th>
      <td data-label="State">
        {agent.state === "suspended" ? <Badge tone="denied">suspended</Badge> : <span class="faint">active</span>}
      </td>
      <td data-label="Policies">
        <PolicyBadges policies={agent.policies} />
      </td>
      <td data-label="Entries" class="number">
        {count(agent.entries)}
      </td>
      <td data-label="Events" class="number">
        {count(agent.events)}
      </td>
      <td data-label="Blocked, 24 h" class="number">
        {agent.blocked_24h === 0 ? (
          <span class="faint">0</span>
        ) : (
          <a class="bad spark-link" href={paths.audit(id, agent_id, { result: "blocked" })}>
            <BlockedByHour hours={agent.blocked_by_hour} />
            {count(agent.blocked_24h)}
          </a>
        )}
      </td>
      <td data-label="Last activity" class="nowrap">
        <Time at={agent.last_activity_at} />
      </td>
    </tr>
  );
}

export function NoAgents() {
  const caFile = session.value.kind === "in" ? session.value.ca_file : null;
  return (
    <Empty title="No agent yet">
      <p>Send its first request, with an API key of this workspace in the environment. Each of these stores a note:</p>
      <FirstPrograms daemon={{ origin: location.origin, caFile }} />
      <p class="faint">It appears here at once.</p>
    </Empty>
  );
}
