/** One agent: its configuration, versions, data, checkpoints and audit trail, and the switch that stops it. */
import { useState } from "preact/hooks";
import { isCode, segment } from "../../api/client.ts";
import type { Agent } from "../../api/types.ts";
import { changesSomething, useEvents, useThrottled } from "../../state/events.ts";
import { type Loaded, useAsk } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { TextField, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Heading, Tabs } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { AgentAudit } from "./audit.tsx";
import { CheckpointView } from "./checkpoint.tsx";
import { CheckpointsTab } from "./checkpoints.tsx";
import { ConfigTab } from "./config.tsx";
import { DataTab } from "./data.tsx";
import { VersionsTab } from "./versions.tsx";

export type AgentTab = "config" | "versions" | "data" | "checkpoints" | "checkpoint" | "audit";

/** Events reload the summary at most this often. */
const REFRESH_MS = 3_000;

interface Props {
  room: Room;
  parts: Record<string, string>;
  tab: AgentTab;
}

export function AgentPage({ room, parts, tab }: Props) {
  const { workspace } = room;
  const agentId = parts.agent ?? "";
  const agent = useAsk<Agent>(`/v1/agents/${segment(agentId)}`, { workspace: workspace.id });
  const refresh = useThrottled(agent.reload, REFRESH_MS);
  useEvents((event) => {
    if (event.agent_id !== agentId) return;
    agent.set((old) => ({ ...old, events: Math.max(old.events, event.agent_seq), last_activity_at: event.timestamp }));
    if (changesSomething(event)) refresh();
  }, agent.reload);
  const id = workspace.id;
  return (
    <>
      <p class="crumbs small">
        <a href={paths.agents(id)}>Agents</a>
      </p>
      <AgentHeading room={room} agentId={agentId} agent={agent} />
      <Tabs
        label="Agent"
        tabs={[
          [paths.agent(id, agentId), "Configuration"],
          [paths.versions(id, agentId), "Versions"],
          [paths.data(id, agentId), "Data"],
          [paths.checkpoints(id, agentId), "Checkpoints"],
          [paths.audit(id, agentId), "Audit"],
        ]}
      />
      <Tab room={room} agentId={agentId} tab={tab} checkpointId={parts.checkpoint ?? ""} />
    </>
  );
}

function Tab(props: { room: Room; agentId: string; tab: AgentTab; checkpointId: string }) {
  const { room, agentId, checkpointId } = props;
  const shown = { room, agentId, key: `${room.workspace.id} ${agentId}` };
  switch (props.tab) {
    case "config":
      return <ConfigTab {...shown} />;
    case "versions":
      return <VersionsTab {...shown} />;
    case "data":
      return <DataTab {...shown} />;
    case "checkpoints":
      return <CheckpointsTab {...shown} />;
    case "checkpoint":
      return <CheckpointView {...shown} checkpointId={checkpointId} />;
    case "audit":
      return <AgentAudit {...shown} />;
  }
}

function AgentHeading({ room, agentId, agent }: { room: Room; agentId: string; agent: Loaded<Agent> }) {
  const { data } = agent;
  const [asking, setAsking] = useState(false);
  const suspended = data?.state === "suspended";
  return (
    <>
      <Heading
        title={
          <>
            {agentId} {suspended && <Badge tone="warn">suspended</Badge>}
          </>
        }
        name={agentId}
        actions={
          data !== undefined &&
          room.canWrite && (
            <Button kind={suspended ? "primary" : "plain"} onClick={() => setAsking(true)}>
              {suspended ? "Resume …" : "Suspend …"}
            </Button>
          )
        }
      >
        {data === undefined ? (
          " "
        ) : (
          <>
            {counted(data.entries, "entry", "entries")} · {counted(data.events, "event")} · last activity{" "}
            <Time at={data.last_activity_at} />
          </>
        )}
      </Heading>
      {agent.problem !== null && !isCode(agent.problem, "agent_not_found") && <Problem problem={agent.problem} />}
      {isCode(agent.problem, "agent_not_found") && (
        <p class="callout">
          This agent has done nothing yet. It begins with its first configuration, write or checkpoint: save a
          configuration here, or let it write.
        </p>
      )}
      {suspended && data !== undefined && <Suspended agent={data} />}
      {asking && data !== undefined && (
        <Switch room={room} agent={data} onClose={() => setAsking(false)} onChanged={(next) => agent.set(() => next)} />
      )}
    </>
  );
}

function Suspended({ agent }: { agent: Agent }) {
  return (
    <p class="callout callout-warn">
      <strong>Suspended</strong>
      {agent.suspended_at !== null && (
        <>
          {" "}
          <Time at={agent.suspended_at} />
        </>
      )}
      {agent.suspended_by !== null && (
        <>
          {" "}
          by <Actor id={agent.suspended_by} />
        </>
      )}
      {agent.suspended_reason !== null && <>: {agent.suspended_reason}</>}. Requests for its data and checkpoints get
      403 <code>agent_suspended</code>, and each is recorded as denied. The configuration and the audit log can still be
      read.
    </p>
  );
}

interface SwitchProps {
  room: Room;
  agent: Agent;
  onClose(): void;
  onChanged(agent: Agent): void;
}

/** Suspends or resumes, with a reason for the log. */
function Switch({ room, agent, onClose, onChanged }: SwitchProps) {
  const reason = useText();
  const act = agent.state === "suspended" ? "resume" : "suspend";
  return (
    <Confirm
      title={`${act === "suspend" ? "Suspend" : "Resume"} ${agent.agent_id}?`}
      action={act === "suspend" ? "Suspend now" : "Resume"}
      danger={act === "suspend"}
      onClose={onClose}
      onConfirm={async () => {
        const body = reason.value === "" ? {} : { reason: reason.value };
        const next = await room.api.ask<Agent>(`/v1/agents/${segment(agent.agent_id)}/${act}`, { body });
        onChanged(next);
        say(act === "suspend" ? "Suspended. All its requests are refused." : "Resumed.");
      }}
    >
      <p>
        {act === "suspend"
          ? "Its reads, writes and checkpoints are refused at once, for every key. Nothing is lost."
          : "Its requests are allowed again, under the policies in force."}
      </p>
      <TextField label="Reason" hint="Optional; the audit log keeps it." {...reason} param="reason" />
    </Confirm>
  );
}
