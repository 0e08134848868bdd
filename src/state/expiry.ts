/**
 * Entries that are gone before they are removed: past their retention, or past a time of their own. Reads hide them by a
 * condition, and the sweep removes them.
 */
import type { Freshness } from "../policy/retention.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import { CHANGED_AT_ONCE, inSteps } from "../store/walk.ts";
import type { AgentState } from "./agents.ts";

/** A condition on entries that are not gone, as SQL. Its parameters: {@link freshBounds}. */
export const FRESH = "updated_at >= ? AND (expires_at IS NULL OR expires_at > ?)";

/** The parameters of {@link FRESH}. */
export const freshBounds = ({ cutoffMs, nowMs }: Freshness): readonly [number, number] => [cutoffMs, nowMs];

/** What is past its retention, and what is past its own time alone. Each has an index. */
const OLD = "agent = ? AND updated_at < ?";
const ENDED = "agent = ? AND updated_at >= ? AND expires_at <= ?";

const UNLIMITED = -1;

/** Present entries that are gone, and which no sweep has removed yet. Of each kind, `most` are counted. */
export async function countExpired(
  reader: Reader,
  { firstSeq }: { firstSeq: number },
  freshness: Freshness,
  most = UNLIMITED,
): Promise<number> {
  const { cutoffMs, nowMs } = freshness;
  const count = async (condition: string, parameters: number[]) => {
    const sql = `SELECT count(*) FROM (SELECT 1 FROM entries WHERE ${condition} AND live_to IS NULL LIMIT ?)`;
    return (await reader.value<number>(sql, [...parameters, most])) ?? 0;
  };
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

/** What names a version, and the bytes that changing it concerns. */
export type Sized<Name = number> = readonly [name: Name, bytes: number];

/** The bytes of a version, as SQL, which reads none of them. */
export const BYTES = "octet_length(value)";

export const bytesOf = ([, bytes]: Sized<unknown>): number => bytes;

/**
 * Removes versions, a few at a time, and lets other workspaces have their turn in between. Returns how many.
 * @param versions their ids, and the bytes of each
 */
export async function removeVersions(
  tx: Transaction,
  versions: readonly Sized[],
  pause: () => Promise<void>,
): Promise<number> {
  let removed = 0;
  for (const step of inSteps(versions, bytesOf)) {
    await pause();
    const ids = JSON.stringify(step.map(([id]) => id));
    removed += await tx.run("DELETE FROM entries WHERE id IN (SELECT value FROM json_each(?))", [ids]);
  }
  return removed;
}

/** Removes the versions that {@link countExpiredVersions} counts, also from every checkpoint. Returns how many. */
export async function removeExpired(
  tx: Transaction,
  agent: AgentState,
  freshness: Freshness,
  { count, pause }: { count: number; pause(): Promise<void> },
): Promise<number> {
  let removed = 0;
  for (const { from, bound } of expired(agent, freshness)) {
    for (let found = CHANGED_AT_ONCE; found === CHANGED_AT_ONCE && removed < count; ) {
      const limit = Math.min(CHANGED_AT_ONCE, count - removed);
      const versions = await tx.all<Sized>(`SELECT id, ${BYTES} ${from}`, [...bound, limit]);
      found = versions.length;
      removed += await removeVersions(tx, versions, pause);
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
