/**
 * The verifier of the audit log, shared by the daemon and the offline command. It is fed events in the order of seq,
 * batch by batch, and returns a report at the end. Readers of the rows beside the log check them by `onEvent`, and
 * report problems to it. Memory does not grow with the log, except for one head per agent.
 */
import type { JsonObject } from "../../json.ts";
import { type AuditEventBody, announcesVocabulary, EventFormatError } from "../../log/event.ts";
import { eventHash } from "../../log/hash.ts";
import type { CompactRange } from "../../log/merkle.ts";
import { bodyOf } from "../../log/present.ts";
import { type DeclaredRestore, declaredRestore, restoreProblem } from "../../log/restores.ts";
import { canonicalText, type StoredEvent } from "../../log/rows.ts";
import { mayNameSealKey, type Seal } from "../../log/seal.ts";
import type { ProblemCode } from "../codes.ts";
import { breaksChain, ProblemList, type ProblemRow } from "../problems.ts";
import { ChainSet, type EventReport, missing, reference } from "./chains.ts";
import { type Expectations, unmet, type VerificationReport, type VerifierOptions } from "./contract.ts";
import { Blanks, genuineDetails, hashProblem, inItsPlace, NO_ERASURE } from "./details.ts";
import type { SealAudit } from "./seal-audit.ts";
import { namedKey, SealedTree } from "./sealed-tree.ts";
import type { ChainEnd, ChainState, Segment } from "./segment.ts";
import { hasNewerEnvelope, Vocabularies } from "./vocabularies.ts";

/** An event as stored or exported. `said`: its details, if they were parsed from canonical text. */
interface GivenEvent extends StoredEvent {
  said?: JsonObject | null;
}

/** To be fed with {@link add} in the order of seq, then {@link finish} once. */
export class LogVerifier {
  readonly #options: VerifierOptions;
  readonly #problems = new ProblemList();
  readonly #chains: ChainSet;
  /** Null when checking seals was not requested. */
  readonly #tree: SealedTree | null;
  /** The restores that the events declare. */
  readonly restores: DeclaredRestore[] = [];
  /** Events without details, and the erasures. */
  readonly blanks = new Blanks();
  readonly vocabularies: Vocabularies;
  /** Whether an event has an unknown envelope. Nothing is known of the chains from there on. */
  isOpaque = false;
  readonly #startSeq: number;
  #workspaceId: string | null = null;
  #nextSeq: number | null;
  #events = 0;
  #intact = true;
  /** Problems that count only when a later announcement shows that the events were under a known vocabulary. */
  readonly #held: Parameters<EventReport>[] = [];
  #holds = false;

  constructor(options: VerifierOptions) {
    const { scope, start, seals } = options;
    const single = scope === "agent";
    this.#options = options;
    this.#startSeq = typeof start === "object" ? start.seq : 0;
    this.#nextSeq = start === "anywhere" ? null : this.#startSeq;
    this.vocabularies = new Vocabularies(options.vocabulary, options.raisedAt);
    this.#chains = new ChainSet({ single, whole: start === "beginning" }, (code, event, message, since) => {
      if (this.#holds) this.#held.push([code, event, message, since]);
      else this.#problem(code, event, message, since);
    });
    this.#tree = seals ? new SealedTree(options, seals, this.#nextSeq, (found) => this.#problems.add(found)) : null;
  }

  /** The number of events that were fed, for progress. */
  get eventsChecked(): number {
    return this.#events;
  }

  /** The chains so far, by agent. */
  get chains(): ReadonlyMap<string | null, Readonly<ChainState>> {
    return this.#chains.all;
  }

  /** The first event that was fed, and its hash. */
  get first(): Readonly<ChainEnd> | null {
    return this.#chains.first;
  }

  /** The last event that was fed, and its hash. */
  get last(): Readonly<ChainEnd> | null {
    return this.#chains.last;
  }

  /** The leaves that were fed; null if seals are not checked, or nothing was fed. */
  get tree(): CompactRange | null {
    return this.#tree?.range ?? null;
  }

  /** The audit of the seals; null if seals are not checked. */
  get seals(): SealAudit | null {
    return this.#tree?.audit ?? null;
  }

  /** Checks the next events. */
  add(events: readonly GivenEvent[]): void {
    for (const stored of events) {
      this.#events += 1;
      const { event = null, wasChanged = false } = this.#checkEvent(stored) ?? {};
      if (event !== null) this.#takeDetails(event, this.#detailsOf(stored, event), wasChanged);
      this.#tree?.check(this.#workspaceId);
    }
  }

  /** Reports bytes in the place of an event that are not an event. */
  addMalformed(reason: string, seq?: number): void {
    this.#events += 1;
    this.#malformed(seq, reason);
  }

  /**
   * Appends the result of another verifier for the next segment of the log. Seals with sizes within it must have been
   * expected before, and their sizes must be its marks.
   *
   * @throws RangeError when a mark is missing
   */
  append(segment: Segment): void {
    const { first, workspaceId } = segment;
    this.#events += segment.events;
    this.#intact &&= segment.intact;
    this.#chains.appendEnds(segment);
    // A pruned segment has no events, but seals are compared with it.
    this.#workspaceId ??= workspaceId;
    if (first !== null) {
      this.#checkWorkspace(workspaceId, first.event);
      this.#checkSeq(segment.start, first.event);
    }
    // A segment without events does not show whether events are missing before it.
    if (segment.nextSeq > segment.start) this.#nextSeq = Math.max(this.#nextSeq ?? 0, segment.nextSeq);
    this.#chains.append(segment);
    this.#problems.addAll(segment.problems);
    this.blanks.append(segment);
    this.#tree?.noteKeys(segment.keys);
    for (const restore of segment.restores) this.takeRestore(restore);
    this.#tree?.appendSegment(segment, this.#workspaceId);
  }

  /** Returns the result so far, for another verifier's {@link append}. */
  segment(): Segment {
    return {
      start: this.#startSeq,
      nextSeq: this.#nextSeq ?? this.#startSeq,
      workspaceId: this.#workspaceId,
      chains: [...this.chains.values()],
      first: this.#chains.first,
      last: this.last,
      events: this.#events,
      intact: this.#intact,
      problems: { ...this.#problems },
      ...(this.#tree?.toPlain() ?? { tree: null, marks: [], keys: [] }),
      restores: this.restores,
      blanks: this.blanks.blanks,
      erasures: this.blanks.erasures,
      premises: this.#chains.premises.toPlain(),
    };
  }

  /** Adds a problem of a row beside the log, attributed to the event `seq` of that agent, if there is one. */
  report(code: ProblemCode, agentId: string | null, seq: number | null, message: string, row?: ProblemRow): void {
    this.#problems.add({ code, seq, id: null, message, agentId, ...(row && { row }) });
    if (seq !== null) this.#chains.blame(agentId, seq, null, message, false);
  }

  /** Adds seals that are stored with the log; to be called in order, before the events that they cover. */
  expectSeals(seals: readonly Seal[]): void {
    this.#tree?.expect(seals);
  }

  /** Returns the report. Nothing can be fed after this. */
  finish(expected: Expectations = {}): VerificationReport {
    const { first, last } = this;
    const from = this.#options.scope === "workspace" ? (first?.event.seq ?? null) : null;
    // An event whose meaning is unknown may be an erasure.
    const { problems, counts } = this.blanks.report(from, !expected.endsEarly && this.vocabularies.newerFrom === null);
    for (const { code, agentId, seq, message } of problems) this.report(code, agentId, seq, message);
    for (const { code, message } of unmet(expected, { first, last, events: this.#events })) {
      const { seq = null, id = null } = (code !== "export_count" && first?.event) || {};
      this.#problems.add({ code, seq, id, message });
      if (breaksChain(code)) this.#intact = false;
    }
    const seals = this.seals?.finish(this.#workspaceId) ?? null;
    return {
      workspaceId: this.#workspaceId,
      eventsChecked: this.#events,
      chainIntact: this.#intact,
      valid: this.#intact && this.#problems.count === 0,
      chainStart: first && reference(first),
      chainEnd: last && reference(last),
      firstInvalid: this.#problems.first,
      agents: this.#chains.reports(),
      seals,
      restores: this.restores,
      newerFrom: this.vocabularies.newerFrom,
      ...counts,
      problems: this.#problems.reported,
      problemCount: this.#problems.count,
    };
  }

  #takeDetails(event: AuditEventBody, details: JsonObject | null, wasChanged: boolean): void {
    const isKnown = this.#checkMeaning(event, details, wasChanged);
    const key = namedKey(event, details);
    if (key !== null) this.#tree?.noteKeys([key]);
    this.#noteRestore(event, details);
    this.#options.onEvent?.(event, details, isKnown);
  }

  /** Checks what an event says, as far as its vocabulary is known. Returns whether it is. */
  #checkMeaning(event: AuditEventBody, details: JsonObject | null, wasChanged: boolean): boolean {
    const { standing, problem, wereKnown } = this.vocabularies.take(event, wasChanged ? null : details);
    if (problem !== null) this.#problem("vocabulary_invalid", event, problem);
    if (wereKnown === true)
      for (const [code, held, message, since] of this.#held) this.#problem(code, held, message, since);
    if (wereKnown !== undefined) this.#held.length = 0;
    if (standing === "newer") return false;
    this.#holds = standing === "open";
    const isInForm = wasChanged || this.#chains.follow(event, details);
    this.#holds = false;
    if (standing === "open") return false;
    if (!this.blanks.note(event, details) && isInForm) this.#problem("details_invalid", event, NO_ERASURE);
    return true;
  }

  #checkEvent(stored: GivenEvent): { event: AuditEventBody; wasChanged: boolean } | null {
    const text = canonicalText(stored);
    const { standing } = this.vocabularies;
    if (this.isOpaque || (standing === "newer" && hasNewerEnvelope(text))) {
      this.#takeLeaf(stored, text);
      return null;
    }
    let said: AuditEventBody;
    try {
      said = bodyOf(stored);
    } catch (error) {
      if (!(error instanceof EventFormatError)) throw error;
      this.#malformed(stored.seq, error.message);
      this.#tree?.append(eventHash(stored.canonical), null);
      return null;
    }
    const hash = eventHash(text);
    const expected = this.#options.scope === "workspace" ? this.#nextSeq : null;
    const { event, problems, wasChanged } = inItsPlace(stored, said, hash, expected);
    this.#tree?.append(hash, event.seq);
    this.#checkWorkspace(event.workspace_id, event);
    this.#checkSeq(event.seq, event);
    if (!wasChanged) this.#nextSeq = Math.max(this.#nextSeq ?? 0, event.seq + 1);
    else if (this.#nextSeq !== null) this.#nextSeq += 1;
    this.#chains.take(event, hash);
    for (const { code, message } of problems) this.#problem(code, event, message);
    return { event, wasChanged };
  }

  /** Takes an event with an unknown envelope, or one after such an event. Only its bytes can be checked. */
  #takeLeaf(stored: StoredEvent, text: string): void {
    this.isOpaque = true;
    const hash = eventHash(text);
    const seq = stored.seq ?? this.#nextSeq;
    this.vocabularies.newerFrom ??= seq;
    this.#tree?.append(hash, seq);
    if (this.#nextSeq !== null) this.#nextSeq += 1;
    const found = hashProblem(stored, hash);
    if (found !== null) this.#problems.add({ ...found, seq, id: null });
  }

  #noteRestore(event: AuditEventBody, details: JsonObject | null): void {
    const restore = declaredRestore(event, details);
    if (restore !== null) this.takeRestore(restore);
    const { before } = this.#chains;
    if (restore === null || this.#options.scope === "agent" || before?.event.seq !== event.seq - 1) return;
    const found = restoreProblem(restore, { seq: event.seq - 1, hash: before.hash });
    if (found !== null) this.#problem("restore_invalid", event, found);
  }

  /** Adds a restore that the log declares; to be called in the order of seq. */
  takeRestore(restore: DeclaredRestore): void {
    this.restores.push(restore);
    const found = this.seals?.noteRestore(restore) ?? null;
    if (found !== null) this.report("restore_invalid", null, restore.seq, found);
  }

  /** Checks that an event belongs to the workspace of the first one. */
  #checkWorkspace(workspaceId: string | null, event: AuditEventBody): void {
    this.#workspaceId ??= workspaceId;
    if (workspaceId === this.#workspaceId) return;
    this.#problem("wrong_workspace", event, "the event belongs to another workspace");
  }

  #checkSeq(seq: number, event: AuditEventBody): void {
    const expected = this.#nextSeq;
    if (expected === null || seq === expected) return;
    if (seq < expected) {
      this.#problem("seq_repeated", event, `seq ${seq} where ${expected} was expected`);
    } else if (this.#options.scope === "workspace") {
      this.#problem("seq_gap", event, missing(expected, seq - 1), expected);
    }
  }

  /** Returns the details if they match the commitment; otherwise null. */
  #detailsOf(stored: GivenEvent, event: AuditEventBody): JsonObject | null {
    const isKnown = this.vocabularies.standingAt(event.seq) === "known" || isRead(event);
    if (this.blanks.take(stored, event, isKnown)) return null;
    const found = genuineDetails(stored, event, stored.said);
    if ("said" in found) return found.said;
    this.#problem(found.code, event, found.message);
    return null;
  }

  #malformed(given: number | undefined, reason: string): void {
    const seq = given ?? this.#nextSeq ?? 0;
    this.#problems.add({ code: "event_malformed", seq, id: null, message: `not an event: ${reason}` });
    this.#intact = false;
    // The malformed event counts, so that no gap is reported at the event after it.
    if (this.#nextSeq !== null && this.#options.scope === "workspace") this.#nextSeq += 1;
  }

  #problem(code: ProblemCode, event: AuditEventBody, message: string, since = event.seq): void {
    const { seq, id, agent_id: agentId } = event;
    this.#problems.add({ code, seq, id, message, agentId, event, ...(since !== seq && { since }) });
    const breaks = breaksChain(code);
    if (breaks) this.#intact = false;
    this.#chains.blame(event.agent_id, event.seq, event.id, message, breaks && !code.startsWith("seq_"));
  }
}

/** Whether an event is read under every vocabulary: it announces one, or says how the log is sealed. */
const isRead = (event: AuditEventBody): boolean =>
  announcesVocabulary(event) || (event.agent_id === null && event.result === "ok" && mayNameSealKey(event.operation));
