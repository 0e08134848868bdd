/** Reads from the log where the history of an agent begins: its newest sweep states it. */
import { sqlNames } from "./entry-changes.ts";

/** SQL: the condition that an event is a sweep. */
export const SWEPT = `operation IN (${sqlNames("expire")})`;

/** SQL: a query for the position before which an agent's history is gone, by an index of its own. `agentId`: an expression for its id. */
export const historyFrom = (agentId: string): string =>
  `SELECT details ->> '$.through' FROM events INDEXED BY events_of_expiry
   WHERE agent_id = ${agentId} AND ${SWEPT} ORDER BY agent_seq DESC LIMIT 1`;
