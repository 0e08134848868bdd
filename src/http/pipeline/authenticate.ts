/** Authentication: the first thing that is checked of a request. */
import { invalid, Problem, secondFactorMissing } from "../../problem.ts";
import type { Principal } from "../../workspace/contract.ts";
import type { AccountDeps } from "../account/action.ts";
import { requireSameOrigin, sessionToken } from "./session.ts";

/** Returns the principal of an API key, null when the key is unknown, malformed, expired or revoked. */
export type Authenticate = (apiKey: string) => Principal | null;

type Sessions = AccountDeps["sessions"];

const WORKSPACE_HEADER = "X-Workspace-Id";

/** `Authorization` of the scheme Bearer, whose case does not matter (RFC 9110 section 11.1, RFC 6750 section 2.1). */
const BEARER = /^bearer(?: +(.*))?$/i;
/** In place of a workspace's id, and as the query parameter `scope`: the log of the installation. */
const INSTALLATION = "installation";

/** Returns what a request sends as API keys: in `X-API-Key` and as a bearer token. Null where a header has none. */
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

/** Returns the API key that a request sends; null without one. @throws {Problem} 401 when it sends two different ones */
function apiKeyOf(headers: Headers): string | null {
  const { inOwnHeader, asBearer } = sentKeys(headers);
  if (inOwnHeader !== null && asBearer !== null && inOwnHeader !== asBearer) {
    throw unauthenticated("X-API-Key and Authorization have different API keys. Send the key in one of them.");
  }
  return inOwnHeader ?? asBearer;
}

/**
 * Returns the principal of a request: that of its API key, or without a key that of its session.
 * Without `use` a session is not extended by this: checking one must not keep it alive.
 * A session without `X-Workspace-Id` whose query has `scope=installation` asks for the log of the installation.
 * @throws {Problem} 401 without a valid key or session; 403 when `X-Workspace-Id` names another workspace, another site
 *   sent a session's request, or somebody who is no operator asks for the log of the installation; 400 for a session
 *   without `X-Workspace-Id`
 */
export function authenticateRequest(
  request: { method: string; headers: Headers; url: string },
  authenticate: Authenticate,
  sessions: Sessions | undefined,
  use = true,
): Principal {
  const { headers } = request;
  const apiKey = apiKeyOf(headers);
  if (apiKey === null && sessions !== undefined) {
    const token = sessionToken(headers);
    if (token !== null) return principalOfSession(request, sessions.find(token, { use }));
  }
  const principal = apiKey === null ? null : authenticate(apiKey);
  if (principal === null)
    throw unauthenticated(apiKey === null && headers.has("authorization") ? ONLY_BEARER : SEND_KEY);
  const workspaceId = headers.get(WORKSPACE_HEADER);
  if (workspaceId !== null && workspaceId !== principal.workspaceId) {
    throw new Problem(
      "workspace_mismatch",
      "X-Workspace-Id names another workspace than that of the API key. Leave the header out, or use a key of that workspace.",
      { param: WORKSPACE_HEADER },
    );
  }
  return principal;
}

const SEND_KEY = "Send a valid API key in the X-API-Key header, or as Authorization: Bearer.";
const ONLY_BEARER =
  "Authorization has another scheme than Bearer. Send the API key as Authorization: Bearer, or in the X-API-Key header.";

function unauthenticated(detail = SEND_KEY): Problem {
  return new Problem("unauthenticated", detail, {
    // RFC 9110 section 11.6.1 asks for a challenge with every 401. The name of the scheme ApiKey is ours.
    headers: { "www-authenticate": 'Bearer realm="governd", ApiKey realm="governd"' },
  });
}

function principalOfSession(
  { method, headers, url }: { method: string; headers: Headers; url: string },
  signedIn: ReturnType<Sessions["find"]>,
): Principal {
  if (signedIn === null) throw unauthenticated();
  requireSameOrigin(method, headers);
  const workspaceId = headers.get(WORKSPACE_HEADER);
  if (workspaceId === INSTALLATION || (workspaceId === null && asksForInstallation(url))) {
    if (signedIn.installation !== null) return signedIn.installation;
    throw new Problem(
      "forbidden",
      "Only an operator may read the log of the installation. `governd account operator` makes an account one.",
      { param: workspaceId === null ? "scope" : WORKSPACE_HEADER },
    );
  }
  if (workspaceId === null) {
    throw invalid("With a session, send X-Workspace-Id: one of your workspaces.", WORKSPACE_HEADER);
  }
  const principal = signedIn.principals.get(workspaceId);
  if (signedIn.locked.has(workspaceId)) throw secondFactorMissing();
  if (principal === undefined) {
    throw new Problem(
      "workspace_mismatch",
      "X-Workspace-Id names no workspace of yours. GET /account/workspaces lists them.",
      { param: WORKSPACE_HEADER },
    );
  }
  return principal;
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
