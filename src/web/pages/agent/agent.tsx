/** One agent: its configuration, versions, data, checkpoints and audit trail, and the switch that stops it. */
import type { ComponentChildren, FunctionComponent } from "preact";
import { isActivity } from "../../../operations.ts";
import { isCode, segment } from "../../api/client.ts";
import type { Agent } from "../../api/types.ts";
import { changesSomething, type Loaded, useAsk, useEvents, useThrottled } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { TextField, useFields } from "../../ui/field.tsx";
import { Actor, Badge, Time } from "../../ui/inline.tsx";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Heading, Problem, Tabs } from "../../ui/parts.tsx";
import { EffectiveTab } from "../policies/effective.tsx";
import { AgentAudit } from "./audit.tsx";
import { CheckpointsTab } from "./checkpoints.tsx";
import { ConfigTab } from "./config.tsx";
import { DataTab } from "./data.tsx";
import { VersionsTab } from "./versions.tsx";

interface Props {
  agentId: string;
}

/** The views of an agent: what its address is followed by, the name of the tab, and what is shown. */
export const AGENT_TABS: readonly (readonly [end: string, name: string, View: FunctionComponent<Props>])[] = [
  ["", "Configuration", ConfigTab],
  ["/effective", "In force", EffectiveTab],
  ["/versions", "Versions", VersionsTab],
  ["/data", "Data", DataTab],
  ["/checkpoints", "Checkpoints", CheckpointsTab],
  ["/audit", "Audit", AgentAudit],
];

/** Events reload the summary at most this often. */
const REFRESH_MS = 3_000;

/** The frame around a view of an agent. */
export function AgentPage({ agentId, children }: Props & { children: ComponentChildren }) {
  const { id } = useAccess();
  const agent = useAsk<Agent>(`/v1/agents/${segment(agentId)}`);
  const refresh = useThrottled(agent.reload, REFRESH_MS);
  useEvents((event) => {
    if (event.agent_id !== agentId) return;
    const acted = isActivity(event.operation) && { last_activity_at: event.timestamp };
    agent.set((old) => ({ ...old, events: Math.max(old.events, event.agent_seq), ...acted }));
    if (changesSomething(event)) refresh();
  }, agent.reload);
  const base = paths.agent(id, agentId);
  return (
    <>
      <p class="crumbs small">
        <a href={paths.agents(id)}>Agents</a>
      </p>
      <AgentHeading agentId={agentId} agent={agent} />
      <Tabs label="Agent" tabs={AGENT_TABS.map(([end, name]) => [`${base}${end}`, name])} />
      {children}
    </>
  );
}

function AgentHeading({ agentId, agent }: Props & { agent: Loaded<Agent> }) {
  const { canWrite } = useAccess();
  const { data } = agent;
  const suspended = data?.state === "suspended";
  return (
    <>
      <Heading
        title={agentId}
        badge={suspended && <Badge tone="warn">suspended</Badge>}
        actions={
          data !== undefined &&
          canWrite && (
            <DialogButton
              kind={suspended ? "primary" : "plain"}
              dialog={<Switch agent={data} onChanged={(next) => agent.set(() => next)} />}
            >
              {suspended ? "Resume …" : "Suspend …"}
            </DialogButton>
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
      {isCode(agent.problem, "agent_not_found") ? (
        <p class="callout">
          This agent has done nothing yet. It begins with its first configuration, write or checkpoint: save a
          configuration here, or let it write.
        </p>
      ) : (
        <Problem problem={agent.problem} />
      )}
      {suspended && data !== undefined && <Suspended agent={data} />}
    </>
  );
}

function Suspended({ agent }: { agent: Agent }) {
  return (
    <p class="callout tone-warn">
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
      {agent.suspended_reason !== null && <>: {agent.suspended_reason}</>}. Requests of programs for its data and
      checkpoints get 403 <code>agent_suspended</code>, and each is recorded as denied. You can still look at
      everything, and change nothing of it until the agent is resumed.
    </p>
  );
}

interface SwitchProps {
  agent: Agent;
  onChanged(agent: Agent): void;
}

/** Suspends or resumes, with a reason for the log. */
function Switch({ agent: { agent_id, state }, onChanged }: SwitchProps) {
  const { api } = useAccess();
  const { field, filled } = useFields({ reason: "" });
  const suspend = state !== "suspended";
  const change = async () => {
    const act = suspend ? "suspend" : "resume";
    onChanged(await api.ask<Agent>(`/v1/agents/${segment(agent_id)}/${act}`, { body: filled }));
    say(agent_id, suspend ? "is suspended: all its requests are refused." : "is resumed: its requests are allowed.");
  };
  return (
    <Confirm
      title={`${suspend ? "Suspend" : "Resume"} ${agent_id}?`}
      action={suspend ? "Suspend now" : "Resume"}
      danger={suspend}
      onConfirm={change}
    >
      <p>
        {suspend
          ? "Its reads, writes and checkpoints are refused at once, for every key. Nothing is lost."
          : "Its requests are allowed again, under the policies in force."}
      </p>
      <TextField label="Reason" hint="Optional; the audit log keeps it." {...field("reason")} />
    </Confirm>
  );
}
