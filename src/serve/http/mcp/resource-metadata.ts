/**
 * Tells clients of MCP which issuers' tokens are accepted: OAuth 2.0 Protected Resource Metadata (RFC 9728), on which
 * the authorization of MCP is based.
 */

import { ownOrigin } from "../../../api/origin.ts";
import { NO_SUCH_PATH } from "../../../api/problem-document.ts";
import type { PublicPage } from "../documents/public-page.ts";
import type { OwnHosts } from "../own-hosts.ts";
import { MCP_PATHS } from "./endpoint.ts";

/** The path before the path of a resource (RFC 9728 section 3.1). */
const ROOT = "/.well-known/oauth-protected-resource";

const MCP_ROOT = "/v1/mcp";

interface MetadataDeps {
  workloads?: { readonly issuers: readonly string[] };
  ownHosts?: OwnHosts;
}

/**
 * Returns the pages, one for each endpoint, since a resource is identified by the address that its client uses (section
 * 3.3).
 */
export function resourceMetadataPages({ workloads }: MetadataDeps): PublicPage[] {
  return MCP_PATHS.map((path) => ({
    path: ROOT + path,
    answer(exchange, request) {
      const { pathname } = new URL(request.url);
      const issuers = workloads?.issuers ?? [];
      if (issuers.length === 0) throw NO_SUCH_PATH;
      const metadata = {
        resource: ownOrigin(request.headers) + pathname.slice(ROOT.length),
        authorization_servers: issuers,
        bearer_methods_supported: ["header"],
        resource_name: "governd",
      };
      return new Response(JSON.stringify(metadata), { headers: exchange.headers("application/json") });
    },
  }));
}

/**
 * Returns the address of the page about an endpoint; null for another path, for a request that names another host, and
 * when no issuer is set up.
 */
export function metadataAddress(path: string, headers: Headers, { workloads, ownHosts }: MetadataDeps): string | null {
  if (path !== MCP_ROOT && !path.startsWith(`${MCP_ROOT}/`)) return null;
  const host = headers.get("host");
  if (workloads === undefined || workloads.issuers.length === 0 || host === null) return null;
  return ownHosts === undefined || ownHosts.has(host) ? ownOrigin(headers) + ROOT + path : null;
}
