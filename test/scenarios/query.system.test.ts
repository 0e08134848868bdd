/** Queries, orders and groups of entries from outside, and searches with a filter. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const METADATA: Record<string, object> = {
  "chat/1": { source: "chat", confidence: 0.9, user: { id: 1, "e.mail": "x" }, tags: ["a", "b"] },
  "chat/2": { source: "chat", confidence: 0.5, user: { id: 2 }, tags: [] },
  "chat/3": { source: "chat", confidence: "0.95", user: null },
  "mail/1": { source: "mail", confidence: 0.85 },
  "mail/": { source: "mail", empty: {} },
  top: {},
};

const filled = async ({ client, agent }: Scene) => {
  for (const [key, metadata] of Object.entries(METADATA)) await client.write(agent, key, `value of ${key}`, metadata);
};
const query =
  (rest: object, path = "/v1/data/query") =>
  ({ agent }: Scene) => ({ path, body: { agent_id: agent, ...rest } });
const list =
  (rest: object = {}) =>
  ({ agent }: Scene) => ({ path: "/v1/data/list", query: { agent_id: agent, ...rest } });
const keys = (...expected: string[]) => ({ data: expected.map((key) => ({ key })) });

describe("queries", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "query: an agent that never began is empty",
        request: query({ filter: { a: 1 } }),
        status: 200,
        appends: ["- data.query ok"],
        body: { data: [], has_more: false, next_cursor: null },
        details: ({ agent }: Scene) => ({ agent_id: agent, prefix: "", filter: [["a", "$eq"]], count: 0 }),
      },
      {
        name: "query: a row has what a row of a list has, and the event no value of the filter",
        given: filled,
        request: query({ filter: { source: "chat", confidence: { $gte: 0.8 } }, prefix: "chat/" }),
        status: 200,
        appends: ["agent data.query ok"],
        details: {
          prefix: "chat/",
          filter: [
            ["source", "$eq"],
            ["confidence", "$gte"],
          ],
          count: 1,
        },
        check: async ({ client, agent }, { json }) => {
          const { json: listed } = await client.get("/v1/data/list", { agent_id: agent, prefix: "chat/1" });
          expect(json).toEqual(listed);
          const { json: full } = await client.get("/v1/data/read-full", { agent_id: agent, key: "chat/1" });
          expect(json.data[0]).toMatchObject({ audit_id: full.audit_id, updated_at: full.updated_at, size: 15 });
        },
      },
      {
        name: "query: values are included on request",
        given: filled,
        request: query({ filter: { source: "mail" }, include_values: true, order: "desc" }),
        status: 200,
        appends: ["agent data.query ok"],
        body: { data: [{ key: "mail/1", value: "value of mail/1" }, { key: "mail/" }] },
      },
      {
        name: "query: a row comes with the entries below it, which the event counts",
        given: async (scene) => {
          await filled(scene);
          for (const key of ["top/1", "top/2/x", "top.1", "toplevel/1"]) {
            await scene.client.write(scene.agent, key, `value of ${key}`, { step: key });
          }
        },
        request: query({
          filter: { step: { $exists: false } },
          below: "/",
          include_values: true,
          order: "desc",
          limit: 2,
        }),
        status: 200,
        appends: ["agent data.query ok"],
        details: {
          prefix: "",
          filter: [["step", "$exists"]],
          count: 4,
          returned: Array.from({ length: 4 }, () => expect.any(Number)),
        },
        check: async ({ client, agent }, { json }) => {
          const { json: listed } = await client.post("/v1/data/query", {
            agent_id: agent,
            prefix: "top/",
            include_values: true,
          });
          expect(json.data).toMatchObject([
            { key: "top", value: "value of top", below: listed.data },
            { key: "mail/1", below: [] },
          ]);
          expect(listed.data).toHaveLength(2);
          const next = {
            agent_id: agent,
            filter: { step: { $exists: false } },
            order: "desc",
            cursor: json.next_cursor,
          };
          const { json: rest } = await client.post("/v1/data/query", { ...next, limit: 1 });
          expect(rest).toMatchObject(keys("mail/"));
          expect(rest.data[0]).not.toHaveProperty("below");
        },
      },
      {
        name: "query: more below a row than an answer holds",
        given: async ({ client, agent }) => {
          const value = "x".repeat(1024 * 1024);
          const writes = Array.from({ length: 17 }, (_, at) => ({ op: "write", key: `a/${at}`, value }));
          await client.write(agent, "a", "v");
          // Three of them are as many as a body of 4 MiB holds.
          for (let at = 0; at < writes.length; at += 3)
            await client.post("/v1/data/batch", { agent_id: agent, operations: writes.slice(at, at + 3) });
        },
        request: query({ below: "/", limit: 1, include_values: true }),
        status: 400,
        appends: [],
        code: "invalid_request",
        param: "below",
        check: async ({ client, agent }) => {
          const { json } = await client.post("/v1/data/query", { agent_id: agent, below: "/", limit: 1 });
          expect(json.data[0].below).toHaveLength(17);
        },
      },
      ...["jane\\.roe@acme\\.io", "jane.roe@acme.io"].map((name) => ({
        name: `query: the names in a filter are not recorded when a policy objects to one: ${name}`,
        given: async (scene: Scene) => {
          await scene.client.configure(scene.agent, { policies: { block_pii: true } });
          await filled(scene);
        },
        request: query({ filter: { [name]: { $exists: true }, source: "chat" } }),
        status: 200,
        appends: ["agent data.query ok"],
        details: { prefix: "", redacted: true, count: 0 },
      })),
    ],
  );

  test("filters select by name, operator and type", async () => {
    const agent = "filters";
    await filled({ client: workspace.client, agent, workspace, made: undefined });
    const all = Object.keys(METADATA).sort();
    const cases: [filter: object, ...expected: string[]][] = [
      [{}, ...all],
      [{ source: "chat" }, "chat/1", "chat/2", "chat/3"],
      [{ confidence: { $gte: 0.8 } }, "chat/1", "mail/1"],
      [{ confidence: { $gt: 0.85 } }, "chat/1"],
      [{ confidence: { $gt: 0.5, $lt: 0.9 } }, "mail/1"],
      [{ confidence: { $lte: "1" } }, "chat/3"],
      [{ source: { $ne: "chat" } }, "mail/", "mail/1", "top"],
      [{ confidence: { $in: [0.5, "0.95", null] } }, "chat/2", "chat/3"],
      [{ confidence: { $in: [] } }],
      [{ confidence: { $exists: false } }, "mail/", "top"],
      [{ user: null }, "chat/3"],
      [{ user: { $ne: null } }, "chat/1", "chat/2", "mail/", "mail/1", "top"],
      [{ "user.id": 2 }, "chat/2"],
      [{ "user.e\\.mail": "x" }, "chat/1"],
      [{ "user.e.mail": { $exists: true } }],
      [{ user: { id: 2 } }, "chat/2"],
      [{ user: { "e.mail": "x", id: 1 } }, "chat/1"],
      [{ tags: "a" }],
      [{ tags: ["a", "b"] }, "chat/1"],
      [{ tags: ["b", "a"] }],
      [{ "tags.0": "a" }],
      [{ tags: [] }, "chat/2"],
      [{ empty: {} }, "mail/"],
      [{ "": { $exists: true } }],
    ];
    for (const [filter, ...expected] of cases) {
      const { json } = await workspace.client.post("/v1/data/query", { agent_id: agent, filter });
      expect([filter, ...json.data.map(({ key }: { key: string }) => key)]).toEqual([filter, ...expected]);
      const found = await workspace.client.post("/v1/data/search", {
        agent_id: agent,
        query: "value of",
        filter,
        limit: 3,
      });
      const names: string[] = found.json.data.map(({ key }: { key: string }) => key);
      expect(names.length).toBe(Math.min(3, expected.length));
      expect(expected).toEqual(expect.arrayContaining(names));
    }
  });

  test.each([
    ["filter", "text"],
    ["filter", Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`m${i}`, i]))],
    ["filter.a.$gte", { a: { $gte: true } }],
    ["filter.a.$gt", { a: { $gt: [1] } }],
    ["filter.a.$lt", { a: { $lt: null } }],
    ["filter.a.$lte", { a: { $lte: {} } }],
    ["filter.a.$in", { a: { $in: "x" } }],
    ["filter.a.$exists", { a: { $exists: 1 } }],
    ["filter.a.$regex", { a: { $regex: "x" } }],
    ["filter.a", { a: { $gte: 1, b: 2 } }],
    ["filter.$or", { $or: [{ a: 1 }] }],
  ])("a malformed filter is refused: %s %j", async (param, filter) => {
    for (const path of ["/v1/data/query", "/v1/data/search"]) {
      const { status, json } = await workspace.client.post(path, {
        agent_id: "a",
        filter,
        ...(path.endsWith("search") ? { query: "q" } : {}),
      });
      expect({ status, code: json.code, param: json.param }).toEqual({ status: 400, code: "invalid_request", param });
    }
  });
});

describe("lists", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "list: in the order of the last writes, newest first",
        given: async (scene) => {
          await filled(scene);
          await scene.client.write(scene.agent, "chat/2", "again");
        },
        request: list({ sort: "updated_at", order: "desc", limit: 3 }),
        status: 200,
        appends: ["agent data.list ok"],
        body: { ...keys("chat/2", "top", "mail/"), has_more: true },
      },
      {
        name: "list: keys in descending order, behind a cursor",
        given: filled,
        request: list({ order: "desc", limit: 4 }),
        status: 200,
        appends: ["agent data.list ok"],
        body: keys("top", "mail/1", "mail/", "chat/3"),
        check: async ({ client, agent }, { json }) => {
          const ask = { agent_id: agent, order: "desc", cursor: json.next_cursor };
          expect((await client.get("/v1/data/list", ask)).json).toMatchObject({
            ...keys("chat/2", "chat/1"),
            next_cursor: null,
          });
          for (const change of [{ order: "asc" }, { sort: "updated_at" }, { delimiter: "/" }, { prefix: "c" }]) {
            const { status, json: refused } = await client.get("/v1/data/list", { ...ask, ...change });
            expect({ status, param: refused.param }).toEqual({ status: 400, param: "cursor" });
          }
          expect((await client.get("/v1/data/list", { ...ask, count: true })).json.total).toBe(6);
        },
      },
      {
        name: "list: groups by a delimiter, all of them on every page",
        given: filled,
        request: list({ delimiter: "/", count: true, limit: 1 }),
        status: 200,
        appends: ["agent data.list ok"],
        details: { prefix: "", count: 1 },
        check: async ({ client, agent }, { json }) => {
          const prefixes = [
            { prefix: "chat/", entries: 3 },
            { prefix: "mail/", entries: 1 },
          ];
          expect(json).toMatchObject({ ...keys("mail/"), prefixes, total: 2, has_more: true });
          const ask = { agent_id: agent, delimiter: "/", cursor: json.next_cursor };
          expect((await client.get("/v1/data/list", ask)).json).toMatchObject({
            ...keys("top"),
            prefixes,
            has_more: false,
          });
          expect((await client.get("/v1/data/list", { agent_id: agent })).json).not.toHaveProperty("prefixes");
        },
      },
      {
        name: "list: groups below a prefix, and entries that expire count until then",
        given: async ({ client, agent }) => {
          await client.configure(agent, { policies: { retention_days: 1 } });
          for (const key of ["p/a/1", "p/a/2", "p/b", "p/", "q/c/1"]) await client.write(agent, key, "v");
        },
        request: list({ prefix: "p/", delimiter: "/", count: true }),
        status: 200,
        appends: ["agent data.list ok"],
        body: { ...keys("p/", "p/b"), prefixes: [{ prefix: "p/a/", entries: 2 }], total: 2 },
        check: (_scene, { json }) => {
          const { updated_at, expires_at } = json.data[0];
          expect(Date.parse(expires_at) - Date.parse(updated_at)).toBe(86_400_000);
        },
      },
    ],
  );

  test.each([
    ["order", "up"],
    ["sort", "created_at"],
    ["count", "2"],
    ["delimiter", ""],
    ["delimiter", "//"],
  ])("a bad %s is refused: %p", async (param, value) => {
    const { status, json } = await workspace.client.get("/v1/data/list", { agent_id: "a", [param]: value });
    expect({ status, param: json.param }).toEqual({ status: 400, param });
  });

  test("an entry that nobody writes is on one page, whatever is written meanwhile", async () => {
    const { client } = workspace;
    for (let i = 0; i < 12; i++) await client.write("moving", `k${i}`, "v");
    for (const order of ["asc", "desc"]) {
      const seen: string[] = [];
      let cursor: string | null = "";
      for (let i = 0; cursor !== null; i++) {
        const ask = { agent_id: "moving", sort: "updated_at", order, limit: 2, ...(cursor === "" ? {} : { cursor }) };
        const { json } = await client.get("/v1/data/list", ask);
        seen.push(...json.data.map(({ key }: { key: string }) => key));
        cursor = json.next_cursor;
        await client.write("moving", "k3", `moved ${i}`);
        await client.write("moving", `new-${order}-${i}`, "v");
        if (i > 40) break;
      }
      for (let i = 0; i < 12; i++) {
        if (i !== 3) expect(seen.filter((key) => key === `k${i}`)).toHaveLength(1);
      }
    }
  });
});
