/** The endpoints of MCP in the API's document. Their messages are specified by MCP itself. */
import { Type as t } from "@sinclair/typebox";
import { anyObject, object, shape } from "../../../../api/shapes.ts";
import type { JsonObject } from "../../../../json.ts";
import { MCP_PATHS, McpQuery } from "../../mcp/endpoint.ts";
import type { Components } from "./components.ts";
import type { Described } from "./document.ts";
import { parametersOf } from "./parameters.ts";
import { ProblemSchema } from "./problem-schema.ts";
import { ALWAYS } from "./responses.ts";

const jsonrpc = t.Literal("2.0");
const MessageId = t.Unsafe<string | number>({ type: ["string", "integer"], description: "Absent in a notification." });

const METHOD = "tools/list";
const TOOL = { name: "memory_read", description: "Returns the value of a key.", inputSchema: { type: "object" } };

const McpMessage = t.Object(
  { jsonrpc, id: t.Optional(MessageId), method: t.String(), params: t.Optional(anyObject()) },
  { additionalProperties: true, description: "A request or a notification of JSON-RPC 2.0." },
);

const McpAnswer = shape(
  "McpAnswer",
  {
    jsonrpc,
    id: t.Unsafe<string | number | null>({ type: ["string", "integer", "null"] }),
    result: t.Optional(anyObject({ examples: [{ tools: [TOOL] }] })),
    error: t.Optional(object({ code: t.Integer(), message: t.String(), data: t.Optional(anyObject()) })),
  },
  "`result` or `error`.",
);

/** Headers of requests of version 2026-07-28, and of some requests of older versions. */
const HEADERS = {
  "MCP-Protocol-Version": { description: "The version of the protocol.", example: "2025-11-25" },
  "Mcp-Method": { description: "From version 2026-07-28: the method again.", example: "tools/list" },
  "Mcp-Name": { description: "From version 2026-07-28: the name of the tool again.", example: "memory_read" },
  "Mcp-Session-Id": {
    description: "Before version 2026-07-28: what `initialize` answered. Events have it as `session`.",
    example: "0c6a2f5e012345670c6a2f5e01234567",
  },
};

/** The endpoints, as operations of the document. */
export const MCP_OPERATIONS: readonly Described[] = MCP_PATHS.map((path) => ({
  method: "POST",
  path,
  describe: (components) => ({
    operationId: path.includes(":agent_id") ? "mcpOfAgent" : "mcp",
    tags: ["MCP"],
    summary: path.includes(":agent_id") ? "One agent's memory over MCP" : "The API over MCP",
    description: path.includes(":agent_id")
      ? "As `POST /v1/mcp`, for one agent. Scopes: any."
      : `A message of the Model Context Protocol, Streamable HTTP. No state is kept for a session. \`${METHOD}\` lists the operations that the key may use as tools. Each call is recorded as its operation. Scopes: any.`,
    parameters: parametersOf({ path, query: McpQuery, headers: HEADERS, retryable: true }, components),
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: components.namedSchema("McpMessage", McpMessage),
          example: { jsonrpc: "2.0", id: 1, method: METHOD },
        },
      },
    },
    responses: responses(components),
  }),
}));

function responses(components: Components): JsonObject {
  const answer = { schema: components.schema(McpAnswer) };
  const refused = () => ({
    description: "An error of JSON-RPC, or a problem of HTTP: `invalid_request`, `not_found`.",
    ...components.headers([]),
    content: { "application/json": answer, "application/problem+json": { schema: components.schema(ProblemSchema) } },
  });
  return {
    200: {
      description: "The answer to a request. A tool's refusal is a result with `isError`.",
      ...components.headers(["X-Audit-Id", "Idempotent-Replayed", "Mcp-Session-Id"]),
      content: { "application/json": answer },
    },
    202: { description: "A notification was accepted.", ...components.headers([]) },
    ...components.problems(["agent_suspended", "quota_exceeded"], ALWAYS),
    400: components.response("McpRefused", refused),
    404: components.response("McpRefused", refused),
  };
}
