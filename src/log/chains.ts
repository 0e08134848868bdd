/** The head of one agent's chain while a log is verified, and what is reported of it. */
import type { AuditEventBody } from "./event.ts";
import type { FirstInvalid } from "./problems.ts";

/** An event named by its places and its hash. */
export interface EventReference {
  seq: number;
  agent_seq: number;
  id: string;
  hash: string;
  timestamp: string;
}

/** What is remembered of a chain: its ends, not its middle. */
export interface ChainState {
  first: { event: AuditEventBody; hash: string };
  last: { event: AuditEventBody; hash: string };
  events: number;
  intact: boolean;
  firstInvalid: FirstInvalid | null;
}

/** What is reported of one agent's chain; `agent_id` null is the workspace's own. */
export interface AgentReport {
  agent_id: string | null;
  events: number;
  valid: boolean;
  chain_intact: boolean;
  first_invalid: FirstInvalid | null;
  head: EventReference;
}

/** A chain that has just begun. */
export function newChain(event: AuditEventBody, hash: string): ChainState {
  const first = { event, hash };
  return { first, last: first, events: 1, intact: true, firstInvalid: null };
}

/** The report of a chain as far as it was followed. */
export function chainReport(chain: ChainState): AgentReport {
  const { event, hash } = chain.last;
  const { seq, agent_seq, id, timestamp } = event;
  return {
    agent_id: event.agent_id,
    events: chain.events,
    valid: chain.firstInvalid === null,
    chain_intact: chain.intact,
    first_invalid: chain.firstInvalid,
    head: { seq, agent_seq, id, hash, timestamp },
  };
}
