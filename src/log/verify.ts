/**
 * The verifier of the audit log, shared by the daemon and the offline command. It is pure: it is
 * fed events in seq order, batch by batch, and at the end says what holds. What is stored beside
 * the log is checked by who reads it, with the help of `onEvent`, and reported here. Its memory does not grow with the log, except for one head per agent.
 */
import type { JsonObject } from "../json.ts";
import { type AgentReport, type ChainState, chainReport, type EventReference, newChain } from "./chains.ts";
import { type AuditEventBody, EventFormatError, genesisProblem, parseEvent } from "./event.ts";
import { commitmentOfText, eventHash, isSalt, ZERO_HASH } from "./hash.ts";
import { CanonicalJsonError, parseCanonicalJson } from "./jcs.ts";
import { isPlainlyCanonicalObject } from "./jcs-check.ts";
import { CompactRange, EMPTY_ROOT } from "./merkle.ts";
import { type FirstInvalid, type Problem, type ProblemCode, ProblemList } from "./problems.ts";
import type { StoredEvent } from "./rows.ts";
import type { Seal } from "./seal.ts";
import { ROTATE_SEAL_KEY, SealAudit, type SealAuditOptions, type SealReport } from "./seal-audit.ts";

/** What the events that will be fed are. */
export interface VerifierOptions {
  /** `workspace`: every event, so that seq has no gaps. `agent`: the chain of one agent. */
  scope: "workspace" | "agent";
  /** Whether the first event is the first there is. A window of time begins anywhere. */
  start: "beginning" | "anywhere";
  /** Given when seals are to be checked; the tree is computed only then. */
  seals?: SealAuditOptions;
  /** Told of every well-formed event, with its details where they are there and genuine. */
  onEvent?: (event: AuditEventBody, details: string | null) => void;
}

/** What the evidence says about itself; compared at the end, since a file may say it last. */
export interface Expectations {
  workspaceId?: string;
  /** The agent whose chain this is; `null` says that it is the whole workspace. */
  agentId?: string | null;
  /** The seq of the first event. */
  firstSeq?: number;
  /** The event before the first one of an agent's chain; `null` says that there is none. */
  startsAfter?: { agent_seq: number; hash: string } | null;
  /** How many events there are, each time that it is stated. */
  eventCounts?: readonly number[];
  /** The hash of the last event; null when there are none. */
  head?: string | null;
  /** The seq of the last event; null when there are none. */
  lastSeq?: number | null;
}

/** What a verification found. */
export interface VerificationReport {
  workspaceId: string | null;
  eventsChecked: number;
  /** Every link and number follows. */
  chainIntact: boolean;
  /** {@link chainIntact}, and every hash, commitment and stored thing agrees. */
  valid: boolean;
  chainStart: EventReference | null;
  chainEnd: EventReference | null;
  firstInvalid: FirstInvalid | null;
  /** In order of first appearance; `agent_id` null is the workspace's own chain. */
  agents: AgentReport[];
  /** What the seals establish; null when they were not asked for. */
  seals: SealReport | null;
  /** Events whose details are erased. */
  erasedDetails: number;
  /** At most MAX_REPORTED_PROBLEMS; `problemCount` counts all. */
  problems: Problem[];
  problemCount: number;
}

/** Problems that break links or numbers; all others leave the chain intact. */
const CHAIN_CODES: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "event_malformed",
  "seq_gap",
  "seq_repeated",
  "agent_seq_gap",
  "link_broken",
  "wrong_workspace",
  "wrong_agent",
  "genesis_invalid",
  "export_window",
  "export_count",
  "head_mismatch",
]);

/** Feed with {@link add} in seq order, then {@link finish} once. */
export class LogVerifier {
  readonly #options: VerifierOptions;
  readonly #problems = new ProblemList();
  readonly #chains = new Map<string | null, ChainState>();
  #workspaceId: string | null = null;
  #nextSeq: number | null;
  #events = 0;
  #erased = 0;
  #intact = true;
  #first: ChainState["first"] | null = null;
  #last: ChainState["first"] | null = null;

  readonly #seals: SealAudit | null;
  /** The tree over the events, when it is asked for; it begins where they begin. */
  #tree: CompactRange | null = null;

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#seals = options.seals
      ? new SealAudit(options.seals, (problem) => this.#problems.add(problem))
      : null;
    if (this.#seals !== null && options.start === "beginning") this.#tree = new CompactRange();
    this.#nextSeq = options.start === "beginning" ? 0 : null;
  }

  /** How many events were fed; for progress. */
  get eventsChecked(): number {
    return this.#events;
  }

  /** Checks the next events. */
  add(events: readonly StoredEvent[]): void {
    for (const stored of events) {
      this.#events += 1;
      const event = this.#checkEvent(stored);
      if (event !== null) {
        const details = this.#checkDetails(stored, event) ? stored.details : null;
        this.#noteKeys(event, details);
        this.#options.onEvent?.(event, details);
      }
      this.#checkSeals();
    }
  }

  /** What is known of the chains so far, by agent. */
  get chains(): ReadonlyMap<string | null, Readonly<ChainState>> {
    return this.#chains;
  }

  /**
   * Adds a problem found outside the log, in what is stored beside it. It stands with the event
   * `seq` of that agent, where there is one.
   */
  report(code: ProblemCode, agentId: string | null, seq: number | null, message: string): void {
    this.#problems.add({ code, seq, id: null, message });
    if (seq !== null) this.#blame(agentId, seq, null, message, false);
  }

  /**
   * Adds seals that are stored with the log, in order, before the events up to their size; each has
   * the number of events that it covers as its size.
   */
  expectSeals(seals: readonly Seal[]): void {
    const late = seals.filter(({ size }) => size < (this.#tree?.end ?? 0));
    for (const { size } of late) {
      const message = `a stored seal covers ${size} events and stands behind one that covers more`;
      this.#problems.add({ code: "seal_invalid", seq: size - 1, id: null, message });
    }
    this.#seals?.expect(seals.filter((seal) => !late.includes(seal)));
  }

  /** Adds a seal that the auditor kept, before the first event. */
  anchor(seal: Seal): void {
    this.#seals?.anchor(seal);
  }

  /** The run of leaves that was fed; null unless seals were asked for and something was fed. */
  get tree(): CompactRange | null {
    return this.#tree;
  }

  /** The last event that was fed, and its hash. */
  get last(): Readonly<ChainState["last"]> | null {
    return this.#last;
  }

  /** What is known of the seals; null unless they were asked for. */
  get seals(): SealAudit | null {
    return this.#seals;
  }

  /** Counts something that stands where an event should, and is none. */
  addMalformed(reason: string, seq?: number): void {
    this.#events += 1;
    this.#malformed(seq, reason);
  }

  /** Says what was found. Nothing can be fed afterwards. */
  finish(expected: Expectations = {}): VerificationReport {
    this.#compare(expected);
    const seals = this.#seals?.finish() ?? null;
    const chainIntact = this.#intact;
    return {
      workspaceId: this.#workspaceId,
      eventsChecked: this.#events,
      chainIntact,
      valid: chainIntact && this.#problems.count === 0,
      chainStart: this.#first && reference(this.#first),
      chainEnd: this.#last && reference(this.#last),
      firstInvalid: this.#problems.first,
      agents: [...this.#chains.values()].map(chainReport),
      seals,
      erasedDetails: this.#erased,
      problems: this.#problems.reported,
      problemCount: this.#problems.count,
    };
  }

  #checkEvent(stored: StoredEvent): AuditEventBody | null {
    const text = typeof stored.canonical === "string" ? stored.canonical : latin1(stored.canonical);
    let event: AuditEventBody;
    try {
      event = parseEvent(text);
    } catch (error) {
      if (!(error instanceof EventFormatError)) throw error;
      this.#malformed(stored.seq, error.message);
      this.#growTree(eventHash(stored.canonical), null);
      return null;
    }
    const hash = eventHash(text);
    this.#growTree(hash, event);
    this.#checkPlace(event);
    this.#checkChain(event, hash);
    if (stored.hash !== undefined && stored.hash !== null && hexOf(stored.hash) !== hash) {
      this.#problem("hash_mismatch", event, "the event's bytes do not have the hash stored beside them");
    }
    if (stored.seq !== undefined && stored.seq !== event.seq) {
      this.#problem("row_mismatch", event, "the row's number is not the event's seq");
    }
    const genesis = genesisProblem(event);
    if (genesis !== null) this.#problem("genesis_invalid", event, genesis);
    return event;
  }

  /** Adds a leaf to the tree, which of an agent's chain alone there is none. */
  #growTree(hash: string, event: AuditEventBody | null): void {
    if (this.#seals === null || this.#options.scope === "agent") return;
    if (this.#tree === null) {
      if (event === null) return; // where the run begins is not known yet
      this.#tree = new CompactRange(event.seq);
    }
    this.#tree.append(Buffer.from(hash, "hex"));
  }

  #checkSeals(): void {
    const [seals, tree, workspaceId] = [this.#seals, this.#tree, this.#workspaceId];
    if (seals === null || tree === null || workspaceId === null || tree.start !== 0) return;
    if (seals.nextSize === 0) seals.reached({ size: 0, root: EMPTY_ROOT }, workspaceId);
    if (seals.nextSize === tree.end) seals.reached({ size: tree.end, root: tree.root() }, workspaceId);
  }

  /** Remembers which sealing keys the log names. */
  #noteKeys(event: AuditEventBody, details: string | null): void {
    if (this.#seals === null || details === null) return;
    if (event.operation !== "workspace.create" && event.operation !== ROTATE_SEAL_KEY) return;
    const { signing_key: fingerprint } = JSON.parse(details) as JsonObject;
    if (typeof fingerprint === "string") this.#seals.nameKey(fingerprint, event.seq);
  }

  /** The workspace's numbers, and that every event is of one workspace (and one agent, if so asked). */
  #checkPlace(event: AuditEventBody): void {
    this.#workspaceId ??= event.workspace_id;
    if (event.workspace_id !== this.#workspaceId) {
      this.#problem("wrong_workspace", event, "the event belongs to another workspace");
    }
    const expected = this.#nextSeq;
    if (expected !== null && event.seq !== expected) {
      if (event.seq < expected) {
        this.#problem("seq_repeated", event, `seq ${event.seq} where ${expected} was expected`);
      } else if (this.#options.scope === "workspace") {
        this.#problem("seq_gap", event, `events ${expected} to ${event.seq - 1} are missing`);
      }
    }
    this.#nextSeq = Math.max(expected ?? 0, event.seq + 1);
  }

  /** The agent's numbers and links. */
  #checkChain(event: AuditEventBody, hash: string): void {
    const here = { event, hash };
    this.#first ??= here;
    this.#last = here;
    let chain = this.#chains.get(event.agent_id);
    if (chain === undefined) {
      chain = newChain(event, hash);
      this.#chains.set(event.agent_id, chain);
      if (this.#options.scope === "agent" && this.#chains.size > 1) {
        this.#problem("wrong_agent", event, "the event belongs to another agent");
      }
      if (this.#options.start === "beginning" && event.agent_seq !== 1) {
        this.#problem("agent_seq_gap", event, `agent_seq ${event.agent_seq} where 1 was expected`);
      } else if ((event.agent_seq === 1) !== (event.previous_hash === ZERO_HASH)) {
        this.#problem("link_broken", event, "64 zeros stand before an agent's first event and nowhere else");
      }
      return;
    }
    const { event: before, hash: previous } = chain.last;
    chain.last = here;
    chain.events += 1;
    if (event.agent_seq !== before.agent_seq + 1) {
      const message = `agent_seq ${event.agent_seq} where ${before.agent_seq + 1} was expected`;
      this.#problem("agent_seq_gap", event, message);
    } else if (event.previous_hash !== previous) {
      this.#problem("link_broken", event, "previous_hash is not the hash of the agent's event before");
    }
  }

  /** The commitment; true when the details are there and right. */
  #checkDetails(stored: StoredEvent, event: AuditEventBody): boolean {
    const { details, salt } = stored;
    if (details === null && salt === null) {
      this.#erased += 1;
      return false;
    }
    if (details === null || salt === null) {
      this.#problem("details_mismatch", event, "details and salt are not both there or both erased");
      return false;
    }
    if (!isSalt(salt) || commitmentOfText(salt, details) !== event.details_commitment) {
      this.#problem("details_mismatch", event, "details and salt do not fit their commitment");
      return false;
    }
    if (isPlainlyCanonicalObject(details) || isCanonicalObject(details)) return true;
    this.#problem("details_malformed", event, "details are not a JSON object in canonical form");
    return false;
  }

  #malformed(given: number | undefined, reason: string): void {
    const seq = given ?? this.#nextSeq ?? 0;
    this.#problems.add({ code: "event_malformed", seq, id: null, message: `not an event: ${reason}` });
    this.#intact = false;
    // It keeps its place in the count, so that the event after it is not blamed for a gap.
    if (this.#nextSeq !== null && this.#options.scope === "workspace") this.#nextSeq += 1;
  }

  #problem(code: ProblemCode, event: AuditEventBody, message: string): void {
    this.#problems.add({ code, seq: event.seq, id: event.id, message });
    const breaks = CHAIN_CODES.has(code);
    if (breaks) this.#intact = false;
    this.#blame(event.agent_id, event.seq, event.id, message, breaks && !code.startsWith("seq_"));
  }

  #blame(agentId: string | null, seq: number, id: string | null, reason: string, breaks: boolean): void {
    const chain = this.#chains.get(agentId);
    if (chain === undefined) return;
    if (breaks) chain.intact = false;
    if (chain.firstInvalid === null || seq < chain.firstInvalid.seq) chain.firstInvalid = { seq, id, reason };
  }

  /** The evidence against what it says about itself. */
  #compare(expected: Expectations): void {
    const fail = (code: ProblemCode, message: string): void => {
      const seq = this.#first?.event.seq ?? null;
      this.#problems.add({ code, seq, id: this.#first?.event.id ?? null, message });
      if (CHAIN_CODES.has(code)) this.#intact = false;
    };
    const { workspaceId, agentId, firstSeq, startsAfter, eventCounts, head, lastSeq } = expected;
    const first = this.#first?.event;
    if (first && workspaceId !== undefined && first.workspace_id !== workspaceId) {
      fail("wrong_workspace", "the events belong to another workspace than is stated");
    }
    if (first && agentId !== undefined && agentId !== null && first.agent_id !== agentId) {
      fail("wrong_agent", "the events belong to another agent than is stated");
    }
    if (first && firstSeq !== undefined && first.seq !== firstSeq) {
      fail("seq_gap", `the first event is seq ${first.seq} where ${firstSeq} was expected`);
    }
    if (first && startsAfter !== undefined) {
      const before = startsAfter ?? { agent_seq: 0, hash: ZERO_HASH };
      if (first.agent_seq !== before.agent_seq + 1 || first.previous_hash !== before.hash) {
        fail("export_window", "the first event does not follow the one that is stated to stand before it");
      }
    }
    const wrongCount = eventCounts?.find((count) => count !== this.#events);
    if (wrongCount !== undefined) {
      fail("export_count", `${this.#events} events where ${wrongCount} are stated`);
    }
    const wrongHead = head !== undefined && head !== (this.#last?.hash ?? null);
    if (wrongHead || (lastSeq !== undefined && lastSeq !== (this.#last?.event.seq ?? null))) {
      fail("head_mismatch", "the last event is not the one that is stated to be the last");
    }
  }
}

function isCanonicalObject(text: string): boolean {
  try {
    const value = parseCanonicalJson(text);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch (error) {
    if (error instanceof CanonicalJsonError) return false;
    throw error;
  }
}

function reference({ event, hash }: ChainState["first"]): EventReference {
  const { seq, agent_seq, id, timestamp } = event;
  return { seq, agent_seq, id, hash, timestamp };
}

// Canonical events are ASCII, so that any other byte shows up as a character out of form.
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function hexOf(value: string | Uint8Array): string {
  return typeof value === "string" ? value : Buffer.from(value).toString("hex");
}
