/** Reads the head of a workspace's log, and checks that the log ends with it. */
import { VOCABULARY } from "../../log/event.ts";
import { eventHash } from "../../log/hash.ts";
import type { Connection } from "../../store/connection.ts";
import { pageOf } from "../../store/packed.ts";
import { packedEvent, unpackedEvents } from "../rows/log/stored-events.ts";
import { DamagedWorkspace, NewerWorkspace } from "./storage-failure.ts";

/** The newest event of a log. */
export interface Head {
  seq: number;
  hash: string;
}

/**
 * @throws {DamagedWorkspace} when the file holds no workspace
 * @throws {NewerWorkspace} when its log announces a greater vocabulary than this program knows
 */
export function readHead(connection: Connection): Head & { workspaceId: string } {
  const sql = "SELECT workspace_id, seq, lower(hex(hash)), vocabulary FROM head WHERE one = 1";
  const row = connection.get<[string, number, string, number]>(sql);
  if (row === undefined) throw new DamagedWorkspace("the file holds no workspace");
  const [workspaceId, seq, hash, vocabulary] = row;
  if (vocabulary > VOCABULARY) throw new NewerWorkspace(vocabulary, VOCABULARY);
  return { workspaceId, seq, hash };
}

/** The number of events at the end of the log whose hashes are verified. */
const TAIL_EVENTS = 8;

/**
 * Checks that the log ends with the head, so that nothing is appended to another log: after a failure of the disk, file
 * and memory may differ. Returns the id of the file's workspace.
 * @throws {DamagedWorkspace} when the log does not end as the head says
 */
export function checkTail(connection: Connection): string {
  // In one transaction, since another process may append between two queries.
  connection.exec("BEGIN");
  try {
    return compareTail(connection);
  } finally {
    if (connection.inTransaction) connection.exec("ROLLBACK");
  }
}

function compareTail(connection: Connection): string {
  const head = readHead(connection);
  // The last events are always there: only older ones can be pruned.
  const page = pageOf(packedEvent(), "FROM events ORDER BY seq DESC LIMIT ?");
  const events = unpackedEvents(connection.value(page, [TAIL_EVENTS]));
  const [last] = events;
  if (last?.seq !== head.seq || last.hash !== head.hash) {
    throw new DamagedWorkspace("the log does not end with the event that the file says it ends with");
  }
  for (const { seq, canonical, hash } of events) {
    if (eventHash(canonical) !== hash) throw new DamagedWorkspace(`event ${seq} does not have its hash`);
  }
  return head.workspaceId;
}

/**
 * Writes to the file without changing its contents. The write overwrites the remains of a failed transaction in the
 * write-ahead log. Once it is on disk, that transaction can no longer be recovered as committed.
 */
export function rewriteHead(connection: Connection): void {
  connection.run("UPDATE head SET seq = seq WHERE one = 1");
}
