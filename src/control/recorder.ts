/** What the control side asks of a workspace's audit log. */
import type { JsonObject } from "../json.ts";

/** An event of the workspace itself (no agent). */
export interface WorkspaceEvent {
  operation: "key.create" | "key.revoke";
  /** Who did it: `cli`, `usr_…` or `key_…`. */
  actor: string;
  details: JsonObject;
}

/**
 * Appends to a workspace's own chain. Each call returns when the event is on disk; a workspace that a
 * daemon has open at the same time is no obstacle.
 */
export interface WorkspaceRecorder {
  /** Makes the workspace's file with its genesis event, `workspace.create`. */
  create(workspace: { id: string; name: string; actor: string }): Promise<void>;
  record(workspaceId: string, event: WorkspaceEvent): Promise<void>;
}
