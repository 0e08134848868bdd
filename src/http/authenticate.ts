/** Who asks. Decided before anything else about a request is looked at. */
import type { Principal } from "../workspace/contract.ts";
import { Problem } from "./problem.ts";

/** Finds the principal of an API key; null when the key is unknown, malformed, expired or revoked. */
export type Authenticate = (apiKey: string) => Principal | null;

/**
 * The principal of a request.
 * @throws {Problem} 401 without a valid key; 403 when `X-Workspace-Id` names another workspace.
 */
export function authenticateRequest(headers: Headers, authenticate: Authenticate): Principal {
  const apiKey = headers.get("x-api-key");
  const principal = apiKey === null ? null : authenticate(apiKey);
  if (principal === null) {
    throw new Problem("unauthenticated", "Send a valid API key in the X-API-Key header.", {
      // RFC 9110 section 11.6.1 asks for a challenge with every 401; this scheme's name is ours.
      headers: { "www-authenticate": 'ApiKey realm="governd"' },
    });
  }
  const workspaceId = headers.get("x-workspace-id");
  if (workspaceId !== null && workspaceId !== principal.workspaceId) {
    throw new Problem(
      "workspace_mismatch",
      "The API key belongs to another workspace than X-Workspace-Id names. Leave the header out, or use a key of that workspace.",
      { param: "X-Workspace-Id" },
    );
  }
  return principal;
}
