/** From a routed request to its answer: scope, body, validation, operation. */
import type { JsonObject } from "../json.ts";
import type {
  OperationInputs,
  OperationName,
  OperationReply,
  Principal,
  WorkspaceClient,
} from "../workspace/contract.ts";
import { parseBody, readBody, readOptionalBody } from "./body.ts";
import { matchesNone } from "./entity-tag.ts";
import type { Exchange } from "./exchange.ts";
import { hasControlCharacter } from "./fields.ts";
import { watched } from "./live.ts";
import { invalid, Problem, problemResponse } from "./problem.ts";
import { parseQuery, shortName } from "./query.ts";
import type { Route } from "./route.ts";
import { checkAgent, checkScope } from "./scopes.ts";

const JSON_TYPE = "application/json";

/** Longest path parameter that is looked for; every identifier is shorter. */
const MAX_PARAM_LENGTH = 256;

/** A body or a query that is not there. */
const EMPTY: JsonObject = {};

/** What handling a request needs of the rest of the program. */
export interface HandleDeps {
  workspaces: WorkspaceClient;
  maxBodyBytes: number;
  monotonicMs(): number;
}

/** What the router found out about a request. */
export interface RoutedRequest {
  request: Request;
  /** Path parameters, decoded; null where the percent-encoding is broken. */
  params: Record<string, string | null>;
  /** What follows the `?`, or an empty string. */
  queryText: string;
  exchange: Exchange;
  principal: Principal;
  /** Whether the credentials of this request still give this principal. */
  isStillAllowed(): boolean;
}

/**
 * Runs a route's operation and answers.
 * @throws {Problem} for a request that is refused before it becomes an operation.
 */
export async function handle(route: Route, routed: RoutedRequest, deps: HandleDeps): Promise<Response> {
  const { request, exchange, principal } = routed;
  exchange.operation = route.operation;
  checkScope(principal, route.operation);
  const params = checkParams(route, routed.params);
  const pathAgent = params.agent_id;
  if (pathAgent !== undefined) checkAgent(principal, pathAgent);
  const body = route.body === null ? EMPTY : await takeBody(route, request, deps.maxBodyBytes);
  const query = readQuery(route, routed.queryText);
  const asked = { params, query, body, headers: request.headers, principal };
  const other = route.variant?.input(asked) ?? null;
  const name = other === null ? route.operation : (route.variant as { operation: OperationName }).operation;
  if (other !== null) {
    exchange.operation = name;
    checkScope(principal, name);
  }
  const input = other ?? route.input(asked);
  if (principal.agents !== null && pathAgent === undefined) checkInputAgent(principal, input);
  const reply = await deps.workspaces.perform({ name, input, principal });
  if (reply.kind === "stream" && reply.live === true) {
    const { isStillAllowed } = routed;
    const body = watched(reply.body, { isAllowed: isStillAllowed, monotonicMs: deps.monotonicMs });
    return respond({ ...reply, body }, request, exchange);
  }
  return respond(reply, request, exchange);
}

/** What of a route says how a request for it is to look. */
export type RequestForm = Pick<Route, "query" | "body" | "bodyOptional" | "explain" | "unfindable">;

/** The body of a request, checked. @throws {Problem} */
export async function takeBody(form: RequestForm, request: Request, maxBytes: number): Promise<unknown> {
  const read = form.bodyOptional ? readOptionalBody : readBody;
  try {
    return checkBody(form, request, await read(request, maxBytes));
  } catch (error) {
    throw error instanceof Problem ? error : unread(error);
  }
}

/** A body that cannot be read to its end is the client's doing: it hung up. Other errors are ours. */
function unread(error: unknown): unknown {
  const hungUp = error instanceof Error && error.name === "AbortError";
  return hungUp ? invalid("The connection was closed before the body was complete. Send it again.") : error;
}

function checkBody(route: RequestForm, request: Request, bytes: Uint8Array): unknown {
  const validator = route.body as NonNullable<RequestForm["body"]>;
  if (bytes.length === 0 && route.bodyOptional) return validator.parse(EMPTY);
  return validator.parse(parseBody(bytes, request.headers), route.explain);
}

export function readQuery(route: RequestForm, text: string): unknown {
  if (route.query !== null) return route.query.parseQuery(parseQuery(text));
  if (text === "") return EMPTY;
  const [name] = parseQuery(text).keys();
  if (name === undefined) return EMPTY;
  throw invalid("This path takes no query parameters. Leave them out.", shortName(name));
}

/**
 * Path parameters that an operation may look for. What no identifier can look like is not found here,
 * so that it does not end up in the audit trail.
 */
export function checkParams(
  route: RequestForm,
  params: Record<string, string | null>,
): Record<string, string> {
  for (const name in params) {
    const value = params[name];
    if (value == null || value.length > MAX_PARAM_LENGTH || hasControlCharacter(value)) {
      throw new Problem(route.unfindable, "Nothing has such an identifier.");
    }
  }
  return params as Record<string, string>;
}

/** Which agent a body or a query names; checkpoints and events are checked where they are found. */
function checkInputAgent(principal: Principal, input: OperationInputs[OperationName]): void {
  if ("agentId" in input) checkAgent(principal, input.agentId);
  else if ("scope" in input && "agentId" in input.scope) checkAgent(principal, input.scope.agentId);
}

function respond(reply: OperationReply, request: Request, exchange: Exchange): Response {
  exchange.auditId = reply.auditId ?? null;
  if (reply.kind === "json") {
    const headers = exchange.headers(JSON_TYPE);
    if (reply.etag !== undefined) {
      headers.etag = `"${reply.etag}"`;
      const noneMatch = request.method === "GET" ? request.headers.get("if-none-match") : null;
      if (noneMatch !== null && matchesNone(noneMatch, reply.etag)) {
        return new Response(null, { status: 304, headers });
      }
    }
    return new Response(reply.body, { status: reply.status, headers });
  }
  if (reply.kind === "stream" || reply.kind === "text") {
    const headers = exchange.headers(reply.contentType);
    if (reply.filename !== undefined) {
      headers["content-disposition"] = `attachment; filename="${reply.filename}"`;
    }
    if (reply.kind === "stream" && reply.cursor !== undefined) headers["x-export-cursor"] = reply.cursor;
    return new Response(reply.body, { status: reply.kind === "text" ? 200 : reply.status, headers });
  }
  const retry = reply.retryAfterSeconds;
  exchange.problem = reply.code;
  return problemResponse(
    new Problem(reply.code, reply.detail, {
      ...(reply.extra === undefined ? {} : { extra: reply.extra }),
      ...(retry === undefined ? {} : { headers: { "retry-after": String(Math.ceil(retry)) } }),
    }),
    exchange.requestId,
    exchange.headers(JSON_TYPE),
  );
}
