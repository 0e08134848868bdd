/**
 * Earlier moments of the log: the state right after an event. What a moment shows are the versions that were present then,
 * as far as their history is kept. What has ended by itself or was erased meanwhile is absent at every moment.
 */
import type { AgentLimit } from "../../agent-id.ts";
import { showTime } from "../../ids.ts";
import type { MomentName } from "../../operation-facts.ts";
import type { NO_MOMENT_CODES } from "../../operations.ts";
import { invalid } from "../../problem.ts";
import { freshAt, type Viewer } from "../../screen/retention.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import type { AgentState } from "./agents.ts";
import { findCheckpoint } from "./checkpoints.ts";
import { FOUND_COLUMNS, type FoundTuple, PRESENT_AT, toVersionedRow } from "./entries.ts";
import { freshBounds, freshFrom } from "./expiry.ts";
import { IS_SEEN } from "./history.ts";
import { findPosition, headOf } from "./log/events.ts";
import { prunedBefore } from "./log/pruning.ts";
import { readableHistory } from "./versions.ts";

// Types and not interfaces, so that they are JSON values, which can be passed between threads.
/** The state right after an event: its position, and its time as the event states it. */
export type PastMoment = { seq: number; timestamp: string };

/** Why there is no such moment, or its state is not all there. */
export type NoMoment = {
  code: (typeof NO_MOMENT_CODES)[number];
  /** Since when everything is kept, of a moment that is gone. */
  keptSince?: string;
};

export const isMoment = (found: PastMoment | NoMoment): found is PastMoment => "seq" in found;

/** Of what is read, and for whom. */
interface Asked {
  agentId: string;
  name: MomentName;
  nowMs: number;
  /** The agents that the asking key is limited to. */
  limit: AgentLimit;
}

/**
 * Finds the moment that a request names, as a moment of one agent.
 * @throws {Problem} `invalid_request` for a moment in the future
 */
export async function findMoment(reader: Reader, asked: Asked): Promise<PastMoment | NoMoment> {
  const seq = await positionIn(reader, asked);
  if (typeof seq !== "number") return seq;
  const timestamp = await reader.value<string>("SELECT timestamp FROM events WHERE seq = ?", [seq]);
  if (timestamp === undefined || seq < (await prunedBefore(reader))) return gone(await beginningOf(reader));
  return { seq, timestamp };
}

async function positionIn(reader: Reader, { agentId, name, nowMs, limit }: Asked): Promise<number | NoMoment> {
  if ("seq" in name) {
    if (name.seq <= (await headOf(reader))) return name.seq;
    throw inFuture("The log has no event at this position yet.");
  }
  if ("auditId" in name) {
    const found = await findPosition(reader, name.auditId, null);
    const isSeen = found !== undefined && (found.agentId === null ? limit === null : found.agentId === agentId);
    return isSeen ? found.seq : { code: "audit_event_not_found" };
  }
  if ("checkpointId" in name) {
    const checkpoint = await findCheckpoint(reader, name.checkpointId, [agentId]);
    return checkpoint === undefined ? { code: "checkpoint_not_found" } : checkpoint.asOfSeq;
  }
  if (name.timeMs > nowMs) throw inFuture("This time is in the future.");
  return (await newestAt(reader, name.timeMs)) ?? gone(await beginningOf(reader));
}

const inFuture = (words: string) => invalid(`${words} Send an earlier moment as "as_of".`, "as_of");

const gone = (sinceMs: number): NoMoment => ({ code: "moment_gone", keptSince: showTime(sinceMs) });

/** Returns the time of the first event that was never pruned, ms. */
const beginningOf = async (reader: Reader): Promise<number> =>
  (await reader.value<number>("SELECT time FROM events WHERE seq >= ? ORDER BY seq LIMIT 1", [
    await prunedBefore(reader),
  ])) as number;

/** The events that are looked at in one step. */
const EVENTS_AT_ONCE = 65_536;

/**
 * Returns the position of the last event that is not later than a time, ms; undefined when there is none. Looks from the
 * newest event back, since binary search would find another one where the clock was set back.
 */
async function newestAt(reader: Reader, timeMs: number): Promise<number | undefined> {
  const sql = "SELECT seq FROM events WHERE seq > ? AND seq <= ? AND time <= ? ORDER BY seq DESC LIMIT 1";
  for (let through = await headOf(reader); through >= 0; through -= EVENTS_AT_ONCE) {
    const found = await reader.value<number>(sql, [through - EVENTS_AT_ONCE, through, timeMs]);
    if (found !== undefined) return found;
    await nextTurn();
  }
  return undefined;
}

/**
 * Returns null when all versions that were present at a moment are kept, but for those that ended by themselves or were
 * erased; otherwise why the moment is gone. When it cannot be told why a version is missing, the moment counts as gone.
 */
export async function lossAt(
  reader: Reader,
  agent: AgentState,
  { seq }: PastMoment,
  nowMs: number,
): Promise<NoMoment | null> {
  const { fromSeq, cutoffMs, sinceMs } = await readableHistory(reader, agent, nowMs);
  if (seq + 1 >= fromSeq && (await isKeptAfter(reader, seq, cutoffMs))) return null;
  if (await isCheckpoint(reader, agent, seq)) return null;
  const { hidden, stored } = await countAt(reader, agent, seq, { fromSeq, cutoffMs });
  if (hidden > 0) return gone(sinceMs);
  const wasDropped = seq + 1 < fromSeq && stored < (await presentAt(reader, agent, seq));
  return wasDropped ? gone(sinceMs) : null;
}

/** Whether what ended right after a moment, if anything, is still readable by its time. */
async function isKeptAfter(reader: Reader, seq: number, cutoffMs: number): Promise<boolean> {
  const nextMs = await reader.value<number>("SELECT time FROM events WHERE seq > ? ORDER BY seq LIMIT 1", [seq]);
  return nextMs === undefined || nextMs >= cutoffMs;
}

const isCheckpoint = async (reader: Reader, { firstSeq }: AgentState, seq: number): Promise<boolean> =>
  (await reader.value("SELECT 1 FROM checkpoints WHERE agent = ? AND as_of_seq = ?", [firstSeq, seq])) !== undefined;

/** SQL: the versions that were present at a moment: all of them, and those that are past their history. */
const COUNT_AT = `SELECT count(*), count(*) FILTER (
    WHERE live_to IS NOT NULL AND NOT ${IS_SEEN}
      AND (live_to < ?4 OR (SELECT time FROM events WHERE seq = live_to) < ?5))
  FROM entries WHERE agent = ?1 AND ${PRESENT_AT.replace("?", "?2").replace("> ?", "> ?3")}`;

async function countAt(
  reader: Reader,
  { firstSeq }: AgentState,
  seq: number,
  { fromSeq, cutoffMs }: { fromSeq: number; cutoffMs: number },
): Promise<{ stored: number; hidden: number }> {
  const [stored, hidden] = (await reader.get<[number, number]>(COUNT_AT, [firstSeq, seq, seq, fromSeq, cutoffMs])) ?? [
    0, 0,
  ];
  return { stored, hidden };
}

/** Returns how many rows of an agent's entries were present right after a moment, as its newest event until then states. */
const presentAt = async (reader: Reader, { agentId }: AgentState, seq: number): Promise<number> =>
  (await reader.value<number>(
    "SELECT entries FROM events WHERE agent_id = ? AND seq <= ? ORDER BY agent_seq DESC LIMIT 1",
    [agentId, seq],
  )) ?? 0;

const FIND_AT = `SELECT ${FOUND_COLUMNS} FROM entries WHERE agent = ?1 AND key = ?2 AND live_to IS NULL
    AND live_from <= ?3 AND ${freshFrom(4)}
  UNION ALL SELECT ${FOUND_COLUMNS} FROM entries WHERE agent = ?1 AND live_to > ?3
    AND live_from <= ?3 AND key = ?2 AND ${freshFrom(4)} LIMIT 1`;

/** Returns the content that a key had at a position, unless it does not exist for the viewer by now. */
export async function findEntryAt(reader: Reader, viewer: Viewer, agent: AgentState, key: string, seq: number) {
  const bound = [agent.firstSeq, key, seq, ...freshBounds(freshAt(agent.policies, viewer))];
  const row = await reader.get<FoundTuple>(FIND_AT, bound);
  return row && toVersionedRow(row);
}
