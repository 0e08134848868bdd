/** What every kind of valid request makes reach the workspace. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { auditCursor, dataCursor, del, emoji, get, post, put, write } from "./support/requests.ts";
import { type Sent, serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.workspace.asked.length = 0;
});

const page = { limit: 100, offset: 0 };

describe("what reaches the workspace", () => {
  const accepted: [string, Sent, string, unknown][] = [
    ["config.read", get("/v1/config/a"), "config.read", { agentId: "a" }],
    ["an encoded agent", get("/v1/config/%61%40b"), "config.read", { agentId: "a@b" }],
    ["every character of an agent's id", get("/v1/config/aZ0._:@~-"), "config.read", { agentId: "aZ0._:@~-" }],
    ["a malformed agent, which is not found", get("/v1/config/a%20b"), "config.read", { agentId: "a b" }],
    [
      "policies of the workspace",
      put("/v1/policies", { policies: { block_pii: true } }),
      "policies.update",
      { workspacePolicies: { policies: { block_pii: true }, require_config: false, exceptions_from_agents: false } },
    ],
    ["the policies of the workspace", get("/v1/policies"), "policies.read", {}],
    ["a version of them", get("/v1/policies/versions/p2"), "policies.read_version", { version: "p2" }],
    ["the policies in force", get("/v1/config/a/effective"), "config.read_effective", { agentId: "a" }],
    ["an empty config", put("/v1/config/a", {}), "config.update", { agentId: "a", config: {} }],
    [
      "a config value for value",
      put("/v1/config/a", '{"policies":{"block_pii":true},"x":{"y":[1.0,null,{"__proto__":{"z":1}}]},"":false}'),
      "config.update",
      JSON.parse(
        '{"agentId":"a","config":{"policies":{"block_pii":true},"x":{"y":[1,null,{"__proto__":{"z":1}}]},"":false}}',
      ),
    ],
    [
      "If-Match",
      put("/v1/config/a", {}, { "if-match": 'W/"v1", "v2"' }),
      "config.update",
      { agentId: "a", config: {}, condition: { versions: ["v2"] } },
    ],
    [
      "If-Match *",
      put("/v1/config/a", {}, { "if-match": "*" }),
      "config.update",
      { agentId: "a", config: {}, condition: { exists: true } },
    ],
    [
      "versions",
      get("/v1/config/a/versions?limit=7&offset=3"),
      "config.list_versions",
      { agentId: "a", page: { limit: 7, offset: 3 } },
    ],
    ["a version", get("/v1/config/a/versions/v3"), "config.read_version", { agentId: "a", version: "v3" }],
    [
      "a malformed version",
      get("/v1/config/a/versions/latest"),
      "config.read_version",
      { agentId: "a", version: "latest" },
    ],
    ["rollback", post("/v1/config/a/rollback", { version: "v1" }), "config.rollback", { agentId: "a", version: "v1" }],
    ["an agent called versions", get("/v1/config/versions"), "config.read", { agentId: "versions" }],
    [
      "a checkpoint",
      post("/v1/checkpoints", { agent_id: "a", label: emoji.repeat(256), metadata: { n: 1.5 } }),
      "checkpoint.create",
      { agentId: "a", label: emoji.repeat(256), metadata: { n: 1.5 } },
    ],
    [
      "a bare checkpoint",
      post("/v1/checkpoints", { agent_id: "a" }),
      "checkpoint.create",
      { agentId: "a", label: null, metadata: {} },
    ],
    ["checkpoints", get("/v1/checkpoints?agent_id=a"), "checkpoint.list", { agentId: "a", page }],
    [
      "a comparison",
      get("/v1/checkpoints/cp_x/changes"),
      "checkpoint.compare",
      { checkpointId: "cp_x", to: null, page },
    ],
    ["one checkpoint", get("/v1/checkpoints/cp_x"), "checkpoint.read", { checkpointId: "cp_x" }],
    ["deleting one", del("/v1/checkpoints/cp_x"), "checkpoint.delete", { checkpointId: "cp_x" }],
    [
      "restore without a body",
      { method: "POST", path: "/v1/checkpoints/cp_x/restore" },
      "checkpoint.restore",
      { checkpointId: "cp_x", restoreConfig: true, restoreData: true },
    ],
    [
      "restore with an empty body of a type",
      { method: "POST", path: "/v1/checkpoints/cp_x/restore", headers: { "content-type": "application/json" } },
      "checkpoint.restore",
      { checkpointId: "cp_x", restoreConfig: true, restoreData: true },
    ],
    [
      "restore of data alone",
      post("/v1/checkpoints/cp_x/restore", { restore_config: false }),
      "checkpoint.restore",
      { checkpointId: "cp_x", restoreConfig: false, restoreData: true },
    ],
    [
      "write",
      write({ metadata: { source: "crm" } }),
      "data.write",
      { agentId: "a", key: "k", value: "v", metadata: { source: "crm" } },
    ],
    [
      "null for optional members of a write",
      write({ metadata: null }),
      "data.write",
      { agentId: "a", key: "k", value: "v", metadata: {} },
    ],
    [
      "null inside metadata, which means itself",
      write({ metadata: { a: null, b: [null] } }),
      "data.write",
      { agentId: "a", key: "k", value: "v", metadata: { a: null, b: [null] } },
    ],
    [
      "null for optional members of a checkpoint",
      post("/v1/checkpoints", { agent_id: "a", label: null, metadata: null }),
      "checkpoint.create",
      { agentId: "a", label: null, metadata: {} },
    ],
    [
      "null for policies, and for other members of a config, which are free-form",
      put("/v1/config/a", { model: null, policies: { block_pii: true, retention_days: null }, tools: null }),
      "config.update",
      { agentId: "a", config: { policies: { block_pii: true }, tools: null } },
    ],
    ["an empty value", write({ value: "" }), "data.write", { agentId: "a", key: "k", value: "", metadata: {} }],
    [
      "a value with controls",
      write({ value: "\u0000\n" }),
      "data.write",
      { agentId: "a", key: "k", value: "\u0000\n", metadata: {} },
    ],
    [
      "512 characters of key",
      write({ key: emoji.repeat(512) }),
      "data.write",
      { agentId: "a", key: emoji.repeat(512), value: "v", metadata: {} },
    ],
    ["read", get("/v1/data/read?agent_id=a&key=a%2Fb+c%25"), "data.read", { agentId: "a", key: "a/b c%" }],
    ["read-full", get("/v1/data/read-full?key=k&agent_id=a"), "data.read_full", { agentId: "a", key: "k" }],
    ["list", get("/v1/data/list?agent_id=a"), "data.list", { agentId: "a", prefix: "", includeValues: false, page }],
    [
      "list with everything",
      get("/v1/data/list?agent_id=a&prefix=%25_*&include_values=true&limit=1000&offset=9007199254740991"),
      "data.list",
      { agentId: "a", prefix: "%_*", includeValues: true, page: { limit: 1000, offset: 9007199254740991 } },
    ],
    [
      "a cursor, with values or without",
      get(`/v1/data/list?agent_id=a&prefix=p&include_values=true&cursor=${dataCursor}`),
      "data.list",
      { agentId: "a", prefix: "p", includeValues: true, page: { ...page, after: "p/9" } },
    ],
    [
      "list with what is the default",
      get("/v1/data/list?agent_id=a&sort=key&order=asc&count=false"),
      "data.list",
      { agentId: "a", prefix: "", includeValues: false, page },
    ],
    [
      "list in another order",
      get("/v1/data/list?agent_id=a&sort=updated_at&order=desc&count=true&delimiter=%F0%9F%98%80"),
      "data.list",
      {
        agentId: "a",
        prefix: "",
        includeValues: false,
        sort: "updated_at",
        order: "desc",
        count: true,
        delimiter: "\u{1F600}",
        page,
      },
    ],
    [
      "query",
      post("/v1/data/query", { agent_id: "a" }),
      "data.query",
      { agentId: "a", prefix: "", includeValues: false, filter: [], page },
    ],
    [
      "query with everything",
      post("/v1/data/query", {
        agent_id: "a",
        prefix: "p",
        filter: { "a.b\\.c": { $gt: 1, $lt: 2 }, d: [] },
        below: "/",
        sort: "updated_at",
        order: "desc",
        limit: 1,
        include_values: true,
      }),
      "data.query",
      {
        agentId: "a",
        prefix: "p",
        includeValues: true,
        sort: "updated_at",
        order: "desc",
        filter: [
          { path: ["a", "b.c"], operator: "$gt", operand: 1 },
          { path: ["a", "b.c"], operator: "$lt", operand: 2 },
          { path: ["d"], operator: "$eq", operand: [] },
        ],
        below: "/",
        page: { limit: 1, offset: 0 },
      },
    ],
    [
      "search",
      post("/v1/data/search", { agent_id: "a", query: "q" }),
      "data.search",
      { agentId: "a", query: "q", limit: 10, prefix: "", minSimilarity: 0 },
    ],
    [
      "search with everything",
      post("/v1/data/search", {
        agent_id: "a",
        query: "q",
        limit: 100,
        prefix: "p",
        min_similarity: 1,
        filter: { a: null },
      }),
      "data.search",
      {
        agentId: "a",
        query: "q",
        limit: 100,
        prefix: "p",
        minSimilarity: 1,
        filter: [{ path: ["a"], operator: "$eq", operand: null }],
      },
    ],
    ["delete", del("/v1/data?agent_id=a&key=k"), "data.delete", { agentId: "a", key: "k" }],
    [
      "delete by prefix",
      del("/v1/data/prefix?agent_id=a&prefix=p"),
      "data.delete_prefix",
      { agentId: "a", prefix: "p" },
    ],
    ["audit", get("/v1/audit?agent_id=a"), "audit.query", { scope: { agentId: "a" }, window: {}, page }],
    [
      "audit of the workspace",
      get("/v1/audit?scope=workspace"),
      "audit.query",
      { scope: { scope: "workspace" }, window: {}, page },
    ],
    [
      "audit with everything",
      get(
        "/v1/audit?agent_id=a&operations=data.write,data.delete,data.write&result=blocked&start_time=2026-01-01T00:00:00%2B01:00&end_time=2026-01-02T00:00:00Z",
      ),
      "audit.query",
      {
        scope: { agentId: "a" },
        operations: ["data.delete", "data.write"],
        results: ["blocked"],
        window: { startMs: Date.UTC(2025, 11, 31, 23), endMs: Date.UTC(2026, 0, 2) },
        page,
      },
    ],
    [
      "a filter whose words are parameters of their own",
      get("/v1/audit?agent_id=a&result=denied&operations=data.write&result=blocked&operations=data.delete"),
      "audit.query",
      {
        scope: { agentId: "a" },
        operations: ["data.delete", "data.write"],
        results: ["blocked", "denied"],
        window: {},
        page,
      },
    ],
    [
      "an offset whose plus was not encoded",
      get("/v1/audit?agent_id=a&start_time=2026-01-01T00:00:00+01:00"),
      "audit.query",
      { scope: { agentId: "a" }, window: { startMs: Date.UTC(2025, 11, 31, 23) }, page },
    ],
    [
      "a cursor, in whatever order the operations are named",
      get(`/v1/audit?agent_id=a&operations=data.write,data.delete&cursor=${auditCursor}`),
      "audit.query",
      { scope: { agentId: "a" }, operations: ["data.delete", "data.write"], window: {}, page: { ...page, after: 17 } },
    ],
    ["an event", get("/v1/audit/aud_x"), "audit.read", { eventId: "aud_x", proof: false }],
    ["its proof", get("/v1/audit/aud_x?proof=true"), "audit.read", { eventId: "aud_x", proof: true }],
    ["a flag as Python prints it", get("/v1/audit/aud_x?proof=True"), "audit.read", { eventId: "aud_x", proof: true }],
    ["a flag as a number", get("/v1/audit/aud_x?proof=0"), "audit.read", { eventId: "aud_x", proof: false }],
    [
      "lineage",
      get("/v1/lineage/aud_x?direction=causes"),
      "lineage.read",
      { eventId: "aud_x", direction: "causes", depth: 1, page: { limit: 100, offset: 0 } },
    ],
    [
      "lineage in steps and pages",
      get("/v1/lineage/aud_x?direction=effects&depth=5&limit=1000"),
      "lineage.read",
      { eventId: "aud_x", direction: "effects", depth: 5, page: { limit: 1000, offset: 0 } },
    ],
    ["a receipt", get("/v1/audit/aud_x/receipt"), "audit.receipt", { eventId: "aud_x" }],
    ["the newest seal", get("/v1/audit/seal"), "audit.seal", {}],
    ["where seals were taken to", get("/v1/audit/anchors"), "audit.anchors", {}],
    ["the sealing key", get("/v1/audit/key"), "audit.key", {}],
    ["a consistency proof", get("/v1/audit/consistency?from=1&to=3"), "audit.consistency", { from: 1, to: 3 }],
    ["verify", post("/v1/audit/verify", { agent_id: "a" }), "audit.verify", { scope: { agentId: "a" } }],
    [
      "verify everything",
      post("/v1/audit/verify", { scope: "workspace" }),
      "audit.verify",
      { scope: { scope: "workspace" } },
    ],
    [
      "export",
      post("/v1/audit/export", { agent_id: "a", start_time: "2026-01-01T00:00:00Z" }),
      "audit.export",
      { scope: { agentId: "a" }, format: "json", window: { startMs: Date.UTC(2026, 0, 1) } },
    ],
    [
      "export as CSV",
      post("/v1/audit/export", { scope: "workspace", format: "csv" }),
      "audit.export",
      { scope: { scope: "workspace" }, format: "csv", window: {} },
    ],
  ];
  for (const [name, sent, operation, input] of accepted) {
    test(name, async () => {
      const answer = await server.send(sent);
      expect(answer.text).toBe('{"ok":true}');
      expect(answer.status).toBe(200);
      expect(server.workspace.asked.map((asked) => asked.name as string)).toEqual([operation]);
      expect(server.workspace.input).toEqual(input);
      expect(JSON.stringify(server.workspace.input)).not.toContain("undefined");
    });
  }
});
