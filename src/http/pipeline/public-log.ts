/** Logs whose checkpoint and tiles of hashes everybody may read (the setting `tlog_public`). */
import type { Principal } from "../../workspace/contract.ts";

/** Who reads a public log without a key. Nothing that it does is recorded. */
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
