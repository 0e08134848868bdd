/** JSON Schemas for clients of tools, which are short and plain, and answers without the agent's name. */
import type { TObject, TSchema } from "@sinclair/typebox";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { withDefaultInWords } from "../documents/api/schema-words.ts";

/**
 * Returns the schema of a tool's arguments for a model. It has only keywords that every provider of models accepts: one
 * refuses all tools of a request for one `const`, another for two types of one argument. The descriptions say what else
 * holds, and the tool checks it.
 */
export function inputSchema({ properties, required = [] }: TObject): JsonObject {
  const shown = Object.entries(properties as Record<string, TSchema>).map(([name, schema]) => [
    name,
    name === AGENT ? { type: "string" } : argument(schema),
  ]);
  return {
    type: "object",
    properties: Object.fromEntries(shown),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** Returns the schema of an argument, or of an item of one. If it takes several forms, only the first one is shown. */
function argument(schema: TSchema): JsonObject {
  const { anyOf, type, items, description = "" } = withDefaultInWords(schema);
  const [first] = (anyOf ?? []) as TSchema[];
  const shown =
    first === undefined ? { type, ...(items && { items: { type: argument(items).type } }) } : argument(first);
  // A model must know what a text is. How long it may be is left to the check.
  const words = shown.type === "string" ? description.split(": ", 1)[0] : description;
  return { ...shown, ...(words === "" ? {} : { description: words }) } as JsonObject;
}

/**
 * Returns an outline of a tool's answer, the answer of its operation or a problem: the names of its members and their
 * types. The API's document says more. `withoutAgent`: see {@link omitAgent}.
 */
export function answerSchema(answer: TSchema, withoutAgent: boolean): JsonObject {
  // Older clients require an object at the root.
  const { properties } = outline({ anyOf: [answer, PROBLEM] } as unknown as TSchema) as { properties: JsonObject };
  return { type: "object", properties: withoutAgent ? (outlineWithoutAgent(properties) as JsonObject) : properties };
}

/** A problem that a model can correct. Some have further members, such as the version in force. */
const PROBLEM = {
  type: "object",
  properties: { code: { type: "string" }, detail: { type: "string" }, param: { type: "string" } },
};

/** Returns the type of a schema with its members; nothing of what can be of several types, or null. */
function outline(schema: TSchema): JsonObject {
  const { anyOf, oneOf, type, properties, items } = schema;
  const variants = ((anyOf ?? oneOf ?? []) as TSchema[]).map(outline);
  if (variants.length > 0) return variants.reduce(together);
  if (typeof type !== "string" || type === "null") return {};
  if (items !== undefined) return { type, items: outline(items as TSchema) };
  if (properties === undefined || Object.keys(properties).length === 0) return { type };
  const members = Object.entries(properties as Record<string, TSchema>).map(([name, member]) => [
    name,
    outline(member),
  ]);
  return { type, properties: Object.fromEntries(members) };
}

/** Returns the outline of what has one of two. */
function together(one: JsonObject, other: JsonObject): JsonObject {
  if (one.type !== other.type) return {};
  const { type } = one;
  if (type !== "object") return one;
  const all = { ...membersOf(one) };
  for (const [name, member] of Object.entries(membersOf(other))) {
    const known = all[name];
    all[name] = known === undefined ? member : together(known, member);
  }
  return Object.keys(all).length === 0 ? { type } : { type, properties: all };
}

const membersOf = ({ properties = {} }: JsonObject) => properties as Record<string, JsonObject>;

function outlineWithoutAgent(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => name !== AGENT);
  return Object.fromEntries(kept.map(([name, member]) => [name, outlineWithoutAgent(member)]));
}

/** The argument that names the agent. Every tool has it, so the server's instructions describe it once. */
export const AGENT = "agent_id";

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
