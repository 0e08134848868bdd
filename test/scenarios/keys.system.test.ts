/** Who may do what: no key, another key, each scope, keys limited to agents; over every route there is. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RandomPool } from "../../src/ids.ts";
import { leavesNoTrace } from "../../src/operations.ts";
import { makeWorkspaceSecret } from "../../src/ops/directory/workspace-secret.ts";
import { routes } from "../../src/serve/http/app.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { idleSink, requestOf, type Subject } from "../support/route-requests.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let clients: Record<"full" | "agent" | "auditor" | "limited", Client>;
/** What a request to a route needs to be whole, about agent `mine`, then `theirs`. */
let made: Record<string, Omit<Subject, "agent">>;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true, flags: { sink_allow: "127.0.0.1" } });
  workspace = await daemon.workspace();
  const { id, client } = workspace;
  clients = {
    full: client,
    agent: await daemon.clientWith(id, { scope: "agent" }),
    auditor: await daemon.clientWith(id, { scope: "auditor" }),
    limited: await daemon.clientWith(id, { agents: ["mine", "unborn"] }),
  };
  made = {};
  await client.send({ method: "PUT", path: "/v1/policies", body: { policies: {} } });
  for (const agent of ["mine", "theirs"]) {
    await client.configure(agent, {});
    const event = (await client.write(agent, "k", "v")).json.audit_id;
    made[agent] = { checkpoint: (await client.checkpoint(agent)).json.id, event, sink: await idleSink(client) };
  }
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** A whole request to a route about an agent. */
const requestTo = (route: Parameters<typeof requestOf>[0], agent: string) =>
  requestOf(route, { agent, ...(made[agent] as Omit<Subject, "agent">) });

/** Sends a request. Returns the problem's code or the status, and whether the trail grew. */
async function outcome(client: Client, sent: Parameters<Client["send"]>[0]) {
  const before = workspace.view.head;
  const response = await client.open(sent);
  // A live stream does not end by itself: its status is enough.
  const isLive = response.headers.get("content-type") === "text/event-stream";
  if (isLive) await response.body?.cancel();
  const { status } = response;
  const text = isLive ? "" : await response.text();
  const isJson = /^application\/(problem\+)?json/.test(response.headers.get("content-type") ?? "");
  const json = isJson && text !== "" ? JSON.parse(text) : null;
  return { status, code: json?.code, recorded: workspace.view.head - before };
}

const READ_ONLY_LAST = ["checkpoint.delete", "sink.remove"];
const ORDERED = [...routes].sort(
  (a, b) => Number(READ_ONLY_LAST.includes(a.operation)) - Number(READ_ONLY_LAST.includes(b.operation)),
);
const BY_NAME = ORDERED.map((route) => [`${route.method} ${route.path}`, route] as const);

const AGENT_SCOPE =
  /^(data\.(?!erase)|policy\.|checkpoint\.|config\.(read|list_versions|read_version|read_effective)$)/;
const AUDITOR_SCOPE =
  /^(audit\.|tlog\.|lineage\.read$|proof\.create$|sink\.(list|read)$|agent\.(list|read)$|checkpoint\.list$|(config|policies)\.(read|list_versions|read_version|read_effective)$)/;
/** What is about no single agent, and that a key limited to agents may use nevertheless. */
const ABOUT_NO_AGENT = /^policies\.(read|list_versions|read_version)$/;
/** What is about all agents, so that a key limited to some may not use it. */
const ABOUT_ALL_AGENTS = /^(agent\.list|tlog\.entries|policies\.update|sink\..*)$/;

test("every route has a name of its own", () => {
  expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
});

describe.each(BY_NAME)("%s", (_name, route) => {
  test.each([
    ["no key", null],
    ["an empty key", ""],
    ["no form of a key", "gov_x"],
    ["a key with a wrong checksum", `gov_${"0".repeat(26)}_${"0".repeat(32)}_0000000`],
    ["a key of a workspace that does not exist", makeWorkspaceSecret("gov_", `ws_${"0".repeat(26)}`, new RandomPool())],
    ["a key that its workspace does not have", "invented"],
  ] as const)("%s: 401 whatever is sent", async (_what, text) => {
    const key = text === "invented" ? makeWorkspaceSecret("gov_", workspace.id, new RandomPool()) : text;
    for (const body of [{}, { body: "{" }, { body: "x".repeat(5 * 1024 * 1024) }]) {
      const sent = { ...requestTo(route, "mine"), ...body, key };
      if (sent.method === "GET") delete (sent as { body?: unknown }).body;
      const { status, code, recorded } = await outcome(clients.full, sent);
      expect({ status, code, recorded }).toEqual({ status: 401, code: "unauthenticated", recorded: 0 });
    }
  });

  test("another workspace named: 403", async () => {
    const sent = { ...requestTo(route, "mine"), headers: { "x-workspace-id": "ws_01h455vb4pex5vsknk084sn02q" } };
    expect(await outcome(clients.full, sent)).toEqual({ status: 403, code: "workspace_mismatch", recorded: 0 });
  });

  test.each([
    ["agent", AGENT_SCOPE],
    ["auditor", AUDITOR_SCOPE],
  ] as const)("scope %s", async (scope, allowed) => {
    if (allowed.test(route.operation)) return;
    const refused = await outcome(clients[scope], requestTo(route, "mine"));
    expect(refused).toEqual({ status: 403, code: "forbidden", recorded: 0 });
  });

  test("a key limited to other agents: 403, recorded nowhere, or their things are not found", async () => {
    // Seals are about no agent.
    if (leavesNoTrace(route.operation) || ABOUT_NO_AGENT.test(route.operation)) return;
    const refused = await outcome(clients.limited, requestTo(route, "theirs"));
    const { operation, unfindable } = route;
    const isById = route.path.includes("/:id") && !ABOUT_ALL_AGENTS.test(operation);
    const expected = isById
      ? { status: 404, code: unfindable, recorded: 1 }
      : { status: 403, code: "forbidden", recorded: 0 };
    expect(refused).toEqual(expected);
  });

  test("allowed keys are served, and the request is recorded", async () => {
    const allowed = (["agent", "auditor", "limited", "full"] as const).filter((name) => {
      if (name === "limited" && ABOUT_ALL_AGENTS.test(route.operation)) return false;
      if (name === "agent") return AGENT_SCOPE.test(route.operation);
      return name !== "auditor" || AUDITOR_SCOPE.test(route.operation);
    });
    for (const name of allowed) {
      const { status, recorded } = await outcome(clients[name], requestTo(route, "mine"));
      const expected = { name, recorded: leavesNoTrace(route.operation) ? 0 : 1, forbidden: false };
      expect({ name, recorded, forbidden: status === 403 }).toEqual(expected);
    }
  });

  test("a wrong method: 405 with Allow, or 401 without a key", async () => {
    const { path, query } = requestTo(route, "mine");
    const methods = routes.filter((one) => one.path === route.path).map(({ method }) => method);
    for (const method of ["GET", "PUT", "POST", "DELETE", "PATCH"]) {
      if ((methods as string[]).includes(method)) continue;
      const sent = { method, path, query };
      const { status, headers, json } = await clients.full.send(sent);
      // A fixed path wins over one with a parameter, whatever the method.
      expect({ method, status, code: json?.code }).toEqual({ method, status: 405, code: "method_not_allowed" });
      for (const known of methods) expect(headers.get("allow")).toContain(known);
      expect((await clients.full.send({ ...sent, key: null })).status).toBe(401);
    }
  });
});

test("a key limited to agents cannot read the workspace's own data", async () => {
  const event = workspace.view.eventsAfter(-1)[0]?.id;
  for (const sent of [
    { path: "/v1/audit", query: { scope: "workspace" } },
    { path: "/v1/audit/verify", body: { scope: "workspace" } },
    { path: "/v1/audit/export", body: { scope: "workspace" } },
  ]) {
    expect(await outcome(clients.limited, sent)).toEqual({ status: 403, code: "forbidden", recorded: 0 });
  }
  const { status, code } = await outcome(clients.limited, { path: `/v1/audit/${event}` });
  expect([status, code]).toEqual([404, "audit_event_not_found"]);
});

test("another workspace's things are not found, and its agents are others", async () => {
  const other = await daemon.workspace("other");
  const { checkpoint, event } = made.theirs as { checkpoint: string; event: string };
  expect((await other.client.get(`/v1/checkpoints/${checkpoint}`)).json.code).toBe("checkpoint_not_found");
  expect((await other.client.get(`/v1/audit/${event}`)).json.code).toBe("audit_event_not_found");
  expect((await other.client.read("mine", "k")).json.code).toBe("entry_not_found");
  await other.client.write("mine", "k", "of the other");
  const seen = (await clients.full.get("/v1/data/list", { agent_id: "mine", include_values: true })).text;
  expect(seen).not.toContain("of the other");
});
