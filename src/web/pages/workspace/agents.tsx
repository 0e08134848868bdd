/** The agents of a workspace, as they are now. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { Agent } from "../../api/types.ts";
import { changesOrRefuses, type LoadedList, useEvents, useList, useThrottled } from "../../state/load.ts";
import { paths, place, setQuery } from "../../state/router.ts";
import { session, useRoom } from "../../state/session.ts";
import { BlockedByHour } from "../../ui/chart.tsx";
import { CopyBlock } from "../../ui/copy.tsx";
import { curlExample } from "../../ui/examples.ts";
import { Badge, PolicyBadges, Time } from "../../ui/inline.tsx";
import { count } from "../../ui/numbers.ts";
import { Empty, Heading, ShowItems, Table } from "../../ui/parts.tsx";

/** Rows of agents with new events are reloaded at most this often. */
const REFRESH_MS = 2_000;

export function AgentsPage() {
  const part = place.value.query.get("contains") ?? "";
  const agents = useList<Agent>("/v1/agents", { contains: part });
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
        {(items) => <AgentTable agents={items} />}
      </ShowItems>
    </>
  );
}

/** Reloads the agents that events are about. The other rows stay as they are. */
function useFreshAgents({ set, reload }: LoadedList<Agent>): void {
  const { api } = useRoom();
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

function AgentTable({ agents }: { agents: readonly Agent[] }) {
  const { id } = useRoom();
  return (
    <Table
      head={[
        "Agent",
        "Policies of its own",
        <th key="entries" scope="col" class="number">
          Entries
        </th>,
        <th key="blocked" scope="col" class="number">
          Blocked, 24 h
        </th>,
        "Last activity",
      ]}
    >
      {agents.map((agent) => (
        <tr key={agent.agent_id}>
          <th scope="row">
            <a href={paths.agent(id, agent.agent_id)}>{agent.agent_id}</a>{" "}
            {agent.state === "suspended" && <Badge tone="warn">suspended</Badge>}
          </th>
          <td data-label="Policies">
            <PolicyBadges policies={agent.policies} />
          </td>
          <td data-label="Entries" class="number">
            {count(agent.entries)}
          </td>
          <td data-label="Blocked, 24 h" class="number">
            {agent.blocked_24h === 0 ? (
              <span class="faint">0</span>
            ) : (
              <a class="bad spark-link" href={paths.audit(id, agent.agent_id, { result: "blocked" })}>
                <BlockedByHour hours={agent.blocked_by_hour} />
                {count(agent.blocked_24h)}
              </a>
            )}
          </td>
          <td data-label="Last activity">
            <Time at={agent.last_activity_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function NoAgents() {
  const caFile = session.value.kind === "in" ? session.value.ca_file : null;
  return (
    <Empty title="No agent yet">
      <p>Send its first request, with an API key of this workspace. This one stores a note:</p>
      <CopyBlock label="First request" text={curlExample({ origin: location.origin, caFile }, "$GOVERND_API_KEY")} />
      <p class="faint">It appears here at once.</p>
    </Empty>
  );
}
