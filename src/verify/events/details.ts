/**
 * What is stored beside an event: its hash, its number and its details. Details may be gone: every erasure names the
 * positions whose details it destroyed; details that are missing anywhere else were removed by somebody else.
 */
import { orNull } from "../../failure.ts";
import { isPlainlyCanonicalObject } from "../../log/canonical-scan.ts";
import { effectKind, recordedEffect, type SeqRange } from "../../log/effects.ts";
import { type AuditEventBody, genesisProblem } from "../../log/event.ts";
import { detailsCommitment, isSalt } from "../../log/hash.ts";
import { CanonicalJsonError, parseCanonicalJson } from "../../log/jcs.ts";
import { hexOf, type StoredEvent } from "../../log/rows.ts";
import { eventFacts } from "../../operations.ts";
import type { Finding } from "../problems.ts";

/** Whether details and salt are both gone. */
export function isErased({ details, salt }: StoredEvent): boolean {
  return details === null && salt === null;
}

/** What is wrong with details that were not erased; null when they are what was committed to. */
export function detailsProblem({ details, salt }: StoredEvent, event: AuditEventBody): Finding | null {
  if (details === null && salt === null) {
    return { code: "details_missing", message: "the details are gone, and nothing can erase those of such an event" };
  }
  if (details === null || salt === null) {
    return { code: "details_mismatch", message: "details and salt are not both there or both erased" };
  }
  if (!isSalt(salt) || detailsCommitment(salt, details) !== event.details_commitment) {
    return { code: "details_mismatch", message: "details and salt do not fit their commitment" };
  }
  if (isPlainlyCanonicalObject(details) || isCanonicalObject(details)) return null;
  return { code: "details_malformed", message: "details are not a JSON object in canonical form" };
}

/** What is wrong with an event by itself, beside its place in the log. */
function* rowProblems(stored: StoredEvent, event: AuditEventBody, hash: string): Generator<Finding> {
  if (stored.hash !== undefined && stored.hash !== null && hexOf(stored.hash) !== hash) {
    yield { code: "hash_mismatch", message: "the event's bytes do not have the hash stored beside them" };
  }
  if (stored.seq !== undefined && stored.seq !== event.seq) {
    yield { code: "row_mismatch", message: "the row's number is not the event's seq" };
  }
  const message = genesisProblem(event);
  if (message !== null) yield { code: "genesis_invalid", message };
}

/**
 * Returns what is wrong with an event beside what it says, and the event. The number of one that was changed may have been
 * changed, too: it gets that of its row, or the expected one, if either is known.
 */
export function inItsPlace(stored: StoredEvent, said: AuditEventBody, hash: string, expected: number | null) {
  const problems = [...rowProblems(stored, said, hash)];
  const wasChanged = problems.some(({ code }) => code === "hash_mismatch");
  const event = wasChanged ? { ...said, seq: stored.seq ?? expected ?? said.seq } : said;
  return { event, problems, wasChanged };
}

function isCanonicalObject(text: string): boolean {
  const value = orNull(CanonicalJsonError, () => parseCanonicalJson(text));
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** An event without details. */
export interface Blank {
  seq: number;
  agentId: string | null;
}

/** An erasure. `named` are the positions whose details it destroyed; null in the older format, which only counted them. */
export interface Erasure extends Blank {
  named: readonly SeqRange[] | null;
  events: number;
}

/** A problem with the details of an event. */
type BlankProblem = Blank & Finding;

/** How many events have no details. */
export interface BlankCounts {
  erasedDetails: number;
  /** Of these, those that only the counts of erasures in the older format account for. */
  unnamedErased: number;
  /** Of these, those whose erasure may be after the last event that was read. */
  openErased: number;
}

/** What the erasures say of the blanks. */
interface BlankReport {
  problems: BlankProblem[];
  counts: BlankCounts;
}

/** What is wrong with an erasure that {@link Blanks.note} does not take. */
export const NO_ERASURE = "the details do not have the form of an erasure";

/** Whether an erasure can destroy the details of such events. */
export const isErasable = (operation: string): boolean => (eventFacts(operation)?.erasedBy.length ?? 0) > 0;

/** Whether an event is an erasure. */
export const isErasure = ({ operation, result }: Pick<AuditEventBody, "operation" | "result">): boolean =>
  effectKind(operation, result) === "erase";

/** The erasure that an event is; null when its details do not have the form of one. */
function erasureOf(event: AuditEventBody, details: string): Erasure | null {
  const effect = recordedEffect(event, JSON.parse(details));
  if (effect.kind !== "erase") return null;
  const { erased: named, events } = effect;
  const { seq, agent_id: agentId } = event;
  return (named?.at(-1)?.[1] ?? -1) < seq ? { seq, agentId, named, events } : null;
}

/** Blanks and erasures, in the order of the log. Memory: one object for each. */
export class Blanks {
  readonly blanks: Blank[] = [];
  readonly erasures: Erasure[] = [];
  /** Erasures after the last event that was fed; `proved`: they are under a seal. */
  readonly #later: { named: readonly SeqRange[]; proved: boolean }[] = [];
  #isOpen = false;

  /** Takes an event without details. */
  add(seq: number, agentId: string | null): void {
    this.blanks.push({ seq, agentId });
  }

  /** Takes the next event if its details were erased, as far as it alone can tell. Returns whether it did. */
  take(stored: StoredEvent, { operation, seq, agent_id: agentId }: AuditEventBody): boolean {
    if (!isErased(stored) || !isErasable(operation)) return false;
    this.add(seq, agentId);
    return true;
  }

  /** Notes an event that is an erasure. False for one whose details do not have that form. */
  note(event: AuditEventBody, details: string | null): boolean {
    if (details === null || !isErasure(event)) return true;
    const erasure = erasureOf(event, details);
    if (erasure !== null) this.erasures.push(erasure);
    return erasure !== null;
  }

  /** Notes an erasure after the last event, which events with details may precede. False as in {@link note}. */
  noteLater(event: AuditEventBody, details: string, proved: boolean): boolean {
    const erasure = erasureOf(event, details);
    if (erasure === null) return false;
    if (erasure.named !== null) this.#later.push({ named: erasure.named, proved });
    else if (proved) this.erasures.push(erasure);
    else this.#isOpen = true;
    return true;
  }

  /** Appends those of the events that come next. */
  append({ blanks, erasures }: Pick<Blanks, "blanks" | "erasures">): void {
    for (const blank of blanks) this.blanks.push(blank);
    for (const erasure of erasures) this.erasures.push(erasure);
  }

  /**
   * Compares blanks with erasures after the last event.
   *
   * @param from the position from which every event up to the last was fed; null when some are of other agents
   * @param isWhole whether every erasure of these events was fed
   */
  report(from: number | null, isWhole: boolean): BlankReport {
    const named = this.erasures.flatMap((erasure) => erasure.named ?? []).sort(([a], [b]) => a - b);
    const missing: Blank[] = [];
    const problems: BlankProblem[] = [];
    let at = 0;
    /** The first position that is not yet known to be blank, of the range at `at`. */
    let due = 0;
    let unproved = 0;
    const skipTo = (seq: number) => {
      for (let range = named[at]; range !== undefined && range[1] < seq; range = named[++at]) {
        this.#requireBlank(problems, from, Math.max(range[0], due), range[1]);
      }
      const range = named[at];
      if (range === undefined || range[0] >= seq) return;
      this.#requireBlank(problems, from, Math.max(range[0], due), seq - 1);
    };
    for (const blank of this.blanks) {
      skipTo(blank.seq);
      due = blank.seq + 1;
      if ((named[at]?.[0] ?? Number.POSITIVE_INFINITY) <= blank.seq) continue;
      const later = this.#later.filter((erasure) => erasure.named.some(([a, b]) => a <= blank.seq && blank.seq <= b));
      if (later.length === 0) missing.push(blank);
      else if (!later.some(({ proved }) => proved)) unproved += 1;
    }
    skipTo(Number.POSITIVE_INFINITY);
    const unnamed = this.#countedByOlder(missing);
    const wanting = missing.length - unnamed;
    const open = unproved + (isWhole && !this.#isOpen ? 0 : wanting);
    const message = "the details are gone, and no erasure names this event";
    if (isWhole && !this.#isOpen && wanting > 0) {
      // Any of them may be the ones that were erased, so the first that no count covers is as good as another.
      for (const blank of missing.slice(unnamed)) problems.push({ ...blank, code: "details_missing", message });
    }
    return { problems, counts: { erasedDetails: this.blanks.length, unnamedErased: unnamed, openErased: open } };
  }

  /** Reports positions that an erasure names, and that have details again. */
  #requireBlank(problems: BlankProblem[], from: number | null, first: number, last: number): void {
    const seq = Math.max(first, from ?? Number.POSITIVE_INFINITY);
    if (seq > last) return;
    const more = last > seq ? `, and so are those up to event ${last}` : "";
    const message = `the details that an erasure destroyed are there again${more}`;
    problems.push({ code: "details_restored", seq, agentId: null, message });
  }

  /** How many of these blanks the counts of erasures in the older format account for, each by a later erasure. */
  #countedByOlder(missing: readonly Blank[]): number {
    const older = this.erasures.filter(({ named }) => named === null);
    let [counted, budget, next] = [0, 0, older.length - 1];
    for (let index = missing.length - 1; index >= 0; index--) {
      const { seq } = missing[index] as Blank;
      for (; next >= 0 && (older[next] as Erasure).seq > seq; next--) budget += (older[next] as Erasure).events;
      if (budget === 0) continue;
      budget -= 1;
      counted += 1;
    }
    return counted;
  }
}
