/**
 * Quotas. A workspace that has reached its quota of entries accepts no more of them. A workspace over its quota of
 * bytes accepts no operations that make it grow, and every event does. Exceptions are operations that free space, prove
 * something or stop an agent (`overQuota` of each operation), for which there is a reserve above the quota.
 */

import type { AgentDirectory } from "../../core/rows/agents.ts";
import { findCheckpoint } from "../../core/rows/checkpoints.ts";
import { hasRow } from "../../core/rows/entries.ts";
import { usedBytesPast } from "../../core/rows/usage.ts";
import type { Answer } from "../../core/writer/contract.ts";
import {
  type Context,
  naming,
  type Outcome,
  type Run,
  refused,
  subjectOf,
  type Unrecorded,
} from "../../core/writer/operation.ts";
import { type OperationInputs, type OperationName, whatGrows, whenOverQuota } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import { HISTORY } from "../../screen/history.ts";
import type { Reader } from "../../store/transaction.ts";

/** The limits of one workspace; 0 for no limit. */
export interface Quota {
  /** The entries of all agents, including expired entries that were not swept yet. */
  entries: number;
  /** The bytes of its database: data, their history, and the audit trail. */
  bytes: number;
}

type Input = OperationInputs[OperationName];

/** A limit that an operation would exceed. */
interface Excess {
  quota: keyof Quota;
  limit: number;
  used: number;
}

/** The most that an operation would add. */
interface Growth {
  /** The entry that a write creates or replaces. */
  written?: { agentId: string; key: string };
  entries: number;
  bytes: number;
}

/** The least reserve above a quota of bytes, which is otherwise an eighth of the quota. */
const LEAST_RESERVE = 1024 * 1024;
const RESERVED_SHARE = 8;
/** A workspace below its quota is measured again after this many operations that add only an event. */
const UNMEASURED = 16;

/** Returns the operation with the checks that its facts require. */
export function refusingOverQuota(
  name: OperationName,
  operation: Run<OperationName>,
  quota: Quota,
): Run<OperationName> {
  const rule = whenOverQuota(name);
  const grows = whatGrows(name) === "entries";
  if (rule === null || (!grows && quota.bytes === 0)) return operation;
  return async (reader, context, input, prepared) => {
    const excess = await excessOf(reader, context, quota, grows ? await growthOf(reader, context, input) : null);
    if (excess === null) return operation(reader, context, input, prepared);
    const reserve = Math.max(LEAST_RESERVE, quota.bytes / RESERVED_SHARE);
    const past = excess.quota === "bytes" ? excess.used - excess.limit : 0;
    if (rule === "refused") return refuse(reader, context, input, excess, past <= reserve / 2);
    if (past <= reserve) return operation(reader, context, input, prepared);
    const outcome = rule === "accepted" ? await operation(reader, context, input, prepared) : null;
    if (outcome === null || isEmpty(outcome)) throw new Problem("quota_exceeded", explain(excess));
    return outcome;
  };
}

/** Whether an operation has an event and changes nothing, so that the event would be its only effect. */
function isEmpty(outcome: Outcome<Answer> | Unrecorded): boolean {
  if ("unrecorded" in outcome) return false;
  const { agent, effect } = outcome;
  if (effect.kind === "erase") return effect.versions === 0 && effect.events === 0;
  if (effect.kind === "suspend") return agent?.suspended === true;
  return effect.kind === "none" || ("count" in effect && effect.count === 0);
}

/** Refuses an operation. Recorded refusals use at most half of the reserve. */
async function refuse(reader: Reader, context: Context, input: Input, excess: Excess, isRecorded: boolean) {
  const agent = await subjectOf(reader, context, input);
  const agentId = "agentId" in input ? input.agentId : (agent?.agentId ?? null);
  if (!isRecorded) throw new Problem("quota_exceeded", explain(excess));
  // The details do not name the key, which was not screened yet.
  const what = {
    ...excess,
    ...("checkpointId" in input && agent !== null ? { checkpoint_id: input.checkpointId } : {}),
  };
  const details = agentId === null ? what : naming(agent, agentId, what);
  return refused(agent, "denied", details, { code: "quota_exceeded", detail: explain(excess), extra: { ...excess } });
}

/** Whether a workspace is within its quota of bytes. */
export const hasRoom = async (reader: Reader, quota: Quota | null): Promise<boolean> =>
  quota === null || quota.bytes === 0 || (await usedBytesPast(reader, quota.bytes, 0)) === null;

function explain({ quota, limit, used }: Excess): string {
  return quota === "entries"
    ? `The workspace holds ${used} of ${limit} entries. Delete some, or ask the operator for a larger quota_entries.`
    : `The workspace's database holds ${used} of ${limit} bytes. Erase entries, delete checkpoints, set a shorter ${HISTORY}, or ask the operator for a larger quota_bytes.`;
}

async function growthOf(reader: Reader, context: Context, input: Input): Promise<Growth | null> {
  if ("value" in input && !("policies" in input)) {
    const texts = [input.key, input.value, JSON.stringify(input.metadata)];
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return { written: input, entries: 1, bytes };
  }
  if ("revertTo" in input) return { written: input, entries: 1, bytes: 0 };
  if (!("checkpointId" in input) || !("restoreData" in input) || !input.restoreData) return null;
  const checkpoint = await findCheckpoint(reader, input.checkpointId, context.principal.agents);
  if (checkpoint === undefined) return null;
  const agent = await context.agents.findByFirstSeq(checkpoint.agent);
  // A restore copies the restored entries. Their size is known only after the restore.
  return { entries: checkpoint.entryCount - agent.liveEntries, bytes: 0 };
}

async function excessOf(reader: Reader, context: Context, quota: Quota, growth: Growth | null): Promise<Excess | null> {
  if (quota.entries > 0 && growth !== null && growth.entries > 0) {
    const used = await context.agents.liveEntries();
    const isOver = used + growth.entries > quota.entries;
    if (isOver && !(await replaces(reader, context, growth))) return { quota: "entries", limit: quota.entries, used };
  }
  if (quota.bytes === 0) return null;
  const left = growth === null ? (unmeasured.get(context.agents) ?? 0) : 0;
  if (left > 0) {
    unmeasured.set(context.agents, left - 1);
    return null;
  }
  const used = await usedBytesPast(reader, quota.bytes, growth?.bytes ?? 0);
  if (growth === null) unmeasured.set(context.agents, used === null ? UNMEASURED : 0);
  return used === null ? null : { quota: "bytes", limit: quota.bytes, used };
}

/** The number of operations of a workspace that still need no measurement. */
const unmeasured = new WeakMap<AgentDirectory, number>();

/** Whether a write replaces an entry, so that the number of entries stays the same. */
async function replaces(reader: Reader, { agents }: Context, { written }: Growth): Promise<boolean> {
  const agent = written === undefined ? null : await agents.find(written.agentId);
  return agent !== null && written !== undefined && (await hasRow(reader, agent, written.key));
}
