/**
 * What is set aside (a quarantine): versions of entries that stay where they are, and that no program sees. All rows of such
 * a version name the event that set it aside, also those that a restore makes later.
 */
import { type AgentLimit, isWithin } from "../../../agent-id.ts";
import { showTime } from "../../../ids.ts";
import type { Reader } from "../../../store/transaction.ts";
import { sqlNames } from "../entry-changes.ts";
import { HAS_ID, positionedId, versionOf } from "../log/events.ts";

/** SQL: the condition that an event set something aside, or released it. An index has those of these operations. */
export const PLACED = `operation IN (${sqlNames("set_aside", "release")}) AND result = 'ok'`;

/** A version of an entry that is stored. */
export interface StoredVersion {
  seq: number;
  /** The id of the event that wrote it. */
  version: string;
  writtenAt: string;
  agentId: string;
  key: string;
  isPresent: boolean;
  /** The event that set it aside; null when it is not. */
  setAsideBy: number | null;
  /** Its rows. */
  ids: number[];
}

type Write = [seq: number, random: Uint8Array, time: number, agentId: string, agent: number, key: string | null];
type Row = [seq: number, id: number, liveTo: number | null, aside: number | null];

const WRITES = `SELECT v.seq, v.random, v.time, v.agent_id, a.first_seq, v.details ->> '$.key'
  FROM events v JOIN agents a ON a.agent_id = v.agent_id
  WHERE v.seq IN (SELECT value FROM json_each(?)) AND v.operation IN (${sqlNames("put")}) AND v.result = 'allowed'
  ORDER BY v.seq`;

const PRESENT = `SELECT written_seq, id, live_to, quarantined FROM entries
  WHERE agent = ? AND key = ? AND live_to IS NULL AND written_seq = ?`;
/** No index has ended versions by their writes: those of the agent that ended since are looked at. */
const ENDED = `SELECT written_seq, id, live_to, quarantined FROM entries
  WHERE agent = ? AND live_to > ? AND written_seq IN (SELECT value FROM json_each(?))`;

/**
 * Returns the stored ones among the versions that events at some positions wrote, ascending.
 * @param limit the agents whose versions are looked for
 */
export async function findStored(
  reader: Reader,
  written: readonly number[],
  limit: AgentLimit = null,
): Promise<StoredVersion[]> {
  const writes = await reader.all<Write>(WRITES, [JSON.stringify(written)]);
  const found = new Map<number, StoredVersion>();
  const byAgent = new Map<number, number[]>();
  const rows: Row[] = [];
  for (const [seq, random, time, agentId, agent, key] of writes) {
    // Its details are erased, so its content is gone.
    if (key === null || !isWithin(limit, agentId)) continue;
    const of = { seq, version: versionOf(seq, random), writtenAt: showTime(time), agentId, key };
    found.set(seq, { ...of, isPresent: false, setAsideBy: null, ids: [] });
    byAgent.getOrInsertComputed(agent, () => []).push(seq);
    rows.push(...(await reader.all<Row>(PRESENT, [agent, key, seq])));
  }
  for (const [agent, own] of byAgent) {
    rows.push(...(await reader.all<Row>(ENDED, [agent, own[0] as number, JSON.stringify(own)])));
  }
  for (const [seq, id, liveTo, aside] of rows) {
    const version = found.get(seq) as StoredVersion;
    version.ids.push(id);
    version.setAsideBy = aside;
    if (liveTo === null) version.isPresent = true;
  }
  return [...found.values()].filter(({ ids }) => ids.length > 0);
}

/** An event that set versions aside. */
interface Placement {
  seq: number;
  /** In whose chain it is. */
  agentId: string;
  versions: number[];
}

/** Returns the event with an id that set versions aside; null when there is none. */
export async function findPlacement(reader: Reader, id: string): Promise<Placement | null> {
  const sql = `SELECT seq, agent_id, details ->> '$.versions' FROM events
    WHERE ${HAS_ID} AND operation IN (${sqlNames("set_aside")}) AND result = 'ok'`;
  const row = await reader.get<[number, string, string | null]>(sql, positionedId(id));
  if (row === undefined) return null;
  return { seq: row[0], agentId: row[1], versions: JSON.parse(row[2] ?? "[]") as number[] };
}
