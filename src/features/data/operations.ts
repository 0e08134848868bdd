/** Operations on an agent's data, but for writing (write.ts). They run on the workspace's thread. */

import { retentionCutoff, retentionEnd } from "../../policy/retention.ts";
import type { AgentState } from "../../state/agents.ts";
import { countPrefix, type EntryRow, findEntry, findEntryOrigin, hasEntry } from "../../state/entries.ts";
import {
  answered,
  knownAgent,
  notFound,
  type Operation,
  type OperationsOf,
  type Outcome,
} from "../../workspace/operation.ts";
import { eraseData } from "./erase.ts";
import { listData } from "./lists.ts";
import { searchData } from "./search.ts";
import { prepareWrite, writeData } from "./write.ts";

const NO_ENTRY = "This agent has no entry under this key, or the entry is past its retention.";

/** A moment in ms as the API shows it: RFC 3339, UTC, three decimals. */
const showTime = (ms: number): string => new Date(ms).toISOString();

export const readData: Operation<"data.read"> = async (reader, context, { agentId, key }) => {
  const agent = await knownAgent(reader, context, agentId);
  const entry = agent === null ? undefined : await findEntry(reader, agent, key, context.nowMs);
  if (entry === undefined) return noEntry(agent, agentId, key);
  return answered(
    agent,
    { key },
    `{"agent_id":${JSON.stringify(agentId)},"key":${JSON.stringify(key)},"value":${entry.value}}`,
  );
};

const readFullData: Operation<"data.read_full"> = async (reader, context, { agentId, key }) => {
  const agent = await knownAgent(reader, context, agentId);
  const entry = agent === null ? undefined : await findEntry(reader, agent, key, context.nowMs);
  if (agent === null || entry === undefined) return noEntry(agent, agentId, key);
  const origin = await findEntryOrigin(reader, entry.id);
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

export const deleteData: Operation<"data.delete"> = async (reader, context, { agentId, key }) => {
  const agent = await knownAgent(reader, context, agentId);
  if (agent === null) return noEntry(agent, agentId, key);
  const cutoffMs = retentionCutoff(agent.policies, context.nowMs);
  if (!(await hasEntry(reader, agent, key, cutoffMs))) return noEntry(agent, agentId, key);
  return answered(agent, { key, count: 1 }, `{"deleted":1,"audit_id":"${context.auditId}"}`, {
    effect: { kind: "end", key },
  });
};

export const deletePrefix: Operation<"data.delete_prefix"> = async (reader, context, { agentId, prefix }) => {
  const agent = await knownAgent(reader, context, agentId);
  const count = agent === null ? 0 : await countPrefix(reader, agent, prefix, context.nowMs);
  const details = agent === null ? { agent_id: agentId, prefix, count } : { prefix, count };
  return answered(agent, details, `{"deleted":${count},"audit_id":"${context.auditId}"}`, {
    effect: { kind: "end_prefix", prefix, count },
  });
};

/** What runs each operation of this feature. */
export const dataOperations: OperationsOf<"data"> = {
  "data.write": { prepare: prepareWrite, run: writeData },
  "data.read": readData,
  "data.read_full": readFullData,
  "data.list": listData,
  "data.delete": deleteData,
  "data.delete_prefix": deletePrefix,
  "data.erase": eraseData,
  "data.search": searchData,
};
