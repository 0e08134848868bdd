/**
 * History: versions that were overwritten or deleted, or replaced by a restore. Each is kept for the days of the policy
 * `history_days` after its end. The sweep drops the oldest ones, and its event `data.expire` states `through`: exactly the
 * versions that ended before that position and that no checkpoint sees are gone.
 */
import { historyCutoff } from "../../screen/history.ts";
import type { Freshness } from "../../screen/retention.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import type { AgentState } from "./agents.ts";
import { BYTES, FRESH, freshBounds, removeVersions, type Sized } from "./expiry.ts";
import { historyFrom } from "./sweeps.ts";

/** How long after its time a version may stay, ms, so that an agent's log has one event an hour of it, and not of each write. */
export const SLACK_MS = 3_600_000;

/** SQL: whether a checkpoint sees a version that has ended. */
export const IS_SEEN = `EXISTS (SELECT 1 FROM checkpoints c WHERE c.agent = entries.agent
  AND c.as_of_seq >= entries.live_from AND c.as_of_seq < entries.live_to)`;

/** SQL: the versions of an agent that are there for its history alone, from a position on, without expired ones. */
const ALONE = `FROM entries WHERE agent = ? AND live_to >= ? AND ${FRESH} AND NOT ${IS_SEEN}`;

type Ended = [liveTo: number, endedMs: number];

/**
 * Returns how many versions of the history are past their time, and the position before which all of them ended. At
 * most `limit` are counted, unless one event ended more.
 * @param slackMs nothing is, until the oldest is so long past its time
 */
export async function findPastHistory(
  reader: Reader,
  agent: AgentState,
  fresh: Freshness,
  { limit, slackMs }: { limit: number; slackMs: number },
): Promise<{ count: number; through: number }> {
  const cutoffMs = historyCutoff(agent.policies, fresh.nowMs);
  const bound = [agent.firstSeq, agent.historyFrom, ...freshBounds(fresh)];
  const sql = `SELECT live_to, (SELECT time FROM events WHERE seq = live_to) ${ALONE} ORDER BY live_to LIMIT ?`;
  const ended = await reader.all<Ended>(sql, [...bound, limit]);
  const [oldest] = ended;
  const none = { count: 0, through: agent.historyFrom };
  if (oldest === undefined || oldest[1] >= cutoffMs - slackMs) return none;
  const kept = ended.findIndex(([, endedMs]) => endedMs >= cutoffMs);
  if (kept > 0) return { count: kept, through: (ended[kept] as Ended)[0] };
  const [last] = ended.at(-1) as Ended;
  if (ended.length < limit) return { count: ended.length, through: last + 1 };
  const count = ended.findIndex(([liveTo]) => liveTo === last);
  if (count > 0) return { count, through: last };
  const same = await reader.value<number>(`SELECT count(*) ${ALONE} AND live_to < ?`, [...bound, last + 1]);
  return { count: same ?? 0, through: last + 1 };
}

/** Drops what {@link findPastHistory} counts. Returns the number of versions. */
export async function dropHistory(
  tx: Transaction,
  agent: AgentState,
  fresh: Freshness,
  { through, pause }: { through: number; pause(): Promise<void> },
): Promise<number> {
  const bound = [agent.firstSeq, agent.historyFrom, ...freshBounds(fresh), through];
  return removeVersions(tx, await tx.all<Sized>(`SELECT id, ${BYTES} ${ALONE} AND live_to < ?`, bound), pause);
}

/** Returns the agents whose oldest ended version is past a time, ms; those that checkpoints see included. */
export async function agentsWithPastHistory(reader: Reader, beforeMs: number): Promise<string[]> {
  const oldest = `SELECT v.time FROM entries e JOIN events v ON v.seq = e.live_to
    WHERE e.agent = a.first_seq AND e.live_to >= coalesce((${historyFrom("a.agent_id")}), 0) ORDER BY e.live_to LIMIT 1`;
  const sql = `SELECT agent_id FROM agents a WHERE agent_id IS NOT NULL AND (${oldest}) < ?`;
  return (await reader.all<[string]>(sql, [beforeMs])).flat();
}
