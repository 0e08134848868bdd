/** What clients are told of a failure that is no problem of their request. */
import { Problem } from "../../problem.ts";
import {
  explainFailure,
  failedSyncing,
  isStorageFailure,
  mayReappear,
  NotCommitted,
  OUTCOME_UNKNOWN,
  Unreachable,
} from "../../workspace/storage-failure.ts";

/** The message when the control database cannot be read or written. */
const STORAGE_FAILED = "The disk accepts no writes at the moment; nothing was changed. Try again shortly.";

/** Returns what a libSQL server does not do now; null for another error. It is no failure of the daemon. */
export const serverProblem = (error: unknown): Problem | null =>
  error instanceof Unreachable || error instanceof NotCommitted
    ? new Problem(...explainFailure(error, mayReappear(error)))
    : null;

/** Returns what is told of a failure of the daemon or its disk. */
export function failureProblem(error: unknown): Problem {
  if (!(error instanceof Error && isStorageFailure(error))) {
    return new Problem("internal", "Internal error. Tell the operator the request_id; the daemon's log has more.");
  }
  return failedSyncing(error)
    ? new Problem("outcome_unknown", OUTCOME_UNKNOWN)
    : new Problem("unavailable", STORAGE_FAILED);
}
