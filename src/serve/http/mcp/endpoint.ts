/**
 * MCP over HTTP (modelcontextprotocol.io, Streamable HTTP): every request is a POST with one JSON-RPC message, and its
 * answer one JSON object. No state is kept for a client.
 */
import type { Static } from "@sinclair/typebox";
import { isAgentId } from "../../../agent-id.ts";
import { choice } from "../../../api/fields.ts";
import { object } from "../../../api/shapes.ts";
import { Validator } from "../../../api/validate.ts";
import { limitedTo, type Principal } from "../../../core/writer/contract.ts";
import type { JsonObject } from "../../../json.ts";
import { Problem } from "../../../problem.ts";
import type { OwnHosts } from "../own-hosts.ts";
import { readBody } from "../pipeline/body.ts";
import type { Exchange } from "../pipeline/exchange.ts";
import type { HandleDeps } from "../pipeline/handle.ts";
import { inPieces } from "../pipeline/large-body.ts";
import { SESSION_HEADER as GENERAL_SESSION_HEADER, sessionIn } from "../pipeline/session-header.ts";
import { type Addressed, callTool, type McpRequest } from "./call.ts";
import { Confirmations } from "./confirmations.ts";
import { agreedVersion, type Caller, callerOf, resultOf, SERVER_INFO, SESSION_HEADER, VERSIONS } from "./generation.ts";
import { errorText, idOf, type Message, messageOf, parseMessage, RPC, RpcError, resultText } from "./message.ts";
import { readResource, templatesFor } from "./resources.ts";
import type { Tool } from "./tool.ts";
import { tools } from "./tools.ts";

/** The paths of the endpoints. */
export const MCP_PATHS = ["/v1/mcp", "/v1/mcp/agents/:agent_id"] as const;

export const McpQuery = object({ tools: choice(["core"], "Only the tools that work with data") });
const query = new Validator(McpQuery, "query parameter");

/** How long a client may cache lists, which only a new version of governd or a new key changes, ms. */
const LISTS_FRESH_MS = 5 * 60_000;

/** Enough that no two sessions have the same name. */
const SESSION_BYTES = 16;

const INSTRUCTIONS =
  "A memory that policies govern. A write that a policy blocks stores nothing and says what was found where: leave that out and write again. Everything is recorded.";

/** What a tool's only argument without a description is. */
const AGENT_NAMED = "agent_id names the agent whose memory or trail it is; any id begins a new agent.";

/** The dependencies of the endpoints. */
interface McpDeps extends HandleDeps {
  randomBytes(length: number): Uint8Array;
  /** The names of this server; absent when requests may name any host. */
  ownHosts?: OwnHosts;
}

/** A request to an endpoint, authenticated. */
interface Routed {
  request: Request;
  exchange: Exchange;
  principal: Principal;
  /** The agent in the path; null for invalid percent-encoding, undefined when the path has no agent. */
  agentId: string | null | undefined;
  queryText: string;
}

/** The implementation of a method. It returns the result as JSON. */
interface Method {
  /** The only generation with this method; both when absent. */
  only?: "stateless" | "handshake";
  run(asked: McpRequest, params: JsonObject): string | Promise<string>;
}

const CAPABILITIES = '{"tools":{},"resources":{}}';

/** Returns the members of an answer that say what an endpoint is. */
function about({ agentId }: McpRequest): string {
  const words = agentId === null ? `${INSTRUCTIONS} ${AGENT_NAMED}` : INSTRUCTIONS;
  return `"capabilities":${CAPABILITIES},"instructions":${JSON.stringify(words)}`;
}

const list = (name: string, items: (asked: McpRequest) => string): Method => ({
  run: (asked, { cursor }) => {
    // Every list has only one page, so no cursor is valid.
    if (cursor !== undefined) throw new RpcError(RPC.params, "This cursor is not one of this list.", 200);
    return resultOf(asked.caller, `"${name}":${items(asked)}`, LISTS_FRESH_MS);
  },
});

const METHODS: Readonly<Record<string, Method>> = {
  initialize: {
    only: "handshake",
    run: (asked, { protocolVersion }) =>
      `{"protocolVersion":"${agreedVersion(protocolVersion)}","serverInfo":${SERVER_INFO},${about(asked)}}`,
  },
  ping: { only: "handshake", run: () => "{}" },
  "server/discover": {
    only: "stateless",
    run: (asked) =>
      resultOf(asked.caller, `"supportedVersions":${JSON.stringify(VERSIONS)},${about(asked)}`, LISTS_FRESH_MS),
  },
  "tools/list": list("tools", (asked) => `[${asked.tools.map(({ listed }) => listed).join(",")}]`),
  "tools/call": { run: callTool },
  "resources/list": list("resources", () => "[]"),
  "resources/templates/list": list("resourceTemplates", templatesFor),
  "resources/read": { run: async (asked, params) => resultOf(asked.caller, await readResource(asked, params), 0) },
};

/** The endpoints. */
export class McpEndpoint {
  readonly #confirmations: Confirmations;

  constructor(private readonly deps: McpDeps) {
    this.#confirmations = new Confirmations(deps.randomBytes, () => deps.monotonicMs());
  }

  /** Responds to a request. @throws {Problem} when HTTP refuses it, before or instead of the operation */
  async handle(routed: Routed): Promise<Response> {
    const { request, exchange } = routed;
    this.#requireOwnHost(request.headers);
    const addressed = addressOf(routed);
    const bytes = await readBody(request, this.deps);
    let body: JsonObject | null = null;
    try {
      body = parseMessage(bytes);
      const message = messageOf(body);
      const caller = callerOf(message, request.headers);
      if (message.id === null) return accepted(exchange);
      exchange.client = caller.client;
      exchange.trace = caller.trace ?? exchange.trace;
      exchange.session = caller.session ?? sessionIn(request.headers, GENERAL_SESSION_HEADER);
      const { deps } = this;
      const asked = { ...addressed, request, bytes, exchange, caller, deps, confirmations: this.#confirmations };
      const result = await methodOf(message, caller).run(asked, message.params);
      const begun = message.method === "initialize" ? this.#newSession() : {};
      return respond(exchange, resultText(message.id, result), 200, begun);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return respond(exchange, errorText(body === null ? null : idOf(body), error), error.status);
    }
  }

  /** Returns the header that names a client's session to it. Nothing is kept: every session that it sends counts. */
  #newSession(): Record<string, string> {
    return { [SESSION_HEADER]: Buffer.from(this.deps.randomBytes(SESSION_BYTES)).toString("hex") };
  }

  /** Prevents a page of another site from using a browser's access to the network (DNS rebinding). @throws {Problem} */
  #requireOwnHost(headers: Headers): void {
    const { ownHosts } = this.deps;
    if (ownHosts === undefined) return;
    const host = headers.get("host");
    const origin = headers.get("origin");
    if (host !== null && !ownHosts.has(host)) throw foreign("Host");
    if (origin !== null && !ownHosts.hasOrigin(origin)) throw foreign("Origin");
  }
}

const foreign = (param: string) =>
  new Problem("forbidden", `${param} names another host than this server. The setting hostnames adds names.`, {
    param,
  });

/** The most targets that are cached for each principal. */
const MAX_KNOWN = 1_000;

/**
 * The cached targets of requests without a query, by principal. A key's principal is one object while keys do not
 * change.
 */
const addresses = new WeakMap<Principal, Map<string | undefined, Addressed>>();

/** Returns the target of a request, from its path and query. @throws {Problem} */
function addressOf(routed: Routed): Addressed {
  const { principal, agentId, queryText, exchange } = routed;
  if (agentId === null || (agentId !== undefined && !isAgentId(agentId))) {
    throw new Problem("not_found", "No agent can have this id.");
  }
  exchange.agentId = agentId ?? null;
  const known = addresses.get(principal) ?? new Map<string | undefined, Addressed>();
  const address = (queryText === "" ? known.get(agentId) : undefined) ?? newAddress(principal, agentId, queryText);
  if (queryText === "" && !known.has(agentId)) {
    if (known.size >= MAX_KNOWN) known.clear();
    addresses.set(principal, known.set(agentId, address));
  }
  return address;
}

function newAddress(principal: Principal, agentId: string | undefined, queryText: string): Addressed {
  const { tools: wanted } = query.parseQuery(queryText) as Static<typeof McpQuery>;
  const offered = (all: readonly Tool[]) =>
    all.filter(({ scopes, core }) => scopes.includes(principal.scope) && (wanted === undefined || core === true));
  if (agentId === undefined) return { principal, agentId: null, tools: offered(tools().anyAgent) };
  return { principal: limitedTo(principal, agentId), agentId, tools: offered(tools().oneAgent) };
}

function methodOf({ method }: Message, { stateless }: Caller): Method {
  const known = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (known !== undefined && known.only !== (stateless ? "handshake" : "stateless")) return known;
  throw new RpcError(RPC.method, "There is no such method in this protocol version.", stateless ? 404 : 200);
}

/** Returns the response to a notification. Notifications have no effect. */
function accepted(exchange: Exchange): Response {
  const { "content-type": _, ...headers } = exchange.headers("");
  return new Response(null, { status: 202, headers });
}

function respond(exchange: Exchange, text: string, status: number, more: Record<string, string> = {}): Response {
  return new Response(inPieces(text), { status, headers: { ...exchange.headers("application/json"), ...more } });
}
