/** Makes and deletes scheduled checkpoints, as the policies in force for an agent require. */

import type { AgentState } from "../../core/rows/agents.ts";
import { agentsThatSet, loadWorkspacePolicies } from "../../core/rows/configs.ts";
import { sqlNames } from "../../core/rows/entry-changes.ts";
import { type Principal, systemPrincipal } from "../../core/writer/contract.ts";
import type { Job } from "../../core/writer/job.ts";
import { unchanged } from "../../core/writer/operation.ts";
import type { WorkspaceWriter } from "../../core/writer/perform.ts";
import { isFromFuture } from "../../ids.ts";
import { SYSTEM } from "../../log/event.ts";
import { CHECKPOINT_EVERY, dueSince, scheduledKept } from "../../screen/checkpoint-schedule.ts";
import type { Reader } from "../../store/transaction.ts";
import { createCheckpoint, removeCheckpoint } from "./operations.ts";

/** The agents that are handled in one transaction. */
const AGENTS_AT_ONCE = 64;

/** SQL: the conditions that an event changed an agent's data or configuration, and that it only made a checkpoint. */
const CHANGES = `result IN ('ok', 'allowed') AND operation IN (${sqlNames("put", "end", "end_prefix", "add_config", "restore")})`;
const MAKING = `operation IN (${sqlNames("add_checkpoint")})`;

/**
 * Makes the checkpoints of a workspace that are due, and deletes the oldest of those beyond the number that is kept.
 * @param mayGrow whether the workspace may grow; otherwise no checkpoint is made
 * @param giveWay gives other workspaces of the thread their turn, between two transactions
 * @param onWarning called when a checkpoint is made although the time of the newest one has not come
 */
export async function keepSchedule(
  reader: Reader,
  writer: WorkspaceWriter,
  mayGrow: () => Promise<boolean>,
  giveWay: () => Promise<void>,
  onWarning: (warning: string) => void = () => {},
): Promise<void> {
  const agents = await scheduledAgents(reader);
  if (agents.length === 0 || !(await mayGrow())) return;
  const principal = systemPrincipal(writer.workspaceId);
  let ahead = 0;
  for (let at = 0; at < agents.length; at += AGENTS_AT_ONCE) {
    const group = agents.slice(at, at + AGENTS_AT_ONCE);
    const replies = await writer.perform(group.map((agentId) => dueJob(principal, agentId, () => ahead++)));
    await giveWay();
    let over = group.filter((_, index) => replies[index]?.auditId);
    // The job records nothing for an agent without excess checkpoints.
    while (over.length > 0) {
      const deleted = await writer.perform(over.map((agentId) => excessJob(principal, agentId)));
      await giveWay();
      over = over.filter((_, index) => deleted[index]?.auditId);
    }
  }
  if (ahead > 0) {
    const which = `newest checkpoints of agents in ${writer.workspaceId}`;
    onWarning(`${which} have times that have not come, since the clock was ahead: new ones are made`);
  }
}

/** Returns the agents that may need a checkpoint: those with their own schedule, or all if the workspace has one. */
async function scheduledAgents(reader: Reader): Promise<string[]> {
  const { policies } = await loadWorkspacePolicies(reader);
  if (policies[CHECKPOINT_EVERY] === null) return agentsThatSet(reader, CHECKPOINT_EVERY);
  return (await reader.all<[string]>("SELECT agent_id FROM agents WHERE agent_id IS NOT NULL")).flat();
}

/** Returns the job that makes a checkpoint of an agent if one is due, and otherwise records nothing. */
const dueJob = (principal: Principal, agentId: string, onAhead: () => void): Job => ({
  operation: "checkpoint.create",
  principal,
  async run(reader, context) {
    const agent = await context.agents.find(agentId);
    if (agent === null || !(await isDue(reader, agent, context.nowMs, onAhead))) return unchanged();
    return createCheckpoint.run(reader, context, { agentId, label: null, metadata: {} });
  },
});

type NewestRow = [timeMs: number, agentSeq: number];

/** Reports whether the newest checkpoint is old enough, and the agent's data or configuration has changed since. */
async function isDue(reader: Reader, agent: AgentState, nowMs: number, onAhead: () => void): Promise<boolean> {
  const since = dueSince(agent.policies, nowMs);
  if (since === null) return false;
  // The event of a restore makes a checkpoint of the state before it, so the restore itself is a change since.
  const newest = await reader.get<NewestRow>(
    `SELECT e.time, e.agent_seq - (c.event_seq - c.as_of_seq) FROM checkpoints c JOIN events e ON e.seq = c.event_seq
     WHERE c.agent = ? AND c.as_of_seq = ?`,
    [agent.firstSeq, agent.newestCheckpoint],
  );
  if (newest === undefined) return agent.liveEntries > 0 || agent.configVersion !== null;
  const [newestMs, agentSeq] = newest;
  const isAhead = isFromFuture(newestMs, nowMs);
  if (newestMs > since && !isAhead) return false;
  const change = `SELECT 1 FROM events WHERE agent_id = ? AND agent_seq > ? AND ${CHANGES} LIMIT 1`;
  const hasChanged = (await reader.value(change, [agent.agentId, agentSeq])) !== undefined;
  if (hasChanged && isAhead) onAhead();
  return hasChanged;
}

/**
 * Returns the job that deletes the oldest scheduled checkpoint if there are too many, and otherwise records nothing.
 */
const excessJob = (principal: Principal, agentId: string): Job => ({
  operation: "checkpoint.delete",
  principal,
  async run(reader, context) {
    const agent = await context.agents.find(agentId);
    if (agent === null) return unchanged();
    const made = await reader.all<[string]>(
      `SELECT c.id FROM checkpoints c JOIN events e ON e.seq = c.event_seq
       WHERE c.agent = ? AND ${MAKING} AND e.actor = ? ORDER BY c.as_of_seq`,
      [agent.firstSeq, SYSTEM],
    );
    const oldest = made.length > scheduledKept(agent.policies) ? made[0] : undefined;
    return oldest === undefined ? unchanged() : removeCheckpoint(reader, context, { checkpointId: oldest[0] });
  },
});
