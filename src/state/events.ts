/** Reading the audit log: single events, pages of them, and long stretches in order. */
import { presentEventJson } from "../log/present.ts";
import type { StoredEvent } from "../log/rows.ts";
import type { Reader } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";

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

const toStored = ([canonical, hash, details, salt]: BodyRow): StoredEvent => ({
  canonical,
  hash,
  details,
  salt,
});

/** One event as the API shows it. */
export async function readEvent(
  reader: Reader,
  id: string,
): Promise<{ json: string; agentId: string | null } | undefined> {
  const row = await reader.get<[...BodyRow, string | null]>(
    "SELECT body, hash, details, details_salt, agent_id FROM events WHERE id = ?",
    [id],
  );
  if (row === undefined) return undefined;
  return { json: presentEventJson(toStored(row.slice(0, 4) as unknown as BodyRow)), agentId: row[4] };
}

/** Events of one chain as the API shows them, newest first. Filters are answered by the index alone. */
export async function listEvents(
  reader: Reader,
  query: EventQuery,
): Promise<{ json: string; agentSeq: number }[]> {
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

/** A stretch of the whole log in order: events from `fromSeq` on, before `beforeSeq`. */
export async function scanLog(
  reader: Reader,
  range: { fromSeq: number; beforeSeq: number; limit: number },
): Promise<StoredEvent[]> {
  const rows = await reader.all<[number, ...BodyRow]>(
    "SELECT seq, body, hash, details, details_salt FROM events WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?",
    [range.fromSeq, range.beforeSeq, range.limit],
  );
  return rows.map(([seq, canonical, hash, details, salt]) => ({ seq, canonical, hash, details, salt }));
}

/** A stretch of one agent's chain in order: events from `fromAgentSeq` on, before position `beforeSeq`. */
export async function scanChain(
  reader: Reader,
  range: { agentId: string | null; fromAgentSeq: number; beforeSeq: number; limit: number },
): Promise<StoredEvent[]> {
  const rows = await reader.all<[number, ...BodyRow]>(
    `SELECT seq, body, hash, details, details_salt FROM events
     WHERE agent_id IS ? AND agent_seq >= ? AND seq < ? ORDER BY agent_seq LIMIT ?`,
    [range.agentId, range.fromAgentSeq, range.beforeSeq, range.limit],
  );
  return rows.map(([seq, canonical, hash, details, salt]) => ({ seq, canonical, hash, details, salt }));
}
