/** A complete request for any route of `/v1`. */

import { SHA256 } from "bun";
import type { Route } from "../../src/api/route.ts";
import { positionOf } from "../../src/ids.ts";
import type { Client, Sent } from "./client.ts";

/** What a request is about: an agent that has begun, one of its checkpoints and events. The workspace has policies. */
export interface Subject {
  agent: string;
  checkpoint: string;
  event: string;
  sink?: string;
}

/** The id of an event, where only its form matters. */
const WROTE = "aud_01jz8v5q2pf0tbq3y8r6w1m9ck";

/** The values of members and parameters, by name. */
const valuesFor = ({ agent, event }: Subject, path: string): Record<string, string | object> => ({
  agent_id: agent,
  key: "k",
  value: "v",
  query: "q",
  prefix: "zzz",
  version: /^\/v1\/(data|quarantine)/.test(path) ? (event.length === WROTE.length ? event : WROTE) : "v1",
  from: "0",
  direction: "effects",
  operations: [{ op: "read", key: "k" }],
  policies: { block_pii: true },
  reason: "r",
  at: "2026-01-31T08:00:00Z",
  confirm_digest: new SHA256().update(`${positionOf(event) ?? 0}\n`).digest("hex"),
  type: "webhook",
  url: "https://127.0.0.1/in",
});

/** Members that a request needs, although none of them alone is required. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "POST /v1/quarantine": ["key", "confirm_digest"],
  "DELETE /v1/quarantine": ["version", "reason"],
  "POST /v1/proofs": ["key"],
};

/** Makes a sink that nothing is delivered to. The daemon must allow 127.0.0.1. Returns its id. */
export async function idleSink(client: Client): Promise<string> {
  const { json } = await client.post("/v1/sinks", { type: "webhook", url: "https://127.0.0.1/in", enabled: false });
  return json.id;
}

/** Does what a request needs to have been done to the entry `k`: the version has ended, or is set aside. */
export async function prepare(
  client: Client,
  { method, path }: Pick<Route, "method" | "path">,
  { agent, event }: Subject,
) {
  if (method !== "DELETE") return;
  if (path === "/v1/data/versions") await client.write(agent, "k", "the next one");
  if (path !== "/v1/quarantine") return;
  const set = { agent_id: agent, audit_id: event, reason: "r" };
  const { digest } = (await client.post("/v1/quarantine", set)).json;
  await client.post("/v1/quarantine", { ...set, confirm_digest: digest });
}

/**
 * Returns a request that succeeds, for an agent with a config and an entry `k`. It has what the route's schemas
 * require, and `agent_id` where they allow it.
 */
export function requestOf(
  route: Pick<Route, "method" | "path" | "query" | "body">,
  subject: Subject,
): Required<Pick<Sent, "method" | "path" | "query">> & Pick<Sent, "body"> {
  const { agent, checkpoint, event, sink = "snk_1" } = subject;
  const named = { "/v1/audit": event, "/v1/lineage": event, "/v1/sinks": sink };
  const [, id = checkpoint] = Object.entries(named).find(([begin]) => route.path.startsWith(begin)) ?? [];
  const path = route.path
    .replace(":agent_id", agent)
    .replace(":version", route.path.startsWith("/v1/policies") ? "p1" : "v1")
    .replace(":level/*", "0/000.p/1")
    .replace("*", "000.p/1")
    .replace(":id", id);
  const values = valuesFor(subject, route.path);
  const needed = NEEDED[`${route.method} ${route.path}`] ?? [];
  const membersOf = (validator: Route["body"]): Record<string, string> =>
    Object.fromEntries(
      Object.keys(validator?.schema.properties ?? {})
        .filter((name) => name === "agent_id" || validator?.schema.required?.includes(name) || needed.includes(name))
        .map((name) => [name, values[name] as string]),
    );
  return {
    method: route.method,
    path,
    query: membersOf(route.query),
    ...(route.body === null
      ? {}
      : { body: route.method === "PATCH" ? { include_details: true } : membersOf(route.body) }),
  };
}
