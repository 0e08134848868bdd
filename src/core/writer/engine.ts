/**
 * Commits the transactions of a workspace. A transaction always runs on a connection to a local file; the engine makes
 * it durable. The embedded engine commits in the file. The engine of a libSQL server commits on the server, if the log
 * there still ends where the transaction began.
 */
import type { Connection } from "../../store/connection.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import type { Head } from "./head.ts";

/** The outcome of a commit. `stale`: the log has other events by now, and nothing was written. */
export type CommitOutcome = "committed" | "stale" | "unknown";

export interface Engine {
  /**
   * Prepares the file for a transaction. Returns whether the file has changed, so that cached state must be reloaded.
   * Null for an engine that needs no preparation.
   */
  readonly begin: (() => MaybePromise<boolean>) | null;
  /** Says that another node may have written: the next {@link begin} asks the server. */
  doubt?(): void;
  /**
   * Commits the open transaction, which began after the event `expected`. Unless it returns `committed`, the caller
   * must roll back.
   * @param isLong whether the commit will take long, so that another thread should do it
   */
  commit(expected: Head, isLong: boolean): MaybePromise<CommitOutcome>;
}

/** Returns the engine that commits in the file. */
export const embeddedEngine = (connection: Connection): Engine => ({
  begin: null,
  commit(_expected, isLong) {
    if (isLong) return connection.execBeside("COMMIT").then(() => "committed");
    connection.exec("COMMIT");
    return "committed";
  },
});
