/** Filters of the trail, and whether an event fits them: in queries, live streams, exports and the dashboard alike. */
import type { JsonObject, JsonValue } from "./json.ts";

/** What the events of a list have in common. A filter with several words takes the events that have one of them. */
export interface TrailFilter {
  agentIds?: readonly string[] | undefined;
  operations?: readonly string[] | undefined;
  results?: readonly string[] | undefined;
  /** Ids of who did it: of API keys and accounts. */
  actors?: readonly string[] | undefined;
  /** The key of an entry. */
  key?: string | undefined;
  /** What policies found. */
  detectors?: readonly string[] | undefined;
  /** What they did about it. */
  modes?: readonly string[] | undefined;
  /** Policies that refused the operation. */
  policies?: readonly string[] | undefined;
  /** A part of an id: of the event, its agent, its actor, or something that its details name. */
  text?: string | undefined;
}

/** What a filter looks at, of an event as the API shows it. */
interface Fitting {
  id: string;
  agent_id: string | null;
  actor: string;
  operation: string;
  result: string;
  blocked_by: string | null;
  details: JsonObject | null;
}

const POLICY = "policy:";

/** Reports whether an event is one of those that a filter asks for. */
export function fits(filter: TrailFilter, event: Fitting): boolean {
  const { agentIds, operations, results, actors, key, detectors, modes, policies, text } = filter;
  return (
    isOneOf(agentIds, event.agent_id) &&
    isOneOf(operations, event.operation) &&
    isOneOf(results, event.result) &&
    isOneOf(actors, event.actor) &&
    (key === undefined || event.details?.key === key) &&
    isOneOf(policies, event.blocked_by?.slice(POLICY.length) ?? null) &&
    ((detectors === undefined && modes === undefined) || findingsOf(event).some(isFound)) &&
    (text === undefined || idsOf(event).some((id) => id.toLowerCase().includes(text.toLowerCase())))
  );
  function isFound({ detector, mode = "block" }: JsonObject): boolean {
    return isOneOf(detectors, detector) && isOneOf(modes, mode);
  }
}

const isOneOf = (words: readonly string[] | undefined, word: JsonValue | undefined): boolean =>
  words === undefined || (typeof word === "string" && words.includes(word));

const findingsOf = ({ details }: Fitting): JsonObject[] =>
  Array.isArray(details?.findings) ? (details.findings as JsonObject[]) : [];

/** The ids that an event shows: its own, and the members of its details that are called so. */
function idsOf({ id, agent_id, actor, details }: Fitting): string[] {
  const named = Object.entries(details ?? {}).flatMap(([name, value]) =>
    /(^|_)id$/.test(name) && typeof value === "string" ? [value] : [],
  );
  return [id, actor, ...(agent_id === null ? [] : [agent_id]), ...named];
}

/** Reports whether a filter asks for nothing in particular. */
export const isWhole = (filter: TrailFilter): boolean => Object.values(filter).every((value) => value === undefined);
