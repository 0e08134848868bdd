/** The steps from a routed request to its response: scope, body, validation, operation. */

import { matchesNone } from "../../../api/entity-tag.ts";
import { hasControlCharacter } from "../../../api/fields.ts";
import { conditionOf } from "../../../api/precondition.ts";
import { problemResponse } from "../../../api/problem-document.ts";
import { parseQuery, shortName } from "../../../api/query.ts";
import { type AnyRoute, type AskedOfRoute, isForPeople, type Route } from "../../../api/route.ts";
import { checkScope } from "../../../api/scopes.ts";
import {
  type Bytes,
  type OperationRequest,
  type Principal,
  type Reply,
  type Retry,
  requireAgentAllowed,
  type Withheld,
  type WorkspaceClient,
} from "../../../core/writer/contract.ts";
import type { JsonObject } from "../../../json.ts";
import { isComposite, looksFirst, type OperationInputs, type OperationName } from "../../../operations.ts";
import { invalid, Problem } from "../../../problem.ts";
import { ownTurn } from "../../../timer.ts";
import { PUBLIC_ACTOR, unauthenticated } from "./authenticate.ts";
import { type BodyLimits, parseBody, parseLargeBody, readBody, readOptionalBody } from "./body.ts";
import { carryOut, identify, type PeopleDeps } from "./carry-out.ts";
import { compressedBody } from "./compression.ts";
import type { Exchange } from "./exchange.ts";
import { inPieces } from "./large-body.ts";
import { PIECE } from "./large-json.ts";
import { watched } from "./live.ts";
import { retryKey, retryOf, retryOfLarge } from "./retry.ts";
import { SESSION_HEADER, sessionIn } from "./session-header.ts";

const JSON_TYPE = "application/json";

/** The longest path parameter. Every identifier is shorter. */
const MAX_PARAM_LENGTH = 256;

/** How long a response that never changes may be kept: a year (RFC 9111 section 5.2.2.1, RFC 8246). */
const FOREVER = "max-age=31536000, immutable";

/** An absent body or query. */
const EMPTY: JsonObject = {};
const NO_BYTES = new Uint8Array();

/** The parts of the daemon that handle requests. */
export interface HandleDeps extends BodyLimits, PeopleDeps {
  workspaces: WorkspaceClient;
  /** Turns the idle timeout of a connection off for a slow response, and on again. */
  setPatience?(request: Request, patient: boolean): void;
  /** A monotonic clock in milliseconds. */
  monotonicMs(): number;
}

/** A routed request. */
export interface Routed {
  request: Request;
  url: string;
  /** Index of the `?` in `url`, or -1. */
  qi: number;
  /** Decoded by the router, null for invalid percent-encoding; absent for a path without any. */
  params?: Record<string, string | null> | undefined;
  exchange: Exchange;
}

const NO_PARAMS: Record<string, string | null> = {};

/** Returns the query string after the `?`, or an empty string. */
export const queryTextOf = ({ url, qi }: Pick<Routed, "url" | "qi">): string => (qi === -1 ? "" : url.slice(qi + 1));

/**
 * Carries out a request for a route and returns the response.
 * @throws {Problem} when the request is refused before that
 */
export async function handle(route: AnyRoute, routed: Routed, deps: HandleDeps): Promise<Response> {
  const { request, exchange } = routed;
  // There is none under `/account`.
  const principal = exchange.principal as Principal;
  exchange.operation = route.name;
  const signedIn = isForPeople(route) ? await identify(route, request, exchange, deps) : null;
  if (!isForPeople(route)) checkScope(principal, route.operation);
  const params = checkParams(route, routed.params ?? NO_PARAMS);
  const pathAgent = params.agent_id;
  exchange.agentId = pathAgent ?? null;
  if (pathAgent !== undefined) requireAgentAllowed(principal, pathAgent);
  const { headers } = request;
  if (!isForPeople(route)) exchange.session = sessionIn(headers, SESSION_HEADER);
  const { preconditions } = route;
  const condition = preconditions === "ignored" ? undefined : conditionOf(headers, preconditions === "taken");
  const key = retryKey(route, headers);
  const isBatch = !isForPeople(route) && isComposite(route.operation);
  const bytes = route.body === null ? NO_BYTES : await takeBytes(route, request, deps);
  const parsed = isBatch ? await parseLargeBody(bytes, request.headers) : undefined;
  const body = route.body === null ? EMPTY : checkBody(route, request, bytes, parsed);
  // The issuer may send any query.
  const query = route.by === "issuer" ? EMPTY : readQuery(route, queryTextOf(routed));
  if (isForPeople(route))
    return carryOut(route, { request, exchange, queryText: queryTextOf(routed), params, body, signedIn }, deps);
  const sent = { request, exchange, principal };
  const retry = key === null ? null : isBatch ? await retryOfLarge(key, sent, bytes) : retryOf(key, sent, bytes);
  const asked = { params, query, body, headers, principal, condition };
  const reply = await perform(route, asked, { request, exchange, retry }, deps);
  const { answer } = reply;
  if (answer.kind !== "stream") return respond(route, reply, request, exchange);
  if (request.method === "HEAD") {
    // The runtime would read the body to its end, and a live one has none.
    await answer.body.cancel();
    return respond(route, { ...reply, answer: { ...answer, body: null } }, request, exchange);
  }
  if (answer.live !== true) return respond(route, reply, request, exchange);
  const isAllowed = () => isStillAllowed(exchange);
  const watchedBody = watched(answer.body, { isAllowed, monotonicMs: deps.monotonicMs });
  return respond(route, { ...reply, answer: { ...answer, body: watchedBody } }, request, exchange);
}

/**
 * Performs the operation of a valid request and records its result in the exchange.
 * @throws {Problem} when the request is refused before the operation
 */
export async function perform(
  route: Route,
  asked: AskedOfRoute,
  { request, exchange, retry }: Pick<Routed, "request" | "exchange"> & { retry: Retry | null },
  deps: HandleDeps,
): Promise<Reply<Bytes>> {
  const { principal } = asked;
  const other = route.variant?.input(asked) ?? null;
  const name = other === null ? route.operation : (route.variant as { operation: OperationName }).operation;
  if (other !== null) {
    exchange.operation = name;
    checkScope(principal, name);
  }
  const input = other ?? route.input(asked);
  const inputAgent = agentOf(input);
  exchange.agentId ??= inputAgent;
  // The agent in the path was checked before the body was read. Agents of checkpoints and events are checked when
  // found.
  if (asked.params.agent_id === undefined && inputAgent !== null) requireAgentAllowed(principal, inputAgent);
  const isAbandoned = () => deps.isAbandoned?.(request) === true;
  const operation: OperationRequest = { name, input, principal, isAbandoned };
  const via = exchange.via;
  if (via !== null) operation.via = via;
  const withheld = withheldFrom(request);
  if (withheld !== null) operation.withheld = withheld;
  if (retry !== null) operation.retry = retry;
  const mayTakeLong = looksFirst(name, input) || isComposite(name);
  const send = () => (mayTakeLong ? performLong(deps, request, operation) : deps.workspaces.perform(operation));
  let reply = await send();
  if (isOfChangedKey(reply) && exchange.again !== null) {
    operation.principal = await exchange.again();
    reply = await send();
  }
  exchange.auditId = reply.auditId;
  exchange.replayed = reply.firstRequestId !== undefined;
  // A decision is counted only once, for the first request.
  if (!exchange.replayed) {
    exchange.decision = reply.result ?? null;
    exchange.blockedBy = reply.blockedBy ?? null;
    exchange.parts = reply.parts ?? null;
  }
  if (reply.answer.kind === "problem") exchange.problem = reply.answer.code;
  return reply;
}

/** Returns when the answer to a request goes out without its content; null for never. */
function withheldFrom({ method, headers }: Request): Withheld | null {
  if (method === "HEAD") return "always";
  const ifNoneMatch = method === "GET" ? headers.get("if-none-match") : null;
  return ifNoneMatch === null ? null : { ifNoneMatch };
}

/** Whether nothing was done since the request's key has changed after the main thread has looked it up. */
const isOfChangedKey = ({ answer }: Reply<Bytes>): boolean =>
  answer.kind === "problem" && answer.code === "unauthenticated";

/**
 * Reports whether the credentials of a request still allow it. Until that can be found out, it stays as it was.
 * @throws errors other than problems
 */
async function isStillAllowed({ again }: Exchange): Promise<boolean> {
  try {
    await again?.();
    return true;
  } catch (error) {
    if (error instanceof Problem) return error.code === "unavailable";
    throw error;
  }
}

/** Performs an operation that may take longer than the idle timeout of the connection. */
async function performLong(deps: HandleDeps, request: Request, asked: OperationRequest): Promise<Reply<Bytes>> {
  deps.setPatience?.(request, true);
  try {
    return await deps.workspaces.perform(asked);
  } finally {
    deps.setPatience?.(request, false);
  }
}

/** The parts of a route that describe its requests. */
type RequestForm = Pick<Route, "query" | "body" | "bodyOptional" | "explain" | "unfindable">;

async function takeBytes(form: RequestForm, request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const read = form.bodyOptional ? readOptionalBody : readBody;
  try {
    const bytes = await read(request, limits);
    if (bytes.length >= PIECE) await ownTurn();
    return bytes;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AbortError") throw error;
    throw invalid("The connection was closed before the body was complete. Send it again.");
  }
}

function checkBody(route: RequestForm, request: Request, bytes: Uint8Array, parsed?: JsonObject): unknown {
  const validator = route.body as NonNullable<RequestForm["body"]>;
  if (bytes.length === 0 && route.bodyOptional) return validator.parse(EMPTY);
  return validator.parse(parsed ?? parseBody(bytes, request.headers), route.explain);
}

function readQuery(route: RequestForm, text: string): unknown {
  if (route.query !== null) return route.query.parseQuery(text);
  if (text === "") return EMPTY;
  const [name] = parseQuery(text).keys();
  if (name === undefined) return EMPTY;
  throw invalid("This path takes no query parameters. Leave them out.", shortName(name));
}

/**
 * Returns the path parameters.
 * @throws {Problem} for a parameter that cannot be an identifier, so that it never gets into the audit trail
 */
export function checkParams(route: RequestForm, params: Record<string, string | null>): Record<string, string> {
  for (const name in params) {
    const value = params[name];
    if (value == null || value.length > MAX_PARAM_LENGTH || hasControlCharacter(value)) {
      throw new Problem(route.unfindable, "Nothing has such an identifier.");
    }
  }
  return params as Record<string, string>;
}

/** Returns the agent that an input names, null for none. */
function agentOf(input: OperationInputs[OperationName]): string | null {
  if ("agentId" in input) return input.agentId;
  if (!("scope" in input) || typeof input.scope === "string") return null;
  return "agentId" in input.scope ? input.scope.agentId : null;
}

function respond(route: Route, reply: Reply<Bytes | null>, request: Request, exchange: Exchange): Response {
  const { answer } = reply;
  const { compressed } = route.response;
  if (answer.kind === "json") {
    const headers = exchange.headers(JSON_TYPE);
    if (answer.etag !== undefined) {
      headers.etag = `"${answer.etag}"`;
      const noneMatch =
        request.method === "GET" || request.method === "HEAD" ? request.headers.get("if-none-match") : null;
      if (noneMatch !== null && matchesNone(noneMatch, answer.etag)) {
        // No representation is sent (RFC 9110 section 15.4.5).
        const { "content-type": _, ...rest } = headers;
        return new Response(null, { status: 304, headers: rest });
      }
    }
    const body = inPieces(answer.body);
    return new Response(compressed ? compressedBody(body, request, headers) : body, { status: answer.status, headers });
  }
  if (answer.kind === "problem") {
    const options = answer.extra === undefined ? {} : { extra: answer.extra };
    // The key has ended since the request was authenticated.
    if (answer.code === "unauthenticated") throw unauthenticated(answer.detail);
    const problem = new Problem(answer.code, answer.detail, options);
    const requestId = reply.firstRequestId ?? exchange.requestId;
    return problemResponse(problem, requestId, exchange.headers(JSON_TYPE));
  }
  const headers = exchange.headers(answer.contentType);
  if (answer.kind === "bytes") {
    // A shared cache may keep only what everybody may read.
    headers["cache-control"] = `${exchange.principal?.actor === PUBLIC_ACTOR ? "public" : "private"}, ${FOREVER}`;
    return new Response(answer.body as Uint8Array<ArrayBuffer>, { status: 200, headers });
  }
  if (answer.filename !== undefined) {
    headers["content-disposition"] = `attachment; filename="${answer.filename}"`;
  }
  if (answer.kind === "stream" && answer.cursor !== undefined) headers["x-export-cursor"] = answer.cursor;
  // Without this header, the runtime would state a length of 0, which GET does not have (RFC 9110 section 9.3.2).
  if (answer.body === null) headers["transfer-encoding"] = "chunked";
  const body = compressed && answer.body !== null ? compressedBody(answer.body, request, headers) : answer.body;
  return new Response(body, { status: 200, headers });
}
