/** Reading the audit log: single events, pages of them, and long stretches in order. */
import { presentEventJson } from "../log/present.ts";
import type { StoredEvent } from "../log/rows.ts";
import type { TimeWindow } from "../operation-facts.ts";
import type { Reader } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import { prunedBefore } from "./pruning.ts";

/** What a query of events asks for, newest first. */
export interface EventQuery {
  /** Null: the workspace's own events. */
  agentId: string | null;
  operations: readonly string[] | null;
  result: string | null;
  window: TimeWindow;
  /** Only events of the chain before this agent_seq. */
  before: number | null;
  offset: number;
  limit: number;
}

type BodyRow = [body: string, hash: string, details: string | null, salt: string | null];

/** One event by its id. `json`: as the API shows it. */
export async function readEvent(
  reader: Reader,
  id: string,
): Promise<{ stored: StoredEvent; json: string; seq: number; agentId: string | null } | undefined> {
  const row = await reader.get<[...BodyRow, number, string | null]>(
    "SELECT body, hash, details, details_salt, seq, agent_id FROM events WHERE id = ?",
    [id],
  );
  if (row === undefined) return undefined;
  const [canonical, hash, details, salt, seq, agentId] = row;
  const stored = { canonical, hash, details, salt };
  return { stored, json: presentEventJson(stored), seq, agentId };
}

/** Where an event stands: in the log, and in which chain. */
export async function findPosition(
  reader: Reader,
  id: string,
): Promise<{ seq: number; agentId: string | null; agentSeq: number } | undefined> {
  const row = await reader.get<[number, string | null, number]>(
    "SELECT seq, agent_id, agent_seq FROM events WHERE id = ?",
    [id],
  );
  return row && { seq: row[0], agentId: row[1], agentSeq: row[2] };
}

/** Events of one chain as the API shows them, newest first. Filters are answered by the index alone. */
export async function listEvents(reader: Reader, query: EventQuery): Promise<{ json: string; agentSeq: number }[]> {
  const conditions = ["agent_id IS ?"];
  const parameters: SqlValue[] = [query.agentId];
  const where = (condition: string, ...values: SqlValue[]) => {
    conditions.push(condition);
    parameters.push(...values);
  };
  if (query.before !== null) where("agent_seq < ?", query.before);
  if (query.operations !== null) {
    where("operation IN (SELECT value FROM json_each(?))", JSON.stringify(query.operations));
  }
  if (query.result !== null) where("result = ?", query.result);
  if (query.window.startMs !== undefined) where("timestamp >= ?", toTimestamp(query.window.startMs));
  if (query.window.endMs !== undefined) where("timestamp < ?", toTimestamp(query.window.endMs));
  const rows = await reader.all<[...BodyRow, number]>(
    `SELECT body, hash, details, details_salt, agent_seq FROM events
     WHERE ${conditions.join(" AND ")} ORDER BY agent_seq DESC LIMIT ? OFFSET ?`,
    [...parameters, query.limit, query.offset],
  );
  return rows.map(([canonical, hash, details, salt, agentSeq]) => ({
    json: presentEventJson({ canonical, hash, details, salt }),
    agentSeq,
  }));
}

/** A stretch without gaps: of the whole log by `seq`, or of an agent's chain by `agent_seq`. */
export interface EventRange {
  /** Null for the whole log. */
  agentId: string | null;
  /** First and last number, inclusive; `first` is greater when the stretch is empty. */
  first: number;
  last: number;
  count: number;
  /** The event of the chain right before the first one; null for the whole log or from the beginning. */
  startsAfter: { agent_seq: number; hash: string } | null;
}

/**
 * The stretch from the first event in a window of time to the last one in it. Order is the log's and not the clock's:
 * where the clock stepped back, what lies between is in the stretch too, so that the stretch can always be verified.
 */
export async function resolveRange(
  reader: Reader,
  { agentId, window, beforeSeq }: { agentId: string | null; window: TimeWindow; beforeSeq: number },
): Promise<EventRange> {
  const number = agentId === null ? "seq" : "agent_seq";
  const scope = agentId === null ? "" : "agent_id = ? AND ";
  const bound: SqlValue[] = agentId === null ? [] : [agentId];
  // Of what was pruned single events are kept: they make no stretch.
  bound.push(beforeSeq, await prunedBefore(reader));
  bound.push(window.startMs === undefined ? "" : toTimestamp(window.startMs));
  bound.push(window.endMs === undefined ? "~" : toTimestamp(window.endMs));
  const limits = await reader.get<[number | null, number | null]>(
    `SELECT min(${number}), max(${number}) FROM events
     WHERE ${scope}seq < ? AND seq >= ? AND timestamp >= ? AND timestamp < ?`,
    bound,
  );
  const [first, last] = limits ?? [null, null];
  if (first === null || last === null) return { agentId, first: 1, last: 0, count: 0, startsAfter: null };
  const startsAfter =
    agentId === null || first === 1
      ? null
      : { agent_seq: first - 1, hash: await inChain<string>(reader, "hash", agentId, first - 1) };
  return { agentId, first, last, count: last - first + 1, startsAfter };
}

const toTimestamp = (ms: number): string => new Date(ms).toISOString();

/**
 * Events of the log by `seq`, or of an agent's chain by `agent_seq`, in order: those with a number from `from` to `to`,
 * inclusive, the first `limit` of them.
 */
export async function scanEvents(
  reader: Reader,
  agentId: string | null,
  { from, to = Number.MAX_SAFE_INTEGER, limit = ALL }: { from: number; to?: number; limit?: number },
): Promise<StoredEvent[]> {
  const columns = "SELECT seq, body, hash, details, details_salt FROM events";
  const [sql, named] =
    agentId === null
      ? [`${columns} WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`, []]
      : [`${columns} WHERE agent_id = ? AND agent_seq BETWEEN ? AND ? ORDER BY agent_seq LIMIT ?`, [agentId]];
  const rows = await reader.all<[number, ...BodyRow]>(sql, [...named, from, to, limit]);
  return rows.map(([seq, canonical, hash, details, salt]) => ({ seq, canonical, hash, details, salt }));
}

/** No `LIMIT`. */
const ALL = -1;

/** Returns the position in the log of an event of an agent's chain. @throws when the chain has no such event */
export const positionOf = (reader: Reader, agentId: string, agentSeq: number): Promise<number> =>
  inChain<number>(reader, "seq", agentId, agentSeq);

async function inChain<V>(reader: Reader, column: "seq" | "hash", agentId: string, agentSeq: number): Promise<V> {
  const sql = `SELECT ${column} FROM events WHERE agent_id = ? AND agent_seq = ?`;
  const value = await reader.value<V>(sql, [agentId, agentSeq]);
  if (value === undefined) throw new Error("an event of the chain is missing");
  return value;
}
