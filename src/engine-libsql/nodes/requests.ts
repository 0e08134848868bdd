/** Serves requests that other nodes forward. */

import type { SessionKeeper } from "../../ops/accounts/session-keeper.ts";
import type { Authenticator } from "../../ops/directory/authenticator.ts";
import type { Workloads } from "../../ops/directory/workloads.ts";
import { Problem } from "../../problem.ts";
import { authenticateRequest } from "../../serve/http/pipeline/authenticate.ts";
import type { AppDeps } from "../../serve/http/pipeline/pipeline.ts";
import { type Before, type RunningServer, startServer } from "../../serve/http/server.ts";
import type { Address } from "../../settings/values.ts";
import { clientOfForwarded } from "../cluster/cluster.ts";
import type { NodeIdentity } from "../cluster/identity.ts";

/**
 * Opens a port for other nodes. The forwarding node has determined the client's address, and states it.
 * @throws as {@link startServer}
 */
export function serveNodes(
  { trustedProxies: _, ...deps }: Omit<AppDeps, "peerOf">,
  address: Address,
  identity: NodeIdentity,
  { shared, before }: { shared: boolean; before: Before },
): RunningServer {
  return startServer(deps, {
    hostname: address.host,
    port: address.port,
    shared,
    tls: identity,
    before,
    clientOf: clientOfForwarded,
  });
}

/** Returns the workspace of a request's credentials; null when they are not valid, or not for a single workspace. */
export async function identified(
  {
    authenticator,
    sessions,
    workloads,
  }: { authenticator: Authenticator; sessions: SessionKeeper; workloads: Workloads },
  request: Request,
): Promise<string | null> {
  const authenticate = (apiKey: string) => authenticator.authenticate(apiKey);
  try {
    return (await authenticateRequest(request, { authenticate, sessions, workloads }, false)).workspaceId;
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}
