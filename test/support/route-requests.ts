/** A request that is whole, for whichever route of `/v1` there is. */
import type { Route } from "../../src/http/route.ts";
import type { Sent } from "./client.ts";

/** What a request is about: an agent that has begun, a checkpoint of it and one of its events. */
export interface Subject {
  agent: string;
  checkpoint: string;
  event: string;
}

/** A request to a route that comes to something, for an agent with a config and an entry `k`. */
export function requestOf(
  route: Pick<Route, "method" | "path" | "operation">,
  { agent, checkpoint, event }: Subject,
): Required<Pick<Sent, "method" | "path" | "query">> & Pick<Sent, "body"> {
  const path = route.path
    .replace(":agent_id", agent)
    .replace(":version", "v1")
    .replace(":id", route.path.startsWith("/v1/audit") ? event : checkpoint);
  const about = { agent_id: agent };
  const bodies: Record<string, object> = {
    "config.update": {},
    "config.rollback": { version: "v1" },
    "checkpoint.create": about,
    "checkpoint.restore": {},
    "data.write": { ...about, key: "k", value: "v" },
    "data.search": { ...about, query: "q" },
    "audit.verify": about,
    "audit.export": about,
  };
  const queries: Record<string, Record<string, string>> = {
    "checkpoint.list": about,
    "data.read": { ...about, key: "k" },
    "data.read_full": { ...about, key: "k" },
    "data.list": about,
    "data.delete": { ...about, key: "k" },
    "data.delete_prefix": { ...about, prefix: "zzz" },
    "audit.query": about,
    "audit.stream": about,
    "audit.activity": about,
    "audit.consistency": { from: "0" },
  };
  const body = bodies[route.operation];
  return {
    method: route.method,
    path,
    query: queries[route.operation] ?? {},
    ...(body === undefined ? {} : { body }),
  };
}
