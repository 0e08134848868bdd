/** Reads the events of state roots. */
import { STATE_ROOT } from "../../../operations.ts";
import type { Reader } from "../../../store/transaction.ts";
import { sqlNames } from "../entry-changes.ts";

/** A state root as its event states it. */
export interface StoredRoot {
  /** The position of the event, and its time, ms. */
  eventSeq: number;
  timeMs: number;
  /** The position of the newest event of the state. */
  seq: number;
  root: string;
  count: number;
}

type RootTuple = [eventSeq: number, timeMs: number, seq: number, root: string, count: number];

const COLUMNS = "seq, time, details ->> '$.seq', details ->> '$.root', details ->> '$.count'";
const ROOTS = "FROM events WHERE agent_id IS NULL AND operation = ?";

const toRoot = ([eventSeq, timeMs, seq, root, count]: RootTuple): StoredRoot => ({
  eventSeq,
  timeMs,
  seq,
  root,
  count,
});

/** Returns the newest state root that was recorded at a time, ms, or before; null for none. */
export async function rootAt(reader: Reader, atMs: number): Promise<StoredRoot | null> {
  const sql = `SELECT ${COLUMNS} ${ROOTS} AND time <= ? ORDER BY agent_seq DESC LIMIT 1`;
  const row = await reader.get<RootTuple>(sql, [STATE_ROOT, atMs]);
  return row === undefined ? null : toRoot(row);
}

/** Returns when the oldest state root that is there was recorded, ms; null when there is none. */
export const oldestRootMs = async (reader: Reader): Promise<number | null> =>
  (await reader.value<number>(`SELECT time ${ROOTS} ORDER BY agent_seq LIMIT 1`, [STATE_ROOT])) ?? null;

/** SQL: what can change which entries are present. */
const CHANGING = sqlNames("put", "end", "end_prefix", "expire", "erase", "restore", "add_config");

/** Whether an event behind a position may have changed which entries are present. */
export const hasChangedSince = async (reader: Reader, seq: number): Promise<boolean> =>
  (await reader.value(
    `SELECT 1 FROM events WHERE seq > ? AND operation IN (${CHANGING}) AND result IN ('ok', 'allowed') LIMIT 1`,
    [seq],
  )) !== undefined;
