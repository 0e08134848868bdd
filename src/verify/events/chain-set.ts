/** All chains of a log while it is verified. */
import type { AuditEventBody } from "../../log/event.ts";
import type { ProblemCode } from "../codes.ts";
import {
  type AgentReport,
  beginningProblem,
  type ChainEnd,
  type ChainState,
  chainReport,
  linkProblem,
  newChain,
} from "./chains.ts";
import { KnownChains } from "./fast/known-chains.ts";
import type { Segment } from "./segment.ts";

/** Reports what is wrong with an event. */
// `since`: the position of the event before it in its chain, when the two do not fit.
export type EventReport = (code: ProblemCode, event: AuditEventBody, message: string, since?: number) => void;

export interface ChainOptions {
  /** Whether there is one agent's chain alone. */
  single: boolean;
  /** Whether each chain must begin with its first event. */
  whole: boolean;
}

export class ChainSet {
  /** The chains as the fast path needs them. */
  readonly known = new KnownChains();
  readonly #chains = new Map<string | null, ChainState>();
  readonly #options: ChainOptions;
  readonly #report: EventReport;
  #last: ChainEnd | null = null;
  #first: ChainEnd | null = null;
  #before: ChainEnd | null = null;

  constructor(options: ChainOptions, report: EventReport) {
    this.#options = options;
    this.#report = report;
  }

  /** The first event that was fed. */
  get first(): ChainEnd | null {
    return this.#first;
  }

  /** The last event that was fed. */
  get last(): Readonly<ChainEnd> | null {
    return this.known.last?.last ?? this.#last;
  }

  /** The event before the last one, when that took the plain path. */
  get before(): ChainEnd | null {
    return this.#before;
  }

  /** The chains by agent. */
  get all(): ReadonlyMap<string | null, Readonly<ChainState>> {
    this.known.settleAll();
    return this.#chains;
  }

  /** Takes an event on the plain path. @param own whether it is of the workspace that is verified */
  take(event: AuditEventBody, hash: string, own: boolean): void {
    const here = { event, hash };
    this.#first ??= here;
    this.#before = this.last;
    this.#last = here;
    this.known.settle(event.agent_id);
    let chain = this.#chains.get(event.agent_id);
    if (chain === undefined) {
      chain = newChain(here);
      this.#begin(chain);
    } else {
      const { seq: since } = chain.last.event;
      const found = linkProblem(chain.last, event);
      chain.last = here;
      chain.events += 1;
      if (found !== null) this.#report(found.code, event, found.message, since);
    }
    this.known.learn(chain, event, hash, own);
  }

  /** Appends the ends of the next segment, before its chains. */
  appendEnds({ first, last }: Segment): void {
    this.known.settleAll();
    this.#first ??= first;
    this.#last = last ?? this.last;
  }

  /** Appends the chains of the next segment. */
  append({ chains }: Segment): void {
    for (const next of chains) this.#append(next);
  }

  /** Counts a problem against the event's chain. @param breaks whether its links or numbers are broken */
  blame(agentId: string | null, seq: number, id: string | null, reason: string, breaks: boolean): void {
    const chain = this.#chains.get(agentId);
    if (chain === undefined) return;
    if (breaks) chain.intact = false;
    if (chain.firstInvalid === null || seq < chain.firstInvalid.seq) chain.firstInvalid = { seq, id, reason };
  }

  /** What is reported of the chains, in order of first appearance. */
  reports(): AgentReport[] {
    return [...this.all.values()].map(chainReport);
  }

  #begin(chain: ChainState): void {
    const { event } = chain.first;
    this.#chains.set(event.agent_id, chain);
    if (this.#options.single && this.#chains.size > 1) {
      this.#report("wrong_agent", event, "the event belongs to another agent");
    }
    const found = beginningProblem(event, this.#options.whole);
    // Any event before it may be the one that is missing.
    if (found !== null) this.#report(found.code, event, found.message, 0);
  }

  #append(next: ChainState): void {
    const { event } = next.first;
    const chain = this.#chains.get(event.agent_id);
    if (chain === undefined) {
      this.#begin({ ...next });
      return;
    }
    const { seq: since } = chain.last.event;
    const found = linkProblem(chain.last, event);
    chain.last = next.last;
    chain.events += next.events;
    chain.intact &&= next.intact;
    chain.firstInvalid ??= next.firstInvalid;
    this.known.learn(chain, chain.last.event, chain.last.hash, false);
    if (found !== null) this.#report(found.code, event, found.message, since);
  }
}
