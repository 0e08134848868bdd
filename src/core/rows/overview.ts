/** Overviews of agents for the operator, with recent refusals. */

import { SYSTEM } from "../../log/event.ts";
import { EVENT_NAMES, isActivity, type OperationInputs } from "../../operations.ts";
import { NO_POLICIES, policiesOf } from "../../screen/policies.ts";
import { freshAt, type Viewer } from "../../screen/retention.ts";
import { effectivePolicies } from "../../screen/workspace-policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { type SqlValue, sqlTexts } from "../../store/values.ts";
import { pageOf } from "../lists.ts";
import { WITH_HEADS } from "./agents.ts";
import { loadWorkspacePolicies } from "./configs.ts";
import { endOfPrefix } from "./entries.ts";
import { countHidden } from "./expiry.ts";
import { findSuspension, type Suspension } from "./suspension.ts";

const HOURS = 24;
const HOUR_MS = 3_600_000;
/** The most refused operations that are counted, since a larger number tells nothing more. */
const MAX_COUNTED = 1_000_000;

export interface AgentOverview {
  agentId: string;
  /** The number of entries that exist for the viewer. */
  entries: number;
  checkpoints: number;
  events: number;
  configVersion: number | null;
  /** The config's `policies`, a JSON object. */
  policies: string;
  firstActivityAt: string;
  /** When it last did something; when it began, if it never did or the event was pruned. */
  lastActivityAt: string;
  /** Writes and restores that a policy blocked in each of the last 24 hours, the oldest first. */
  blockedByHour: readonly number[];
  suspension: Suspension | null;
}

type AgentRow = [firstSeq: number, agentId: string, headSeq: number, liveEntries: number];

/**
 * The time of the newest event that is an agent's own act. The index has what the condition asks for, but the actor. (What
 * others do about an agent is passed over, a million events in 0.2 s.)
 */
const LAST_ACTIVITY = `SELECT timestamp FROM events WHERE agent_id = ?1
  AND operation IN (${sqlTexts(EVENT_NAMES.filter(isActivity))})
  AND actor <> ?2 ORDER BY agent_seq DESC LIMIT 1`;

const AGENTS = `SELECT a.first_seq, a.agent_id, h.agent_seq, h.entries FROM ${WITH_HEADS}`;

/**
 * Returns a page of the agents whose ids have a prefix and contain a text, ordered by the bytes of the ids, after the
 * id `after` if it is given.
 */
export async function listOverviews(reader: Reader, input: OperationInputs["agent.list"], viewer: Viewer) {
  const { prefix, contains = "", page } = input;
  const { after = "", limit, offset } = page;
  const rows = await reader.all<AgentRow>(
    `${AGENTS} WHERE a.agent_id >= ? AND a.agent_id < ? AND a.agent_id > ? AND instr(a.agent_id, ?) > 0
     ORDER BY a.agent_id LIMIT ? OFFSET ?`,
    [prefix, endOfPrefix(prefix), String(after), contains, limit + 1, offset],
  );
  const blocked = await countBlocked(reader, viewer.nowMs, null);
  const { items, last } = pageOf(rows, limit);
  const overviews: AgentOverview[] = [];
  for (const row of items) overviews.push(await overviewOf(reader, row, blocked, viewer));
  return { overviews, next: last?.[1] ?? null };
}

/** Returns one agent; null when it does not exist. */
export async function findOverview(reader: Reader, agentId: string, viewer: Viewer): Promise<AgentOverview | null> {
  const row = await reader.get<AgentRow>(`${AGENTS} WHERE a.agent_id = ?`, [agentId]);
  if (row === undefined) return null;
  return overviewOf(reader, row, await countBlocked(reader, viewer.nowMs, agentId), viewer);
}

async function overviewOf(
  reader: Reader,
  [firstSeq, agentId, headSeq, liveEntries]: AgentRow,
  blocked: ReadonlyMap<string, readonly number[]>,
  viewer: Viewer,
): Promise<AgentOverview> {
  const config = await reader.get<[number, string | null]>(
    "SELECT version, config -> '$.policies' FROM configs WHERE agent = ? ORDER BY version DESC LIMIT 1",
    [firstSeq],
  );
  const policies = config?.[1] ?? "{}";
  const own = config === undefined ? NO_POLICIES : policiesOf({ policies: JSON.parse(policies) });
  const enforced = effectivePolicies(await loadWorkspacePolicies(reader), own);
  const times = await reader.get<[string, string | null, number]>(
    `SELECT (SELECT timestamp FROM events WHERE agent_id = ?1 AND agent_seq = 1), (${LAST_ACTIVITY}),
       (SELECT count(*) FROM checkpoints WHERE agent = ?3)`,
    [agentId, SYSTEM, firstSeq],
  );
  if (times === undefined) throw new Error("an agent's events are missing");
  const hidden = await countHidden(reader, { firstSeq }, freshAt(enforced, viewer));
  return {
    agentId,
    entries: liveEntries - hidden,
    checkpoints: times[2],
    events: headSeq,
    configVersion: config?.[0] ?? null,
    policies,
    firstActivityAt: times[0],
    lastActivityAt: times[1] ?? times[0],
    blockedByHour: blocked.get(agentId) ?? NEVER,
    suspension: await findSuspension(reader, agentId),
  };
}

const NEVER: readonly number[] = new Array<number>(HOURS).fill(0);

/**
 * Returns the blocked operations of each of the last 24 hours, for one agent or by agent. It takes one pass over the
 * refused operations of a day, regardless of the number of agents and the length of their chains. (The `+` keeps SQLite
 * from reading the agent's whole chain instead.)
 */
async function countBlocked(reader: Reader, nowMs: number, agentId: string | null): Promise<Map<string, number[]>> {
  const sinceMs = nowMs - HOURS * HOUR_MS;
  const parameters: SqlValue[] = [sinceMs];
  if (agentId !== null) parameters.push(agentId);
  const rows = await reader.all<[string, number, number]>(
    `SELECT agent_id, (time - ${sinceMs}) / ${HOUR_MS}, count(*) FROM (
       SELECT agent_id, time FROM events
       WHERE result IN ('blocked', 'denied') AND time >= ? AND result = 'blocked'
         ${agentId === null ? "" : "AND +agent_id = ?"}
       LIMIT ${MAX_COUNTED}
     ) GROUP BY 1, 2`,
    parameters,
  );
  const blocked = new Map<string, number[]>();
  for (const [name, hour, count] of rows) {
    const hours = blocked.get(name) ?? [...NEVER];
    // If the clock was set back, some events are in the future.
    const at = Math.min(hour, HOURS - 1);
    hours[at] = (hours[at] as number) + count;
    blocked.set(name, hours);
  }
  return blocked;
}
