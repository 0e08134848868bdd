/** What the daemon itself asks of workspaces: keys and members, for authentication and for people, and findings over time. */
import type { StoredKey } from "../../core/rows/access/keys.ts";
import { INTERVALS } from "../../core/rows/counts/activity.ts";
import { jsonOf, type OperationRequest, systemPrincipal } from "../../core/writer/contract.ts";
import type { Clock } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { ActivityInterval } from "../../operation-facts.ts";
import type { Workspaces } from "../../ops/accounts/parts.ts";
import type { AccountDeps } from "../../ops/accounts/routes/contract.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import type { WorkspacePool } from "../threads/pool.ts";

/** Returns what finds a key of a workspace by its digest. The node that serves a workspace has the newest keys, but for new ones. */
export function keyFinder(pool: Asked, isCopy: boolean) {
  return async (workspaceId: string, digest: string): Promise<StoredKey | null> => {
    const request = { name: "key.find", input: { digest }, principal: systemPrincipal(workspaceId) } as const;
    const key = await asked<StoredKey | null>(pool, request);
    return key === null && isCopy ? await refreshed(pool, request) : key;
  };
}

type Asked = Pick<WorkspacePool, "perform" | "refresh">;

/** Asks a workspace on a reader thread. When that fails, asks once more: see {@link refreshed}. */
async function asked<T>(pool: Asked, request: OperationRequest): Promise<T> {
  const { answer } = await pool.perform(request);
  return answer.kind === "problem" ? await refreshed(pool, request) : jsonOf<T>(answer);
}

/**
 * Asks a workspace after its thread has opened the file: on a node of a libSQL server that brings the working copy up to date,
 * and a file that cannot be read is reported as any other that is down.
 */
async function refreshed<T>(pool: Asked, request: OperationRequest): Promise<T> {
  const refused = await pool.refresh({ principal: request.principal });
  return jsonOf((refused ?? (await pool.perform(request))).answer);
}

/** Returns the workspaces for the functions about accounts. @param isCopy whether files are copies of what is on a server */
export function workspacesOf(pool: Asked, installation: Installation, isCopy: boolean): Workspaces {
  return {
    // Another node may have changed what this one has a copy of.
    ask: (workspaceId, name, input) => {
      const request = { name, input, principal: systemPrincipal(workspaceId) };
      return isCopy ? refreshed(pool, request) : asked(pool, request);
    },
    async change(principal, name, input) {
      const { answer, auditId } = await pool.perform({ name, input, principal });
      const { audit_id: _, ...body } = jsonOf<JsonObject>(answer);
      // Other nodes cache keys and memberships for a second.
      if (isCopy) await installation.changed();
      return { body, auditId };
    },
  };
}

/** How many intervals of each length are counted, including the present one. */
const COUNTED: Readonly<Record<ActivityInterval, number>> = { minute: 60, hour: 24, day: 30 };

/** Returns what counts findings over time. A count is recorded like any view of a workspace's trail. */
export const findingsFrom =
  (pool: Pick<WorkspacePool, "perform">, clock: Clock): AccountDeps["findings"] =>
  async (principal, interval) => {
    const startMs = clock() - (COUNTED[interval] - 1) * INTERVALS[interval].ms;
    const { answer, auditId } = await pool.perform({
      name: "audit.activity",
      principal,
      input: { scope: { scope: "workspace" }, window: { startMs }, interval, byDetector: true },
    });
    return { body: jsonOf<JsonObject>(answer), auditId };
  };
