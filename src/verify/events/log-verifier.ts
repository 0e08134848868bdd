/**
 * The verifier of the audit log, shared by the daemon and the offline command. It is pure: it is
 * fed events in seq order, batch by batch, and at the end says what holds. What is stored beside
 * the log is checked by who reads it, with the help of `onEvent`, and reported here. Memory does not
 * grow with the log, except for one head per agent.
 *
 * There are two ways through it. The quick one (fast/) takes events of which nothing is to be said, on
 * their bytes; the thorough one takes the rest, and finds the words for what is wrong.
 */
import type { JsonObject } from "../../json.ts";
import type { Bytes } from "../../log/bytes.ts";
import { type AuditEventBody, EventFormatError, genesisProblem, parseEvent } from "../../log/event.ts";
import { eventHash } from "../../log/hash.ts";
import { CompactRange, EMPTY_ROOT, HASH_BYTES } from "../../log/merkle.ts";
import { type DeclaredRestore, declaredRestore, restoreProblem } from "../../log/restores.ts";
import type { StoredEvent } from "../../log/rows.ts";
import { namesSealKey, type Seal } from "../../log/seal.ts";
import { type ProblemCode, ProblemList } from "../problems.ts";
import {
  beginningProblem,
  type ChainEnd,
  type ChainState,
  chainReport,
  linkProblem,
  newChain,
  reference,
} from "./chains.ts";
import { detailsProblem, isErased } from "./details.ts";
import { type Accepted, KnownChains, type Place } from "./fast/known-chains.ts";
import { takeShown } from "./fast/shown-event.ts";
import { takeStored } from "./fast/stored-event.ts";
import type { StoredPage } from "./fast/stored-page.ts";
import { LeafRun, type OnTile } from "./leaf-run.ts";
import { type Expectations, unmet, type VerificationReport } from "./log-report.ts";
import { SealAudit, type SealAuditOptions } from "./seal-audit.ts";
import { grown, type PlainRange, plainRange, type Segment } from "./segment.ts";

export type { Expectations, VerificationReport } from "./log-report.ts";

/** What the events that will be fed are. */
export interface VerifierOptions {
  /** `workspace`: every event, so that seq has no gaps. `agent`: the chain of one agent. */
  scope: "workspace" | "agent";
  /**
   * Whether the first event is the first there is. A window of time begins anywhere; a segment of
   * the whole log, which is to be put together with others, at a known seq.
   */
  start: "beginning" | "anywhere" | { seq: number };
  /** Given when seals are to be checked; the tree is computed only then. */
  seals?: SealAuditOptions;
  /** In a segment: the sizes of seals that cover part of it, ascending. */
  marks?: readonly number[];
  /** Told of every well-formed event, with its details where they are there and genuine. */
  onEvent?: (event: AuditEventBody, details: string | null) => void;
  /** Told instead of `onEvent` of events that went the quick way, with the text that they stand in. */
  onAccepted?: (accepted: Accepted, text: Bytes) => void;
  /** Told of every full tile of the tree. */
  onTile?: OnTile;
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
  readonly #seals: SealAudit | null;
  readonly #keys: Segment["keys"] = [];
  readonly #restores: DeclaredRestore[] = [];
  readonly #marks: PlainRange[] = [];
  readonly #startSeq: number;
  /** The tree over the events, when it is asked for; it begins where they begin. */
  #tree: LeafRun | null = null;
  readonly #known = new KnownChains();
  readonly #place: Place;
  readonly #noLeaf = new Uint8Array(HASH_BYTES);
  #workspaceId: string | null = null;
  #nextSeq: number | null;
  #events = 0;
  #erased = 0;
  #intact = true;
  #first: ChainEnd | null = null;
  #last: ChainEnd | null = null;
  /** The one before the last. */
  #before: ChainEnd | null = null;

  constructor(options: VerifierOptions) {
    const { start, seals } = options;
    this.#options = options;
    this.#seals = seals ? new SealAudit(seals, (problem) => this.#problems.add(problem)) : null;
    this.#startSeq = typeof start === "object" ? start.seq : 0;
    this.#nextSeq = start === "anywhere" ? null : this.#startSeq;
    this.#place = { seq: 0, gaps: options.scope === "agent" };
    if (this.#nextSeq !== null && seals !== undefined) this.#tree = this.#newTree(this.#nextSeq);
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
        const details = this.#detailsOf(stored, event);
        this.#noteKeys(event, details);
        this.#noteRestore(event, details);
        this.#options.onEvent?.(event, details);
      }
      this.#checkSeals();
    }
  }

  /**
   * Checks stored events of a whole workspace from number `from` of a page on, as long as nothing is to be said of them. Answers
   * the number of the first one that was not taken, which is to go to {@link add}; their count when all were.
   */
  addStored(page: StoredPage, from: number): number {
    let index = from;
    for (; index < page.count && this.#isReady(); index++) {
      // The row's own number must be the event's.
      const seq = page.seq(index);
      if (seq !== this.#place.seq) break;
      const leaf = this.#tree?.slot ?? this.#noLeaf;
      if (!takeStored(this.#known, page.bytes, page.start(index), page.end(index), seq, leaf)) break;
      this.#accepted(page.bytes);
    }
    this.#known.keepTexts();
    return index;
  }

  /**
   * Checks the event of an export that stands from `start` to `end`, beginning with `lead`, if nothing is to
   * be said of it. False when it is to go to {@link add}.
   */
  addShown(text: Bytes, start: number, end: number, lead: Bytes): boolean {
    if (!this.#isReady()) return false;
    const leaf = this.#tree?.slot ?? this.#noLeaf;
    if (!takeShown(this.#known, text, { start, end }, lead, this.#place, leaf)) return false;
    this.#accepted(text);
    return true;
  }

  /**
   * Takes over what a verifier of its own found in the stretch of the log that comes next. Seals of
   * sizes within it must be expected before, and have been its marks.
   *
   * @throws RangeError when a mark is missing
   */
  append(segment: Segment): void {
    this.#known.settleAll();
    this.#last = this.last;
    this.#events += segment.events;
    this.#erased += segment.erased;
    this.#intact &&= segment.intact;
    this.#appendPlace(segment);
    for (const chain of segment.chains) this.#appendChain(chain);
    this.#problems.addAll(segment.problems);
    this.#appendTree(segment);
  }

  /** What was found so far, for another verifier's {@link append}. */
  segment(): Segment {
    this.#known.settleAll();
    return {
      start: this.#startSeq,
      nextSeq: this.#nextSeq ?? this.#startSeq,
      workspaceId: this.#workspaceId,
      first: this.#first,
      last: this.last,
      events: this.#events,
      erased: this.#erased,
      intact: this.#intact,
      chains: [...this.#chains.values()],
      problems: this.#problems.toPlain(),
      tree: this.#tree && plainRange(this.#tree.range),
      marks: this.#marks,
      keys: this.#keys,
      restores: this.#restores,
    };
  }

  /** What is known of the chains so far, by agent. */
  get chains(): ReadonlyMap<string | null, Readonly<ChainState>> {
    this.#known.settleAll();
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
      this.#problems.add({ code: "seal_invalid", seq: size > 0 ? size - 1 : null, id: null, message });
    }
    this.#seals?.expect(seals.filter((seal) => !late.includes(seal)));
  }

  /** Adds a seal that the auditor kept, before the first event. */
  anchor(seal: Seal): void {
    this.#seals?.anchor(seal);
  }

  /** The run of leaves that was fed; null unless seals were asked for and something was fed. */
  get tree(): CompactRange | null {
    return this.#tree?.range ?? null;
  }

  /** The last event that was fed, and its hash. */
  get last(): Readonly<ChainEnd> | null {
    return this.#known.last?.last ?? this.#last;
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
    this.#known.settleAll();
    const { last } = this;
    for (const { code, message } of unmet(expected, {
      first: this.#first,
      last,
      events: this.#events,
    })) {
      const { seq = null, id = null } = this.#first?.event ?? {};
      this.#problems.add({ code, seq, id, message });
      if (CHAIN_CODES.has(code)) this.#intact = false;
    }
    const seals = this.#seals?.finish() ?? null;
    const chainIntact = this.#intact;
    return {
      workspaceId: this.#workspaceId,
      eventsChecked: this.#events,
      chainIntact,
      valid: chainIntact && this.#problems.count === 0,
      chainStart: this.#first && reference(this.#first),
      chainEnd: last && reference(last),
      firstInvalid: this.#problems.first,
      agents: [...this.#chains.values()].map(chainReport),
      seals,
      restores: this.#restores,
      erasedDetails: this.#erased,
      problems: this.#problems.reported,
      problemCount: this.#problems.count,
    };
  }

  /** Whether an event may go the quick way; `#place` is then what it has to follow. */
  #isReady(): boolean {
    if (this.#nextSeq === null) return false;
    if (this.#tree === null && this.#growsTree) return false;
    this.#place.seq = this.#nextSeq;
    return true;
  }

  get #growsTree(): boolean {
    return this.#seals !== null && this.#options.scope === "workspace";
  }

  /** Counts an event that went the quick way. */
  #accepted(text: Bytes): void {
    const { accepted } = this.#known;
    this.#events += 1;
    this.#nextSeq = accepted.seq + 1;
    if (accepted.erased) this.#erased += 1;
    this.#options.onAccepted?.(accepted, text);
    const [tree, seals] = [this.#tree, this.#seals];
    if (tree === null || seals === null || this.#options.scope === "agent") return;
    tree.grow();
    const next = Math.min(seals.nextSize, this.#options.marks?.[this.#marks.length] ?? seals.nextSize);
    if (next <= tree.end) this.#checkSeals();
  }

  #newTree(start: number): LeafRun {
    return new LeafRun(start, this.#options.onTile);
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
    if (!this.#growsTree) return;
    if (this.#tree === null) {
      if (event === null) return; // where the run begins is not known yet
      this.#tree = this.#newTree(event.seq);
    }
    this.#tree.append(Buffer.from(hash, "hex"));
  }

  /** What has to happen once the tree has grown to where a seal or a mark is. */
  #checkSeals(): void {
    const [seals, tree, workspaceId] = [this.#seals, this.#tree, this.#workspaceId];
    if (seals === null || tree === null) return;
    const mark = this.#options.marks?.[this.#marks.length];
    if (mark === tree.end) this.#marks.push(plainRange(tree.range));
    if (workspaceId === null || tree.start !== 0) return;
    if (seals.nextSize === 0) seals.reached({ size: 0, root: EMPTY_ROOT }, workspaceId);
    if (seals.nextSize === tree.end) seals.reached({ size: tree.end, root: tree.range.root() }, workspaceId);
  }

  /** Remembers which sealing keys the log names. */
  #noteKeys(event: AuditEventBody, details: string | null): void {
    if (this.#seals === null || details === null) return;
    if (!namesSealKey(event.operation)) return;
    const { signing_key: fingerprint } = JSON.parse(details) as JsonObject;
    if (typeof fingerprint === "string") this.#nameKey({ fingerprint, seq: event.seq });
  }

  #nameKey(key: Segment["keys"][number]): void {
    this.#keys.push(key);
    this.#seals?.nameKey(key.fingerprint, key.seq);
  }

  /** Remembers where the log was put back from a backup. */
  #noteRestore(event: AuditEventBody, details: string | null): void {
    const restore = declaredRestore(event, details);
    if (restore === null) return;
    this.#takeRestore(restore);
    if (this.#options.scope === "agent" || this.#before?.event.seq !== event.seq - 1) return;
    const { hash } = this.#before;
    const found = restoreProblem(restore, { seq: event.seq - 1, hash });
    if (found !== null) this.#problem("restore_invalid", event, found);
  }

  #takeRestore(restore: DeclaredRestore): void {
    this.#restores.push(restore);
    this.#seals?.noteRestore(restore.seq);
  }

  /** The workspace's numbers, and that every event is of one workspace. */
  #checkPlace(event: AuditEventBody): void {
    this.#workspaceId ??= event.workspace_id;
    if (event.workspace_id !== this.#workspaceId) {
      this.#problem("wrong_workspace", event, "the event belongs to another workspace");
    }
    this.#checkSeq(event.seq, event);
    this.#nextSeq = Math.max(this.#nextSeq ?? 0, event.seq + 1);
  }

  #checkSeq(seq: number, event: AuditEventBody): void {
    const expected = this.#nextSeq;
    if (expected === null || seq === expected) return;
    if (seq < expected) {
      this.#problem("seq_repeated", event, `seq ${seq} where ${expected} was expected`);
    } else if (this.#options.scope === "workspace") {
      this.#problem("seq_gap", event, `events ${expected} to ${seq - 1} are missing`);
    }
  }

  /** The agent's numbers and links. */
  #checkChain(event: AuditEventBody, hash: string): void {
    const here = { event, hash };
    this.#first ??= here;
    this.#before = this.last;
    this.#last = here;
    this.#known.settle(event.agent_id);
    let chain = this.#chains.get(event.agent_id);
    if (chain === undefined) {
      chain = newChain(here);
      this.#begin(chain);
    } else {
      const found = linkProblem(chain.last, event);
      chain.last = here;
      chain.events += 1;
      if (found !== null) this.#problem(found.code, event, found.message);
    }
    this.#known.learn(chain, event, hash, event.workspace_id === this.#workspaceId);
  }

  #begin(chain: ChainState): void {
    const { event } = chain.first;
    this.#chains.set(event.agent_id, chain);
    if (this.#options.scope === "agent" && this.#chains.size > 1) {
      this.#problem("wrong_agent", event, "the event belongs to another agent");
    }
    const found = beginningProblem(event, this.#options.start === "beginning");
    if (found !== null) this.#problem(found.code, event, found.message);
  }

  #appendPlace({ workspaceId, first, last, start, nextSeq }: Segment): void {
    this.#workspaceId ??= workspaceId;
    this.#first ??= first;
    this.#last = last ?? this.#last;
    if (first !== null) {
      if (workspaceId !== this.#workspaceId) {
        this.#problem("wrong_workspace", first.event, "the event belongs to another workspace");
      }
      this.#checkSeq(start, first.event);
    }
    this.#nextSeq = Math.max(this.#nextSeq ?? 0, nextSeq);
  }

  #appendChain(next: ChainState): void {
    const { event } = next.first;
    const chain = this.#chains.get(event.agent_id);
    if (chain === undefined) {
      this.#begin({ ...next });
      return;
    }
    const found = linkProblem(chain.last, event);
    chain.last = next.last;
    chain.events += next.events;
    chain.intact &&= next.intact;
    chain.firstInvalid ??= next.firstInvalid;
    this.#known.learn(chain, chain.last.event, chain.last.hash, false);
    if (found !== null) this.#problem(found.code, event, found.message);
  }

  #appendTree({ tree: next, marks, keys, restores, nextSeq }: Segment): void {
    for (const key of keys) this.#nameKey(key);
    for (const restore of restores) this.#takeRestore(restore);
    const [seals, tree, workspaceId] = [this.#seals, this.#tree, this.#workspaceId];
    if (seals === null || tree === null) return;
    if (next === null || next.start !== tree.end || next.end !== nextSeq) {
      // Events are missing or repeated, which is reported; no later seal can be compared with this.
      this.#tree = null;
      seals.abandon();
      return;
    }
    // As in growing: a window of the log, which does not begin at 0, has no root to compare, and whose seals
    // they are is known only with the first event that is one.
    const compares = tree.start === 0 && workspaceId !== null;
    if (compares && seals.nextSize === 0) seals.reached({ size: 0, root: EMPTY_ROOT }, workspaceId);
    while (compares && seals.nextSize <= next.end) {
      const size = seals.nextSize;
      const part = size === next.end ? next : marks.find(({ end }) => end === size);
      if (part === undefined) throw new RangeError("a segment lacks the mark of a seal");
      seals.reached({ size, root: grown(tree.range, part).root() }, workspaceId);
    }
    tree.appendRange(CompactRange.of(next.start, next.end, next.roots));
  }

  /** The details, when they are there and right. */
  #detailsOf(stored: StoredEvent, event: AuditEventBody): string | null {
    if (isErased(stored)) {
      this.#erased += 1;
      return null;
    }
    const found = detailsProblem(stored, event);
    if (found === null) return stored.details;
    this.#problem(found.code, event, found.message);
    return null;
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
}

// Canonical events are ASCII, so that any other byte shows up as a character out of form.
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function hexOf(value: string | Uint8Array): string {
  return typeof value === "string" ? value : Buffer.from(value).toString("hex");
}
