/** What every kind of request comes to: what reaches the workspace, or which error and about what. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { encodeCursor, listFilters } from "../../src/lists.ts";
import { assertMatchesOpenApi, documentedPath } from "./support/openapi.ts";
import { type Sent, serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.workspace.asked.length = 0;
});

const put = (path: string, body: unknown, headers?: Record<string, string>): Sent => ({
  method: "PUT",
  path,
  body,
  ...(headers === undefined ? {} : { headers }),
});
const post = (path: string, body: unknown): Sent => ({ method: "POST", path, body });
const get = (path: string): Sent => ({ path });
const del = (path: string): Sent => ({ method: "DELETE", path });
const write = (changes: object): Sent =>
  post("/v1/data/write", { agent_id: "a", key: "k", value: "v", ...changes });

const emoji = "\u{1f600}";
const page = { limit: 100, offset: 0 };

const dataCursor = encodeCursor(
  listFilters("data.list", { agentId: "a", prefix: "p", includeValues: false }),
  "p/9",
);
const auditCursor = encodeCursor(
  listFilters("audit.query", {
    scope: { agentId: "a" },
    operations: ["data.delete", "data.write"],
    window: {},
  }),
  17,
);

describe("what reaches the workspace", () => {
  const accepted: [string, Sent, string, unknown][] = [
    ["config.read", get("/v1/config/a"), "config.read", { agentId: "a" }],
    ["an encoded agent", get("/v1/config/%61%40b"), "config.read", { agentId: "a@b" }],
    [
      "every character of an agent's id",
      get("/v1/config/aZ0._:@~-"),
      "config.read",
      { agentId: "aZ0._:@~-" },
    ],
    ["a malformed agent, which is not found", get("/v1/config/a%20b"), "config.read", { agentId: "a b" }],
    ["an empty config", put("/v1/config/a", {}), "config.update", { agentId: "a", config: {} }],
    [
      "a config value for value",
      put(
        "/v1/config/a",
        '{"policies":{"block_pii":true},"x":{"y":[1.0,null,{"__proto__":{"z":1}}]},"":false}',
      ),
      "config.update",
      JSON.parse(
        '{"agentId":"a","config":{"policies":{"block_pii":true},"x":{"y":[1,null,{"__proto__":{"z":1}}]},"":false}}',
      ),
    ],
    [
      "If-Match",
      put("/v1/config/a", {}, { "if-match": 'W/"v1", "v2"' }),
      "config.update",
      { agentId: "a", config: {}, ifMatch: ["v2"] },
    ],
    [
      "If-Match *",
      put("/v1/config/a", {}, { "if-match": "*" }),
      "config.update",
      { agentId: "a", config: {}, ifMatch: "*" },
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
    [
      "rollback",
      post("/v1/config/a/rollback", { version: "v1" }),
      "config.rollback",
      { agentId: "a", version: "v1" },
    ],
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
      {
        method: "POST",
        path: "/v1/checkpoints/cp_x/restore",
        headers: { "content-type": "application/json" },
      },
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
      "an empty value",
      write({ value: "" }),
      "data.write",
      { agentId: "a", key: "k", value: "", metadata: {} },
    ],
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
    [
      "list",
      get("/v1/data/list?agent_id=a"),
      "data.list",
      { agentId: "a", prefix: "", includeValues: false, page },
    ],
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
      "search",
      post("/v1/data/search", { agent_id: "a", query: "q" }),
      "data.search",
      { agentId: "a", query: "q", limit: 10, prefix: "", minSimilarity: 0 },
    ],
    [
      "search with everything",
      post("/v1/data/search", { agent_id: "a", query: "q", limit: 100, prefix: "p", min_similarity: 1 }),
      "data.search",
      { agentId: "a", query: "q", limit: 100, prefix: "p", minSimilarity: 1 },
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
        result: "blocked",
        window: { startMs: Date.UTC(2025, 11, 31, 23), endMs: Date.UTC(2026, 0, 2) },
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
      {
        scope: { agentId: "a" },
        operations: ["data.delete", "data.write"],
        window: {},
        page: { ...page, after: 17 },
      },
    ],
    ["an event", get("/v1/audit/aud_x"), "audit.read", { eventId: "aud_x" }],
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

const long = (length: number) => "x".repeat(length);

describe("what is refused", () => {
  const refused: [string, Sent, number, string, string?][] = [
    ["an unknown path", get("/v1/nothing"), 404, "not_found"],
    ["a slash at the end", get("/v1/config/a/"), 404, "not_found"],
    ["an empty segment", get("/v1/config//versions"), 404, "not_found"],
    ["another case", get("/V1/config/a"), 404, "not_found"],
    ["GET of verify", get("/v1/audit/verify"), 405, "method_not_allowed"],
    ["GET of export", get("/v1/audit/export"), 405, "method_not_allowed"],
    ["POST of a config", post("/v1/config/a", {}), 405, "method_not_allowed"],
    ["PATCH", { method: "PATCH", path: "/v1/data/write" }, 405, "method_not_allowed"],
    ["POST of an event", post("/v1/audit/aud_x", {}), 405, "method_not_allowed"],

    [
      "a body without a type",
      { ...write({}), headers: { "content-type": "" } },
      415,
      "unsupported_media_type",
      "Content-Type",
    ],
    [
      "text",
      { ...write({}), headers: { "content-type": "text/plain" } },
      415,
      "unsupported_media_type",
      "Content-Type",
    ],
    [
      "another charset",
      { ...write({}), headers: { "content-type": "application/json; charset=utf-16" } },
      415,
      "unsupported_media_type",
      "Content-Type",
    ],
    [
      "a form",
      { ...write({}), headers: { "content-type": "application/x-www-form-urlencoded" } },
      415,
      "unsupported_media_type",
      "Content-Type",
    ],
    [
      "JSON of another kind",
      { ...write({}), headers: { "content-type": "application/json-patch+json" } },
      415,
      "unsupported_media_type",
      "Content-Type",
    ],
    ["too large a body", write({ value: long(2 * 1024 * 1024) }), 413, "payload_too_large"],
    [
      "no body",
      { method: "POST", path: "/v1/data/write", headers: { "content-type": "application/json" } },
      400,
      "invalid_request",
    ],
    ["no JSON", post("/v1/data/write", "{"), 400, "invalid_request"],
    ["an array", post("/v1/data/write", "[]"), 400, "invalid_request"],
    [
      "a duplicate member",
      post("/v1/data/write", '{"agent_id":"a","key":"k","key":"k","value":"v"}'),
      400,
      "invalid_request",
    ],
    ["a duplicate inside a config", put("/v1/config/a", '{"x":{"y":1,"y":2}}'), 400, "invalid_request"],
    [
      "a lone surrogate in metadata",
      post("/v1/data/write", '{"agent_id":"a","key":"k","value":"v","metadata":{"x":"\\ud800"}}'),
      400,
      "invalid_request",
    ],
    ["a large integer in a config", put("/v1/config/a", '{"x":9007199254740993}'), 400, "invalid_request"],

    ["no agent", post("/v1/data/write", { key: "k", value: "v" }), 400, "invalid_request", "agent_id"],
    ["an empty agent", write({ agent_id: "" }), 400, "invalid_request", "agent_id"],
    ["an agent with a space", write({ agent_id: "a b" }), 400, "invalid_request", "agent_id"],
    ["an agent with a slash", write({ agent_id: "a/b" }), 400, "invalid_request", "agent_id"],
    ["an agent with a line end", write({ agent_id: "a\n" }), 400, "invalid_request", "agent_id"],
    ["an agent with an umlaut", write({ agent_id: "ä" }), 400, "invalid_request", "agent_id"],
    ["a long agent", write({ agent_id: long(129) }), 400, "invalid_request", "agent_id"],
    ["a number as agent", write({ agent_id: 1 }), 400, "invalid_request", "agent_id"],
    ["no key", post("/v1/data/write", { agent_id: "a", value: "v" }), 400, "invalid_request", "key"],
    ["an empty key", write({ key: "" }), 400, "invalid_request", "key"],
    ["a long key", write({ key: long(513) }), 400, "invalid_request", "key"],
    ["a long key of emoji", write({ key: emoji.repeat(513) }), 400, "invalid_request", "key"],
    ["a key with NUL", write({ key: "a\u0000" }), 400, "invalid_request", "key"],
    ["a key with DEL", write({ key: "a\u007f" }), 400, "invalid_request", "key"],
    ["a key with a C1 control", write({ key: "a\u0085b" }), 400, "invalid_request", "key"],
    ["a number as value", write({ value: 5 }), 400, "invalid_request", "value"],
    ["null as value", write({ value: null }), 400, "invalid_request", "value"],
    ["a value over a MiB", write({ value: long(1024 * 1024 + 1) }), 400, "invalid_request", "value"],
    [
      "a value over a MiB in UTF-8",
      write({ value: "é".repeat(512 * 1024 + 1) }),
      400,
      "invalid_request",
      "value",
    ],
    ["metadata that is null", write({ metadata: null }), 400, "invalid_request", "metadata"],
    ["metadata that is a list", write({ metadata: [] }), 400, "invalid_request", "metadata"],
    ["metadata that is text", write({ metadata: "x" }), 400, "invalid_request", "metadata"],
    ["metadata over 64 KiB", write({ metadata: { x: long(64 * 1024) } }), 400, "invalid_request", "metadata"],
    ["an unknown member", write({ ttl: 5 }), 400, "invalid_request", "ttl"],
    [
      "__proto__ as a member",
      post("/v1/data/write", '{"agent_id":"a","key":"k","value":"v","__proto__":{}}'),
      400,
      "invalid_request",
      "__proto__",
    ],
    [
      "members in another case",
      post("/v1/data/write", { agentId: "a", key: "k", value: "v" }),
      400,
      "invalid_request",
      "agentId",
    ],
    [
      "a query where none is taken",
      { ...write({}), path: "/v1/data/write?dry_run=1" },
      400,
      "invalid_request",
      "dry_run",
    ],

    ["a malformed agent in an update", put("/v1/config/a%20b", {}), 404, "agent_not_found"],
    ["a long agent in an update", put(`/v1/config/${long(129)}`, {}), 404, "agent_not_found"],
    ["broken percent-encoding", get("/v1/config/%zz"), 404, "config_not_found"],
    ["an incomplete percent-encoding", get("/v1/config/a%2"), 404, "config_not_found"],
    ["invalid UTF-8 in a path", get("/v1/config/%ff"), 404, "config_not_found"],
    ["NUL in a path", get("/v1/checkpoints/%00"), 404, "checkpoint_not_found"],
    ["an endless id", get(`/v1/audit/${long(300)}`), 404, "audit_event_not_found"],
    ["broken percent-encoding of a version", get("/v1/config/a/versions/%"), 404, "version_not_found"],
    [
      "instructions that are no text",
      put("/v1/config/a", { instructions: 1 }),
      400,
      "invalid_request",
      "instructions",
    ],
    ["a model that is no text", put("/v1/config/a", { model: {} }), 400, "invalid_request", "model"],
    ["policies that are a list", put("/v1/config/a", { policies: [] }), 400, "invalid_request", "policies"],
    ["policies that are null", put("/v1/config/a", { policies: null }), 400, "invalid_request", "policies"],
    [
      "an unknown policy",
      put("/v1/config/a", { policies: { block_pi: true } }),
      400,
      "unknown_policy",
      "policies.block_pi",
    ],
    [
      "__proto__ as a policy",
      put("/v1/config/a", '{"policies":{"__proto__":true}}'),
      400,
      "unknown_policy",
      "policies.__proto__",
    ],
    [
      "toString as a policy",
      put("/v1/config/a", { policies: { toString: true } }),
      400,
      "unknown_policy",
      "policies.toString",
    ],
    [
      "a policy as text",
      put("/v1/config/a", { policies: { block_pii: "true" } }),
      400,
      "invalid_request",
      "policies.block_pii",
    ],
    [
      "a policy as null",
      put("/v1/config/a", { policies: { block_secrets: null } }),
      400,
      "invalid_request",
      "policies.block_secrets",
    ],
    [
      "no days",
      put("/v1/config/a", { policies: { retention_days: 0 } }),
      400,
      "invalid_request",
      "policies.retention_days",
    ],
    [
      "half a day",
      put("/v1/config/a", { policies: { retention_days: 1.5 } }),
      400,
      "invalid_request",
      "policies.retention_days",
    ],
    [
      "too many days",
      put("/v1/config/a", { policies: { retention_days: 36501 } }),
      400,
      "invalid_request",
      "policies.retention_days",
    ],
    [
      "days as text",
      put("/v1/config/a", { policies: { retention_days: "5" } }),
      400,
      "invalid_request",
      "policies.retention_days",
    ],
    ["a config over 256 KiB", put("/v1/config/a", { x: long(256 * 1024) }), 400, "invalid_request", "config"],
    [
      "If-Match without quotes",
      put("/v1/config/a", {}, { "if-match": "v3" }),
      400,
      "invalid_request",
      "If-Match",
    ],
    ["rollback to nothing", post("/v1/config/a/rollback", {}), 400, "invalid_request", "version"],
    [
      "rollback to a number",
      post("/v1/config/a/rollback", { version: 1 }),
      400,
      "invalid_request",
      "version",
    ],

    [
      "a long label",
      post("/v1/checkpoints", { agent_id: "a", label: long(257) }),
      400,
      "invalid_request",
      "label",
    ],
    [
      "a label with a line end",
      post("/v1/checkpoints", { agent_id: "a", label: "a\nb" }),
      400,
      "invalid_request",
      "label",
    ],
    [
      "restoring nothing",
      post("/v1/checkpoints/cp_x/restore", { restore_data: false, restore_config: false }),
      400,
      "invalid_request",
      "restore_data",
    ],
    [
      "restore_data as text",
      post("/v1/checkpoints/cp_x/restore", { restore_data: "no" }),
      400,
      "invalid_request",
      "restore_data",
    ],
    [
      "restore with text",
      { ...post("/v1/checkpoints/cp_x/restore", "{}"), headers: { "content-type": "text/plain" } },
      415,
      "unsupported_media_type",
      "Content-Type",
    ],
    ["checkpoints of nobody", get("/v1/checkpoints"), 400, "invalid_request", "agent_id"],

    [
      "an unknown parameter",
      get("/v1/data/read?agent_id=a&key=k&version=1"),
      400,
      "invalid_request",
      "version",
    ],
    ["a repeated parameter", get("/v1/data/read?agent_id=a&key=k&key=k"), 400, "invalid_request", "key"],
    [
      "a repeated parameter, encoded",
      get("/v1/data/read?agent_id=a&key=k&%6bey=k"),
      400,
      "invalid_request",
      "key",
    ],
    [
      "__proto__ as a parameter",
      get("/v1/data/read?agent_id=a&key=k&__proto__=1"),
      400,
      "invalid_request",
      "__proto__",
    ],
    ["a broken encoding", get("/v1/data/read?agent_id=a&key=%"), 400, "invalid_request", "key"],
    ["invalid UTF-8", get("/v1/data/read?agent_id=a&key=%ff"), 400, "invalid_request", "key"],
    [
      "a key with an encoded control",
      get("/v1/data/read?agent_id=a&key=a%00"),
      400,
      "invalid_request",
      "key",
    ],
    ["a missing parameter", get("/v1/data/read?agent_id=a"), 400, "invalid_request", "key"],
    ["a parameter without a value", get("/v1/data/read?agent_id=a&key"), 400, "invalid_request", "key"],
    ["limit 0", get("/v1/data/list?agent_id=a&limit=0"), 400, "invalid_request", "limit"],
    ["limit 1001", get("/v1/data/list?agent_id=a&limit=1001"), 400, "invalid_request", "limit"],
    ["limit 1e2", get("/v1/data/list?agent_id=a&limit=1e2"), 400, "invalid_request", "limit"],
    ["limit 1.0", get("/v1/data/list?agent_id=a&limit=1.0"), 400, "invalid_request", "limit"],
    ["limit +5", get("/v1/data/list?agent_id=a&limit=%2B5"), 400, "invalid_request", "limit"],
    ["an empty limit", get("/v1/data/list?agent_id=a&limit="), 400, "invalid_request", "limit"],
    ["a negative offset", get("/v1/data/list?agent_id=a&offset=-1"), 400, "invalid_request", "offset"],
    [
      "an endless offset",
      get("/v1/data/list?agent_id=a&offset=99999999999999999999"),
      400,
      "invalid_request",
      "offset",
    ],
    [
      "include_values=1",
      get("/v1/data/list?agent_id=a&include_values=1"),
      400,
      "invalid_request",
      "include_values",
    ],
    [
      "a cursor with an offset",
      get(`/v1/data/list?agent_id=a&prefix=p&offset=0&cursor=${dataCursor}`),
      400,
      "invalid_request",
      "cursor",
    ],
    [
      "a cursor of another prefix",
      get(`/v1/data/list?agent_id=a&prefix=q&cursor=${dataCursor}`),
      400,
      "invalid_request",
      "cursor",
    ],
    [
      "a cursor of another agent",
      get(`/v1/data/list?agent_id=b&prefix=p&cursor=${dataCursor}`),
      400,
      "invalid_request",
      "cursor",
    ],
    [
      "a cursor of another list",
      get(`/v1/checkpoints?agent_id=a&cursor=${dataCursor}`),
      400,
      "invalid_request",
      "cursor",
    ],
    ["a cursor made up", get("/v1/data/list?agent_id=a&cursor=AAAA"), 400, "invalid_request", "cursor"],
    ["an empty cursor", get("/v1/data/list?agent_id=a&cursor="), 400, "invalid_request", "cursor"],
    [
      "an empty prefix to delete",
      del("/v1/data/prefix?agent_id=a&prefix="),
      400,
      "invalid_request",
      "prefix",
    ],
    ["no prefix to delete", del("/v1/data/prefix?agent_id=a"), 400, "invalid_request", "prefix"],
    ["a long prefix", get(`/v1/data/list?agent_id=a&prefix=${long(513)}`), 400, "invalid_request", "prefix"],
    [
      "a limit as text in a search",
      post("/v1/data/search", { agent_id: "a", query: "q", limit: "5" }),
      400,
      "invalid_request",
      "limit",
    ],
    [
      "too large a limit in a search",
      post("/v1/data/search", { agent_id: "a", query: "q", limit: 101 }),
      400,
      "invalid_request",
      "limit",
    ],
    [
      "an empty query",
      post("/v1/data/search", { agent_id: "a", query: "" }),
      400,
      "invalid_request",
      "query",
    ],
    [
      "a similarity over 1",
      post("/v1/data/search", { agent_id: "a", query: "q", min_similarity: 1.1 }),
      400,
      "invalid_request",
      "min_similarity",
    ],

    ["audit of nobody", get("/v1/audit"), 400, "invalid_request", "agent_id"],
    ["audit of both", get("/v1/audit?agent_id=a&scope=workspace"), 400, "invalid_request", "scope"],
    ["another scope", get("/v1/audit?scope=agent"), 400, "invalid_request", "scope"],
    [
      "an unknown operation",
      get("/v1/audit?agent_id=a&operations=data.write,data.wrote"),
      400,
      "invalid_request",
      "operations",
    ],
    ["no operation", get("/v1/audit?agent_id=a&operations="), 400, "invalid_request", "operations"],
    [
      "an operation of the prototype",
      get("/v1/audit?agent_id=a&operations=constructor"),
      400,
      "invalid_request",
      "operations",
    ],
    ["an unknown result", get("/v1/audit?agent_id=a&result=maybe"), 400, "invalid_request", "result"],
    [
      "a day that is none",
      get("/v1/audit?agent_id=a&start_time=2026-02-30T00:00:00Z"),
      400,
      "invalid_request",
      "start_time",
    ],
    [
      "a time without a zone",
      get("/v1/audit?agent_id=a&end_time=2026-02-20T00:00:00"),
      400,
      "invalid_request",
      "end_time",
    ],
    [
      "a leap second",
      get("/v1/audit?agent_id=a&end_time=2026-12-31T23:59:60Z"),
      400,
      "invalid_request",
      "end_time",
    ],
    ["verify of nobody", post("/v1/audit/verify", {}), 400, "invalid_request", "agent_id"],
    [
      "another format",
      post("/v1/audit/export", { agent_id: "a", format: "xml" }),
      400,
      "invalid_request",
      "format",
    ],
    [
      "a time that is a number",
      post("/v1/audit/export", { agent_id: "a", start_time: 5 }),
      400,
      "invalid_request",
      "start_time",
    ],
  ];
  for (const [name, sent, status, code, param] of refused) {
    test(name, async () => {
      const answer = await server.send(sent);
      expect([answer.status, answer.json?.code, answer.json?.param]).toEqual([status, code, param]);
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
      expect(answer.headers.get("x-audit-id")).toBeNull();
      expect(answer.json.request_id).toBe(answer.headers.get("x-request-id"));
      expect(answer.json.status).toBe(status);
      expect(server.workspace.asked).toEqual([]);
      if (documentedPath(sent.path) !== undefined && status !== 405) {
        assertMatchesOpenApi(sent.method ?? "GET", sent.path, status, answer.json);
      }
    });
  }

  test("nothing that was sent comes back but names", async () => {
    const secret = "s3cr3t-v4lu3";
    const attempts: Sent[] = [
      write({ agent_id: `${secret}!` }),
      write({ value: { [secret]: secret } }),
      write({ metadata: [secret] }),
      post("/v1/data/write", `{"${secret}`),
      post("/v1/data/write", `{"a":{"${secret}":1,"${secret}":1}}`),
      get(`/v1/data/list?agent_id=a&limit=${secret}`),
      get(`/v1/data/list?agent_id=a&cursor=${secret}`),
      get(`/v1/audit?agent_id=a&operations=${secret}`),
      put("/v1/config/a", {}, { "if-match": secret }),
      put(`/v1/config/${secret}!`, {}),
      get(`/v1/${secret}`),
      { ...write({}), headers: { "content-type": secret } },
    ];
    for (const sent of attempts) {
      const answer = await server.send(sent);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.text).not.toContain(secret);
    }
    expect(JSON.stringify(server.logged)).not.toContain(secret);
  });

  test("a made-up name is shortened", async () => {
    const answer = await server.send(write({ [`${long(100)}"\n`]: 1 }));
    expect(answer.json.param).toBe(`${long(64)}…`);
    expect(answer.text.length).toBeLessThan(700);
  });

  test("several unknown names are named", async () => {
    const answer = await server.send(write({ one: 1, two: 2 }));
    expect(answer.json.detail).toContain('"one", "two"');
  });
});
