/** Reads of an earlier moment: what they show, in each way to name it, and what their events state. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import type { Answered, Sent } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent, type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const TIME = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/);
const MISSING = "aud_01jz8v5q2pf0tbq3y8r6w1m9ck";

/** Sends a request. Returns its answer, and the details of its event. */
async function asked(sent: Sent): Promise<Answered & { details: JsonObject }> {
  const answer = await workspace.client.send(sent);
  return { ...answer, details: workspace.view.eventsAfter(-1).at(-1)?.details as JsonObject };
}

/** A write: its version, and its position. */
async function write(agent: string, key: string, value: string, metadata: JsonObject = {}) {
  const { json } = await workspace.client.write(agent, key, value, metadata);
  return { version: json.audit_id as string, seq: workspace.view.head };
}

const readAt = (agent: string, key: string, moment: string) =>
  asked({ path: "/v1/data/read", query: { agent_id: agent, key, as_of: moment } });

async function keysAt(agent: string, moment: string, more: object = {}): Promise<[key: string, value: string][]> {
  const { json } = await asked({
    path: "/v1/data/list",
    query: { agent_id: agent, include_values: true, as_of: moment, ...more },
  });
  return json.data.map(({ key, value }: { key: string; value: string }) => [key, value]);
}

describe("a moment", () => {
  test("is named by a position, an event, a checkpoint or a time", async () => {
    const { client } = workspace;
    const agent = freshAgent();
    const one = await write(agent, "k", "one");
    const { json: checkpoint } = await client.post("/v1/checkpoints", { agent_id: agent });
    const two = await write(agent, "k", "two");
    await write(agent, "k", "three");
    const at = (seq: number) => ({ seq, timestamp: TIME });
    expect((await readAt(agent, "k", `seq:${one.seq}`)).json).toMatchObject({ value: "one", as_of: at(one.seq) });
    expect((await readAt(agent, "k", one.version)).json).toMatchObject({ value: "one", as_of: at(one.seq) });
    const ofCheckpoint = await readAt(agent, "k", checkpoint.id);
    expect(ofCheckpoint.json).toMatchObject({ value: "one", as_of: at(one.seq + 1) });
    expect(ofCheckpoint.details).toEqual({ key: "k", returned: [one.seq], as_of: ofCheckpoint.json.as_of });
    const { json: event } = await client.get(`/v1/audit/${two.version}`);
    // The next write may be of the same millisecond.
    const { as_of, value } = (await readAt(agent, "k", event.timestamp)).json;
    expect(as_of.timestamp).toBe(event.timestamp);
    expect([as_of.seq === two.seq ? "two" : "three"]).toContain(value);
    const before = await readAt(agent, "k", `seq:${one.seq - 1}`);
    expect(before).toMatchObject({ status: 404, json: { code: "entry_not_found" } });
    expect(before.details).toMatchObject({ key: "k", as_of: at(one.seq - 1) });
  });

  test("is one also inside a batch, and a fraction of a millisecond is not rounded up", async () => {
    const { client } = workspace;
    const agent = freshAgent();
    const operations = ["a", "b", "c"].map((key) => ({ op: "write", key, value: key }));
    const { json } = await client.post("/v1/data/batch", { agent_id: agent, operations });
    const [first, second] = json.results.map((one: { audit_id: string }) => one.audit_id);
    expect(await keysAt(agent, first)).toEqual([["a", "a"]]);
    expect((await keysAt(agent, second)).map(([key]) => key)).toEqual(["a", "b"]);
    const { json: event } = await client.get(`/v1/audit/${first}`);
    const justBefore = new Date(Date.parse(event.timestamp) - 1).toISOString().replace("Z", "999Z");
    expect(await keysAt(agent, justBefore)).toEqual([]);
  });

  test("shows lists in each order, filtered, grouped, counted, below rows and page by page", async () => {
    const agent = freshAgent();
    for (const [key, n] of [
      ["b/1", 1],
      ["a", 2],
      ["b/2", 1],
      ["b", 3],
    ] as const)
      await write(agent, key, `old ${key}`, { n });
    const moment = `seq:${workspace.view.head}`;
    await write(agent, "a", "new", { n: 1 });
    await workspace.client.delete(`/v1/data?agent_id=${agent}&key=b/1`);
    await write(agent, "c", "new", { n: 1 });
    const keys = async (more: object) => (await keysAt(agent, moment, more)).map(([key]) => key);
    expect(await keys({})).toEqual(["a", "b", "b/1", "b/2"]);
    expect((await keysAt(agent, moment))[0]).toEqual(["a", "old a"]);
    expect(await keys({ order: "desc", limit: 2 })).toEqual(["b/2", "b/1"]);
    expect(await keys({ sort: "updated_at" })).toEqual(["b/1", "a", "b/2", "b"]);
    expect(await keys({ sort: "updated_at", order: "desc", offset: 1, limit: 2 })).toEqual(["b/2", "a"]);
    const grouped = await asked({
      path: "/v1/data/list",
      query: { agent_id: agent, delimiter: "/", count: true, as_of: moment },
    });
    expect(grouped.json).toMatchObject({ total: 2, prefixes: [{ prefix: "b/", entries: 2 }] });
    expect(grouped.details).not.toHaveProperty("returned");
    const query = (more: object) =>
      asked({ path: "/v1/data/query", body: { agent_id: agent, as_of: moment, include_values: true, ...more } });
    const ones = await query({ filter: { n: 1 } });
    expect(ones.json.data.map(({ key }: { key: string }) => key)).toEqual(["b/1", "b/2"]);
    expect(ones.details).toMatchObject({ count: 2, as_of: ones.json.as_of });
    const below = await query({ prefix: "b", below: "/", limit: 1 });
    expect(below.json.data[0].below.map(({ key }: { key: string }) => key)).toEqual(["b/1", "b/2"]);
    const first = await asked({ path: "/v1/data/list", query: { agent_id: agent, as_of: moment, limit: 3 } });
    expect(await keys({ limit: 3, cursor: first.json.next_cursor })).toEqual(["b/2"]);
    const elsewhere = { agent_id: agent, limit: 3, cursor: first.json.next_cursor };
    expect((await asked({ path: "/v1/data/list", query: elsewhere })).json.param).toBe("cursor");
  });

  test("shows an entry with its metadata and its origin of then", async () => {
    const agent = freshAgent();
    const old = await write(agent, "k", "old", { n: 1 });
    await write(agent, "k", "new");
    const query = { agent_id: agent, key: "k", as_of: old.version };
    const { json, headers } = await asked({ path: "/v1/data/read-full", query });
    expect(json).toMatchObject({ value: "old", metadata: { n: 1 }, audit_id: old.version, as_of: { seq: old.seq } });
    expect(headers.get("etag")).toBe(`"${old.version}"`);
  });

  test("shows the config and the policies that were in force", async () => {
    const { client } = workspace;
    const agent = freshAgent();
    const config = (as_of: string) => asked({ path: `/v1/config/${agent}`, query: { as_of } });
    const effective = (as_of: string) => asked({ path: `/v1/config/${agent}/effective`, query: { as_of } });
    await write(agent, "k", "v");
    const none = `seq:${workspace.view.head}`;
    await client.configure(agent, { policies: { retention_days: 7 } });
    const first = `seq:${workspace.view.head}`;
    await client.configure(agent, { policies: { retention_days: 9 } });
    expect(await config(none)).toMatchObject({ status: 404, json: { code: "config_not_found" } });
    const found = await config(first);
    expect(found.json).toMatchObject({ version: "v1", as_of: { timestamp: TIME } });
    expect(found.details).toEqual({ version: "v1", as_of: found.json.as_of });
    const then = await effective(first);
    expect(then.json).toMatchObject({ config_version: "v1", policies: { retention_days: 7 } });
    expect(then.details).toEqual({ as_of: then.json.as_of });
    expect((await effective(none)).json).toMatchObject({ config_version: null, policies: { history_days: 30 } });
  });

  test("does not show what has expired or was erased since, and is not gone for that", async () => {
    const { client } = workspace;
    const agent = freshAgent();
    const soon = new Date(Date.now() + 300).toISOString();
    await client.post("/v1/data/write", { agent_id: agent, key: "soon", value: "v", expires_at: soon });
    await write(agent, "erased", "v");
    await write(agent, "kept", "v");
    const moment = `seq:${workspace.view.head}`;
    await client.delete(`/v1/data?agent_id=${agent}&key=erased&erase=true`);
    await client.delete(`/v1/data?agent_id=${agent}&key=kept`);
    while (Date.now() <= Date.parse(soon)) await Bun.sleep(20);
    expect(await keysAt(agent, moment)).toEqual([["kept", "v"]]);
  });

  test("is gone when a version of it is, and not before", async () => {
    const { client } = workspace;
    const agent = freshAgent();
    await client.configure(agent, { policies: { history_days: 0 } });
    const first = await write(agent, "a", "one");
    await write(agent, "b", "one");
    expect(await keysAt(agent, first.version)).toEqual([["a", "one"]]);
    await write(agent, "b", "two");
    expect(await keysAt(agent, first.version)).toEqual([["a", "one"]]);
    await write(agent, "a", "two");
    const gone = await readAt(agent, "a", first.version);
    expect(gone).toMatchObject({ status: 410, json: { code: "moment_gone", param: "as_of", kept_since: TIME } });
    expect(gone.details).toEqual({ key: "a", code: "moment_gone" });
    const { json: checkpoint } = await client.post("/v1/checkpoints", { agent_id: agent });
    await write(agent, "a", "three");
    expect((await keysAt(agent, checkpoint.id)).map(([, value]) => value)).toEqual(["two", "two"]);
  });

  test("before the log is gone", async () => {
    const agent = freshAgent();
    await write(agent, "k", "v");
    expect(await readAt(agent, "k", "2001-01-01T00:00:00Z")).toMatchObject({
      status: 410,
      json: { code: "moment_gone", kept_since: TIME },
    });
  });
});

const list = (as_of: string | ((scene: Scene) => string)) => (scene: Scene) => ({
  path: "/v1/data/list",
  query: { agent_id: scene.agent, as_of: typeof as_of === "string" ? as_of : as_of(scene) },
});

describe("no moment", () => {
  const given = ({ client, agent }: Scene) => client.write(agent, "k", "v");
  const refused = { status: 400, code: "invalid_request", param: "as_of", appends: [] };
  scenarios(
    () => workspace,
    [
      { name: "in another form", given, request: list("yesterday"), ...refused },
      { name: "without an offset", given, request: list("2026-01-31T08:00:00"), ...refused },
      { name: "in the future", given, request: list("9999-01-01T00:00:00Z"), ...refused },
      { name: "behind the log", given, request: list("seq:99999999"), ...refused },
      { name: "before the first position", given, request: list("seq:-1"), ...refused },
      {
        name: "of an event that there is not",
        given,
        request: list(MISSING),
        status: 404,
        code: "audit_event_not_found",
        param: "as_of",
        appends: ["agent data.list not_found"],
        details: { prefix: "", code: "audit_event_not_found" },
      },
      {
        name: "of an event of another agent",
        given: async (scene) => {
          await given(scene);
          return (await write(freshAgent(), "k", "v")).version;
        },
        request: list(({ made }) => made),
        status: 404,
        code: "audit_event_not_found",
        param: "as_of",
        appends: ["agent data.list not_found"],
      },
      {
        name: "of a checkpoint of another agent",
        given: async (scene) => {
          await given(scene);
          const other = freshAgent();
          await scene.client.write(other, "k", "v");
          return (await scene.client.post("/v1/checkpoints", { agent_id: other })).json.id;
        },
        request: list(({ made }) => made),
        status: 404,
        code: "checkpoint_not_found",
        param: "as_of",
        appends: ["agent data.list not_found"],
      },
    ],
  );
});

test("the workspace verifies", async () => {
  const { json } = await workspace.client.post("/v1/audit/verify", { scope: "workspace" });
  expect(json).toMatchObject({ valid: true, problems: [] });
});
