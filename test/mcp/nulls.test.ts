/** A null member of a message, or a null argument of a tool, means the same as an absent one. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { exampleOf } from "../../src/api/example.ts";
import type { JsonObject } from "../../src/json.ts";
import { tools } from "../../src/serve/http/mcp/tools.ts";
import { serveTls, type TestServer } from "../http/support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.workspace.asked.length = 0;
});

const ENDPOINTS = { "/v1/mcp": tools().anyAgent, "/v1/mcp/agents/bot": tools().oneAgent };
const VERSION = "2026-07-28";

/** Sends a message of a version with `initialize`. */
const send = (message: object, path = "/v1/mcp") => server.send({ path, body: { jsonrpc: "2.0", id: 1, ...message } });

/** Sends a message of 2026-07-28. `more`: further members of `params`, and of its `_meta`. */
function sendStateless(method: string, params: JsonObject, meta: JsonObject = {}) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    ...meta,
  };
  const named = (params.name ?? params.uri) as string | undefined;
  return server.send({
    path: "/v1/mcp",
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    headers: {
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(named === undefined ? {} : { "mcp-name": named }),
    },
  });
}

describe.each(Object.entries(ENDPOINTS))("%s", (path, offered) => {
  /** Calls a tool. Returns the requests of operations, and the result. */
  async function call(name: string, args: JsonObject) {
    server.workspace.asked.length = 0;
    const { json } = await send({ method: "tools/call", params: { name, arguments: args } }, path);
    return { asked: structuredClone(server.workspace.asked), result: json.result };
  }

  const optional = offered.flatMap(({ name, arguments: { schema } }) =>
    Object.entries(schema.properties as Record<string, TSchema>)
      .filter(([member]) => !schema.required?.includes(member))
      .map(([member, form]) => ({ name, member, form, schema })),
  );

  test.each(optional)("$name with $member null", async ({ name, member, form, schema }) => {
    const { required = [], properties } = schema;
    const needed = Object.fromEntries(required.map((each) => [each, exampleOf(properties[each] as TSchema, each)]));
    // A deletion is of a key or of a prefix, neither of which the schema requires.
    const args =
      name !== "memory_delete" ? needed : { ...needed, ...(member === "key" ? { prefix: "p" } : { key: "k" }) };
    const absent = await call(name, args as JsonObject);
    const withNull = await call(name, { ...args, [member]: null } as JsonObject);
    expect(absent.asked).toHaveLength(1);
    if (Value.Check(form, null)) expect(form.description).toContain("null");
    else expect(withNull).toEqual(absent);
  });

  test("a null that has a meaning of its own keeps it", async () => {
    const agent = path === "/v1/mcp" ? { agent_id: "bot" } : {};
    await call("memory_search", { ...agent, query: "q", filter: { topic: null } });
    expect(server.workspace.input).toMatchObject({ filter: [{ path: ["topic"], operator: "$eq", operand: null }] });
    await call("memory_write", { ...agent, key: "k", value: "v", metadata: { topic: null } });
    expect(server.workspace.input).toMatchObject({ metadata: { topic: null } });
    await call("memory_write", { ...agent, key: "k", value: "v", if_version: null });
    expect(server.workspace.input).toHaveProperty("condition");
  });
});

test("every method with null for each member that may be left out", async () => {
  const hello = { protocolVersion: null, capabilities: null, clientInfo: null };
  const calls: [method: string, params: object | null][] = [
    ["initialize", hello],
    ["initialize", { ...hello, capabilities: { roots: null, sampling: null, elicitation: null } }],
    ["ping", null],
    ["ping", { _meta: null }],
    ...["tools/list", "resources/list", "resources/templates/list"].flatMap((method): [string, object | null][] => [
      [method, null],
      [method, { cursor: null, _meta: null }],
      [method, { cursor: null, _meta: { progressToken: null, traceparent: null } }],
    ]),
    ["tools/call", { name: "audit_verify", arguments: null, _meta: null, task: null }],
    ["resources/read", { uri: "governd://agents/bot/config", _meta: null }],
  ];
  for (const [method, params] of calls) {
    const { status, json } = await send({ method, params });
    expect([status, json.error, json.result === undefined], `${method} ${JSON.stringify(params)}`).toEqual([
      200,
      undefined,
      false,
    ]);
  }
});

test("methods that are not served are refused as such", async () => {
  for (const method of ["prompts/list", "completion/complete", "logging/setLevel", "resources/subscribe"])
    for (const params of [null, { cursor: null, level: null, ref: null }])
      expect((await send({ method, params })).json.error.code, method).toBe(-32601);
});

test("a notification may have a null id, and a request may not", async () => {
  for (const method of ["notifications/initialized", "notifications/cancelled"])
    for (const id of [null, undefined])
      for (const params of [null, { requestId: null, reason: null }])
        expect((await send({ id, method, params })).status, method).toBe(202);
  const refused = await send({ id: null, method: "tools/list", params: null });
  expect([refused.status, refused.json.id, refused.json.error.code]).toEqual([400, null, -32600]);
});

test("what a client of 2026-07-28 says of itself", async () => {
  const client = "io.modelcontextprotocol/clientInfo";
  const capabilities = "io.modelcontextprotocol/clientCapabilities";
  const read = {
    name: "memory_read",
    arguments: { agent_id: "bot", key: "k" },
    requestState: null,
    inputResponses: null,
  };
  const meta = { [client]: null, [capabilities]: { elicitation: null }, traceparent: null, progressToken: null };
  expect((await sendStateless("tools/call", read, meta)).json.result.structuredContent).toEqual({ ok: true });
  const info = { name: "x", version: "1", title: null, icons: null };
  expect((await sendStateless("tools/list", { cursor: null }, { [client]: info })).json.result.tools).not.toEqual([]);
  // A form that is null is none.
  const remove = { name: "memory_delete", arguments: { agent_id: "bot", prefix: "p" } };
  const byUrl = { [capabilities]: { elicitation: { form: null, url: {} } } };
  expect((await sendStateless("tools/call", remove, byUrl)).json.result).not.toHaveProperty("inputRequests");
  const byForm = { [capabilities]: { elicitation: { form: {}, url: null } } };
  server.workspace.next = { kind: "problem", code: "count_mismatch", detail: "…", extra: { count: 2 } };
  expect((await sendStateless("tools/call", remove, byForm)).json.result).toHaveProperty("inputRequests");
});

test("what a message must have is missing when it is null", async () => {
  for (const [message, code] of [
    [{ jsonrpc: null, method: "ping" }, -32600],
    [{ method: null }, -32600],
    [{ method: "tools/call", params: { name: null } }, -32602],
    [{ method: "resources/read", params: { uri: null } }, -32602],
  ] as const)
    expect((await send(message)).json.error.code).toBe(code);
  const { json } = await send({ method: "tools/call", params: { name: "memory_read", arguments: { key: null } } });
  expect(json.result.structuredContent).toMatchObject({ code: "invalid_request", param: "agent_id" });
});
