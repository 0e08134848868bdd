/** What the endpoints of MCP answer to every form of message, in both generations. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { PRECONDITION_HEADERS } from "../../src/api/precondition.ts";
import { TOOL_ROWS } from "../../src/serve/http/mcp/tools.ts";
import { type Sent, serveTls, type TestServer } from "../http/support/serve.ts";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACE = `00-${TRACE_ID}-b7ad6b7169203331-01`;

let server: TestServer;
beforeAll(async () => {
  server = await serveTls({}, { hostnames: ["governd.example.org"] });
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.workspace.asked.length = 0;
});

/** A request of the versions with `initialize`. */
const older = (method: string, params: object = {}, headers: Record<string, string> = {}): Sent => ({
  path: "/v1/mcp",
  body: { jsonrpc: "2.0", id: 7, method, params },
  headers,
});

/** A request of 2026-07-28, with changes. */
function stateless(
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
  meta: object = META,
): Sent {
  const { name, uri } = params as { name?: string; uri?: string };
  const named = name ?? uri;
  return {
    path: "/v1/mcp",
    body: { jsonrpc: "2.0", id: 7, method, params: { ...params, _meta: meta } },
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(named === undefined ? {} : { "mcp-name": named }),
      ...headers,
    },
  };
}

/** Arguments of every tool that changes something. */
const CHANGES: [tool: string, args: object][] = [
  ["memory_write", { key: "k", value: "v" }],
  ["memory_delete", { key: "k" }],
  ["memory_delete", { prefix: "p", confirm_count: 1 }],
  ["checkpoint_create", {}],
  ["checkpoint_restore", { id: "cp_1" }],
];

test.each(CHANGES)("%s %j ignores no precondition header", async (name, args) => {
  for (const header of PRECONDITION_HEADERS) {
    const call = { name, arguments: { agent_id: "a", ...args } };
    for (const sent of [
      older("tools/call", call, { [header]: "*" }),
      stateless("tools/call", call, { [header]: "*" }),
    ]) {
      const { json } = await server.send(sent);
      expect(json.result).toMatchObject({
        isError: true,
        structuredContent: { code: "invalid_request", param: header },
      });
    }
  }
  expect(server.workspace.asked).toEqual([]);
});

test("a check of a text refuses an Idempotency-Key, since its answer is not stored", async () => {
  const call = { name: "policy_check", arguments: { agent_id: "a", value: "v" } };
  const { json } = await server.send(older("tools/call", call, { "idempotency-key": "one" }));
  expect(json.result).toMatchObject({ isError: true, structuredContent: { param: "Idempotency-Key" } });
  expect(server.workspace.asked).toEqual([]);
});

test("every tool that changes something is among those", () => {
  const changing = TOOL_ROWS.filter(({ hints }) => hints.readOnly !== true);
  expect(new Set(CHANGES.map(([name]) => name))).toEqual(new Set(changing.map(({ name }) => name)));
});

const READ = { name: "memory_read", arguments: { agent_id: "a", key: "k" } };
const without = (sent: Sent, name: string): Sent => {
  const { [name]: _, ...headers } = sent.headers as Record<string, string>;
  return { ...sent, headers };
};

describe("messages that are refused", () => {
  const refused: [string, Sent, number, number][] = [
    ["malformed JSON", { path: "/v1/mcp", body: "{" }, 400, -32700],
    ["a repeated member", { path: "/v1/mcp", body: '{"id":1,"id":2}' }, 400, -32700],
    ["an array", { path: "/v1/mcp", body: [{ jsonrpc: "2.0", id: 1, method: "ping" }] }, 400, -32600],
    ["an empty array", { path: "/v1/mcp", body: "[]" }, 400, -32600],
    ["a number", { path: "/v1/mcp", body: "1" }, 400, -32600],
    ["another JSON-RPC", { path: "/v1/mcp", body: { jsonrpc: "1.0", id: 1, method: "ping" } }, 400, -32600],
    ["a response", { path: "/v1/mcp", body: { jsonrpc: "2.0", id: 1, result: {} } }, 400, -32600],
    ["an id that is null", { path: "/v1/mcp", body: { jsonrpc: "2.0", id: null, method: "ping" } }, 400, -32600],
    ["an id with a fraction", { path: "/v1/mcp", body: { jsonrpc: "2.0", id: 1.5, method: "ping" } }, 400, -32600],
    [
      "params in an array",
      { path: "/v1/mcp", body: { jsonrpc: "2.0", id: 1, method: "ping", params: [] } },
      400,
      -32600,
    ],
    ["a method that does not exist", stateless("prompts/list"), 404, -32601],
    ["one of the other generation", stateless("ping"), 404, -32601],
    ["an older request for one of the newer generation", older("server/discover"), 200, -32601],
    ["a member of every object as a method", older("constructor"), 200, -32601],
    ["a tool that does not exist", stateless("tools/call", { name: "memory_forget" }), 200, -32602],
    ["arguments in an array", older("tools/call", { name: "memory_read", arguments: [] }), 200, -32602],
    ["a cursor", older("tools/list", { cursor: "x" }), 200, -32602],
    ["a resource that does not exist", older("resources/read", { uri: "governd://agents/a/entries/" }), 200, -32602],
    ["a resource without a URI", older("resources/read"), 200, -32602],
    [
      "no capabilities",
      stateless("tools/list", {}, {}, { ...META, "io.modelcontextprotocol/clientCapabilities": 1 }),
      400,
      -32602,
    ],
    [
      "a client without a version",
      stateless("tools/list", {}, {}, { ...META, "io.modelcontextprotocol/clientInfo": { name: "x" } }),
      400,
      -32602,
    ],
    ["a header without _meta", stateless("tools/list", {}, {}, {}), 400, -32602],
    [
      "initialize with the header of 2026-07-28",
      older("initialize", {}, { "mcp-protocol-version": "2026-07-28" }),
      400,
      -32020,
    ],
    ["no MCP-Protocol-Version", without(stateless("tools/list"), "mcp-protocol-version"), 400, -32020],
    [
      "another MCP-Protocol-Version",
      stateless("tools/list", {}, { "mcp-protocol-version": "2025-11-25" }),
      400,
      -32020,
    ],
    ["no Mcp-Method", without(stateless("tools/list"), "mcp-method"), 400, -32020],
    ["another Mcp-Method", stateless("tools/list", {}, { "mcp-method": "tools/call" }), 400, -32020],
    ["no Mcp-Name", without(stateless("tools/call", READ), "mcp-name"), 400, -32020],
    ["another Mcp-Name", stateless("tools/call", READ, { "mcp-name": "memory_write" }), 400, -32020],
    [
      "a version of the future",
      stateless(
        "tools/list",
        {},
        { "mcp-protocol-version": "2099-01-01" },
        { ...META, "io.modelcontextprotocol/protocolVersion": "2099-01-01" },
      ),
      400,
      -32022,
    ],
    [
      "an unknown version in the header alone",
      older("tools/list", {}, { "mcp-protocol-version": "1900-01-01" }),
      400,
      -32022,
    ],
  ];
  test.each(refused)("%s", async (_name, sent, status, code) => {
    const { status: answered, json } = await server.send(sent);
    expect({ answered, jsonrpc: json.jsonrpc, code: json.error.code }).toEqual({
      answered: status,
      jsonrpc: "2.0",
      code,
    });
    const { id } = (typeof sent.body === "object" ? sent.body : {}) as { id?: unknown };
    expect(json.id).toBe(typeof id === "number" && Number.isInteger(id) ? id : null);
    expect(server.workspace.asked).toEqual([]);
  });

  test("an unknown version is answered with those that are served", async () => {
    const { json } = await server.send(older("tools/list", {}, { "mcp-protocol-version": "1900-01-01" }));
    expect(json.error.data).toEqual({
      supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
      requested: "1900-01-01",
    });
  });
});

describe("what HTTP answers", () => {
  const call = stateless("tools/call", READ);
  const answers: [string, Sent, number, string][] = [
    ["no key", { ...call, key: null }, 401, "unauthenticated"],
    ["another agent than those of the key", { ...call, key: "limited-key" }, 403, "forbidden"],
    ["the endpoint of another agent", { ...call, path: "/v1/mcp/agents/other", key: "limited-key" }, 403, "forbidden"],
    ["no agent's id", { ...call, path: "/v1/mcp/agents/a%20b" }, 404, "not_found"],
    ["GET", { path: "/v1/mcp" }, 405, "method_not_allowed"],
    ["DELETE", { path: "/v1/mcp", method: "DELETE" }, 405, "method_not_allowed"],
    [
      "another media type",
      { ...call, headers: { ...call.headers, "content-type": "text/plain" } },
      415,
      "unsupported_media_type",
    ],
    ["another query", { ...call, path: "/v1/mcp?tool=core" }, 400, "invalid_request"],
    ["another Host", { ...call, headers: { ...call.headers, host: "evil.example.org" } }, 403, "forbidden"],
    ["another Origin", { ...call, headers: { ...call.headers, origin: "https://evil.example.org" } }, 403, "forbidden"],
    ["an Origin of null", { ...call, headers: { ...call.headers, origin: "null" } }, 403, "forbidden"],
  ];
  test.each(answers)("%s", async (_name, sent, status, code) => {
    const answer = await server.send(sent);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(server.workspace.asked).toEqual([]);
  });

  test.each([
    ["agent_suspended", 403],
    ["unavailable", 503],
    ["quota_exceeded", 507],
  ] as const)("the problem %s of an operation", async (code, status) => {
    server.workspace.next = { kind: "problem", code, detail: "…" };
    const answer = await server.send(call);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(answer.headers.get("retry-after")).toBe(status === 503 ? "1" : null);
  });

  test.each(["127.0.0.1", "localhost:1", "governd.example.org", "GOVERND.example.org:443"])(
    "a Host and an Origin of its own: %s",
    async (host) => {
      const answer = await server.send({ ...call, headers: { ...call.headers, host, origin: `https://${host}` } });
      expect(answer.status).toBe(200);
    },
  );
});

describe("older versions", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])("%s", async (version) => {
    const hello = { protocolVersion: version, capabilities: {}, clientInfo: { name: "x", version: "1" } };
    const { json } = await server.send(older("initialize", hello));
    expect(json.result).toMatchObject({
      protocolVersion: version,
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: "governd" },
    });
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    const accepted = await server.send({
      path: "/v1/mcp",
      body: initialized,
      headers: { "mcp-protocol-version": version },
    });
    expect([accepted.status, accepted.text, accepted.headers.get("content-type")]).toEqual([202, "", null]);
    const pong = await server.send(older("ping", {}, { "mcp-protocol-version": version }));
    expect(pong.json).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
  });

  test("a version that is not served is answered with the newest that is", async () => {
    const { json } = await server.send(older("initialize", { protocolVersion: "2024-11-05" }));
    expect(json.result.protocolVersion).toBe("2025-11-25");
  });

  test("a call names no client, but its trace", async () => {
    await server.send(older("tools/call", { ...READ, _meta: { traceparent: TRACE } }));
    expect(server.workspace.asked).toMatchObject([{ name: "data.read", input: { agentId: "a", key: "k" } }]);
    expect(server.workspace.asked[0]?.via).toEqual({ trace: TRACE, session: TRACE_ID });
  });

  test("initialize names a session, each time another one", async () => {
    const named = async () => (await server.send(older("initialize"))).headers.get("mcp-session-id");
    const [one, two] = [await named(), await named()];
    expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(two).not.toBe(one);
    expect((await server.send(older("ping"))).headers.get("mcp-session-id")).toBeNull();
  });
});

describe("2026-07-28", () => {
  test("server/discover", async () => {
    const { json } = await server.send(stateless("server/discover"));
    expect(json.result).toMatchObject({
      resultType: "complete",
      supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
      capabilities: { tools: {}, resources: {} },
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "governd" } },
    });
  });

  test("lists say how long they may be kept", async () => {
    for (const method of ["tools/list", "resources/list", "resources/templates/list"]) {
      const { json } = await server.send(stateless(method));
      expect(json.result).toMatchObject({ resultType: "complete", ttlMs: 300_000, cacheScope: "private" });
    }
  });

  test("a name in Base64, and a client with a long name", async () => {
    const clientInfo = { name: `a\n${"ä😀".repeat(40)}`, version: "1" };
    const meta = { ...META, "io.modelcontextprotocol/clientInfo": clientInfo, traceparent: "x" };
    const name = `=?base64?${Buffer.from("memory_read").toString("base64")}?=`;
    const { json } = await server.send(stateless("tools/call", READ, { "mcp-name": name, traceparent: TRACE }, meta));
    expect(json.result.structuredContent).toEqual({ ok: true });
    expect(server.workspace.asked[0]?.via).toEqual({
      client: `a ${"ä😀".repeat(31)}`,
      trace: TRACE,
      session: TRACE_ID,
    });
  });
});

describe("the session of a call", () => {
  const IN_META = { "io.governd/session": "in-meta" };
  const HEADERS = { "mcp-session-id": "of-mcp", "governd-session": "of-all", traceparent: TRACE };

  test.each([
    [
      "older",
      (meta: object, headers: Record<string, string>) => older("tools/call", { ...READ, _meta: meta }, headers),
    ],
    [
      "2026-07-28",
      (meta: object, headers: Record<string, string>) => stateless("tools/call", READ, headers, { ...META, ...meta }),
    ],
  ])("%s: the nearest name counts", async (_, call) => {
    const { "mcp-session-id": __, ...general } = HEADERS;
    for (const sent of [call(IN_META, HEADERS), call({}, HEADERS), call({}, general), call({}, { traceparent: TRACE })])
      await server.send(sent);
    const sessions = server.workspace.asked.map(({ via }) => via?.session);
    expect(sessions).toEqual(["in-meta", "of-mcp", "of-all", TRACE_ID]);
  });

  test("of another form is refused", async () => {
    for (const session of ["", "a b", "ä", 7, {}, "x".repeat(129)]) {
      const { status, json } = await server.send(
        older("tools/call", { ...READ, _meta: { "io.governd/session": session } }),
      );
      expect([status, json.error.code]).toEqual([400, -32602]);
      expect(json.error.message).toContain("io.governd/session");
    }
    for (const header of ["mcp-session-id", "governd-session"]) {
      const { status, json } = await server.send(older("tools/call", READ, { [header]: "a b" }));
      expect([status, json.code, json.param.toLowerCase()]).toEqual([400, "invalid_request", header]);
    }
    expect(server.workspace.asked).toEqual([]);
  });
});

describe("tools", () => {
  const names = async (key: string, path = "/v1/mcp") => {
    const { json } = await server.send({ ...stateless("tools/list"), key, path });
    return json.result.tools.map(({ name }: { name: string }) => name);
  };
  const CORE = ["memory_write", "memory_read", "memory_search", "memory_list", "memory_delete"];
  const MEMORY = [...CORE, "checkpoint_create", "checkpoint_list", "checkpoint_restore", "policy_check"];
  const AUDIT = ["audit_query", "audit_verify"];

  test("are those of the key's scope", async () => {
    expect(await names("full-key")).toEqual([...MEMORY, ...AUDIT]);
    expect(await names("agent-key")).toEqual(MEMORY);
    expect(await names("auditor-key")).toEqual(AUDIT);
    expect(await names("full-key", "/v1/mcp?tools=core")).toEqual(CORE);
    expect(await names("auditor-key", "/v1/mcp?tools=core")).toEqual([]);
  });

  test("that are not listed cannot be called", async () => {
    for (const sent of [
      { ...stateless("tools/call", { name: "checkpoint_list" }), key: "auditor-key" },
      { ...stateless("tools/call", { name: "audit_verify" }), path: "/v1/mcp?tools=core" },
    ]) {
      expect((await server.send(sent)).json.error.code).toBe(-32602);
    }
  });

  test("say what they do, take the agent only where the path has none, and answer with objects", async () => {
    for (const path of ["/v1/mcp", "/v1/mcp/agents/a"]) {
      const { json, text } = await server.send({ ...stateless("tools/list"), path });
      for (const { name, description, inputSchema, outputSchema, annotations } of json.result.tools) {
        expect(description).toMatch(/^[A-Z][^.]*[.]$/);
        expect([inputSchema.type, inputSchema.additionalProperties, outputSchema.type]).toEqual([
          "object",
          false,
          "object",
        ]);
        expect(annotations.openWorldHint).toBe(false);
        expect("agent_id" in inputSchema.properties).toBe(path === "/v1/mcp");
        const changes = /write|delete|create|restore/.test(name);
        const destroys = /write|delete|restore/.test(name);
        expect(annotations).toMatchObject({ readOnlyHint: !changes, destructiveHint: destroys });
      }
      expect(text).not.toContain("$ref");
      expect(text.includes('"agent_id"')).toBe(path === "/v1/mcp");
    }
  });

  test("a read shows the version of the entry", async () => {
    server.workspace.next = {
      kind: "json",
      status: 200,
      body: '{"agent_id":"a","key":"k","value":"v"}',
      etag: "aud_x",
    };
    const { json } = await server.send({
      ...stateless("tools/call", { name: "memory_read", arguments: { key: "k" } }),
      path: "/v1/mcp/agents/a",
    });
    expect(json.result.structuredContent).toEqual({ key: "k", value: "v", audit_id: "aud_x" });
  });

  test("an agent's endpoint limits the key to the agent", async () => {
    const call = stateless("tools/call", { name: "checkpoint_restore", arguments: { id: "cp_x" } });
    await server.send({ ...call, path: "/v1/mcp/agents/a" });
    expect(server.workspace.asked).toMatchObject([{ name: "checkpoint.restore", principal: { agents: ["a"] } }]);
    const own = stateless("tools/call", { name: "memory_read", arguments: { agent_id: "a", key: "k" } });
    const { json } = await server.send({ ...own, path: "/v1/mcp/agents/a" });
    expect(json.result).toMatchObject({
      isError: true,
      structuredContent: { code: "invalid_request", param: "agent_id" },
    });
  });
});

test("the log of requests has the operation, the agent and the code of the problem", async () => {
  server.logged.length = 0;
  server.workspace.next = { kind: "problem", code: "entry_not_found", detail: "…" };
  await server.send({ ...stateless("tools/call", READ) });
  await server.send({ ...stateless("tools/list"), path: "/v1/mcp/agents/bot" });
  expect(server.logged).toMatchObject([
    { route: "/v1/mcp", status: 200, operation: "data.read", agent_id: "a", problem: "entry_not_found" },
    { route: "/v1/mcp/agents/:agent_id", status: 200, operation: null, agent_id: "bot", problem: null },
  ]);
});
