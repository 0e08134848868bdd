/** Requests that nodes pass on to each other. */
import { clientOfForwarded } from "../../cluster/cluster.ts";
import type { NodeIdentity } from "../../cluster/identity.ts";
import type { SessionKeeper } from "../../control/accounts/session-keeper.ts";
import type { Authenticator } from "../../control/authenticator.ts";
import { authenticateRequest } from "../../http/pipeline/authenticate.ts";
import type { AppDeps } from "../../http/pipeline/pipeline.ts";
import { type Before, type RunningServer, startServer } from "../../http/server.ts";
import { Problem } from "../../problem.ts";
import type { Address } from "../../settings/values.ts";

/** Opens a port for other nodes. Many clients share a connection of a node. @throws as {@link startServer} */
export function serveNodes(
  { trustedProxies: _, ...deps }: Omit<AppDeps, "peerOf">,
  address: Address,
  { cert, key, ca }: NodeIdentity,
  before: Before,
): RunningServer {
  return startServer(
    { ...deps, addressRequestsPerSecond: 0 },
    {
      hostname: address.host,
      port: address.port,
      tls: { cert, key, clientCa: ca },
      before,
      clientOf: clientOfForwarded,
    },
  );
}

/** Returns the workspace that the credentials of a request are for; null when they are for none, or not valid. */
export function identified(
  { authenticator, sessions }: { authenticator: Authenticator; sessions: SessionKeeper },
  request: Request,
): string | null {
  try {
    return authenticateRequest(request, (apiKey) => authenticator.authenticate(apiKey), sessions, false).workspaceId;
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}
