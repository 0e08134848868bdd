/** Which error every kind of bad request is answered with, and about what. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { assertMatchesOpenApi, documentedPath } from "./support/openapi.ts";
import { dataCursor, del, emoji, get, post, put, write } from "./support/requests.ts";
import { type Sent, serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.workspace.asked.length = 0;
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
    ["too large a body", write({ value: long(4 * 1024 * 1024) }), 413, "payload_too_large"],
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
    ["a value over a MiB in UTF-8", write({ value: "é".repeat(512 * 1024 + 1) }), 400, "invalid_request", "value"],
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
    ["instructions that are no text", put("/v1/config/a", { instructions: 1 }), 400, "invalid_request", "instructions"],
    ["a model that is no text", put("/v1/config/a", { model: {} }), 400, "invalid_request", "model"],
    ["policies that are a list", put("/v1/config/a", { policies: [] }), 400, "invalid_request", "policies"],
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
    ["If-Match without quotes", put("/v1/config/a", {}, { "if-match": "v3" }), 400, "invalid_request", "If-Match"],
    ["rollback to nothing", post("/v1/config/a/rollback", {}), 400, "invalid_request", "version"],
    ["rollback to a number", post("/v1/config/a/rollback", { version: 1 }), 400, "invalid_request", "version"],

    ["a long label", post("/v1/checkpoints", { agent_id: "a", label: long(257) }), 400, "invalid_request", "label"],
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

    ["an unknown parameter", get("/v1/data/read?agent_id=a&key=k&version=1"), 400, "invalid_request", "version"],
    ["a repeated parameter", get("/v1/data/read?agent_id=a&key=k&key=k"), 400, "invalid_request", "key"],
    ["a repeated parameter, encoded", get("/v1/data/read?agent_id=a&key=k&%6bey=k"), 400, "invalid_request", "key"],
    [
      "__proto__ as a parameter",
      get("/v1/data/read?agent_id=a&key=k&__proto__=1"),
      400,
      "invalid_request",
      "__proto__",
    ],
    ["a broken encoding", get("/v1/data/read?agent_id=a&key=%"), 400, "invalid_request", "key"],
    ["invalid UTF-8", get("/v1/data/read?agent_id=a&key=%ff"), 400, "invalid_request", "key"],
    ["a key with an encoded control", get("/v1/data/read?agent_id=a&key=a%00"), 400, "invalid_request", "key"],
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
      "include_values=yes",
      get("/v1/data/list?agent_id=a&include_values=yes"),
      400,
      "invalid_request",
      "include_values",
    ],
    ["include_values=", get("/v1/data/list?agent_id=a&include_values="), 400, "invalid_request", "include_values"],
    [
      "a flag as a number in a body",
      post("/v1/checkpoints/cp_x/restore", { restore_data: 1 }),
      400,
      "invalid_request",
      "restore_data",
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
    ["an empty prefix to delete", del("/v1/data/prefix?agent_id=a&prefix="), 400, "invalid_request", "prefix"],
    [
      "a number of entries to erase",
      del("/v1/data/prefix?agent_id=a&prefix=p&erase=true&confirm_count=1"),
      400,
      "invalid_request",
      "confirm_count",
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
    ["an empty query", post("/v1/data/search", { agent_id: "a", query: "" }), 400, "invalid_request", "query"],
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
    ["a leap second", get("/v1/audit?agent_id=a&end_time=2026-12-31T23:59:60Z"), 400, "invalid_request", "end_time"],
    ["verify of nobody", post("/v1/audit/verify", {}), 400, "invalid_request", "agent_id"],
    ["another format", post("/v1/audit/export", { agent_id: "a", format: "xml" }), 400, "invalid_request", "format"],
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

  test("a response repeats nothing but names", async () => {
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

  test("a time without an offset is told the form that it needs", async () => {
    const answer = await server.send(get("/v1/audit?agent_id=a&end_time=2026-02-20T00:00:00"));
    expect(answer.json.detail).toContain('"end_time" has no offset from UTC');
    expect(answer.json.detail).toContain("2026-01-31T08:00:00Z or 2026-01-31T09:00:00+01:00");
  });

  test("several unknown names are named", async () => {
    const answer = await server.send(write({ one: 1, two: 2 }));
    expect(answer.json.detail).toContain('"one", "two"');
  });
});
