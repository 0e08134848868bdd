/** Agents as an operator looks over them, and how many events there were when. */
import type { Reader } from "../store/transaction.ts";
import { NO_POLICIES, policiesOf, retentionCutoff } from "./configs.ts";
import { countExpired, endOfPrefix } from "./entries.ts";
import { findSuspension, type Suspension } from "./suspension.ts";

const DAY_MS = 86_400_000;
/** Refused operations that are counted at most; beyond them a number says nothing more. */
const MAX_COUNTED = 1_000_000;

export interface AgentOverview {
  agentId: string;
  /** Entries that are not past their retention. */
  entries: number;
  checkpoints: number;
  events: number;
  configVersion: number | null;
  /** The config's `policies`, a JSON object. */
  policies: string;
  firstActivityAt: string;
  lastActivityAt: string;
  /** Writes and restores that a policy blocked within the last 24 hours. */
  blocked: number;
  suspension: Suspension | null;
}

type AgentRow = [firstSeq: number, agentId: string, headSeq: number, liveEntries: number];

const AGENTS = "SELECT first_seq, agent_id, head_seq, live_entries FROM agents";

/** Agents by id in byte order: those behind `after`, with a prefix, skipping `offset`. */
export async function listOverviews(
  reader: Reader,
  page: { prefix: string; after: string; offset: number; limit: number },
  nowMs: number,
): Promise<AgentOverview[]> {
  const rows = await reader.all<AgentRow>(
    `${AGENTS} WHERE agent_id >= ? AND agent_id < ? AND agent_id > ? ORDER BY agent_id LIMIT ? OFFSET ?`,
    [page.prefix, endOfPrefix(page.prefix), page.after, page.limit, page.offset],
  );
  const blocked = await countBlocked(reader, nowMs - DAY_MS);
  const overviews: AgentOverview[] = [];
  for (const row of rows) overviews.push(await overviewOf(reader, row, blocked, nowMs));
  return overviews;
}

/** One agent; null when it never began. */
export async function findOverview(
  reader: Reader,
  agentId: string,
  nowMs: number,
): Promise<AgentOverview | null> {
  const row = await reader.get<AgentRow>(`${AGENTS} WHERE agent_id = ?`, [agentId]);
  if (row === undefined) return null;
  return overviewOf(reader, row, await countBlocked(reader, nowMs - DAY_MS), nowMs);
}

async function overviewOf(
  reader: Reader,
  [firstSeq, agentId, headSeq, liveEntries]: AgentRow,
  blocked: ReadonlyMap<string, number>,
  nowMs: number,
): Promise<AgentOverview> {
  const config = await reader.get<[number, string | null]>(
    "SELECT version, config -> '$.policies' FROM configs WHERE agent = ? ORDER BY version DESC LIMIT 1",
    [firstSeq],
  );
  const policies = config?.[1] ?? "{}";
  const enforced = config === undefined ? NO_POLICIES : policiesOf({ policies: JSON.parse(policies) });
  const times = await reader.get<[string, string, number]>(
    `SELECT (SELECT timestamp FROM events WHERE agent_id = ?1 AND agent_seq = 1),
       (SELECT timestamp FROM events WHERE agent_id = ?1 AND agent_seq = ?2),
       (SELECT count(*) FROM checkpoints WHERE agent = ?3)`,
    [agentId, headSeq, firstSeq],
  );
  if (times === undefined) throw new Error("an agent's events are missing");
  const expired = await countExpired(reader, { firstSeq }, retentionCutoff(enforced, nowMs));
  return {
    agentId,
    entries: liveEntries - expired,
    checkpoints: times[2],
    events: headSeq,
    configVersion: config?.[0] ?? null,
    policies,
    firstActivityAt: times[0],
    lastActivityAt: times[1],
    blocked: blocked.get(agentId) ?? 0,
    suspension: await findSuspension(reader, agentId),
  };
}

async function countBlocked(reader: Reader, sinceMs: number): Promise<Map<string, number>> {
  const rows = await reader.all<[string, number]>(
    `SELECT agent_id, count(*) FROM (
       SELECT agent_id FROM events WHERE result IN ('blocked', 'denied') AND timestamp >= ? AND result = 'blocked'
       LIMIT ${MAX_COUNTED}
     ) GROUP BY agent_id`,
    [new Date(sinceMs).toISOString()],
  );
  return new Map(rows);
}
