/** Quotas: a full workspace accepts no more data. What it holds can still be read, deleted and audited. */
import type { OperationInputs, OperationName } from "../../operations.ts";
import { findCheckpoint } from "../../state/checkpoints.ts";
import { hasEntry } from "../../state/entries.ts";
import { usedBytesPast } from "../../state/usage.ts";
import type { Reader } from "../../store/transaction.ts";
import {
  type Context,
  knownAgent,
  naming,
  type Operation,
  refused,
  requireAgentAllowed,
} from "../../workspace/operation.ts";

/** What one workspace may hold; 0 for no limit. */
export interface Quota {
  /** Entries of all agents, including expired entries that are not swept yet. */
  entries: number;
  /** Bytes of its database: data, what checkpoints keep, and the audit trail. */
  bytes: number;
}

type Input = OperationInputs[OperationName];

/** A limit that an operation would exceed. */
interface Excess {
  quota: keyof Quota;
  limit: number;
  used: number;
}

/** What an operation would add, at most. */
interface Growth {
  agentId: string;
  /** The key of a write. */
  key?: string;
  entries: number;
  bytes: number;
}

/** Returns the operation with a check before it. Over quota the operation is refused, which is recorded. */
export function refusingOverQuota(operation: Operation<OperationName>, quota: Quota): Operation<OperationName> {
  return async (reader, context, input, prepared) => {
    const growth = await growthOf(reader, context, input);
    const excess = growth && (await excessOf(reader, context, quota, growth));
    if (growth === null || excess === null) return operation(reader, context, input, prepared);
    const { agentId } = growth;
    requireAgentAllowed(context.principal, agentId);
    const agent = await knownAgent(reader, context, agentId);
    // The details do not name the key: it is not screened yet.
    const what = { ...excess, ...("checkpointId" in input ? { checkpoint_id: input.checkpointId } : {}) };
    const problem = { code: "quota_exceeded", detail: explain(excess), extra: { ...excess } } as const;
    return refused(agent, "denied", naming(agent, agentId, what), problem);
  };
}

function explain({ quota, limit, used }: Excess): string {
  return quota === "entries"
    ? `The workspace holds ${used} of ${limit} entries. Delete some, or ask the operator for a larger quota_entries.`
    : `The workspace's database holds ${used} of ${limit} bytes. Delete entries and checkpoints, or ask the operator for a larger quota_bytes.`;
}

async function growthOf(reader: Reader, context: Context, input: Input): Promise<Growth | null> {
  if ("value" in input) {
    const texts = [input.key, input.value, JSON.stringify(input.metadata)];
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return { agentId: input.agentId, key: input.key, entries: 1, bytes };
  }
  if (!("checkpointId" in input) || !("restoreData" in input) || !input.restoreData) return null;
  const checkpoint = await findCheckpoint(reader, input.checkpointId);
  if (checkpoint === undefined) return null;
  const agent = await context.agents.findByFirstSeq(reader, checkpoint.agent);
  const entries = checkpoint.entryCount - agent.liveEntries;
  // A restore copies what comes back. How many bytes that is is known only afterwards.
  return agent.agentId === null ? null : { agentId: agent.agentId, entries, bytes: 0 };
}

async function excessOf(reader: Reader, context: Context, quota: Quota, growth: Growth): Promise<Excess | null> {
  if (quota.entries > 0 && growth.entries > 0) {
    const used = await context.agents.liveEntries(reader);
    const isOver = used + growth.entries > quota.entries;
    if (isOver && !(await replaces(reader, context, growth))) return { quota: "entries", limit: quota.entries, used };
  }
  if (quota.bytes > 0) {
    const used = await usedBytesPast(reader, quota.bytes, growth.bytes);
    if (used !== null) return { quota: "bytes", limit: quota.bytes, used };
  }
  return null;
}

/** Whether a write replaces an entry, so that the number of entries stays the same. */
async function replaces(reader: Reader, context: Context, { agentId, key }: Growth): Promise<boolean> {
  const agent = key === undefined ? null : await knownAgent(reader, context, agentId);
  return agent !== null && key !== undefined && (await hasEntry(reader, agent, key, -1));
}
