/**
 * Resources: entries and configurations, by URIs of the scheme `governd`. They are templates, since there are too many
 * to list.
 */

import { wholeText } from "../../../core/long-text.ts";
import type { JsonObject } from "../../../json.ts";
import { type OperationName, scopesOf } from "../../../operations.ts";
import { PROBLEMS, Problem } from "../../../problem.ts";
import { type McpRequest, performCall } from "./call.ts";
import { invalidParams } from "./message.ts";
import { omitAgent } from "./schemas.ts";
import { routeOf } from "./tools.ts";

interface Resource {
  operation: OperationName;
  /** Its entry in the list of templates. */
  template: { uriTemplate: string; name: string; title: string; description: string; mimeType: string };
  /** Returns the text of the resource from the answer of the operation. */
  text(body: string): string;
}

const RESOURCES: readonly Resource[] = [
  {
    operation: "data.read",
    template: {
      uriTemplate: "governd://agents/{agent_id}/entries/{key}",
      name: "entry",
      title: "Entry",
      description: "The text that an agent has stored under a key.",
      mimeType: "text/plain",
    },
    text: (body) => JSON.parse(body).value,
  },
  {
    operation: "config.read",
    template: {
      uriTemplate: "governd://agents/{agent_id}/config",
      name: "config",
      title: "Configuration",
      description: "The configuration of an agent in force, with its version.",
      mimeType: "application/json",
    },
    text: (body) => body,
  },
];

/** Returns the templates that a key may read, as JSON. */
export const templatesFor = ({ principal }: McpRequest): string =>
  JSON.stringify(
    RESOURCES.filter(({ operation }) => scopesOf(operation).includes(principal.scope)).map(({ template }) => template),
  );

/** The URI of an agent's config or of an entry. A key may have slashes, encoded or not. */
const RESOURCE_URI = /^governd:\/\/agents\/([^/?#]+)\/(?:config|entries\/([^?#]+))$/;

/**
 * Returns the members of the result of reading a resource, as JSON.
 * @throws {RpcError} -32602 when it does not exist
 * @throws {Problem} for an HTTP response
 */
export async function readResource(asked: McpRequest, params: JsonObject): Promise<string> {
  const { uri } = params;
  const missing = invalidParams("There is no such resource.", typeof uri === "string" ? { uri } : {});
  const [, agentText, keyText] = typeof uri === "string" ? (RESOURCE_URI.exec(uri) ?? []) : [];
  const [agent, key] = [decoded(agentText), decoded(keyText)];
  if (agent === null || (keyText !== undefined && key === null)) throw missing;
  if (asked.agentId !== null && asked.agentId !== agent) throw missing;
  const { operation, template, text } = RESOURCES[key === null ? 1 : 0] as Resource;
  const body = await bodyOf(asked, operation, agent, key);
  if (body === null) throw missing;
  const shown = text(asked.agentId === null ? body : omitAgent(body));
  return `"contents":[${JSON.stringify({ uri, mimeType: template.mimeType, text: shown })}]`;
}

/** Returns the operation's answer; null when the resource does not exist, or cannot exist. */
async function bodyOf(asked: McpRequest, operation: OperationName, agent: string, key: string | null) {
  const route = routeOf(operation);
  try {
    const query = (key === null ? {} : route.query?.parse({ agent_id: agent, key })) as JsonObject;
    const { answer } = await performCall(asked, agent, {
      route,
      query,
      ...(key === null && { params: { agent_id: agent } }),
    });
    if (answer.kind === "json") return wholeText(answer.body);
    if (answer.kind === "problem") throw new Problem(answer.code, answer.detail);
  } catch (error) {
    if (error instanceof Problem && MISSING.has(PROBLEMS[error.code][0])) return null;
    throw error;
  }
  throw new Error(`${operation} has no JSON answer`);
}

/** The statuses for resources that do not exist, or cannot exist. */
const MISSING: ReadonlySet<number> = new Set([400, 404]);

/** Decodes percent-encoding (RFC 3986 section 2.1). Returns null for undefined, and when the result is not UTF-8. */
function decoded(text: string | undefined): string | null {
  if (text === undefined) return null;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
