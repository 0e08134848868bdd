/** The chains of a log while it is verified: the ends of each, and what its operations need and leave behind. */
import type { JsonObject } from "../../json.ts";
import type { AuditEventBody } from "../../log/event.ts";
import { ZERO_HASH } from "../../log/hash.ts";
import type { ProblemCode } from "../codes.ts";
import type { Finding } from "../problems.ts";
import { Premises } from "./premises.ts";
import type { AgentReport, ChainEnd, ChainState, EventReference, Segment } from "./segment.ts";

/** Reports a problem of an event. `since`: the position of the previous event in its chain, if the two do not match. */
export type EventReport = (code: ProblemCode, event: AuditEventBody, message: string, since?: number) => void;

interface ChainOptions {
  /** Whether there is only one agent's chain. */
  single: boolean;
  /** Whether each chain must begin with its first event. */
  whole: boolean;
}

export class ChainSet {
  readonly premises: Premises;
  readonly #chains = new Map<string | null, ChainState>();
  readonly #options: ChainOptions;
  readonly #report: EventReport;
  #last: ChainEnd | null = null;
  #first: ChainEnd | null = null;
  #before: ChainEnd | null = null;

  constructor(options: ChainOptions, report: EventReport) {
    this.#options = options;
    this.premises = new Premises(options.single);
    this.#report = report;
  }

  /** The first event that was fed. */
  get first(): ChainEnd | null {
    return this.#first;
  }

  /** The last event that was fed. */
  get last(): Readonly<ChainEnd> | null {
    return this.#last;
  }

  /** The event before the last one; null after a segment. */
  get before(): ChainEnd | null {
    return this.#before;
  }

  /** The chains by agent. */
  get all(): ReadonlyMap<string | null, Readonly<ChainState>> {
    return this.#chains;
  }

  /** Adds an event. */
  take(event: AuditEventBody, hash: string): void {
    const here = { event, hash };
    this.#first ??= here;
    this.#before = this.#last;
    this.#last = here;
    const chain = this.#chains.get(event.agent_id);
    if (chain === undefined) return void this.#begin(newChain(here));
    const { last } = chain;
    chain.last = here;
    chain.events += 1;
    this.#reportLink(last, event);
  }

  /**
   * Checks that the event, which was taken, can be after the events before it. Returns false when it cannot be.
   * @param details null when they are erased or not genuine
   */
  follow(event: AuditEventBody, details: JsonObject | null): boolean {
    const found = this.premises.take(event, details);
    if (found !== null) this.#report(found.code, event, found.message);
    return found === null;
  }

  /** Appends the ends of the next segment; to be called before {@link append}. */
  appendEnds({ first, last }: Segment): void {
    this.#first ??= first;
    this.#last = last ?? this.#last;
    this.#before = null;
  }

  /** Appends the chains of the next segment. */
  append({ chains, premises }: Segment): void {
    for (const next of chains) this.#join(next);
    const found = this.premises.append(premises);
    const [next] = chains;
    if (found !== null && next !== undefined) this.#report(found.code, next.first.event, found.message);
  }

  /** Counts a problem against the event's chain. @param breaks whether its links or numbers are broken */
  blame(agentId: string | null, seq: number, id: string | null, reason: string, breaks: boolean): void {
    const chain = this.#chains.get(agentId);
    if (chain === undefined) return;
    if (breaks) chain.intact = false;
    if (chain.firstInvalid === null || seq < chain.firstInvalid.seq) chain.firstInvalid = { seq, id, reason };
  }

  /** Returns the reports on the chains, in order of first appearance. */
  reports(): AgentReport[] {
    return [...this.all.values()].map(chainReport);
  }

  /** Appends the next part of a chain. */
  #join(next: ChainState): void {
    const { event } = next.first;
    const chain = this.#chains.get(event.agent_id);
    if (chain === undefined) return void this.#begin({ ...next });
    const { last } = chain;
    chain.last = next.last;
    chain.events += next.events;
    chain.intact &&= next.intact;
    chain.firstInvalid ??= next.firstInvalid;
    this.#reportLink(last, event);
  }

  #reportLink(last: ChainEnd, event: AuditEventBody): void {
    const found = linkProblem(last, event);
    if (found !== null) this.#report(found.code, event, found.message, last.event.seq);
  }

  #begin(chain: ChainState): void {
    const { event } = chain.first;
    this.#chains.set(event.agent_id, chain);
    if (this.#options.single && this.#chains.size > 1) {
      this.#report("wrong_agent", event, "the event belongs to another agent");
    }
    const found = beginningProblem(event, this.#options.whole);
    // Any earlier event may be the missing one.
    if (found !== null) this.#report(found.code, event, found.message, 0);
  }
}

/** Returns a chain with only its first event. */
export function newChain(first: ChainEnd): ChainState {
  return { first, last: first, events: 1, intact: true, firstInvalid: null };
}

/** Returns the report on a chain up to the last event that was read. */
function chainReport({ last, events, intact, firstInvalid }: ChainState): AgentReport {
  return {
    agent_id: last.event.agent_id,
    events,
    valid: firstInvalid === null,
    chain_intact: intact,
    first_invalid: firstInvalid,
    head: reference(last),
  };
}

/** Returns how reports name an event. */
export function reference({ event, hash }: ChainEnd): EventReference {
  const { seq, agent_seq, id, timestamp } = event;
  return { seq, agent_seq, id, hash, timestamp };
}

/** Returns what is wrong with an event after the last one of its chain; null for nothing. */
function linkProblem(last: ChainEnd, event: AuditEventBody): Finding | null {
  const expected = last.event.agent_seq + 1;
  if (event.agent_seq !== expected) {
    return { code: "agent_seq_gap", message: `agent_seq ${event.agent_seq} where ${expected} was expected` };
  }
  if (event.previous_hash === last.hash) return null;
  return { code: "link_broken", message: "previous_hash is not the hash of the agent's event before" };
}

/**
 * Returns what is wrong with the first event of a chain that was read; null for nothing.
 *
 * @param whole whether it must be the first event of the chain
 */
function beginningProblem(event: AuditEventBody, whole: boolean): Finding | null {
  if (whole && event.agent_seq !== 1) {
    return { code: "agent_seq_gap", message: `agent_seq ${event.agent_seq} where 1 was expected` };
  }
  if ((event.agent_seq === 1) === (event.previous_hash === ZERO_HASH)) return null;
  return { code: "link_broken", message: "64 zeros stand before an agent's first event and nowhere else" };
}

/** Returns the message for a gap in a workspace's numbers. */
export const missing = (first: number, last: number): string =>
  first === last ? `event ${first} is missing` : `events ${first} to ${last} are missing`;
