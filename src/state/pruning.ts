/**
 * Retention of the log itself. Events before a position lose their bodies; their hashes stay in the tiles of the tree.
 * Kept are the events that something else stands on: each chain's first and last one before the position, every event
 * that a stored entry, config, checkpoint or key names, every event that states rows of the control database, and the
 * declared restores.
 */
import { LOG_RESTORE } from "../log/seal.ts";
import { TILE_WIDTH } from "../log/tiles.ts";
import { CONTROL_EVENT_NAMES, type EventName } from "../operations.ts";
import type { Reader, Transaction } from "../store/transaction.ts";

/** The operation that records a pruning; its details carry `before_seq`. */
export const PRUNE = "audit.prune" satisfies EventName;

/**
 * The position from which the log has all its bodies; 0 when nothing was pruned.
 *
 * @param after only prunings after this number of the workspace's own chain
 */
export async function prunedBefore(reader: Reader, after = 0): Promise<number> {
  const sql = `SELECT max(CAST(details ->> '$.before_seq' AS INTEGER)) FROM events
    WHERE agent_id IS NULL AND agent_seq > ? AND operation = ?`;
  return (await reader.value<number | null>(sql, [after, PRUNE])) ?? 0;
}

/** Every pruning, with the SHA-256 of the export that holds what it dropped. */
export async function prunings(reader: Reader): Promise<{ beforeSeq: number; exportDigest: string }[]> {
  const rows = await reader.all<[number, string]>(
    `SELECT CAST(details ->> '$.before_seq' AS INTEGER), CAST(details ->> '$.export_digest' AS TEXT) FROM events
     WHERE agent_id IS NULL AND operation = ? AND details IS NOT NULL ORDER BY seq`,
    [PRUNE],
  );
  return rows.map(([beforeSeq, exportDigest]) => ({ beforeSeq, exportDigest }));
}

/** How many events all prunings deleted, as their events state it. */
export async function prunedEvents(reader: Reader): Promise<number> {
  const sql = `SELECT sum(CAST(details ->> '$.events' AS INTEGER)) FROM events WHERE agent_id IS NULL AND operation = ?`;
  return (await reader.value<number | null>(sql, [PRUNE])) ?? 0;
}

/** The last position up to `limit` where a pruning may end before `timestamp`: a full tile's end. */
export async function pruneBoundary(reader: Reader, timestamp: string, limit: number): Promise<number> {
  const sql = "SELECT min(seq) FROM events WHERE timestamp >= ? AND seq >= ?";
  const first = await reader.value<number | null>(sql, [timestamp, await prunedBefore(reader)]);
  const end = Math.min(first ?? limit, limit);
  return end - (end % TILE_WIDTH);
}

const KEPT_OPERATIONS = [PRUNE, LOG_RESTORE, ...CONTROL_EVENT_NAMES].map((name) => `'${name}'`).join(", ");

/** The events that a pruning deletes, as SQL with the position as its only parameter. */
const PRUNABLE = `FROM events WHERE seq < ?1 AND seq NOT IN (SELECT 0
  UNION SELECT first_seq FROM agents
  UNION SELECT max(seq) FROM events WHERE seq < ?1 GROUP BY agent_id
  UNION SELECT written_seq FROM entries UNION SELECT created_seq FROM entries
  UNION SELECT live_from FROM entries UNION SELECT live_to FROM entries WHERE live_to IS NOT NULL
  UNION SELECT created_seq FROM configs
  UNION SELECT event_seq FROM checkpoints
  UNION SELECT announced_seq FROM seal_keys
  UNION SELECT seq FROM events WHERE agent_id IS NULL AND operation IN (${KEPT_OPERATIONS}))`;

/** How many events a pruning up to `beforeSeq` deletes. */
export async function countPrunable(reader: Reader, beforeSeq: number): Promise<number> {
  return (await reader.value<number>(`SELECT count(*) ${PRUNABLE}`, [beforeSeq])) ?? 0;
}

/** Deletes the events before `beforeSeq`, a multiple of 256, that nothing depends on. Returns how many. */
export async function prune(tx: Transaction, beforeSeq: number): Promise<number> {
  if (beforeSeq % TILE_WIDTH !== 0) throw new RangeError("a pruning ends with a full tile");
  return tx.run(`DELETE ${PRUNABLE}`, [beforeSeq]);
}
