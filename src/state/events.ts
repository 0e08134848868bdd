/** Reading the audit log: single events, pages of them, and long stretches in order. */
import { presentEventJson } from "../log/present.ts";
import type { StoredEvent } from "../log/rows.ts";
import type { Reader } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import { prunedBefore } from "./pruning.ts";

/** What a query of events asks for, newest first. */
export interface EventQuery {
  /** Null: the workspace's own events. */
  agentId: string | null;
  operations: readonly string[] | null;
  result: string | null;
  window: { startMs?: number; endMs?: number };
  /** Only events of the chain before this agent_seq. */
  before: number | null;
  offset: number;
  limit: number;
}

type BodyRow = [body: string, hash: string, details: string | null, salt: string | null];

const toStored = ([canonical, hash, details, salt]: BodyRow): StoredEvent => ({ canonical, hash, details, salt });

/** An event that was found. */
export interface FoundEvent {
  stored: StoredEvent;
  /** As the API shows it. */
  json: string;
  seq: number;
  agentId: string | null;
}

/** One event by its id. */
export async function readEvent(reader: Reader, id: string): Promise<FoundEvent | undefined> {
  const row = await reader.get<[...BodyRow, number, string | null]>(
    "SELECT body, hash, details, details_salt, seq, agent_id FROM events WHERE id = ?",
    [id],
  );
  if (row === undefined) return undefined;
  const stored = toStored(row.slice(0, 4) as unknown as BodyRow);
  return { stored, json: presentEventJson(stored), seq: row[4], agentId: row[5] };
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
  if (query.window.startMs !== undefined) where("timestamp >= ?", new Date(query.window.startMs).toISOString());
  if (query.window.endMs !== undefined) where("timestamp < ?", new Date(query.window.endMs).toISOString());
  const rows = await reader.all<[...BodyRow, number]>(
    `SELECT body, hash, details, details_salt, agent_seq FROM events
     WHERE ${conditions.join(" AND ")} ORDER BY agent_seq DESC LIMIT ? OFFSET ?`,
    [...parameters, query.limit, query.offset],
  );
  return rows.map((row) => ({
    json: presentEventJson(toStored(row.slice(0, 4) as unknown as BodyRow)),
    agentSeq: row[4],
  }));
}

/** A stretch without gaps: of the whole log by `seq`, or of one chain by `agent_seq`. */
export interface EventRange {
  everything: boolean;
  /** Whose chain; without meaning when `everything`. */
  agentId: string | null;
  /** First and last number, inclusive; `first` is greater when the stretch is empty. */
  first: number;
  last: number;
  count: number;
  /** The event of the chain right before the first one; null for the whole log or from the beginning. */
  startsAfter: { agent_seq: number; hash: string } | null;
}

/** What a stretch is asked for by. */
export interface WantedEvents {
  everything: boolean;
  agentId: string | null;
  window: { startMs?: number; endMs?: number };
  beforeSeq: number;
}

/**
 * The stretch from the first event in a window of time to the last one in it. Order is the log's and not the clock's:
 * where the clock stepped back, what lies between is in the stretch too, so that the stretch can always be verified.
 */
export async function resolveRange(reader: Reader, wanted: WantedEvents): Promise<EventRange> {
  const number = wanted.everything ? "seq" : "agent_seq";
  // Of what was pruned single events are kept: they make no stretch.
  const from = await prunedBefore(reader);
  const scope = `${wanted.everything ? "" : "agent_id IS ? AND "}seq < ? AND seq >= ?`;
  const bound: SqlValue[] = [...(wanted.everything ? [] : [wanted.agentId]), wanted.beforeSeq, from];
  const { startMs, endMs } = wanted.window;
  const limits = await reader.get<[number | null, number | null]>(
    `SELECT min(${number}), max(${number}) FROM events WHERE ${scope}
       AND timestamp >= ? AND timestamp < ?`,
    [...bound, startMs === undefined ? "" : toTimestamp(startMs), endMs === undefined ? "~" : toTimestamp(endMs)],
  );
  const [first, last] = limits ?? [null, null];
  const empty = first === null || last === null;
  const { everything, agentId } = wanted;
  if (empty) return { everything, agentId, first: 1, last: 0, count: 0, startsAfter: null };
  const startsAfter = everything ? null : await eventBefore(reader, agentId, first);
  return { everything, agentId, first, last, count: last - first + 1, startsAfter };
}

const toTimestamp = (ms: number): string => new Date(ms).toISOString();

async function eventBefore(
  reader: Reader,
  agentId: string | null,
  agentSeq: number,
): Promise<{ agent_seq: number; hash: string } | null> {
  if (agentSeq === 1) return null;
  const row = await reader.get<[string]>("SELECT hash FROM events WHERE agent_id IS ? AND agent_seq = ?", [
    agentId,
    agentSeq - 1,
  ]);
  if (row === undefined) throw new Error("an event of the chain is missing");
  return { agent_seq: agentSeq - 1, hash: row[0] };
}

/**
 * Events of the log by `seq`, or of one chain by `agent_seq`, in order: those with a number from `from` to `to`,
 * inclusive, the first `limit` of them.
 */
export async function scanEvents(
  reader: Reader,
  of: Pick<EventRange, "everything" | "agentId">,
  { from, to = Number.MAX_SAFE_INTEGER, limit = ALL }: { from: number; to?: number; limit?: number },
): Promise<StoredEvent[]> {
  const columns = "SELECT seq, body, hash, details, details_salt FROM events";
  const rows = of.everything
    ? await reader.all<[number, ...BodyRow]>(`${columns} WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`, [
        from,
        to,
        limit,
      ])
    : await reader.all<[number, ...BodyRow]>(
        `${columns} WHERE agent_id IS ? AND agent_seq BETWEEN ? AND ? ORDER BY agent_seq LIMIT ?`,
        [of.agentId, from, to, limit],
      );
  return rows.map(([seq, canonical, hash, details, salt]) => ({ seq, canonical, hash, details, salt }));
}

/** No `LIMIT`. */
const ALL = -1;

/** Returns the position in the log of an event of a chain. @throws when the chain has no such event */
export async function positionOf(reader: Reader, agentId: string | null, agentSeq: number): Promise<number> {
  const row = await reader.get<[number]>("SELECT seq FROM events WHERE agent_id IS ? AND agent_seq = ?", [
    agentId,
    agentSeq,
  ]);
  if (row === undefined) throw new Error("an event of the chain is missing");
  return row[0];
}
