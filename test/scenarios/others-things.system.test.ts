/** A request that names an agent, or whose key is limited to one, finds nothing that another agent has. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Route } from "../../src/api/route.ts";
import { routes } from "../../src/serve/http/app.ts";
import { tools } from "../../src/serve/http/mcp/tools.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { requestOf } from "../support/route-requests.ts";
import { freshAgent } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** An agent with an entry that has changed since its checkpoint, so that a restore would change it back. */
interface Having {
  agent: string;
  checkpoint: string;
  event: string;
}

async function agentWithThings(): Promise<Having> {
  const { client } = workspace;
  const agent = freshAgent();
  await client.configure(agent, {});
  const event = (await client.write(agent, "k", "at the checkpoint")).json.audit_id;
  const checkpoint = (await client.checkpoint(agent)).json.id;
  await client.write(agent, "k", "since then");
  return { agent, checkpoint, event };
}

let own: Having;
let other: Having;
let limited: Client;
beforeEach(async () => {
  own = await agentWithThings();
  other = await agentWithThings();
  limited = await daemon.clientWith(workspace.id, { agents: [own.agent] });
});

/** What must stay: what each agent has, and the trail of the other one. */
async function state(): Promise<unknown> {
  const { client } = workspace;
  const kept = [];
  for (const { agent } of [own, other]) {
    const entries = await client.get("/v1/data/list", { agent_id: agent, include_values: true });
    const checkpoints = await client.get("/v1/checkpoints", { agent_id: agent });
    kept.push(entries.json.data, checkpoints.json.data);
  }
  return kept;
}

/** Whether the other agent is suspended while requests are made. */
type How = "active" | "suspended";

/** Performs requests. Fails if anything has changed, or the other agent's trail has an event of them. */
async function unchanged(perform: () => Promise<void>, how: How = "active"): Promise<void> {
  const switched = async (name: string) =>
    how === "suspended" && (await workspace.client.post(`/v1/agents/${other.agent}/${name}`, {}));
  const before = await state();
  await switched("suspend");
  const { head } = workspace.view;
  await perform();
  expect(workspace.view.eventsAfter(head).filter(({ line }) => line.startsWith(other.agent))).toEqual([]);
  await switched("resume");
  expect(await state()).toEqual(before);
}

const FINDING = ["checkpoint_not_found", "audit_event_not_found"];
const BY_ID = routes.filter(({ path, unfindable }) => path.includes("/:id") && FINDING.includes(unfindable));

test("there are such routes", () => {
  expect(BY_ID.map(({ operation }) => operation).sort()).toEqual([
    "audit.read",
    "audit.receipt",
    "checkpoint.compare",
    "checkpoint.delete",
    "checkpoint.read",
    "checkpoint.restore",
    "lineage.read",
  ]);
});

describe.each(BY_ID.map((route) => [`${route.method} ${route.path}`, route] as [string, Route]))(
  "%s",
  (_name, route) => {
    test.each<How>(["active", "suspended"])("with a key limited to an agent; the other one is %s", async (how) => {
      const refused = { status: 404, code: route.unfindable };
      await unchanged(async () => {
        for (const headers of [{}, route.retryable ? { "idempotency-key": `retry-${other.agent}` } : {}]) {
          const { status, json } = await limited.send({ ...requestOf(route, other), headers });
          expect({ status, code: json.code }).toEqual(refused);
        }
      }, how);
      // What does not exist is answered with the same words.
      const missing = { agent: own.agent, checkpoint: `cp_${"0".repeat(26)}`, event: `aud_${"0".repeat(26)}` };
      const [theirs, nothing] = [requestOf(route, other), requestOf(route, missing)];
      expect((await limited.send(theirs)).json.detail).toBe((await limited.send(nothing)).json.detail);
      const { status } = await limited.send(requestOf(route, own));
      expect([200, 201]).toContain(status);
    });
  },
);

test("a checkpoint is compared with one of another agent, and a stream resumed after an event of another", async () => {
  await unchanged(async () => {
    const path = `/v1/checkpoints/${own.checkpoint}/changes`;
    const compared = await limited.send({ path, query: { to: other.checkpoint } });
    expect([compared.status, compared.json.code]).toEqual([404, "checkpoint_not_found"]);
    for (const [client, ids] of [
      [limited, own.agent],
      [workspace.client, own.agent],
      [workspace.client, `${own.agent},${freshAgent()}`],
    ] as const) {
      const headers = { "last-event-id": other.event };
      const followed = await client.send({ path: "/v1/audit/stream", query: { agent_id: ids }, headers });
      expect([followed.status, followed.json.code]).toEqual([404, "audit_event_not_found"]);
    }
  });
});

/** The arguments of a tool that are ids of something. */
const idsOf = (properties: object): string[] =>
  Object.keys(properties).filter((name) => /(^|_)id$/.test(name) && name !== "agent_id");

const TAKING = tools().oneAgent.filter(({ arguments: { schema } }) => idsOf(schema.properties).length > 0);

test("there are such tools", () => {
  expect(TAKING.map(({ name }) => name)).toEqual(["checkpoint_restore"]);
});

describe.each(TAKING.map((tool) => [tool.name, tool] as const))("%s", (name, tool) => {
  async function call(client: Client, path: string, args: object) {
    const params = { name, arguments: args };
    const { status, json } = await client.send({ path, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    return { status, isError: json.result?.isError === true, code: json.result?.structuredContent.code };
  }

  const idArguments = ({ checkpoint }: Having) =>
    Object.fromEntries(idsOf(tool.arguments.schema.properties).map((each) => [each, checkpoint]));

  test.each(["a key for all agents", "a key limited to the agent"])("%s", async (whose) => {
    const client = whose === "a key for all agents" ? workspace.client : limited;
    const notFound = { status: 200, isError: true, code: "checkpoint_not_found" };
    const named = { agent_id: own.agent };
    const ofOther = { ...named, ...idArguments(other) };
    const attempts = async () => {
      expect(await call(client, "/v1/mcp", ofOther)).toEqual(notFound);
      expect(await call(client, `/v1/mcp/agents/${own.agent}`, idArguments(other))).toEqual(notFound);
    };
    await unchanged(attempts);
    await unchanged(attempts, "suspended");
    expect(await call(client, "/v1/mcp", { ...named, ...idArguments(own) })).toMatchObject({ isError: false });
  });

  test("an agent that the key does not have is refused, whatever else is named", async () => {
    await unchanged(async () => {
      for (const things of [own, other]) {
        const { status } = await call(limited, "/v1/mcp", { agent_id: other.agent, ...idArguments(things) });
        expect(status).toBe(403);
      }
      expect((await call(limited, `/v1/mcp/agents/${other.agent}`, idArguments(own))).status).toBe(403);
    });
  });
});
