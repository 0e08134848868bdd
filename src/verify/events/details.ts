/**
 * Checks what is stored beside an event: its hash, its number and its details. Details may be erased. Every erasure
 * names the positions whose details it erased; details that are missing elsewhere were removed in another way.
 */
import type { JsonObject } from "../../json.ts";
import { covers, recordedEffect, type SeqRange } from "../../log/effects.ts";
import { type AuditEventBody, genesisProblem } from "../../log/event.ts";
import { isSalt, saltedDigest } from "../../log/hash.ts";
import { parseCanonicalObject } from "../../log/jcs.ts";
import { hexOf, type StoredEvent } from "../../log/rows.ts";
import { ERASING, isErasable } from "../../operations.ts";
import type { Finding } from "../problems.ts";

/** Whether the details and the salt are both missing. */
export function isErased({ details, salt }: StoredEvent): boolean {
  return details === null && salt === null;
}

/**
 * Returns the details of an event, or what is wrong with them. @param said them as a value, if they were parsed from
 * canonical text
 */
export function genuineDetails(
  { details, salt }: StoredEvent,
  event: AuditEventBody,
  said: JsonObject | null = null,
): { said: JsonObject } | Finding {
  if (details === null && salt === null) {
    return { code: "details_missing", message: "the details are gone, and nothing can erase those of such an event" };
  }
  if (details === null || salt === null) {
    return { code: "details_mismatch", message: "details and salt are not both there or both erased" };
  }
  if (!isSalt(salt) || saltedDigest(salt, details) !== event.details_commitment) {
    return { code: "details_mismatch", message: "details and salt do not fit their commitment" };
  }
  const known = said ?? parseCanonicalObject(details);
  if (known !== null) return { said: known };
  return { code: "details_malformed", message: "details are not a JSON object in canonical form" };
}

/** Returns what is wrong when another hash is stored beside an event than its bytes have. */
export const hashProblem = ({ hash: stored }: StoredEvent, hash: string): Finding | null =>
  stored == null || hexOf(stored) === hash
    ? null
    : { code: "hash_mismatch", message: "the event's bytes do not have the hash stored beside them" };

/** Returns what is wrong with an event by itself, regardless of its place in the log. */
function rowProblems(stored: StoredEvent, event: AuditEventBody, hash: string): Finding[] {
  const ofHash = hashProblem(stored, hash);
  const found: Finding[] = ofHash === null ? [] : [ofHash];
  if (stored.seq !== undefined && stored.seq !== event.seq) {
    found.push({ code: "row_mismatch", message: "the row's number is not the event's seq" });
  }
  const message = genesisProblem(event);
  if (message !== null) found.push({ code: "genesis_invalid", message });
  return found;
}

/**
 * Returns what is wrong with an event by itself, and the event. The number of a changed event may have been changed,
 * too, so the event gets the number of its row, or the expected number, if one of these is known.
 */
export function inItsPlace(stored: StoredEvent, said: AuditEventBody, hash: string, expected: number | null) {
  const problems = rowProblems(stored, said, hash);
  const wasChanged = problems.some(({ code }) => code === "hash_mismatch");
  const event = wasChanged ? { ...said, seq: stored.seq ?? expected ?? said.seq } : said;
  return { event, problems, wasChanged };
}

/** An event without details. */
export interface Blank {
  seq: number;
  agentId: string | null;
}

/** An erasure. `named` are the positions whose details it erased. */
export interface Erasure extends Blank {
  named: readonly SeqRange[];
}

/** A problem with the details of an event. */
type BlankProblem = Blank & Finding;

/** The numbers of events without details. */
export interface BlankCounts {
  erasedDetails: number;
  /** The events among these whose erasure may be after the last event that was read. */
  openErased: number;
}

/** The result of comparing blanks with erasures. */
interface BlankReport {
  problems: BlankProblem[];
  counts: BlankCounts;
}

/** The problem of an event without details that should have some. */
export const UNNAMED_BLANK = "the details are gone, and no erasure names this event";

/** The problem of an erasure that {@link Blanks.note} refuses. */
export const NO_ERASURE = "the details do not have the form of an erasure";

/** Whether an event is an erasure. */
export const isErasure = ({ operation, result }: Pick<AuditEventBody, "operation" | "result">): boolean =>
  result === "ok" && ERASING.some((name) => name === operation);

/** Returns the erasure that an event records; null when its details do not have the form of an erasure. */
function erasureOf(event: AuditEventBody, details: JsonObject): Erasure | null {
  const effect = recordedEffect(event, details);
  if (!("erased" in effect)) return null;
  const { erased: named } = effect;
  const { seq, agent_id: agentId } = event;
  return (named.at(-1)?.[1] ?? -1) < seq ? { seq, agentId, named } : null;
}

/** Blanks and erasures, in the order of the log. Memory: one object for each. */
export class Blanks {
  readonly blanks: Blank[] = [];
  readonly erasures: Erasure[] = [];
  /** Erasures after the last event that was fed. `proved`: whether the erasure is under a seal. */
  readonly #later: { named: readonly SeqRange[]; proved: boolean }[] = [];

  /** Adds an event without details. */
  add(seq: number, agentId: string | null): void {
    this.blanks.push({ seq, agentId });
  }

  /**
   * Adds the next event if its details may have been erased. Returns whether it did.
   *
   * @param isKnown whether the vocabulary says of which operations details can be erased
   */
  take(stored: StoredEvent, { operation, seq, agent_id: agentId }: AuditEventBody, isKnown: boolean): boolean {
    if (!isErased(stored) || (isKnown && !isErasable(operation))) return false;
    this.add(seq, agentId);
    return true;
  }

  /** Adds an event if it is an erasure. Returns false when its details do not have the form of an erasure. */
  note(event: AuditEventBody, details: JsonObject | null): boolean {
    if (details === null || !isErasure(event)) return true;
    const erasure = erasureOf(event, details);
    if (erasure !== null) this.erasures.push(erasure);
    return erasure !== null;
  }

  /**
   * Adds an erasure from after the last fed event. Returns false as {@link note}. @param proved whether it is under a
   * seal
   */
  noteLater(event: AuditEventBody, details: JsonObject, proved: boolean): boolean {
    const erasure = erasureOf(event, details);
    if (erasure !== null) this.#later.push({ named: erasure.named, proved });
    return erasure !== null;
  }

  /** Appends the blanks and erasures of the next segment. */
  append({ blanks, erasures }: Pick<Blanks, "blanks" | "erasures">): void {
    for (const blank of blanks) this.blanks.push(blank);
    for (const erasure of erasures) this.erasures.push(erasure);
  }

  /**
   * Compares blanks with erasures after the last event.
   *
   * @param from the position from which all events up to the last were fed; null when some are of other agents
   * @param isWhole whether every erasure of these events was fed
   */
  report(from: number | null, isWhole: boolean): BlankReport {
    const named = this.erasures.flatMap((erasure) => erasure.named).sort(([a], [b]) => a - b);
    const missing: Blank[] = [];
    const problems: BlankProblem[] = [];
    let at = 0;
    /** The first position in the range at `at` that is not known to be blank yet. */
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
      const later = this.#later.filter((erasure) => covers(erasure.named, blank.seq));
      if (later.length === 0) missing.push(blank);
      else if (!later.some(({ proved }) => proved)) unproved += 1;
    }
    skipTo(Number.POSITIVE_INFINITY);
    const open = unproved + (isWhole ? 0 : missing.length);
    if (isWhole)
      for (const blank of missing) problems.push({ ...blank, code: "details_missing", message: UNNAMED_BLANK });
    return { problems, counts: { erasedDetails: this.blanks.length, openErased: open } };
  }

  /** Reports positions that an erasure names but that have details. */
  #requireBlank(problems: BlankProblem[], from: number | null, first: number, last: number): void {
    const seq = Math.max(first, from ?? Number.POSITIVE_INFINITY);
    if (seq > last) return;
    const more = last > seq ? `, and so are those up to event ${last}` : "";
    const message = `the details that an erasure destroyed are there again${more}`;
    problems.push({ code: "details_restored", seq, agentId: null, message });
  }
}
