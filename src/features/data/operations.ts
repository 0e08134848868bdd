/** Operations on an agent's data. They run on the workspace's thread. */
import type { JsonObject } from "../../json.ts";
import { sha256Hex } from "../../log/hash.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { decide } from "../../policy/decide.ts";
import { AgentDirectory, type AgentState } from "../../state/agents.ts";
import { retentionEnd } from "../../state/configs.ts";
import {
  type EntryRow,
  endEntry,
  endPrefix,
  findEntry,
  findEntryOrigin,
  putEntry,
} from "../../state/entries.ts";
import { answered, knownAgent, notFound, type Operation, type Outcome } from "../../workspace/operation.ts";

const NO_ENTRY = "This agent has no entry under this key, or the entry is past its retention.";
const STORED = "Stored.";

/** A moment in ms as the API shows it: RFC 3339, UTC, three decimals. */
const showTime = (ms: number): string => new Date(ms).toISOString();

export const writeData: Operation<"data.write"> = async (tx, context, input) => {
  const known = await knownAgent(tx, context, input.agentId);
  const agent = known ?? AgentDirectory.fresh(input.agentId, context.seq);
  const decision = decide(agent.policies, input);
  if (!decision.allowed) {
    const findings = decision.findings as unknown as JsonObject[];
    const { blockedBy, message } = decision;
    const body = { allowed: false, blocked_by: blockedBy, message, findings };
    // Neither the key nor a digest: either could be what was caught.
    return answered(agent, { findings }, JSON.stringify(body), { result: "blocked", blockedBy });
  }
  const metadata = canonicalJson(input.metadata);
  const value = JSON.stringify(input.value);
  const digest = sha256Hex(`{"key":${JSON.stringify(input.key)},"metadata":${metadata},"value":${value}}`);
  const added = await putEntry(tx, agent, { key: input.key, value, metadata }, context);
  return answered(
    agent,
    { key: input.key, value_digest: digest },
    `{"allowed":true,"audit_id":"${context.auditId}","message":"${STORED}"}`,
    { result: "allowed", change: { liveEntries: agent.liveEntries + added } },
  );
};

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
