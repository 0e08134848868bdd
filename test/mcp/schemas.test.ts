/** What tools/list costs a model and a client, and that every provider of models accepts it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { EVENT_NAMES } from "../../src/operations.ts";
import { TOOL_ROWS } from "../../src/serve/http/mcp/tools.ts";
import { serveTls, type TestServer } from "../http/support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

const PATHS = ["/v1/mcp", "/v1/mcp/agents/support-bot"];

/** Most bytes of what a model reads of all tools, and of the whole answer. */
const MODEL_BYTES = 5_000;
const WHOLE_BYTES = 16_000;

interface Listed {
  name: string;
  description: string;
  inputSchema: { properties: Record<string, JsonObject>; required?: string[] } & JsonObject;
  outputSchema: JsonObject;
}

const send = (path: string, method: string, params: object = {}) =>
  server.send({ path, body: { jsonrpc: "2.0", id: 1, method, params } });

async function listed(path: string): Promise<{ tools: Listed[]; text: string }> {
  const { json, text } = await send(path, "tools/list");
  return { tools: json.result.tools, text };
}

/** Calls `visit` with a schema and every schema in it. */
function walk(schema: JsonObject, visit: (schema: JsonObject) => void): void {
  visit(schema);
  for (const member of Object.values((schema.properties ?? {}) as Record<string, JsonObject>)) walk(member, visit);
  if (schema.items !== undefined) walk(schema.items as JsonObject, visit);
}

describe.each(PATHS)("%s", (path) => {
  test("a model reads little, and the whole answer is short", async () => {
    const { tools, text } = await listed(path);
    expect(tools).toHaveLength(TOOL_ROWS.length);
    const read = tools.map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema }));
    expect(Buffer.byteLength(read.join(""))).toBeLessThanOrEqual(MODEL_BYTES);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(WHOLE_BYTES);
  });

  test("arguments are described in the keywords that every provider accepts", async () => {
    const known = ["type", "description", "properties", "required", "items"];
    const types = ["string", "integer", "boolean", "array", "object"];
    for (const { name, inputSchema } of (await listed(path)).tools) {
      const { additionalProperties, ...root } = inputSchema;
      expect([additionalProperties, root.type], name).toEqual([false, "object"]);
      walk(root, (schema) => {
        expect(
          Object.keys(schema).filter((keyword) => !known.includes(keyword)),
          name,
        ).toEqual([]);
        expect(types, name).toContain(schema.type as string);
        if (schema.type === "array") expect(schema.items, name).toBeDefined();
      });
      for (const needed of inputSchema.required ?? []) expect(inputSchema.properties[needed], name).toBeDefined();
      const undescribed = Object.entries(inputSchema.properties).filter(
        ([, schema]) => schema.description === undefined,
      );
      // The instructions of the server describe the agent, once for all tools.
      expect(
        undescribed.map(([each]) => each).filter((each) => each !== "agent_id"),
        name,
      ).toEqual([]);
    }
  });

  test("the outline of an answer admits every answer, with members that may be added later", async () => {
    for (const { name, outputSchema } of (await listed(path)).tools)
      walk(outputSchema, (schema) => {
        const keywords = ["type", "properties", "items"];
        expect(
          Object.keys(schema).filter((keyword) => !keywords.includes(keyword)),
          name,
        ).toEqual([]);
        expect(["string", "undefined"]).toContain(typeof schema.type);
      });
  });

  test("the instructions describe the agent where tools take one", async () => {
    const { json } = await send(path, "initialize");
    expect(json.result.instructions.includes("agent_id")).toBe(path === "/v1/mcp");
  });

  async function call(name: string, args: JsonObject) {
    server.workspace.asked.length = 0;
    const all = { ...(path === "/v1/mcp" ? { agent_id: "support-bot" } : {}), ...args };
    return (await send(path, "tools/call", { name, arguments: all })).json.result;
  }

  test("what the schemas describe is accepted", async () => {
    const made: Record<string, JsonValue> = { string: "k", integer: 1, boolean: true, array: ["x"], object: {} };
    const own: Record<string, JsonValue> = {
      operations: [EVENT_NAMES[0] as string],
      result: ["ok"],
      since: "2026-01-31T08:00:00Z",
      if_version: "null",
    };
    for (const { name, inputSchema } of (await listed(path)).tools) {
      // A deletion is of a key or of a prefix, and a list has a cursor only after its first page.
      const left = name === "memory_delete" ? ["prefix", "confirm_count"] : ["cursor"];
      const args = Object.entries(inputSchema.properties)
        .filter(([member]) => !left.includes(member))
        .map(([member, { type }]) => [member, own[member] ?? made[type as string]]);
      expect(await call(name, Object.fromEntries(args)), name).not.toHaveProperty("isError");
      expect(server.workspace.asked, name).toHaveLength(1);
    }
  });

  test("a word that no filter has is answered with those that it may have", async () => {
    for (const sent of [["data.writes"], "data.writes", ["data.write", "memory_write"]]) {
      const { isError, structuredContent } = await call("audit_query", { operations: sent });
      expect([isError, structuredContent.param]).toEqual([true, "operations"]);
      expect(structuredContent.detail).toStartWith('The argument "operations" is not valid.');
      for (const near of ["data.write", "data.delete", "checkpoint.restore"])
        expect(structuredContent.detail).toContain(near);
    }
    const { structuredContent } = await call("audit_query", { result: "refused" });
    expect(structuredContent).toMatchObject({ param: "result", detail: expect.stringContaining("denied") });
    expect(server.workspace.asked).toEqual([]);
  });

  test("a new key is written with null or its word", async () => {
    for (const version of [null, "null"]) {
      await call("memory_write", { key: "k", value: "v", if_version: version });
      expect(server.workspace.input).toMatchObject({ condition: { exists: false } });
    }
    const { structuredContent } = await call("memory_write", { key: "k", value: "v", if_version: "v1" });
    expect(structuredContent).toMatchObject({ code: "invalid_request", param: "if_version" });
  });
});
