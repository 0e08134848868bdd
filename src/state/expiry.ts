/**
 * Entries that are gone before they are removed: past their retention, or past a time of their own. Reads hide them by a
 * condition, and the sweep removes them.
 */
import type { Freshness } from "../policy/retention.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import type { AgentState } from "./agents.ts";

/** A condition on entries that are not gone, as SQL. Its parameters: {@link freshBounds}. */
export const FRESH = "updated_at >= ? AND (expires_at IS NULL OR expires_at > ?)";

/** The parameters of {@link FRESH}. */
export const freshBounds = ({ cutoffMs, nowMs }: Freshness): readonly [number, number] => [cutoffMs, nowMs];

/** What is past its retention, and what is past its own time alone. Each has an index. */
const OLD = "agent = ? AND updated_at < ?";
const ENDED = "agent = ? AND updated_at >= ? AND expires_at <= ?";

/** Present entries that are gone, and which no sweep has removed yet. */
export async function countExpired(reader: Reader, { firstSeq }: { firstSeq: number }, freshness: Freshness) {
  const { cutoffMs, nowMs } = freshness;
  const count = async (sql: string, parameters: number[]) =>
    (await reader.value<number>(`SELECT count(*) FROM entries WHERE ${sql} AND live_to IS NULL`, parameters)) ?? 0;
  const old = cutoffMs < 0 ? 0 : await count(OLD, [firstSeq, cutoffMs]);
  return old + (await count(ENDED, [firstSeq, cutoffMs, nowMs]));
}

/** Whether some version of an agent is past a time of its own and not removed yet. */
export const hasEnded = async (reader: Reader, { firstSeq }: AgentState, nowMs: number): Promise<boolean> =>
  (await reader.value("SELECT 1 FROM entries WHERE agent = ? AND expires_at <= ? LIMIT 1", [firstSeq, nowMs])) !==
  undefined;

/** The versions of an agent that are gone, in two parts, the oldest of each first. */
function expired({ firstSeq }: AgentState, { cutoffMs, nowMs }: Freshness) {
  const old = { from: `FROM entries WHERE ${OLD} ORDER BY updated_at, id LIMIT ?`, bound: [firstSeq, cutoffMs] };
  const ended = {
    from: `FROM entries WHERE ${ENDED} ORDER BY expires_at, id LIMIT ?`,
    bound: [firstSeq, cutoffMs, nowMs],
  };
  return cutoffMs < 0 ? [ended] : [old, ended];
}

/** How many versions are gone, in history too, `limit` at most; and how many of them are present. */
export async function countExpiredVersions(reader: Reader, agent: AgentState, freshness: Freshness, limit: number) {
  const found = { versions: 0, live: 0 };
  for (const { from, bound } of expired(agent, freshness)) {
    const sql = `SELECT count(*), count(*) - count(live_to) FROM (SELECT live_to ${from})`;
    const [versions, live] = (await reader.get<[number, number]>(sql, [...bound, limit - found.versions])) ?? [0, 0];
    found.versions += versions;
    found.live += live;
  }
  return found;
}

/** Versions that one statement removes. */
const REMOVED_AT_ONCE = 250;

/** Removes the versions that {@link countExpiredVersions} counts, also from every checkpoint. Returns how many. */
export async function removeExpired(
  tx: Transaction,
  agent: AgentState,
  freshness: Freshness,
  { count, pause }: { count: number; pause(): Promise<void> },
): Promise<number> {
  let removed = 0;
  for (const { from, bound } of expired(agent, freshness)) {
    const sql = `DELETE FROM entries WHERE id IN (SELECT id ${from})`;
    for (let changed = REMOVED_AT_ONCE; changed === REMOVED_AT_ONCE && removed < count; await pause()) {
      changed = await tx.run(sql, [...bound, Math.min(REMOVED_AT_ONCE, count - removed)]);
      removed += changed;
    }
  }
  return removed;
}

/** The agents of the workspace that have versions past a time of their own. */
export async function agentsWithEnded(reader: Reader, nowMs: number): Promise<string[]> {
  // The index of such times begins with the agent.
  const rows = await reader.all<[string]>(
    `SELECT agent_id FROM agents WHERE agent_id IS NOT NULL
     AND EXISTS (SELECT 1 FROM entries WHERE agent = first_seq AND expires_at <= ?)`,
    [nowMs],
  );
  return rows.map(([agentId]) => agentId);
}
