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

/** Returns what finds a key of a workspace by its digest. A copy may lack a new key: it is looked for again on the server. */
export function keyFinder(pool: Asked, isCopy: boolean) {
  return async (workspaceId: string, digest: string): Promise<StoredKey | null> => {
    const request = { name: "key.find", input: { digest }, principal: systemPrincipal(workspaceId) } as const;
    const key = await asked<StoredKey | null>(pool, request);
    return key === null && isCopy ? await refreshed(pool, request) : key;
  };
}

type Asked = Pick<WorkspacePool, "perform" | "refresh">;

/** Asks a workspace's thread. @throws {Problem} when the file cannot be read */
async function asked<T>(pool: Asked, request: OperationRequest): Promise<T> {
  return jsonOf<T>((await pool.perform(request)).answer);
}

/** Asks a workspace on a node of a libSQL server, after the working copy was brought up to date. */
async function refreshed<T>(pool: Asked, request: OperationRequest): Promise<T> {
  const refused = await pool.refresh({ principal: request.principal });
  return refused === null ? asked(pool, request) : jsonOf(refused.answer);
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
    const startMs = clock() - (COUNTED[interval] - 1) * INTERVALS[interval];
    const { answer, auditId } = await pool.perform({
      name: "audit.activity",
      principal,
      input: { scope: { scope: "workspace" }, window: { startMs }, interval, byDetector: true },
    });
    return { body: jsonOf<JsonObject>(answer), auditId };
  };
