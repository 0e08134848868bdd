/** Serves requests that other nodes forward. */

import { systemPrincipal } from "../../core/writer/contract.ts";
import type { Membership } from "../../ops/accounts/memberships.ts";
import type { SessionKeeper } from "../../ops/accounts/session-keeper.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import type { Workloads } from "../../ops/directory/workloads.ts";
import { workspaceOfSecret } from "../../ops/directory/workspace-secret.ts";
import { findWorkspace, isWorkspace } from "../../ops/directory/workspaces.ts";
import { Problem } from "../../problem.ts";
import { authenticateRequest, type People, type WorkloadTokens } from "../../serve/http/pipeline/authenticate.ts";
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
  { installation, sessions, workloads }: { installation: Installation; sessions: SessionKeeper; workloads: Workloads },
  request: Request,
): Promise<string | null> {
  // A key names its workspace. The node that serves the workspace looks the key up, and the member.
  const authenticate = (apiKey: string) => {
    const workspaceId = workspaceOfSecret("gov_", apiKey);
    return workspaceId !== null && isWorkspace(installation.connection, workspaceId)
      ? systemPrincipal(workspaceId)
      : null;
  };
  const memberships: People["memberships"] = {
    find: (accountId, id) => assumed(installation, accountId, id),
    findOperator: async (accountId) => assumed(installation, accountId, installation.id),
  };
  try {
    const tokens: WorkloadTokens = {
      issuers: workloads.issuers,
      known: (token, how) => workloads.known(token, how),
      verify: (token) => workloads.verify(token),
      named: ({ workspaceId }) => systemPrincipal(workspaceId),
    };
    const authorities = { authenticate, people: { sessions, memberships }, workloads: tokens };
    return (await authenticateRequest(request, authorities, false)).workspaceId;
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

/** Returns the least membership of a workspace, which its node looks up before it is used; null when there is no such workspace. */
function assumed({ connection }: Installation, accountId: string, id: string): Membership | null {
  const workspace = findWorkspace(connection, id);
  if (workspace === undefined) return null;
  const { name, createdAt } = workspace;
  const nothing = { requiresSecondFactor: false, hasSecondFactor: false, locked: false, isInstallation: false };
  return { ...nothing, accountId, id, name, createdAt, role: "auditor", issuer: null, joinedAt: createdAt };
}
