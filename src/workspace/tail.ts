/** What is looked at before a workspace is written to: whether its log ends as its head says. */
import { eventHash } from "../log/hash.ts";
import type { Connection } from "../store/connection.ts";
import { readHead } from "./head.ts";
import { DamagedWorkspace } from "./storage-failure.ts";

/** Events at the end of the log whose hashes are computed anew. */
const TAIL_EVENTS = 8;

/**
 * Reads the end of the log again and compares it with the head, so that nothing is appended to a log that is not
 * the one that was written: after a failure of the disk, memory and file may not agree any more. Answers the
 * workspace that the file holds.
 * @throws {DamagedWorkspace} when they do not
 */
export function checkTail(connection: Connection): string {
  // Of one moment: another process may append between two looks.
  connection.exec("BEGIN");
  try {
    return compareTail(connection);
  } finally {
    if (connection.inTransaction) connection.exec("ROLLBACK");
  }
}

function compareTail(connection: Connection): string {
  const head = readHead(connection);
  // Pruned events have no body, and are never among the last.
  const rows = connection.all<[number, string, string]>(
    "SELECT seq, body, hash FROM events ORDER BY seq DESC LIMIT ?",
    [TAIL_EVENTS],
  );
  const [last] = rows;
  if (last === undefined || last[0] !== head.seq || last[2] !== head.hash) {
    throw new DamagedWorkspace("the log does not end with the event that the file says it ends with");
  }
  for (const [seq, body, hash] of rows) {
    if (eventHash(body) !== hash)
      throw new DamagedWorkspace(`the hash of event ${seq} is not that of its body`);
  }
  return head.workspaceId;
}

/**
 * Writes to the file without changing what it says. What a failed transaction may have left in the write-ahead
 * log is overwritten by it, and can never be taken for a committed one; so once this is on disk, that
 * transaction has certainly not happened.
 */
export function rewriteHead(connection: Connection): void {
  connection.run("UPDATE head SET seq = seq WHERE one = 1");
}
