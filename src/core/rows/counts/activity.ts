/**
 * The number of events in each interval of time, without counting them: positions have no gaps, so the number between
 * two moments is the difference of their positions, which binary search finds. If the clock was once set back, a moment
 * may have several positions, of which one is taken.
 */

import type { ActivityInterval, TimeWindow } from "../../../operation-facts.ts";
import { RecentWrites, WINDOW_MS } from "../../../screen/recent-writes.ts";
import type { Reader } from "../../../store/transaction.ts";
import type { SqlValue } from "../../../store/values.ts";
import { sqlNames } from "../entry-changes.ts";
import { timesIn } from "../log/events.ts";

/** The most refused operations that are counted. */
const MAX_COUNTED = 1_000_000;
/** Writes are counted individually only in windows with at most this many events, of at most this many agents. */
export const MAX_SCANNED = 250_000;
const MAX_AGENTS = 2_000;
const AGENTS = `SELECT agent_id FROM agents WHERE agent_id NOTNULL LIMIT ${MAX_AGENTS + 1}`;

/** The lengths of the intervals, ms. */
export const INTERVALS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const satisfies Record<
  ActivityInterval,
  number
>;

export interface ActivityWindow {
  /** Null for the whole workspace. */
  agentId: string | null;
  interval: ActivityInterval;
  /** The window. Both ends are starts of intervals. */
  startMs: number;
  endMs: number;
}

interface IntervalActivity {
  startMs: number;
  events: number;
  /** The number of allowed writes; null when there are too many events to count. */
  allowed: number | null;
  blocked: number;
  denied: number;
}

/** Returns every interval of a window, the oldest first. */
export async function countActivity(reader: Reader, window: ActivityWindow): Promise<IntervalActivity[]> {
  const ms = INTERVALS[window.interval];
  const refused = await countRefused(reader, window);
  const end = await endOf(reader, window.agentId);
  const [first, last] = await eventsIn(reader, window);
  const allowed = last - first > MAX_SCANNED ? null : await countAllowed(reader, window);
  const activity: IntervalActivity[] = [];
  let from = first;
  for (let startMs = window.startMs; startMs < window.endMs; startMs += ms) {
    const to = await firstAt(reader, window, { low: from, high: end, atMs: startMs + ms });
    const at = (startMs - window.startMs) / ms;
    activity.push({
      startMs,
      events: to - from,
      allowed: allowed === null ? null : (allowed.get(at) ?? 0),
      blocked: refused.get(`${at} blocked`) ?? 0,
      denied: refused.get(`${at} denied`) ?? 0,
    });
    from = to;
  }
  return activity;
}

/** Returns the position of the first event of a window, and the position after its last event. */
export async function eventsIn(
  reader: Reader,
  window: Omit<ActivityWindow, "interval">,
): Promise<[first: number, last: number]> {
  const end = await endOf(reader, window.agentId);
  const first = await firstAt(reader, window, { low: 0, high: end, atMs: window.startMs });
  return [first, await firstAt(reader, window, { low: first, high: end, atMs: window.endMs })];
}

/** SQL: the number of the interval of a window in which an event is. */
const intervalIn = ({ interval, startMs }: ActivityWindow): string => `(time - ${startMs}) / ${INTERVALS[interval]}`;

/**
 * Returns allowed writes by interval. Counts agent by agent, from an index only; null when there are too many agents.
 */
async function countAllowed(reader: Reader, window: ActivityWindow) {
  const agents: (readonly [string])[] = window.agentId === null ? await reader.all(AGENTS) : [[window.agentId]];
  if (agents.length > MAX_AGENTS) return null;
  const counts = new Map<number, number>();
  for (const [agentId] of agents) {
    const own = { ...window, agentId };
    const end = await endOf(reader, agentId);
    const from = await firstAt(reader, own, { low: 0, high: end, atMs: window.startMs });
    if (from === end) continue;
    const rows = await reader.all<[number, number]>(
      `SELECT ${intervalIn(window)}, count(*) FROM events
       WHERE agent_id = ? AND agent_seq > ? AND operation IN (${sqlNames("put")}) AND result = 'allowed'
         AND time >= ? AND time < ?
       GROUP BY 1`,
      [agentId, from, window.startMs, window.endMs],
    );
    for (const [at, count] of rows) counts.set(at, (counts.get(at) ?? 0) + count);
  }
  return counts;
}

/** Returns the position after the newest event of the workspace, or of an agent. */
async function endOf(reader: Reader, agentId: string | null): Promise<number> {
  if (agentId === null) return (await reader.value<number>("SELECT seq + 1 FROM head")) ?? 0;
  return (await reader.value<number>("SELECT max(agent_seq) FROM events WHERE agent_id = ?", [agentId])) ?? 0;
}

/** Returns the position of the first event from `low` to before `high` that is not before a moment; `high` for none. */
async function firstAt(
  reader: Reader,
  { agentId }: Pick<ActivityWindow, "agentId">,
  range: { low: number; high: number; atMs: number },
): Promise<number> {
  let { low, high } = range;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    // Pruned positions are empty: the next event that exists is taken instead.
    const [condition, parameters] =
      agentId === null
        ? ["seq >= ? ORDER BY seq", [middle]]
        : ["agent_id = ? AND agent_seq >= ? ORDER BY agent_seq", [agentId, middle + 1]];
    const time = await reader.value<number>(`SELECT time FROM events WHERE ${condition} LIMIT 1`, parameters);
    if (time === undefined) throw new Error("an event of the log is missing");
    if (time < range.atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns refused operations by interval and result. The `+` makes SQLite use the index of refused operations. */
async function countRefused(reader: Reader, window: ActivityWindow) {
  const { agentId, startMs, endMs } = window;
  const parameters: SqlValue[] = [startMs, endMs];
  if (agentId !== null) parameters.push(agentId);
  const rows = await reader.all<[number, string, number]>(
    `SELECT ${intervalIn(window)}, result, count(*) FROM (
       SELECT time, result FROM events
       WHERE result IN ('blocked', 'denied') AND time >= ? AND time < ?
         ${agentId === null ? "" : "AND +agent_id = ?"}
       LIMIT ${MAX_COUNTED}
     ) GROUP BY 1, 2`,
    parameters,
  );
  return new Map(rows.map(([at, result, count]) => [`${at} ${result}`, count]));
}

/** The events of one step. */
const AT_ONCE = 500;

/** A blocked operation. */
interface BlockedEvent {
  timeMs: number;
  blockedBy: string;
  /** The detector and the mode of each finding, as JSON. */
  findings: string;
}

/**
 * Returns the number of blocked operations in which each detector found something, for an agent or for all. Erased and
 * pruned details do not count.
 * @param pause gives other work a turn between two steps
 */
export async function countBlockedBy(
  reader: Reader,
  agentId: string | null,
  pause: () => Promise<void>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for await (const { findings } of blockedEvents(reader, { agentId }, pause)) {
    const detectors = (JSON.parse(findings) as [string, string][]).map(([detector]) => detector);
    for (const detector of new Set(detectors)) counts[detector] = (counts[detector] ?? 0) + 1;
  }
  return counts;
}

/** Yields the blocked operations of a window, without one all of them, in the order of their times. */
export async function* blockedEvents(
  reader: Reader,
  { agentId, ...window }: TimeWindow & Pick<ActivityWindow, "agentId">,
  pause: () => Promise<void>,
): AsyncGenerator<BlockedEvent> {
  const [start, end] = timesIn(window);
  let [seq, time] = [-1, start];
  for (;;) {
    const rows = await blockedAfter(reader, agentId, [time, seq, end]);
    for (const [, timeMs, blockedBy, findings] of rows) yield { timeMs, blockedBy, findings };
    const last = rows.at(-1);
    if (last === undefined || rows.length < AT_ONCE) return;
    [seq, time] = last;
    await pause();
  }
}

/** The `+` makes SQLite use the index of refused operations. */
const blockedAfter = (reader: Reader, agentId: string | null, after: [time: number, seq: number, end: number]) =>
  reader.all<[seq: number, time: number, blockedBy: string, findings: string]>(
    `SELECT seq, time, blocked_by,
       (SELECT json_group_array(json_array(value ->> 'detector', coalesce(value ->> 'mode', 'block')))
        FROM json_each(coalesce(details, '{}'), '$.findings'))
     FROM events
     WHERE result IN ('blocked', 'denied') AND +result = 'blocked'
       AND (time > ?1 OR (time = ?1 AND seq > ?2)) AND time >= ?1 AND time < ?3
       ${agentId === null ? "" : "AND +agent_id = ?4"}
     ORDER BY time, seq LIMIT ${AT_ONCE}`,
    agentId === null ? after : [...after, agentId],
  );

/** The events of a chain that are read at once. */
const READ_AT_ONCE = 1_000;

/** Returns the writes of an agent within the last minute, read from the log. */
export async function loadRecentWrites(reader: Reader, agentId: string | null, nowMs: number): Promise<RecentWrites> {
  const sql = `SELECT agent_seq, operation IN (${sqlNames("put")}) AND result = 'allowed', time FROM events
    WHERE agent_id = ? AND agent_seq < ? ORDER BY agent_seq DESC LIMIT ${READ_AT_ONCE}`;
  const times: number[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const rows = await reader.all<[agentSeq: number, isWrite: number, timeMs: number]>(sql, [agentId, before]);
    for (const [agentSeq, isWrite, timeMs] of rows) {
      before = agentSeq;
      if (timeMs <= nowMs - WINDOW_MS) return new RecentWrites(times.reverse());
      // If the clock was set back, some events are in the future.
      if (isWrite === 1 && timeMs <= nowMs) times.push(timeMs);
    }
    if (rows.length < READ_AT_ONCE) return new RecentWrites(times.reverse());
  }
}
