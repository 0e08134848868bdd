/** Authentication, which comes before every other check of a request. */

import { requireSameOrigin, sessionToken } from "../../../api/session.ts";
import type { Principal, UnnamedWorkload } from "../../../core/writer/contract.ts";
import { IssuerRefused, IssuerUnavailable } from "../../../oidc/refused.ts";
import { isToken } from "../../../oidc/workload-token.ts";
import { type Memberships, principalInSession } from "../../../ops/accounts/memberships.ts";
import type { AccountDeps } from "../../../ops/accounts/routes/contract.ts";
import type { SignedIn } from "../../../ops/accounts/session-keeper.ts";
import { invalid, Problem, secondFactorMissing } from "../../../problem.ts";
import { after, type MaybePromise } from "../../../store/transaction.ts";

/**
 * Returns the principal of an API key; null when the key is unknown, malformed, expired or revoked. A key that is not
 * known here is looked up.
 */
export type Authenticate = (apiKey: string) => Principal | null | Promise<Principal | null>;

/** The tokens of workloads, whose issuers the settings name. */
export interface WorkloadTokens {
  /** The issuers whose tokens are accepted; none when the settings name none. */
  readonly issuers: readonly string[];
  /**
   * Returns the principals that a verified token may act as, in the order of the rules; null for any other token, which
   * {@link verify} must verify first.
   */
  known(token: string, how?: { use: boolean }): readonly UnnamedWorkload[] | null;
  /** @throws {IssuerRefused}, {IssuerUnavailable} */
  verify(token: string): Promise<readonly UnnamedWorkload[]>;
  /** Returns the principal with the id that its workspace knows it by. @throws {Problem} when the workspace cannot be used */
  named(workload: UnnamedWorkload): MaybePromise<Principal>;
}

type Sessions = AccountDeps["sessions"];

/** The sessions of people, and their memberships. */
export interface People {
  sessions: Sessions;
  memberships: Pick<Memberships, "find" | "findOperator">;
}

/** The parts that identify the sender of a request. */
interface Authorities {
  authenticate: Authenticate;
  people?: People | null;
  workloads?: WorkloadTokens | undefined;
}

const WORKSPACE_HEADER = "X-Workspace-Id";

/** `Authorization` of the scheme Bearer, whose case does not matter (RFC 9110 section 11.1, RFC 6750 section 2.1). */
const BEARER = /^bearer(?: +(.*))?$/i;
/** The log of the installation, in place of a workspace's id and as the query parameter `scope`. */
const INSTALLATION = "installation";

/** Returns the API keys that a request sends in `X-API-Key` and as a bearer token; null for a header without one. */
const sentKeys = (headers: Headers) => ({
  inOwnHeader: headers.get("x-api-key"),
  asBearer: bearerToken(headers.get("authorization")),
});

function bearerToken(authorization: string | null): string | null {
  const match = authorization === null ? null : BEARER.exec(authorization);
  return match === null ? null : (match[1] ?? "");
}

/** Reports whether a request sends an API key, be it valid or not. */
export function sendsKey(headers: Headers): boolean {
  const { inOwnHeader, asBearer } = sentKeys(headers);
  return inOwnHeader !== null || asBearer !== null;
}

/**
 * Returns the API key that a request sends; null without one.
 * @throws {Problem} 401 when it sends two different ones
 */
function apiKeyOf(headers: Headers): string | null {
  const { inOwnHeader, asBearer } = sentKeys(headers);
  if (inOwnHeader !== null && asBearer !== null && inOwnHeader !== asBearer) {
    throw unauthenticated("X-API-Key and Authorization have different API keys. Send the key in one of them.");
  }
  return inOwnHeader ?? asBearer;
}

/** Returns the workload's token that a request sends; null without one, and when no issuer is configured. */
function workloadToken(headers: Headers, workloads: WorkloadTokens | undefined): string | null {
  if (workloads === undefined || workloads.issuers.length === 0) return null;
  const { inOwnHeader, asBearer } = sentKeys(headers);
  return inOwnHeader === null && asBearer !== null && isToken(asBearer) ? asBearer : null;
}

/** When to request the keys of an issuer that does not answer again, s. */
const ISSUER_RETRY_S = 30;

/** Returns the problem for a token that could not be verified; another error as it is. */
function tokenProblem(error: unknown): unknown {
  if (error instanceof IssuerRefused) return unauthenticated(`The token is refused: ${error.reason}.`, INVALID_TOKEN);
  if (!(error instanceof IssuerUnavailable)) return error;
  return new Problem("unavailable", "The keys of the token's issuer cannot be fetched now. Send the request again.", {
    retryAfterSeconds: ISSUER_RETRY_S,
  });
}

/**
 * Returns the principal of a request: that of its API key or token, or of its session when it has neither. A token that
 * fits several rules acts as the first of them, or as the first for the workspace that `X-Workspace-Id` names. Without
 * `use`, the call does not extend a session: a check must not keep it alive. A session's request without
 * `X-Workspace-Id` whose query has `scope=installation` is for the log of the installation.
 * @throws {Problem} 401 without a valid key or session; 403 when `X-Workspace-Id` names another workspace, another site
 *   sent a session's request, or the log of the installation is requested by someone who is not an operator; 400 for a
 *   session without `X-Workspace-Id`
 */
export function authenticateRequest(
  request: { method: string; headers: Headers; url: string },
  { authenticate, people = null, workloads }: Authorities,
  use = true,
): Principal | Promise<Principal> {
  const { headers } = request;
  const token = workloadToken(headers, workloads);
  if (token !== null) return principalOfToken(headers, token, workloads as WorkloadTokens, use);
  const apiKey = apiKeyOf(headers);
  if (apiKey !== null) {
    const found = authenticate(apiKey);
    return found instanceof Promise
      ? found.then((principal) => principalOfKey(headers, principal))
      : principalOfKey(headers, found);
  }
  const session = sessionToken(headers);
  if (people !== null && session !== null) {
    return after(people.sessions.find(session, { use }), (signedIn) =>
      principalOfSession(request, signedIn, people.memberships),
    );
  }
  throw unauthenticated(headers.has("authorization") ? ONLY_BEARER : SEND_KEY);
}

function principalOfKey(headers: Headers, principal: Principal | null): Principal {
  if (principal === null) throw unauthenticated();
  const workspaceId = headers.get(WORKSPACE_HEADER);
  if (workspaceId !== null && workspaceId !== principal.workspaceId) throw otherWorkspace("API key");
  return principal;
}

function principalOfToken(
  headers: Headers,
  token: string,
  workloads: WorkloadTokens,
  use: boolean,
): Principal | Promise<Principal> {
  const known = workloads.known(token, { use });
  if (known !== null) return workloads.named(oneOf(headers, known));
  return workloads.verify(token).then(
    (verified) => workloads.named(oneOf(headers, verified)),
    (error) => {
      throw tokenProblem(error);
    },
  );
}

/** Returns the principal of a token for the workspace that the request names, or the first of them. */
function oneOf(headers: Headers, principals: readonly UnnamedWorkload[]): UnnamedWorkload {
  const workspaceId = headers.get(WORKSPACE_HEADER);
  const found = principals.find((one) => workspaceId === null || one.workspaceId === workspaceId);
  if (found === undefined) throw otherWorkspace("token");
  return found;
}

const otherWorkspace = (credential: string) =>
  new Problem(
    "workspace_mismatch",
    `X-Workspace-Id names another workspace than that of the ${credential}. Leave the header out, or use one of that workspace.`,
    { param: WORKSPACE_HEADER },
  );

const SEND_KEY = "Send a valid API key in the X-API-Key header, or as Authorization: Bearer.";
const ONLY_BEARER =
  "Authorization has another scheme than Bearer. Send the API key as Authorization: Bearer, or in the X-API-Key header.";

/** RFC 6750 section 3.1. */
const INVALID_TOKEN = 'error="invalid_token"';

/** `parameters` belong to the challenge of the scheme Bearer. */
export function unauthenticated(detail = SEND_KEY, ...parameters: string[]): Problem {
  return new Problem("unauthenticated", detail, { headers: challenge(parameters) });
}

/** RFC 9110 section 11.6.1 asks for a challenge with every 401. The name of the scheme ApiKey is ours. */
const challenge = (parameters: readonly string[]) => ({
  "www-authenticate": `${['Bearer realm="governd"', ...parameters].join(", ")}, ApiKey realm="governd"`,
});

/**
 * Adds to a 401 where clients learn which issuers' tokens are accepted (RFC 9728 section 5.1). Returns any other error
 * as it is.
 */
export function withMetadata(problem: unknown, address: string): unknown {
  if (!(problem instanceof Problem) || problem.code !== "unauthenticated") return problem;
  const { headers = {} } = problem.options;
  const error = headers["www-authenticate"]?.includes(INVALID_TOKEN) ? [INVALID_TOKEN] : [];
  const said = { ...headers, ...challenge([...error, `resource_metadata="${address}"`]) };
  return new Problem(problem.code, problem.message, { ...problem.options, headers: said });
}

function principalOfSession(
  { method, headers, url }: { method: string; headers: Headers; url: string },
  signedIn: SignedIn | null,
  memberships: People["memberships"],
): MaybePromise<Principal> {
  if (signedIn === null) throw unauthenticated();
  requireSameOrigin(method, headers);
  const { accountId, session } = signedIn;
  const workspaceId = headers.get(WORKSPACE_HEADER);
  if (workspaceId === INSTALLATION || (workspaceId === null && asksForInstallation(url))) {
    return memberships.findOperator(accountId).then((operator) => {
      if (operator !== null) return principalInSession(operator, session);
      throw new Problem(
        "forbidden",
        "Only an operator may read the log of the installation. `governd account operator` makes an account one.",
        { param: workspaceId === null ? "scope" : WORKSPACE_HEADER },
      );
    });
  }
  if (workspaceId === null) {
    throw invalid("With a session, send X-Workspace-Id: one of your workspaces.", WORKSPACE_HEADER);
  }
  return after(memberships.find(accountId, workspaceId), (membership) => {
    if (membership === null) {
      throw new Problem(
        "workspace_mismatch",
        "X-Workspace-Id names no workspace of yours. GET /account/workspaces lists them.",
        { param: WORKSPACE_HEADER },
      );
    }
    if (membership.locked) throw secondFactorMissing();
    return principalInSession(membership, session);
  });
}

function asksForInstallation(url: string): boolean {
  const query = url.indexOf("?");
  return query !== -1 && new URLSearchParams(url.slice(query)).get("scope") === INSTALLATION;
}

/** Who reads a public log (the setting `tlog_public`) without a key. Nothing that it does is recorded. */
export const PUBLIC_ACTOR = "public";

/** What the paths of all public logs begin with; the workspace's id follows. */
const ROOT = "/v1/tlog/";

/** Returns the principal of a request without a key for a path of a public log; null for any other path. */
export function publicReader(path: string, publicLogs: ReadonlySet<string>): Principal | null {
  if (!path.startsWith(ROOT)) return null;
  const [workspaceId = "", rest] = path.slice(ROOT.length).split("/", 2);
  const isPublic = rest !== undefined && publicLogs.has(workspaceId);
  return isPublic ? { actor: PUBLIC_ACTOR, workspaceId, scope: "auditor", agents: [] } : null;
}
