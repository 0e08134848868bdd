/**
 * The versions of one entry, present and past, as far as its history is kept and readable. No index has them by key, since
 * every overwriting write would pay for it: a query looks at what has ended of the agent.
 */
import { eventId } from "../../ids.ts";
import { HISTORY, history, historyCutoff, keepsHistory } from "../../screen/history.ts";
import { freshAt } from "../../screen/retention.ts";
import type { Reader } from "../../store/transaction.ts";
import type { AgentState } from "./agents.ts";
import { sqlNames } from "./entry-changes.ts";
import { FRESH, freshBounds } from "./expiry.ts";
import { HAS_ID, positionedId, versionOf } from "./log/events.ts";

/** What is readable of a history: versions that ended at a position or later, and not before a time, ms. */
interface Readable {
  fromSeq: number;
  cutoffMs: number;
  /** Since when, as people are told: what ended before is not readable. */
  sinceMs: number;
}

/** A version of an entry. */
export interface EntryVersion {
  /** Names its row in the file. */
  id: number;
  writtenSeq: number;
  /** The id of the event that wrote it. */
  version: string;
  writtenAt: number;
  writtenBy: string;
  /** What ended it; null for the present one. */
  ended: { at: number; auditId: string; operation: string } | null;
  /** The version whose content it is, when a revert wrote it. */
  revertedFrom: string | null;
  isSetAside: boolean;
}

/**
 * Returns what is readable of an agent's history: what no sweep dropped, and no policy in force has hidden or kept from
 * being stored.
 */
export async function readableHistory(reader: Reader, agent: AgentState, nowMs: number): Promise<Readable> {
  if (!keepsHistory(agent.policies)) return { fromSeq: Number.MAX_SAFE_INTEGER, cutoffMs: nowMs, sinceMs: nowMs };
  const fromSeq = Math.max(agent.historyFrom, await endOfNoHistory(reader, agent));
  const cutoffMs = historyCutoff(agent.policies, nowMs);
  const last = await reader.value<number>("SELECT max(time) FROM events WHERE seq IN (?, ?)", [fromSeq - 1, fromSeq]);
  return { fromSeq, cutoffMs, sinceMs: Math.max(cutoffMs, fromSeq === 0 ? 0 : (last ?? 0)) };
}

type Change = [createdSeq: number, ofAgent: number, days: number | null];

/**
 * Returns the position from which on an agent has had a history without interruption: behind the event that set policies
 * with a history in place of policies without one; 0 when there always was one.
 */
async function endOfNoHistory(reader: Reader, { firstSeq }: AgentState): Promise<number> {
  const changes = await reader.all<Change>(
    `SELECT created_seq, agent = ?1, config ->> '$.policies.${HISTORY}' FROM configs
     WHERE agent IN (?1, (SELECT first_seq FROM agents WHERE agent_id IS NULL)) ORDER BY created_seq`,
    [firstSeq],
  );
  let [own, ofWorkspace, end]: [number | null, number | null, number] = [null, null, 0];
  const isKept = () => keepsHistory({ [HISTORY]: history.stricter(own, ofWorkspace) });
  for (const [createdSeq, ofAgent, days] of changes) {
    if (!isKept()) end = createdSeq + 1;
    if (ofAgent === 1) own = days;
    else ofWorkspace = days;
  }
  return end;
}

const READABLE = `FROM entries e JOIN events w ON w.seq = e.written_seq LEFT JOIN events z ON z.seq = e.live_to
  WHERE e.agent = ? AND e.key = ? AND ${FRESH} AND (e.live_to IS NULL OR (e.live_to >= ? AND z.time >= ?))`;

/** The versions of a key, also those that are set aside: of each the row that ends last: a restore may have brought it back. */
const VERSIONS = `SELECT e.id, e.written_seq, w.random, e.updated_at, w.actor, e.live_to, z.random, z.time, z.operation,
    w.details ->> '$.reverted_from', e.quarantined, max(coalesce(e.live_to, ${Number.MAX_SAFE_INTEGER}))
  ${READABLE} AND e.written_seq < ? GROUP BY e.written_seq ORDER BY e.written_seq DESC LIMIT ?`;

type VersionTuple = [
  id: number,
  writtenSeq: number,
  writtenRandom: Uint8Array | null,
  writtenAt: number,
  writtenBy: string,
  endedSeq: number | null,
  endedRandom: Uint8Array | null,
  endedAt: number | null,
  endedBy: string | null,
  revertedFrom: string | null,
  aside: number | null,
  last: number,
];

const parametersOf = (agent: AgentState, key: string, { fromSeq, cutoffMs }: Readable, nowMs: number) =>
  [
    agent.firstSeq,
    key,
    ...freshBounds(freshAt(agent.policies, { nowMs, seesSetAside: true })),
    fromSeq,
    cutoffMs,
  ] as const;

/** Returns at most `limit` versions of a key that were written before position `before`, the newest first. */
export async function listVersions(
  reader: Reader,
  agent: AgentState,
  key: string,
  { before, limit }: { before: number; limit: number },
  { readable, nowMs }: { readable: Readable; nowMs: number },
): Promise<EntryVersion[]> {
  const rows = await reader.all<VersionTuple>(VERSIONS, [...parametersOf(agent, key, readable, nowMs), before, limit]);
  return rows.map(toVersion);
}

function toVersion(row: VersionTuple): EntryVersion {
  const [id, writtenSeq, random, writtenAt, writtenBy, endedSeq, endedRandom, endedAt, operation, ...rest] = row;
  const [revertedFrom, aside] = rest;
  return {
    ...{ id, writtenSeq, version: versionOf(writtenSeq, random), writtenAt, writtenBy, revertedFrom },
    isSetAside: aside !== null,
    ended:
      endedSeq === null || endedRandom === null
        ? null
        : { at: endedAt ?? 0, auditId: eventId(endedSeq, endedRandom), operation: operation ?? "" },
  };
}

const WRITE = `SELECT seq FROM events
  WHERE ${HAS_ID} AND agent_id = ? AND operation IN (${sqlNames("put")}) AND result = 'allowed' AND details ->> '$.key' = ?`;

/** Whether the event at a position stored a write. */
export const isWrite = async (reader: Reader, seq: number): Promise<boolean> =>
  (await reader.value(
    `SELECT 1 FROM events WHERE seq = ? AND operation IN (${sqlNames("put")}) AND result = 'allowed'`,
    [seq],
  )) !== undefined;

/** Returns the position of the write of a key with an id; null when there is none, or its details are erased. */
export const findWrite = async (reader: Reader, { agentId }: AgentState, key: string, id: string) =>
  (await reader.value<number>(WRITE, [...positionedId(id), agentId, key])) ?? null;

/** Returns when the entry that an event wrote ends by itself, ms, as the event states it; null for never. */
export async function expiryOf(reader: Reader, writtenSeq: number): Promise<number | null> {
  const sql = "SELECT details ->> '$.expires_at' FROM events WHERE seq = ?";
  const text = (await reader.value<string | null>(sql, [writtenSeq])) ?? null;
  return text === null ? null : Date.parse(text);
}

const ONE = `SELECT e.id, e.quarantined ${READABLE} AND e.written_seq = ? ORDER BY e.live_to LIMIT 1`;

/**
 * Returns the id of a row with the content that an event wrote under a key, and whether it is set aside; undefined when it is
 * not readable any more.
 */
export async function findReadable(
  reader: Reader,
  agent: AgentState,
  key: string,
  writtenSeq: number,
  { readable, nowMs }: { readable: Readable; nowMs: number },
): Promise<{ id: number; isSetAside: boolean } | undefined> {
  // It ended after its write, so that a recent one is found among few.
  const fromSeq = Math.max(readable.fromSeq, writtenSeq + 1);
  const bound = [...parametersOf(agent, key, { ...readable, fromSeq }, nowMs), writtenSeq];
  const row = await reader.get<[id: number, aside: number | null]>(ONE, bound);
  return row && { id: row[0], isSetAside: row[1] !== null };
}
