/** JSON Schemas for clients of tools, and answers without the agent's name. */
import type { TObject, TSchema } from "@sinclair/typebox";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";

/** The schema of a problem that a model can correct. Some have further members, such as the version in force. */
const PROBLEM = {
  type: "object",
  properties: {
    code: { type: "string", description: "What is wrong, for programs." },
    detail: { type: "string", description: "What is wrong and what to do." },
    param: { type: "string", description: "The argument that is wrong." },
  },
  required: ["code", "detail"],
};

/** Returns the schema of a tool's arguments. */
export const inputSchema = (schema: TObject): JsonObject => plain(schema) as JsonObject;

/**
 * Returns the schema of a tool's answer: the answer of its operation, or a problem. `withoutAgent`: see
 * {@link omitAgent}.
 */
export function answerSchema(answer: TSchema, withoutAgent: boolean): JsonObject {
  const whole = plain(answer);
  // Older clients require an object at the root.
  return { type: "object", anyOf: [withoutAgent ? schemaWithoutAgent(whole) : whole, PROBLEM] };
}

/** Returns a schema as JSON, without the symbols of its library and members that only documentation needs. */
const plain = (schema: TSchema): JsonValue =>
  JSON.parse(JSON.stringify(schema), (name, value) =>
    name === "examples" && Array.isArray(value) ? undefined : value,
  );

function schemaWithoutAgent(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(schemaWithoutAgent);
  if (!isJsonObject(schema)) return schema;
  const { properties, required, ...rest } = schema;
  const mapped = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, schemaWithoutAgent(value)]));
  if (!isJsonObject(properties)) return required === undefined ? mapped : { ...mapped, required };
  const kept = Object.entries(properties).filter(([name]) => name !== AGENT);
  return {
    ...mapped,
    properties: Object.fromEntries(kept.map(([name, value]) => [name, schemaWithoutAgent(value)])),
    ...(Array.isArray(required) ? { required: required.filter((name) => name !== AGENT) } : {}),
  };
}

const AGENT = "agent_id";

/** Members with content of clients, whose own members may have any name. */
const CONTENTS = new Set(["metadata", "config"]);

/** Returns an answer's JSON text without the members that name the agent. */
export function omitAgent(body: string): string {
  return body.includes(`"${AGENT}":`) ? JSON.stringify(withoutAgent(JSON.parse(body))) : body;
}

function withoutAgent(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutAgent);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => name !== AGENT);
  return Object.fromEntries(kept.map(([name, member]) => [name, CONTENTS.has(name) ? member : withoutAgent(member)]));
}
