import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const oneEntry = ({ client, agent }: Scene) => client.write(agent, "k", "v");
const suspended = async (scene: Scene) => {
  await scene.client.configure(scene.agent, { policies: { block_pii: true } });
  await oneEntry(scene);
  const { json } = await scene.client.checkpoint(scene.agent);
  await scene.client.post(`/v1/agents/${scene.agent}/suspend`, { reason: "night" });
  return json.id as string;
};
const nothing = (_: Scene): object => ({});
const denied = (name: string, request: (scene: Scene) => object, details = nothing) => ({
  name: `suspended: ${name}`,
  given: suspended,
  request: request as never,
  status: 403,
  code: "agent_suspended",
  appends: [`agent ${name} denied`],
  details: ((scene: Scene) => ({ ...details(scene), code: "agent_suspended" })) as never,
});
const query =
  (path: string, rest: object = {}, method = "GET") =>
  ({ agent }: Scene) => ({ method, path, query: { agent_id: agent, ...rest } });
const body =
  (path: string, rest: object = {}) =>
  ({ agent }: Scene) => ({ path, body: { agent_id: agent, ...rest } });
const itsCheckpoint = ({ made }: Scene) => ({ checkpoint_id: made });

describe("suspending", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "an agent: it answers so, with who, when and why",
        given: oneEntry,
        request: ({ agent }) => ({ path: `/v1/agents/${agent}/suspend`, body: { reason: "night" } }),
        status: 200,
        appends: ["agent agent.suspend ok"],
        body: { state: "suspended", suspended_reason: "night", entries: 1, events: 2 },
        details: { reason: "night", state_before: "active" },
      },
      {
        name: "again: recorded, and so it stays",
        given: suspended,
        request: ({ agent }) => ({ method: "POST", path: `/v1/agents/${agent}/suspend` }),
        status: 200,
        appends: ["agent agent.suspend ok"],
        body: { state: "suspended", suspended_reason: null },
        details: { reason: null, state_before: "suspended" },
      },
      {
        name: "an agent that never began",
        request: ({ agent }) => ({ method: "POST", path: `/v1/agents/${agent}/suspend` }),
        status: 404,
        code: "agent_not_found",
        appends: ["- agent.suspend not_found"],
        details: ({ agent }) => ({ agent_id: agent }),
      },
      denied("data.write", body("/v1/data/write", { key: "k", value: "v" })),
      denied("data.read", query("/v1/data/read", { key: "k" })),
      denied("data.read_full", query("/v1/data/read-full", { key: "k" })),
      denied("data.list", query("/v1/data/list")),
      denied("data.search", body("/v1/data/search", { query: "v" })),
      denied("data.delete", query("/v1/data", { key: "k" }, "DELETE")),
      denied("data.delete_prefix", query("/v1/data/prefix", { prefix: "k" }, "DELETE")),
      denied("checkpoint.create", body("/v1/checkpoints")),
      denied("checkpoint.list", query("/v1/checkpoints")),
      denied("checkpoint.read", ({ made }) => ({ path: `/v1/checkpoints/${made}` }), itsCheckpoint),
      denied("checkpoint.compare", ({ made }) => ({ path: `/v1/checkpoints/${made}/changes` }), itsCheckpoint),
      denied(
        "checkpoint.restore",
        ({ made }) => ({ method: "POST", path: `/v1/checkpoints/${made}/restore` }),
        itsCheckpoint,
      ),
      denied("checkpoint.delete", ({ made }) => ({ method: "DELETE", path: `/v1/checkpoints/${made}` }), itsCheckpoint),
      {
        name: "its config and its trail still work",
        given: suspended,
        request: ({ agent }) => ({ path: `/v1/config/${agent}` }),
        status: 200,
        appends: ["agent config.read ok"],
      },
      {
        name: "a resumed agent is served",
        given: async (scene) => {
          await suspended(scene);
          await scene.client.post(`/v1/agents/${scene.agent}/resume`, {});
        },
        request: query("/v1/data/read", { key: "k" }),
        status: 200,
        appends: ["agent data.read ok"],
      },
    ],
  );

  test("outlives a restart, and the file verifies", async () => {
    const { client, view } = workspace;
    await client.write("lasting", "k", "v");
    await client.post("/v1/agents/lasting/suspend", {});
    await daemon.restart();
    const again = daemon.client(client.apiKey);
    expect((await again.read("lasting", "k")).json.code).toBe("agent_suspended");
    expect((await view.verify()).valid).toBe(true);
    workspace = { ...workspace, client: again };
  });
});

describe("the overview", () => {
  test("says in which of the last 24 hours something was blocked, and forgets what is older", async () => {
    const HOUR_MS = 3_600_000;
    await using later = await TestDaemon.start();
    const { client } = await later.workspace();
    const block = (by: Client, agent: string) => by.write(agent, "k", "mail jane.roe@acme.io");
    for (const agent of ["one", "two"]) await client.configure(agent, { policies: { block_pii: true } });
    await block(client, "one");
    await later.restart(5.5 * HOUR_MS);
    const then = later.client(client.apiKey);
    for (let i = 0; i < 2; i++) await block(then, "one");
    await block(then, "two");
    const hoursOf = async (by: Client, agent: string) => {
      const { json } = await by.get(`/v1/agents/${agent}`);
      expect(json.blocked_24h).toBe(json.blocked_by_hour.reduce((sum: number, n: number) => sum + n, 0));
      return Object.fromEntries(json.blocked_by_hour.entries().filter(([, n]: [number, number]) => n > 0));
    };
    expect(await hoursOf(then, "one")).toEqual({ 18: 1, 23: 2 });
    expect(await hoursOf(then, "two")).toEqual({ 23: 1 });
    await later.restart(25 * HOUR_MS);
    expect(await hoursOf(later.client(client.apiKey), "one")).toEqual({ 4: 2 });
  });

  test("lists agents by id, in pages", async () => {
    const own = await daemon.workspace();
    for (const agent of ["b", "a:1", "a", "c"]) await own.client.write(agent, "k", "v");
    await own.client.configure("a", { policies: { block_pii: true, retention_days: 3 } });
    await own.client.write("a", "k2", "mail jane.roe@acme.io");
    await own.client.checkpoint("a");
    const head = own.view.head;
    const first = await own.client.get("/v1/agents", { limit: 3 });
    assertMatchesOpenApi("GET", "/v1/agents", 200, first.json);
    expect(first.json.data.map((agent: { agent_id: string }) => agent.agent_id)).toEqual(["a", "a:1", "b"]);
    expect(first.json.data[0]).toMatchObject({
      state: "active",
      entries: 1,
      checkpoints: 1,
      events: 4,
      config_version: "v1",
      policies: { block_pii: true, retention_days: 3 },
      blocked_24h: 1,
      blocked_by_hour: [...new Array<number>(23).fill(0), 1],
    });
    expect(first.json.data[1].blocked_by_hour).toEqual(new Array<number>(24).fill(0));
    const next = await own.client.get("/v1/agents", { limit: 3, cursor: first.json.next_cursor });
    expect(next.json.data.map((agent: { agent_id: string }) => agent.agent_id)).toEqual(["c"]);
    expect([next.json.has_more, next.json.next_cursor]).toEqual([false, null]);
    const some = await own.client.get("/v1/agents", { prefix: "a" });
    expect(some.json.data).toHaveLength(2);
    const parts = await own.client.get("/v1/agents", { contains: ":" });
    expect(parts.json.data.map((agent: { agent_id: string }) => agent.agent_id)).toEqual(["a:1"]);
    expect(own.view.eventsAfter(head).map(({ line, details }) => [line, details])).toEqual([
      ["- agent.list ok", { prefix: "", count: 3 }],
      ["- agent.list ok", { prefix: "", count: 1 }],
      ["- agent.list ok", { prefix: "a", count: 2 }],
      ["- agent.list ok", { prefix: "", contains: ":", count: 1 }],
    ]);
    const one = await own.client.get("/v1/agents/a");
    assertMatchesOpenApi("GET", "/v1/agents/a", 200, one.json);
    expect(own.view.eventsAfter(head).at(-1)?.line).toBe("a agent.read ok");
    expect((await own.client.get("/v1/agents/nobody")).json.code).toBe("agent_not_found");
  });

  test("counts events over time", async () => {
    const own = await daemon.workspace();
    await own.client.configure("a", { policies: { block_pii: true } });
    for (let i = 0; i < 5; i++) await own.client.write("a", `k${i}`, "v");
    await own.client.write("a", "k", "mail jane.roe@acme.io");
    await own.client.post("/v1/agents/a/suspend", {});
    await own.client.read("a", "k1");
    const events = own.view.head + 1;
    const all = await own.client.get("/v1/audit/activity", { scope: "workspace", interval: "day" });
    assertMatchesOpenApi("GET", "/v1/audit/activity", 200, all.json);
    expect(all.json.data).toHaveLength(24);
    const sum = (member: string) =>
      all.json.data.reduce((total: number, one: Record<string, number>) => total + (one[member] ?? 0), 0);
    expect([sum("events"), sum("allowed"), sum("blocked"), sum("denied")]).toEqual([events, 5, 1, 1]);
    const agent = await own.client.get("/v1/audit/activity", { agent_id: "a", interval: "minute" });
    expect(agent.json.data.reduce((total: number, one: { events: number }) => total + one.events, 0)).toBe(9);
    const window = { start_time: "2026-01-01T00:30:00Z", end_time: "2026-01-01T02:10:00Z" };
    const early = await own.client.get("/v1/audit/activity", { agent_id: "a", ...window });
    expect(early.json).toMatchObject({ start_time: "2026-01-01T00:00:00.000Z", end_time: "2026-01-01T03:00:00.000Z" });
    expect(early.json.data).toHaveLength(3);
    const wide = await own.client.get("/v1/audit/activity", { agent_id: "a", start_time: "2020-01-01T00:00:00Z" });
    expect([wide.status, wide.json.code]).toEqual([400, "invalid_request"]);
  });
});
