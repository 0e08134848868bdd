/** What policies refused before, as the log tells it. */
import type { Reader } from "../store/transaction.ts";

/** Events of one step. */
const AT_ONCE = 500;

type Refusal = [seq: number, timestamp: string, detectors: string];

/**
 * Returns in how many blocked operations each detector found something, of an agent or of all. Erased and pruned details
 * are not counted. `pause` gives way between two steps.
 */
export async function countBlockedBy(
  reader: Reader,
  agentId: string | null,
  pause: () => Promise<void>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let [seq, timestamp] = [-1, ""];
  for (;;) {
    const rows = await blockedAfter(reader, agentId, timestamp, seq);
    for (const [, , detectors] of rows) {
      for (const detector of new Set(JSON.parse(detectors) as string[])) counts[detector] = (counts[detector] ?? 0) + 1;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < AT_ONCE) return counts;
    [seq, timestamp] = last;
    await pause();
  }
}

/** The `+` keeps SQLite to the index of refused operations. */
const blockedAfter = (reader: Reader, agentId: string | null, timestamp: string, seq: number) =>
  reader.all<Refusal>(
    `SELECT seq, timestamp,
       (SELECT json_group_array(value ->> 'detector') FROM json_each(coalesce(details, '{}'), '$.findings'))
     FROM events
     WHERE result IN ('blocked', 'denied') AND +result = 'blocked'
       AND (timestamp > ?1 OR (timestamp = ?1 AND seq > ?2)) AND timestamp >= ?1
       ${agentId === null ? "" : "AND +agent_id = ?3"}
     ORDER BY timestamp, seq LIMIT ${AT_ONCE}`,
    agentId === null ? [timestamp, seq] : [timestamp, seq, agentId],
  );
