/** The steps of a request under `/account`: session, origin, body, action. */

import { ownOrigin } from "../../../api/origin.ts";
import { conditionOf } from "../../../api/precondition.ts";
import { deviceToken, requireSameOrigin, sessionToken } from "../../../api/session.ts";
import { Failure } from "../../../failure.ts";
import type { AccountDeps, Action, ActionReply } from "../../../ops/accounts/routes/action.ts";
import { BegunSignIns } from "../../../ops/accounts/routes/begun-sign-ins.ts";
import type { SignedIn } from "../../../ops/accounts/session-keeper.ts";
import { invalid, Problem } from "../../../problem.ts";
import { closingIsKnown } from "../../../timer.ts";
import { readForm } from "../pipeline/body.ts";
import type { Exchange } from "../pipeline/exchange.ts";
import { checkParams, type RoutedRequest, readQuery, takeBody } from "../pipeline/handle.ts";
import type { AppDeps } from "../pipeline/pipeline.ts";
import { refuseRetryKey } from "../pipeline/retry.ts";
import { clientAddress } from "../pipeline/trusted-proxy.ts";

type RoutedAction = Pick<RoutedRequest, "request" | "queryText" | "params" | "exchange">;

/** Runs an action and returns the response. @throws {Problem} when the request is refused */
export async function handleAction(action: Action, routed: RoutedAction, deps: AppDeps): Promise<Response> {
  const { request, exchange } = routed;
  const { headers } = request;
  const accounts = deps.accounts as AccountDeps;
  const signedIn = action.isPublic ? null : requireSession(headers, accounts);
  exchange.accountId = signedIn?.accountId ?? null;
  exchange.operation = `account.${action.name}`;
  if (!action.isFromIssuer) requireSameOrigin(request.method, headers);
  if (action.method !== "GET") refuseHeaders(headers);
  const params = checkParams(action, routed.params);
  const body = action.body === null ? {} : await takeBody(action, request, deps);
  if (!action.isFromIssuer) readQuery(action, routed.queryText);
  const asked = action.isFromIssuer ? await fromIssuer(routed) : NOT_FROM_ISSUER;
  await requireConnection(request, deps);
  const origin = {
    address: clientAddress(deps.trustedProxies, deps.peerOf?.(request) ?? null, headers),
    userAgent: headers.get("user-agent") ?? "",
    device: deviceToken(headers),
  };
  const base = ownOrigin(headers);
  const signIns = new BegunSignIns(headers);
  try {
    return respond(
      await action.run({ params, body, origin, base, signIns, signedIn, ...asked }, accounts),
      action.status,
      exchange,
    );
  } catch (error) {
    throw problemOf(error);
  }
}

/** Much more than the size of a token. */
const MAX_FORM_BYTES = 64 * 1024;

const NOTHING = new URLSearchParams();
const NOT_FROM_ISSUER = { query: NOTHING, form: NOTHING };

/** Reads a request of the issuer. @throws {Problem} 415, 413 */
async function fromIssuer({ request, queryText }: RoutedAction) {
  return {
    query: new URLSearchParams(queryText),
    form: request.method === "POST" ? await readForm(request, { maxBodyBytes: MAX_FORM_BYTES }) : NOTHING,
  };
}

/** Refuses headers with preconditions or a retry key, which no action supports. @throws {Problem} */
function refuseHeaders(headers: Headers): void {
  conditionOf(headers, false);
  refuseRetryKey(headers);
}

/** @throws {Problem} when the client has closed the connection, which is known a few turns of the event loop later */
async function requireConnection(request: Request, deps: AppDeps): Promise<void> {
  await closingIsKnown();
  if (deps.isAbandoned?.(request) !== true) return;
  throw invalid("The connection was closed before the request was carried out; nothing was done.");
}

function requireSession(headers: Headers, { sessions }: AccountDeps): SignedIn {
  const token = sessionToken(headers);
  const signedIn = token === null ? null : sessions.find(token);
  if (signedIn !== null) return signedIn;
  throw new Problem("unauthenticated", "Sign in first: POST /account/sign-in.", { headers: CHALLENGE });
}

/** RFC 9110 section 11.6.1 asks for a challenge with every 401; this scheme's name is ours. */
const CHALLENGE = { "www-authenticate": 'Session realm="governd"' };

const UNAUTHENTICATED: ReadonlySet<string> = new Set(["sign_in_failed", "second_factor_required"]);

function problemOf(error: unknown): unknown {
  if (error instanceof Problem && UNAUTHENTICATED.has(error.code)) {
    return new Problem(error.code, error.message, { ...error.options, headers: CHALLENGE });
  }
  if (error instanceof Failure && error.code === "usage") return invalid(error.message);
  if (error instanceof Failure && error.code === "busy") return new Problem("unavailable", error.message);
  if (error instanceof Failure && error.code === "outcome_unknown") return new Problem(error.code, error.message);
  return error;
}

function respond(reply: ActionReply, status: number, exchange: Exchange): Response {
  exchange.auditId = reply.auditId ?? null;
  const { body, cookies = [], location } = reply;
  const headers = new Headers(exchange.headers("application/json"));
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  if (body !== undefined) return new Response(JSON.stringify(body), { status, headers });
  headers.delete("content-type");
  if (location !== undefined) {
    headers.set("location", location);
    return new Response(null, { status: 303, headers });
  }
  return new Response(null, { status: 204, headers });
}
