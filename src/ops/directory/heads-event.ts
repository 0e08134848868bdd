/** The event that records the heads of all workspaces. */
import type { HeadChanges } from "../../core/heads/stored.ts";
import type { WorkspaceEvent } from "../../core/writer/contract.ts";
import { SYSTEM } from "../../log/event.ts";
import { INSTALLATION_HEADS } from "../../operations.ts";

/** Returns the event that records the heads of all workspaces after these changes of the stored ones. */
export const headsEvent = (heads: HeadChanges): WorkspaceEvent => ({
  operation: INSTALLATION_HEADS,
  actor: SYSTEM,
  details: {},
  heads,
});
