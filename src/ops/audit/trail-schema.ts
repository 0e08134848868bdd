/** The schemas of the scope, the window of time and the filters of requests about the trail. */
import { type Static, Type as t } from "@sinclair/typebox";
import { AgentId, choice, Key, Timestamp, textField, wordsOf } from "../../api/fields.ts";
import { checkWorkspaceWide } from "../../api/scopes.ts";
import { component, oneOf } from "../../api/shapes.ts";
import { parseTimestamp } from "../../api/timestamp.ts";
import { type Principal, requireAgentAllowed } from "../../core/writer/contract.ts";
import { AUDIT_RESULTS } from "../../details.ts";
import type { AuditScope, TimeWindow, TrailScope } from "../../operation-facts.ts";
import { EVENT_NAMES } from "../../operations.ts";
import { invalid, Problem } from "../../problem.ts";
import { MODES } from "../../screen/modes.ts";
import { PRECEDENCE } from "../../screen/policies.ts";
import { isWhole, type TrailFilter } from "../../trail-filter.ts";
import * as schema from "./schema.ts";

/** The scope of a request: exactly one of the two must be sent. */
export const scoped = {
  agent_id: t.Optional(AgentId),
  scope: choice(["workspace", "installation"], "Instead of agent_id"),
};

/** The most values of one filter. */
const MOST_WORDS = 100;

/** The scopes of a request that can be about several agents, or about everything. */
const SCOPES = ["workspace", "all", "installation"] as const;
export const agents = t.Array(AgentId, {
  maxItems: MOST_WORDS,
  minItems: 1,
  description: "Agents.",
  examples: [["support-bot"]],
});
export const several = { agent_id: t.Optional(agents), scope: choice(SCOPES, "Instead of agent_id") };

const FilterWord = component(
  "FilterWord",
  textField("FilterWord", { minLength: 1, maxLength: 256, description: "A name or an id." }, (text) =>
    /^.{1,256}$/s.test(text),
  ),
);

const FilterWords = component(
  "FilterWords",
  t.Array(FilterWord, { maxItems: MOST_WORDS, minItems: 1, description: "Names or ids." }),
);

const oneOrMore = (description: string, example: string) =>
  t.Optional({ ...FilterWords, description: `${description}.`, examples: [[example]] });

/** The filters of the trail. */
export const filters = {
  operations: wordsOf(EVENT_NAMES, schema.EventName, "Only events of these operations"),
  result: wordsOf(AUDIT_RESULTS, schema.AuditResultName, "Only events with these results"),
  actor: oneOrMore("Only events of these API keys or accounts", "key_01jz8v6s3yf0abm5q2x9k7n4tc"),
  session: oneOrMore("Only events of these sessions", "conversation-42"),
  on_behalf_of: oneOrMore("Only events of tokens that name one of these subjects or actors (`sub`)", "alice"),
  key: t.Optional({ ...Key, description: "Only events about the entry with this key." }),
  detector: oneOrMore("Only events in which these detectors or patterns found something", "email"),
  mode: wordsOf(MODES, oneOf(MODES), "Only events in which something was found in these modes"),
  policy: oneOrMore("Only events that these policies refused", PRECEDENCE[0] as string),
  text: t.Optional(
    t.String({
      minLength: 1,
      maxLength: 128,
      description: "Only events with this in an id: of the event, its agent, its actor, or what it names.",
      examples: ["bot"],
    }),
  ),
};

export const window = {
  start_time: t.Optional(Timestamp),
  end_time: t.Optional({ ...Timestamp, examples: ["2026-02-28T08:00:00Z"] }),
};

type Filters = { [N in keyof typeof filters]?: Static<(typeof filters)[N]> };

interface AskedScope {
  agent_id?: readonly string[];
  scope?: (typeof SCOPES)[number];
}

/** Returns the filter of a request. */
export function filterOf(asked: Filters & AskedScope): TrailFilter {
  const { operations, result, actor, session, on_behalf_of, key, detector, mode, policy, text } = asked;
  const { agent_id: [, ...more] = [] } = asked;
  const lists = {
    agentIds: more.length === 0 ? undefined : asked.agent_id,
    operations,
    results: result,
    actors: actor,
    sessions: session,
    subjects: on_behalf_of,
    detectors: detector,
    modes: mode,
    policies: policy,
  };
  const filter: TrailFilter = { ...(key === undefined ? {} : { key }), ...(text === undefined ? {} : { text }) };
  for (const [name, words] of Object.entries(lists))
    if (words !== undefined) Object.assign(filter, { [name]: sorted(words) });
  return filter;
}

/** Returns the scope of a request about one agent, several agents, or everything. @throws {Problem} */
export function trailScopeOf({ agent_id: ids, scope }: AskedScope, principal: Principal): TrailScope {
  const [first, ...more] = ids ?? [];
  if (scope === "all" && first === undefined) {
    checkWorkspaceWide(principal);
    return { scope };
  }
  if (scope !== undefined || more.length === 0) {
    return scopeOf({ ...(first !== undefined && { agent_id: first }), ...(scope && { scope }) }, principal);
  }
  for (const agentId of ids ?? []) requireAgentAllowed(principal, agentId);
  return { scope: "all" };
}

/** As {@link trailScopeOf}, for requests in which the scope of the workspace means everything in it. */
export function wholeScopeOf(asked: AskedScope, principal: Principal): AuditScope {
  const scope = trailScopeOf(asked, principal);
  return "scope" in scope ? { scope: "workspace" } : scope;
}

/** Returns the requested scope. @throws {Problem} unless the request has exactly one of `agent_id` and `scope` */
export function scopeOf(
  asked: { agent_id?: string; scope?: (typeof SCOPES)[number] },
  principal: Principal,
): AuditScope {
  if (asked.agent_id !== undefined) {
    if (asked.scope !== undefined) throw invalid('Send either "agent_id" or "scope", not both.', "scope");
    return { agentId: asked.agent_id };
  }
  if (asked.scope === undefined) {
    throw invalid('"agent_id" is missing. Send it, or scope=workspace for the workspace itself.', "agent_id");
  }
  checkWorkspaceWide(principal);
  if (asked.scope === "installation" && principal.installation !== true) {
    throw new Problem(
      "forbidden",
      "scope=installation needs the session of an operator, without X-Workspace-Id or with X-Workspace-Id: installation.",
      { param: "scope" },
    );
  }
  return { scope: "workspace" };
}

export function windowOf(asked: { start_time?: string; end_time?: string }): TimeWindow {
  return {
    ...(asked.start_time === undefined ? {} : { startMs: parseTimestamp(asked.start_time) as number }),
    ...(asked.end_time === undefined ? {} : { endMs: parseTimestamp(asked.end_time) as number }),
  };
}

/** Returns the values of a filter, sorted and without repetitions, so that a cursor does not depend on their order. */
const sorted = <W extends string>(words: readonly W[]): W[] => [...new Set(words)].sort();

/** Returns a filter as a member of the input, unless it matches everything. */
export const narrowed = (filter: TrailFilter): { filter?: TrailFilter } => (isWhole(filter) ? {} : { filter });
