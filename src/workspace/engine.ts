/**
 * Where the transactions of a workspace become durable. A transaction always runs on a connection to a file of this
 * machine; the engine decides what its commit means. The embedded engine commits the file. The engine of a libSQL server
 * commits on the server, provided that the log there still ends where this transaction began.
 */
import type { Connection } from "../store/connection.ts";
import type { MaybePromise } from "../store/transaction.ts";
import type { Head } from "./head.ts";

/** How a guarded commit ended. `stale`: the log ends elsewhere, and nothing was written. */
type CommitOutcome = "committed" | "stale" | "unknown";

export interface Engine {
  /**
   * Makes the file ready for a transaction. Returns whether it changed, so that what is in memory of it must be read
   * again. Null when every file is ready.
   */
  readonly begin: (() => MaybePromise<boolean>) | null;
  /**
   * Commits the open transaction, which began behind the event `expected`. When it does not, the caller rolls back.
   * `isLong`: it has much to write, which is done beside the thread.
   */
  commit(expected: Head, isLong: boolean): MaybePromise<CommitOutcome>;
}

/** Returns the engine of a file that nobody else owns. */
export const embeddedEngine = (connection: Connection): Engine => ({
  begin: null,
  commit(_expected, isLong) {
    if (isLong) return connection.execBeside("COMMIT").then(() => "committed");
    connection.exec("COMMIT");
    return "committed";
  },
});
