/** The steps of a request under `/account` that those under `/v1` do not have: who sends it, and what carries it out. */

import { ownOrigin } from "../../../api/origin.ts";
import type { AccountRoute } from "../../../api/route.ts";
import { deviceToken, requireSameOrigin, sessionToken } from "../../../api/session.ts";
import { authorisedBy } from "../../../core/rows/access/sessions.ts";
import { Failure } from "../../../failure.ts";
import type { Networks } from "../../../networks.ts";
import { findMembership, requireMembership, requireOwner } from "../../../ops/accounts/memberships.ts";
import { BegunSignIns } from "../../../ops/accounts/routes/begun-sign-ins.ts";
import type { AccountDeps, AccountReply, Sender } from "../../../ops/accounts/routes/contract.ts";
import type { SignedIn } from "../../../ops/accounts/session-keeper.ts";
import { invalid, Problem } from "../../../problem.ts";
import { closingIsKnown } from "../../../timer.ts";
import { readForm } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { clientAddress } from "./trusted-proxy.ts";

/** The parts of the daemon that carry out the requests of people. */
export interface PeopleDeps {
  /** Accounts and their sessions. Without them there are no account routes. */
  accounts?: AccountDeps;
  /** With TLS off, the proxies that may send requests. */
  trustedProxies?: Networks;
  /** Returns the address of a request's peer. Needed with `trustedProxies`. */
  peerOf?(request: Request): string | null;
  /**
   * Reports whether the connection of a request is closed. The runtime closes a connection when another request arrives
   * before the response, and reports it a few turns of the event loop later, or over TLS when the client has reacted.
   */
  isAbandoned?(request: Request): boolean;
}

/**
 * Returns who is signed in; null for a route that needs no session.
 * @throws {Problem} 401 without a session, 403 when another site made the browser send the request
 */
export async function identify(
  route: AccountRoute,
  request: Request,
  exchange: Exchange,
  deps: PeopleDeps,
): Promise<SignedIn | null> {
  const { headers, method } = request;
  const needsSession = route.by !== "anyone" && route.by !== "issuer";
  const signedIn = needsSession ? await requireSession(headers, deps.accounts as AccountDeps) : null;
  exchange.accountId = signedIn?.accountId ?? null;
  if (route.by !== "issuer") requireSameOrigin(method, headers);
  return signedIn;
}

/** What is known of a request when its body and its parameters are valid. */
interface Valid {
  request: Request;
  exchange: Exchange;
  queryText: string;
  params: Record<string, string>;
  body: unknown;
  signedIn: SignedIn | null;
}

/** Carries out a valid request and returns the response. @throws {Problem} when it is refused */
export async function carryOut(route: AccountRoute, valid: Valid, deps: PeopleDeps): Promise<Response> {
  const { request, exchange, params, body, signedIn } = valid;
  const { headers } = request;
  const accounts = deps.accounts as AccountDeps;
  const form = route.by === "issuer" ? await fromIssuer(valid) : null;
  await requireConnection(request, deps);
  const origin = {
    address: clientAddress(deps.trustedProxies, deps.peerOf?.(request) ?? null, headers),
    userAgent: headers.get("user-agent") ?? "",
    device: deviceToken(headers),
  };
  const base = ownOrigin(headers);
  const signIns = new BegunSignIns(headers);
  try {
    const member = await memberOf(route.by, accounts, signedIn, params.workspace_id);
    const asked = { params, body, origin, base, signIns, signedIn, ...form, ...member };
    return respond(await route.run(asked, within(accounts, signedIn)), route.status, exchange);
  } catch (error) {
    throw problemOf(error);
  }
}

/** Has the events of a request state the session. */
const within = (accounts: AccountDeps, signedIn: SignedIn | null): AccountDeps =>
  signedIn === null
    ? accounts
    : { ...accounts, parts: { ...accounts.parts, authorisedBy: authorisedBy(signedIn.session) } };

/** How the membership of the sender is looked up, where a route is about a workspace. */
const MEMBERSHIPS: Readonly<Partial<Record<Sender, typeof requireMembership>>> = {
  member: requireMembership,
  locked_member: findMembership,
  owner: requireOwner,
};

/** Returns the sender's membership; null where the route is about no workspace. @throws {Problem} */
async function memberOf(
  by: Sender,
  { parts }: AccountDeps,
  signedIn: SignedIn | null,
  workspaceId: string | undefined,
) {
  const find = MEMBERSHIPS[by];
  if (find === undefined) return null;
  const { accountId, session } = signedIn as SignedIn;
  return { accountId, session, workspace: await find(parts.memberships, accountId, workspaceId as string) };
}

/** Much more than the size of a token. */
const MAX_FORM_BYTES = 64 * 1024;

const NOTHING = new URLSearchParams();

/** Reads a request of the issuer. @throws {Problem} 415, 413 */
async function fromIssuer({ request, queryText }: Valid) {
  return {
    query: new URLSearchParams(queryText),
    form: request.method === "POST" ? await readForm(request, { maxBodyBytes: MAX_FORM_BYTES }) : NOTHING,
  };
}

/** @throws {Problem} when the client has closed the connection, which is known a few turns of the event loop later */
async function requireConnection(request: Request, deps: PeopleDeps): Promise<void> {
  await closingIsKnown();
  if (deps.isAbandoned?.(request) !== true) return;
  throw invalid("The connection was closed before the request was carried out; nothing was done.");
}

async function requireSession(headers: Headers, { sessions }: AccountDeps): Promise<SignedIn> {
  const token = sessionToken(headers);
  const signedIn = token === null ? null : await sessions.find(token);
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

function respond({ body, cookies = [], location, auditId = null }: AccountReply, status: number, exchange: Exchange) {
  exchange.auditId = auditId;
  const headers = new Headers(exchange.headers("application/json"));
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  if (location !== undefined) headers.set("location", location);
  if (body === undefined) headers.delete("content-type");
  return new Response(body === undefined ? null : JSON.stringify(body), { status, headers });
}
