/** What the control side asks of a workspace's audit log. */
import type { WorkspaceEvent } from "../workspace/contract.ts";

export type { WorkspaceEvent } from "../workspace/contract.ts";

/**
 * Appends to a workspace's own chain. Each call returns when the event is on disk; a workspace that a
 * daemon has open at the same time is no obstacle.
 */
export interface WorkspaceRecorder {
  /** Makes the workspace's file with its genesis event, `workspace.create`. */
  create(workspace: { id: string; name: string; actor: string }): Promise<void>;
  /** Answers the event's id. @throws {Failure} `busy` when it could not be recorded. */
  record(workspaceId: string, event: WorkspaceEvent): Promise<string>;
}
