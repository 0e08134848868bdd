/** Filters of the trail, and whether an event fits them: in queries, live streams, exports and the dashboard alike. */
import type { JsonObject, JsonValue } from "./json.ts";

/** A filter of events. All members must match; a member with several words matches events with one of them. */
export interface TrailFilter {
  agentIds?: readonly string[] | undefined;
  operations?: readonly string[] | undefined;
  results?: readonly string[] | undefined;
  /** The ids of actors: of API keys and accounts. */
  actors?: readonly string[] | undefined;
  /** The sessions of requests. */
  sessions?: readonly string[] | undefined;
  /** The subjects on whose behalf workloads act, and the actors between. */
  subjects?: readonly string[] | undefined;
  /** The key of an entry. */
  key?: string | undefined;
  /** The detectors of the policies' findings. */
  detectors?: readonly string[] | undefined;
  /** What the policies did about the findings: their modes. */
  modes?: readonly string[] | undefined;
  /** Policies that refused the operation. */
  policies?: readonly string[] | undefined;
  /** A part of an id: of the event, its agent, its actor, or an object that its details name. */
  text?: string | undefined;
}

/** The members of an event, as the API shows it, that a filter examines. */
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

/** Reports whether an event matches a filter. */
export function fits(filter: TrailFilter, event: Fitting): boolean {
  const { agentIds, operations, results, actors, sessions, subjects, key, detectors, modes, policies, text } = filter;
  return (
    isOneOf(agentIds, event.agent_id) &&
    isOneOf(operations, event.operation) &&
    isOneOf(results, event.result) &&
    isOneOf(actors, event.actor) &&
    isOneOf(sessions, event.details?.session) &&
    (subjects === undefined || partiesOf(event).some(({ sub }) => isOneOf(subjects, sub))) &&
    (key === undefined || event.details?.key === key) &&
    isOneOf(policies, event.blocked_by?.slice(POLICY.length) ?? null) &&
    ((detectors === undefined && modes === undefined) || findingsOf(event).some(isFound)) &&
    (text === undefined || idsOf(event).some((id) => id.toLowerCase().includes(text.toLowerCase())))
  );
  function isFound({ detector, mode }: JsonObject): boolean {
    return isOneOf(detectors, detector) && isOneOf(modes, mode);
  }
}

const isOneOf = (words: readonly string[] | undefined, word: JsonValue | undefined): boolean =>
  words === undefined || (typeof word === "string" && words.includes(word));

const objectsIn = (list: JsonValue | undefined): JsonObject[] => (Array.isArray(list) ? (list as JsonObject[]) : []);
const findingsOf = ({ details }: Fitting): JsonObject[] => objectsIn(details?.findings);
const partiesOf = ({ details }: Fitting): JsonObject[] => objectsIn(details?.on_behalf_of);

/** The ids in an event: its own, and the members of its details whose names end in `id`. */
function idsOf({ id, agent_id, actor, details }: Fitting): string[] {
  const named = Object.entries(details ?? {}).flatMap(([name, value]) =>
    /(^|_)id$/.test(name) && typeof value === "string" ? [value] : [],
  );
  return [id, actor, ...(agent_id === null ? [] : [agent_id]), ...named];
}

/** Reports whether a filter matches all events. */
export const isWhole = (filter: TrailFilter): boolean => Object.values(filter).every((value) => value === undefined);
