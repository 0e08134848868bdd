/** Logs whose checkpoint and tiles of hashes everybody may read (the setting `tlog_public`). */
import type { Principal } from "../../workspace/contract.ts";

/** Who reads a public log without a key. Nothing that it does is recorded. */
export const PUBLIC_ACTOR = "public";

const PATH = /^\/v1\/tlog\/(ws_[0-7][0-9a-hjkmnp-tv-z]{25})\//;

/** Returns the principal of a request without a key for a path of a public log; null for any other path. */
export function publicReader(path: string, publicLogs: ReadonlySet<string>): Principal | null {
  const workspaceId = PATH.exec(path)?.[1];
  if (workspaceId === undefined || !publicLogs.has(workspaceId)) return null;
  return { actor: PUBLIC_ACTOR, workspaceId, scope: "auditor", agents: [] };
}
