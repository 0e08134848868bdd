/** Operations on an agent's data, but for writing (write.ts). They run on the workspace's thread. */
import type { AgentState } from "../../state/agents.ts";
import { retentionEnd } from "../../state/configs.ts";
import { type EntryRow, endEntry, endPrefix, findEntry, findEntryOrigin } from "../../state/entries.ts";
import { answered, knownAgent, notFound, type Operation, type Outcome } from "../../workspace/operation.ts";

const NO_ENTRY = "This agent has no entry under this key, or the entry is past its retention.";

/** A moment in ms as the API shows it: RFC 3339, UTC, three decimals. */
const showTime = (ms: number): string => new Date(ms).toISOString();

export const readData: Operation<"data.read"> = async (tx, context, { agentId, key }) => {
  const agent = await knownAgent(tx, context, agentId);
  const entry = agent === null ? undefined : await findEntry(tx, agent, key, context.nowMs);
  if (entry === undefined) return noEntry(agent, agentId, key);
  return answered(
    agent,
    { key },
    `{"agent_id":${JSON.stringify(agentId)},"key":${JSON.stringify(key)},"value":${entry.value}}`,
  );
};

export const readFullData: Operation<"data.read_full"> = async (tx, context, { agentId, key }) => {
  const agent = await knownAgent(tx, context, agentId);
  const entry = agent === null ? undefined : await findEntry(tx, agent, key, context.nowMs);
  if (agent === null || entry === undefined) return noEntry(agent, agentId, key);
  const origin = await findEntryOrigin(tx, entry.id);
  const rest = JSON.stringify({
    created_at: showTime(entry.createdAt),
    updated_at: showTime(entry.updatedAt),
    audit_id: origin.auditId,
    config_version: origin.configVersion,
    written_by: origin.writtenBy,
    expires_at: expiryOf(agent, entry),
  });
  const body =
    `{"agent_id":${JSON.stringify(agentId)},"key":${JSON.stringify(key)},"value":${entry.value},` +
    `"metadata":${entry.metadata},${rest.slice(1)}`;
  return answered(agent, { key }, body);
};

/** When the retention in force ends an entry's life; null when nothing does. */
function expiryOf(agent: AgentState, entry: EntryRow): string | null {
  const end = retentionEnd(agent.policies, entry.updatedAt);
  return end === null ? null : showTime(end);
}

function noEntry(agent: AgentState | null, agentId: string, key: string): Outcome {
  return notFound(agent, agentId, "entry_not_found", NO_ENTRY, { key });
}

export const deleteData: Operation<"data.delete"> = async (tx, context, { agentId, key }) => {
  const agent = await knownAgent(tx, context, agentId);
  const ended = agent === null ? 0 : await endEntry(tx, agent, key, context);
  if (agent === null || ended === 0) return noEntry(agent, agentId, key);
  return answered(agent, { key, count: 1 }, `{"deleted":1,"audit_id":"${context.auditId}"}`, {
    change: { liveEntries: agent.liveEntries - 1 },
  });
};

export const deletePrefix: Operation<"data.delete_prefix"> = async (tx, context, { agentId, prefix }) => {
  const agent = await knownAgent(tx, context, agentId);
  const ended = agent === null ? 0 : await endPrefix(tx, agent, prefix, context);
  const body = `{"deleted":${ended},"audit_id":"${context.auditId}"}`;
  if (agent === null) return answered(null, { agent_id: agentId, prefix, count: 0 }, body);
  return answered(agent, { prefix, count: ended }, body, {
    change: { liveEntries: agent.liveEntries - ended },
  });
};
