/** Entries that end by themselves: no read shows them from that time on, and the sweep removes them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answered } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent, type Scenario, type Scene, scenarios } from "../support/scenario.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const write =
  (rest: object) =>
  ({ agent }: Scene) => ({ path: "/v1/data/write", body: { agent_id: agent, key: "k", value: "v", ...rest } });
const full = async ({ client, agent }: Scene) =>
  (await client.get("/v1/data/read-full", { agent_id: agent, key: "k" })).json;

describe("writing", () => {
  const DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/);
  const written = (name: string, rest: object, details: object, check: Scenario["check"]): Scenario => ({
    name,
    request: write(rest),
    status: 200,
    appends: ["agent data.write allowed"],
    changes: ["agents", "entries"],
    details: { key: "k", value_digest: DIGEST, ...details },
    ...(check && { check }),
  });
  scenarios(
    () => workspace,
    [
      written(
        "at a time",
        { expires_at: "2100-01-31T09:00:00+01:00" },
        { expires_at: "2100-01-31T08:00:00.000Z" },
        async (scene) => {
          expect((await full(scene)).expires_at).toBe("2100-01-31T08:00:00.000Z");
          const { client, agent } = scene;
          const { json } = await client.get("/v1/data/list", { agent_id: agent });
          expect(json.data[0].expires_at).toBe("2100-01-31T08:00:00.000Z");
          await client.configure(agent, { policies: { retention_days: 2 } });
          const { expires_at, updated_at } = await full(scene);
          expect(Date.parse(expires_at) - Date.parse(updated_at)).toBe(2 * DAY_MS);
          // A write without such a time removes it.
          await client.configure(agent, {});
          await client.write(agent, "k", "w");
          expect((await full(scene)).expires_at).toBeNull();
        },
      ),
      written("after a time", { ttl_seconds: 3_600 }, { expires_at: expect.stringMatching(/Z$/) }, async (scene) => {
        const { expires_at, updated_at } = await full(scene);
        expect(Date.parse(expires_at) - Date.parse(updated_at)).toBe(3_600_000);
      }),
      ...[
        [{ expires_at: "2100-01-31T08:00:00Z", ttl_seconds: 5 }, "ttl_seconds"],
        [{ expires_at: "2020-01-31T08:00:00Z" }, "expires_at"],
        [{ expires_at: "tomorrow" }, "expires_at"],
        [{ ttl_seconds: 0 }, "ttl_seconds"],
        [{ ttl_seconds: 315_360_001 }, "ttl_seconds"],
        [{ ttl_seconds: 1.5 }, "ttl_seconds"],
      ].map(
        ([rest, param]): Scenario => ({
          name: `refused: ${JSON.stringify(rest)}`,
          request: write(rest as object),
          status: 400,
          code: "invalid_request",
          param: param as string,
          appends: [],
        }),
      ),
    ],
  );
});

test("from that time on no read shows the entry, and the sweep removes it", async () => {
  const agent = freshAgent();
  const asked = { agent_id: agent };
  const query = { ...asked, key: "ending" };
  const body = (key: string, ttl_seconds?: number) => ({ ...asked, key, value: `about ${key}`, ttl_seconds });
  const keysOf = ({ json }: Answered) => json.data.map(({ key }: { key: string }) => key).sort();
  const { view } = workspace;
  let { client } = workspace;
  const search = () => client.post("/v1/data/search", { ...asked, query: "about ending" });
  const ending = (await client.post("/v1/data/write", body("ending", 3_600))).json.audit_id;
  await client.post("/v1/data/write", body("staying"));
  const checkpoint = (await client.checkpoint(agent)).json;
  expect([checkpoint.entry_count, keysOf(await search())]).toEqual([2, ["ending", "staying"]]);
  await client.post("/v1/data/write", body("staying", 1_000_000));

  await daemon.restart(2 * HOUR_MS);
  client = daemon.client(client.apiKey);
  for (const path of ["/v1/data/read", "/v1/data/read-full"]) {
    expect((await client.get(path, query)).json.code).toBe("entry_not_found");
  }
  const listed = await client.get("/v1/data/list", { ...asked, count: true });
  expect([keysOf(listed), listed.json.total]).toEqual([["staying"], 1]);
  expect(keysOf(await search())).toEqual(["staying"]);
  const { state } = (await client.get(`/v1/checkpoints/${checkpoint.id}`)).json;
  expect(keysOf({ json: { data: state.entries } } as Answered)).toEqual(["staying"]);
  expect((await client.checkpoint(agent)).json.entry_count).toBe(1);
  expect((await client.get(`/v1/agents/${agent}`)).json.entries).toBe(1);
  expect((await client.delete("/v1/data", query)).status).toBe(404);
  const conflict = await client.delete("/v1/data", { ...query, if_version: ending });
  expect([conflict.status, conflict.json.current_version]).toEqual([412, null]);
  const restored = await client.post(`/v1/checkpoints/${checkpoint.id}/restore`, {});
  expect(restored.json).toMatchObject({ entries_restored: 1, entries_removed: 0 });
  expect((await client.read(agent, "ending")).status).toBe(404);
  // The restored entry is as it was then: it does not end.
  expect((await client.get("/v1/data/read-full", { ...asked, key: "staying" })).json.expires_at).toBeNull();
  const swept = view.eventsAfter(-1).filter((event) => event.agentId === agent && event.operation === "data.expire");
  expect(swept.map(({ details }) => details)).toEqual([{ count: 1, through: 0 }]);
  const again = { path: "/v1/data/write", body: body("ending"), headers: { "if-none-match": "*" } };
  expect((await client.send(again)).status).toBe(200);
  expect((await view.verify()).problems).toEqual([]);
});
