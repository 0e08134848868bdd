/** The scope of an operation on the trail, and how the operation's event states it. */
import { showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { AuditScope, TimeWindow } from "../../operation-facts.ts";
import type { Context } from "../../workspace/operation.ts";

/** Returns the agent's id; null for a scope that is not one agent. */
export const agentIdOf = (scope: AuditScope): string | null => ("agentId" in scope ? scope.agentId : null);

/**
 * Returns the agent in whose chain the operation is recorded, null for the workspace's own chain, and the members of
 * the details that name the scope. An event in an agent's own chain needs none.
 */
export async function subjectOf(context: Context, scope: AuditScope) {
  if (!("agentId" in scope)) return { agent: null, asked: { scope: scope.scope } };
  const agent = await context.agents.find(scope.agentId);
  return { agent, asked: agent === null ? { agent_id: scope.agentId } : {} };
}

/** Returns the members of the details that state a window. */
export function windowDetails({ startMs, endMs }: TimeWindow): JsonObject {
  return {
    ...(startMs === undefined ? {} : { start_time: showTime(startMs) }),
    ...(endMs === undefined ? {} : { end_time: showTime(endMs) }),
  };
}
