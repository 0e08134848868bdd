/** The agents of a workspace, as they are now. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { Agent } from "../../api/types.ts";
import { changesSomething, useEvents, useThrottled } from "../../state/events.ts";
import { useList } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { place, setQuery } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Badge, PolicyBadges } from "../../ui/badge.tsx";
import { CopyBlock } from "../../ui/copy.tsx";
import { curlExample } from "../../ui/new-key.tsx";
import { count } from "../../ui/numbers.ts";
import { Empty, Heading, More, Show } from "../../ui/parts.tsx";
import { BlockedByHour } from "../../ui/sparkline.tsx";
import { Time } from "../../ui/time.tsx";

/** Rows of agents that something happened to are asked for again at most this often. */
const REFRESH_MS = 2_000;

export function AgentsPage({ room }: { room: Room }) {
  const { api, workspace } = room;
  const prefix = place.value.query.get("prefix") ?? "";
  const agents = useList<Agent>(`${workspace.id} ${prefix}`, (cursor, signal) =>
    api.page<Agent>("/v1/agents", { prefix }, cursor, signal),
  );
  useFreshAgents(room, agents.set, agents.reload);
  return (
    <>
      <Heading title="Agents" name="Agents">
        An agent appears here with its first configuration, write or checkpoint.
      </Heading>
      <Show of={agents}>
        {(items) => (
          <>
            {(items.length > 0 || prefix !== "") && <Filter prefix={prefix} />}
            {items.length > 0 ? (
              <AgentTable room={room} agents={items} />
            ) : prefix === "" ? (
              <NoAgents />
            ) : (
              <Empty title="No agent begins so">
                <p>Try a shorter beginning of its id.</p>
              </Empty>
            )}
            <More of={agents} />
          </>
        )}
      </Show>
    </>
  );
}

/** Asks again for the agents that events are about, without touching the other rows. */
function useFreshAgents(
  room: Room,
  set: (change: (old: Agent[]) => Agent[]) => void,
  reload: () => void,
): void {
  const [changed] = useState(() => new Set<string>());
  const refresh = useThrottled(async () => {
    const ids = [...changed];
    changed.clear();
    const fresh = await Promise.allSettled(ids.map((id) => room.api.ask<Agent>(`/v1/agents/${segment(id)}`)));
    for (const result of fresh) {
      if (result.status === "fulfilled") set((old) => replaced(old, result.value));
    }
  }, REFRESH_MS);
  useEvents((event) => {
    if (event.agent_id === null) return;
    if (!changesSomething(event) && event.result !== "blocked" && event.result !== "denied") return;
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

function Filter({ prefix }: { prefix: string }) {
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Agents whose id begins with"
        placeholder="Id begins with …"
        value={prefix}
        onInput={(event) => setQuery({ prefix: event.currentTarget.value }, { replace: true })}
      />
    </div>
  );
}

function AgentTable({ room, agents }: { room: Room; agents: readonly Agent[] }) {
  return (
    <div class="table-frame">
      <table class="table table-cards">
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Policies in force</th>
            <th scope="col" class="number">
              Entries
            </th>
            <th scope="col" class="number">
              Blocked, 24 h
            </th>
            <th scope="col">Last activity</th>
          </tr>
        </thead>
        <tbody>
          {agents.map((agent) => (
            <tr key={agent.agent_id}>
              <th scope="row">
                <a href={paths.agent(room.workspace.id, agent.agent_id)}>{agent.agent_id}</a>{" "}
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
                  <a
                    class="bad spark-link"
                    href={paths.audit(room.workspace.id, agent.agent_id, { result: "blocked" })}
                  >
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
        </tbody>
      </table>
    </div>
  );
}

export function NoAgents() {
  return (
    <Empty title="No agent yet">
      <p>Send its first request, with an API key of this workspace. This one stores a note:</p>
      <CopyBlock label="First request" text={curlExample(location.origin, "$GOVERND_API_KEY", true)} />
      <p class="faint">It appears here at once.</p>
    </Empty>
  );
}
