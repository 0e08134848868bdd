/**
 * Entries that do not exist for somebody. Expired ones, past their retention or their own expiry time, exist for nobody:
 * reads hide them by a condition until a sweep removes them. What is set aside (`quarantine.set`) is hidden from programs
 * by the same condition.
 */
import type { Freshness } from "../../screen/retention.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import { CHANGED_AT_ONCE, inSteps } from "../../store/walk.ts";
import type { AgentState } from "./agents.ts";

/** SQL: the condition that an entry exists for a viewer. Its parameters: {@link freshBounds}. */
export const FRESH = "updated_at >= ? AND (expires_at IS NULL OR expires_at > ?) AND (quarantined IS NULL OR ?)";

/** SQL: the same condition with numbered parameters, of which `first` is the first. */
export const freshFrom = (first: number): string => {
  let next = first;
  return FRESH.replaceAll("?", () => `?${next++}`);
};

/** The parameters of {@link FRESH}. */
export const freshBounds = ({ cutoffMs, nowMs, seesSetAside }: Freshness) =>
  [cutoffMs, nowMs, seesSetAside ? 1 : 0] as const;

/** SQL: the conditions that an entry is past its retention, or only past its own expiry time. Each has an index. */
const OLD = "agent = ? AND updated_at < ?";
const ENDED = "agent = ? AND updated_at >= ? AND expires_at <= ?";
/** SQL: the condition that an entry is set aside and has not expired. It has an index, too. */
const SET_ASIDE =
  "agent = ? AND quarantined IS NOT NULL AND updated_at >= ? AND (expires_at IS NULL OR expires_at > ?)";

const UNLIMITED = -1;

/**
 * Returns the number of present entries that do not exist for a viewer: those that have expired and were not swept yet,
 * and those that are set aside. Counts at most `most` of each kind.
 */
export async function countHidden(
  reader: Reader,
  { firstSeq }: { firstSeq: number },
  freshness: Freshness,
  most = UNLIMITED,
): Promise<number> {
  const { cutoffMs, nowMs, seesSetAside } = freshness;
  const count = async (condition: string, parameters: number[]) => {
    const sql = `SELECT count(*) FROM (SELECT 1 FROM entries WHERE ${condition} AND live_to IS NULL LIMIT ?)`;
    return (await reader.value<number>(sql, [...parameters, most])) ?? 0;
  };
  const old = cutoffMs < 0 ? 0 : await count(OLD, [firstSeq, cutoffMs]);
  const ended = await count(ENDED, [firstSeq, cutoffMs, nowMs]);
  const aside = seesSetAside ? 0 : await count(SET_ASIDE, [firstSeq, cutoffMs, nowMs]);
  return old + ended + aside;
}

/**
 * Whether an agent may have entries that do not exist for a viewer: under a retention, or when some version is past its
 * own expiry time and was not removed yet, or is set aside.
 */
export async function mayHide(
  reader: Reader,
  { firstSeq }: AgentState,
  { cutoffMs, nowMs, seesSetAside }: Freshness,
): Promise<boolean> {
  const has = async (condition: string, bound: number[]) =>
    (await reader.value(`SELECT 1 FROM entries WHERE agent = ? AND ${condition} LIMIT 1`, bound)) !== undefined;
  if (cutoffMs >= 0 || (await has("expires_at <= ?", [firstSeq, nowMs]))) return true;
  return !seesSetAside && (await has("quarantined IS NOT NULL", [firstSeq]));
}

/** SQL: the expired versions of an agent, in two queries, the oldest of each first. */
function expired({ firstSeq }: AgentState, { cutoffMs, nowMs }: Freshness) {
  const old = { from: `FROM entries WHERE ${OLD} ORDER BY updated_at, id LIMIT ?`, bound: [firstSeq, cutoffMs] };
  const ended = {
    from: `FROM entries WHERE ${ENDED} ORDER BY expires_at, id LIMIT ?`,
    bound: [firstSeq, cutoffMs, nowMs],
  };
  return cutoffMs < 0 ? [ended] : [old, ended];
}

/** Returns how many versions, at most `limit`, have expired, including history, and how many of these are present. */
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

/** The name of a version, and its size, bytes. */
export type Sized<Name = number> = readonly [name: Name, bytes: number];

/** SQL: the size of a version, bytes. SQLite knows it without reading the value. */
export const BYTES = "octet_length(value)";

export const bytesOf = ([, bytes]: Sized<unknown>): number => bytes;

/**
 * Removes versions, a few at a time, with turns of other workspaces in between. Returns how many were removed.
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
    removed += await tx.change("DELETE FROM entries WHERE id IN (SELECT value FROM json_each(?))", [ids]);
  }
  return removed;
}

/** Removes the versions that {@link countExpiredVersions} counts, even those that checkpoints see. Returns how many. */
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

/** Returns the agents with versions past their own expiry time. */
export async function agentsWithEnded(reader: Reader, nowMs: number): Promise<string[]> {
  // For each agent, since the index of expiry times begins with the agent.
  const rows = await reader.all<[string]>(
    `SELECT agent_id FROM agents WHERE agent_id IS NOT NULL
     AND EXISTS (SELECT 1 FROM entries WHERE agent = first_seq AND expires_at <= ?)`,
    [nowMs],
  );
  return rows.map(([agentId]) => agentId);
}
