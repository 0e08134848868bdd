/** The scope of an operation on the trail, and how the operation's event states it. */

import type { Context } from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { AuditScope, TimeWindow, TrailScope } from "../../operation-facts.ts";
import { recorded } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { TrailFilter } from "../../trail-filter.ts";

/** Returns the agent's id; null for a scope that is not one agent. */
export const agentIdOf = (scope: AuditScope): string | null => ("agentId" in scope ? scope.agentId : null);

/**
 * Returns the agent in whose chain the operation is recorded, null for the workspace's own chain; the members of the
 * details that name the scope, of which an event in an agent's own chain needs none; and the policies that decide which
 * words of the request the event repeats.
 */
export async function subjectOf({ agents }: Context, scope: TrailScope) {
  const policies = await agents.policiesOfWorkspace();
  if (!("agentId" in scope)) return { agent: null, asked: { scope: scope.scope }, policies };
  const agent = await agents.find(scope.agentId);
  const asked = agent === null ? { agent_id: scope.agentId } : {};
  return { agent, asked, policies: agent?.policies ?? policies };
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
 * erase here, so the event states only that they were used, as it does of a list of words in which the policies find
 * something.
 */
export function filterDetails(filter: TrailFilter, inForce: PolicySettings): JsonObject {
  const { agentIds, operations, results, actors, sessions, subjects, detectors, modes, policies } = filter;
  const [result, ...more] = results ?? [];
  const isFound = (words: readonly string[]) => words.some((word) => "redacted" in recorded("word", word, inForce));
  const chosen = { actors, sessions, subjects, detectors, policies };
  const unnamed = Object.entries(chosen).flatMap(([name, words]) => (isFound(words ?? []) ? [name] : []));
  unnamed.push(...(["key", "text"] as const).filter((name) => filter[name] !== undefined));
  const lists = Object.entries({ agent_ids: agentIds, operations, modes, ...chosen });
  return {
    ...Object.fromEntries(
      lists.flatMap(([name, list]) => (list === undefined || unnamed.includes(name) ? [] : [[name, [...list]]])),
    ),
    // A single result is recorded as a text and not as a list.
    ...(result === undefined ? {} : { result: more.length === 0 ? result : [result, ...more] }),
    ...(unnamed.length === 0 ? {} : { filtered_by: unnamed }),
  };
}
