/** The problems that clients get for failures that are not the request's fault. */

import {
  explainFailure,
  failedSyncing,
  isStorageFailure,
  mayReappear,
  NotCommitted,
  OUTCOME_UNKNOWN,
  Unreachable,
} from "../../../core/writer/storage-failure.ts";
import { Problem } from "../../../problem.ts";

/** The message when the file of the installation cannot be read or written. */
const STORAGE_FAILED = "The disk accepts no writes at the moment; nothing was changed. Try again shortly.";

/**
 * Returns the problem for a libSQL server that cannot be used now, which is not a failure of the daemon; null for
 * another error.
 */
export const serverProblem = (error: unknown): Problem | null =>
  error instanceof Unreachable || error instanceof NotCommitted
    ? new Problem(...explainFailure(error, mayReappear(error)))
    : null;

/** Returns the problem for a failure of the daemon or its disk. */
export function failureProblem(error: unknown): Problem {
  if (!(error instanceof Error && isStorageFailure(error))) {
    return new Problem("internal", "Internal error. Tell the operator the request_id; the daemon's log has more.");
  }
  return failedSyncing(error)
    ? new Problem("outcome_unknown", OUTCOME_UNKNOWN)
    : new Problem("unavailable", STORAGE_FAILED);
}
