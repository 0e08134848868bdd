/** The chains of a log while it is verified: of each only its ends are remembered. */
import type { AuditEventBody } from "../../log/event.ts";
import { ZERO_HASH } from "../../log/hash.ts";
import type { ProblemCode } from "../codes.ts";
import type { FirstInvalid } from "../problems.ts";

/** An event named by its places and its hash. */
export interface EventReference {
  seq: number;
  agent_seq: number;
  id: string;
  hash: string;
  timestamp: string;
}

/** One end of a chain: an event and its hash. */
export interface ChainEnd {
  event: AuditEventBody;
  hash: string;
}

/** What is remembered of a chain. */
export interface ChainState {
  first: ChainEnd;
  last: ChainEnd;
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
export function newChain(first: ChainEnd): ChainState {
  return { first, last: first, events: 1, intact: true, firstInvalid: null };
}

/** The report of a chain up to its last event read. */
export function chainReport(chain: ChainState): AgentReport {
  return {
    agent_id: chain.last.event.agent_id,
    events: chain.events,
    valid: chain.firstInvalid === null,
    chain_intact: chain.intact,
    first_invalid: chain.firstInvalid,
    head: reference(chain.last),
  };
}

/** How an event is named in reports. */
export function reference({ event, hash }: ChainEnd): EventReference {
  const { seq, agent_seq, id, timestamp } = event;
  return { seq, agent_seq, id, hash, timestamp };
}

/** Returns what is wrong with an event's place after the last one of its chain; null when nothing is. */
export function linkProblem(last: ChainEnd, event: AuditEventBody): { code: ProblemCode; message: string } | null {
  const expected = last.event.agent_seq + 1;
  if (event.agent_seq !== expected) {
    return { code: "agent_seq_gap", message: `agent_seq ${event.agent_seq} where ${expected} was expected` };
  }
  if (event.previous_hash === last.hash) return null;
  return { code: "link_broken", message: "previous_hash is not the hash of the agent's event before" };
}

/**
 * What is wrong with the first event that is seen of a chain; null when nothing is.
 *
 * @param whole whether it must be the first that there is
 */
export function beginningProblem(event: AuditEventBody, whole: boolean): { code: ProblemCode; message: string } | null {
  if (whole && event.agent_seq !== 1) {
    return { code: "agent_seq_gap", message: `agent_seq ${event.agent_seq} where 1 was expected` };
  }
  if ((event.agent_seq === 1) === (event.previous_hash === ZERO_HASH)) return null;
  return { code: "link_broken", message: "64 zeros stand before an agent's first event and nowhere else" };
}

/** The words for a gap in a workspace's numbers. */
export const missing = (first: number, last: number): string =>
  first === last ? `event ${first} is missing` : `events ${first} to ${last} are missing`;
