/** Empties write-ahead logs at the request of commands. */

import { takeRequest } from "../../core/datadir/empty-logs.ts";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { messageOf } from "../../failure.ts";
import { repeat, systemTimer, type Timer } from "../../timer.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { Logger } from "./logger.ts";

/** How often the daemon checks for a request, ms. */
const LOOK_EVERY_MS = 200;

/** Forwards requests to the threads that own the workspaces, until the returned function is called. */
export function serveLogRequests(
  directory: DataDirectory,
  pool: Pick<WorkspacePool, "emptyLogs">,
  logger: Logger,
  timer: Timer = systemTimer,
): () => void {
  return repeat(timer, LOOK_EVERY_MS, () => {
    try {
      const ids = takeRequest(directory);
      if (ids !== null) pool.emptyLogs(ids);
    } catch (error) {
      logger.error("a request to empty write-ahead logs cannot be read", { reason: messageOf(error) });
    }
  });
}
