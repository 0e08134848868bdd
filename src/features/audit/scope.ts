/** The scope of an operation on the trail, and how the operation's event states it. */
import { showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { AuditScope, TimeWindow, TrailScope } from "../../operation-facts.ts";
import type { TrailFilter } from "../../trail-filter.ts";
import type { Context } from "../../workspace/operation.ts";

/** Returns the agent's id; null for a scope that is not one agent. */
export const agentIdOf = (scope: AuditScope): string | null => ("agentId" in scope ? scope.agentId : null);

/**
 * Returns the agent in whose chain the operation is recorded, null for the workspace's own chain, and the members of
 * the details that name the scope. An event in an agent's own chain needs none.
 */
export async function subjectOf(context: Context, scope: TrailScope) {
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

/**
 * Returns the members of the details that state a filter. A key and a text may be personal data, which nothing would
 * erase here, so the event states only that they were used.
 */
export function filterDetails(filter: TrailFilter): JsonObject {
  const { agentIds, operations, results, actors, detectors, modes, policies } = filter;
  const [result, ...more] = results ?? [];
  const lists = { agent_ids: agentIds, operations, actors, detectors, modes, policies };
  const unnamed = (["key", "text"] as const).filter((name) => filter[name] !== undefined);
  return {
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, list]) => (list === undefined ? [] : [[name, [...list]]])),
    ),
    // A single result is recorded as a text and not as a list, as in older versions.
    ...(result === undefined ? {} : { result: more.length === 0 ? result : [result, ...more] }),
    ...(unnamed.length === 0 ? {} : { filtered_by: unnamed }),
  };
}
