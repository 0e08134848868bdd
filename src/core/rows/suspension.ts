/** Reads from the log whether an agent is suspended. */
import { eventFacts } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import { sqlNames } from "./entry-changes.ts";

/** The suspension in force. */
export interface Suspension {
  at: string;
  by: string;
  reason: string | null;
}

type Row = [operation: string, timestamp: string, actor: string, details: string | null];

/** SQL: the condition that an event suspended an agent or ended a suspension, which a refused operation did not. */
export const SWITCHED = `operation IN (${sqlNames("suspend", "resume")}) AND result = 'ok'`;

/** SQL: the events, by their own index: SQLite prefers the index of all events of the agent, which answers the query, too. */
const SWITCHES = "events INDEXED BY events_of_suspension";

/** SQL: a query that returns 1 if an agent is suspended. `agentId`: an expression for its id. */
export const isSuspended = (agentId: string): string =>
  `SELECT operation IN (${sqlNames("suspend")}) FROM ${SWITCHES} WHERE agent_id = ${agentId} AND ${SWITCHED}
   ORDER BY agent_seq DESC LIMIT 1`;

const NEWEST = `SELECT operation, timestamp, actor, details FROM ${SWITCHES} WHERE agent_id = ? AND ${SWITCHED}
  ORDER BY agent_seq DESC LIMIT 1`;

/** Returns the suspension of an agent; null when it is not suspended. */
export async function findSuspension(reader: Reader, agentId: string | null): Promise<Suspension | null> {
  if (agentId === null) return null;
  const row = await reader.get<Row>(NEWEST, [agentId]);
  if (row === undefined || eventFacts(row[0])?.effect !== "suspend") return null;
  const [, at, by, details] = row;
  const reason: unknown = details === null ? null : JSON.parse(details).reason;
  return { at, by, reason: typeof reason === "string" ? reason : null };
}
