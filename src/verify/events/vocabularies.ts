/** Which vocabulary is in force while a log is read, and so what can be said of its events (log/event.ts). */

import type { JsonObject } from "../../json.ts";
import type { AuditEventBody } from "../../log/event.ts";
import { announcedVocabulary, announcesVocabulary, VOCABULARY } from "../../log/event.ts";

/**
 * `known`: everything that an event says is checked. `newer`: the event is under a greater number than this program
 * knows, so what it did is not. `open`: a later announcement tells which of the two it is, or nothing in this evidence does.
 */
type Standing = "known" | "newer" | "open";

export class Vocabularies {
  /** The standing of the next event. */
  standing: Standing;
  /** The number in force; null while no announcement was read. */
  inForce: number | null = null;
  /** Whether a `log.vocabulary` event was read. */
  #wasRaised = false;
  /** The position of the first event that is, or may be, under a greater number than this program knows. */
  newerFrom: number | null = null;

  /**
   * @param stated the greatest number that the evidence says was announced; undefined when it says nothing
   * @param raisedAt the event in another chain that announces a greater number than this program knows
   */
  constructor(
    stated: number | undefined,
    private readonly raisedAt: number | undefined,
  ) {
    this.standing = (stated ?? VOCABULARY) > VOCABULARY ? "open" : "known";
  }

  /** Whether only the whole log shows what events are under, since some of these announce a number, or are under a newer one. */
  get needWholeLog(): boolean {
    return this.#wasRaised || this.newerFrom !== null;
  }

  /**
   * Takes the next event. Returns its own standing, what is wrong with the number that it announces, and, when it tells
   * what the events before it are under, whether that is a known number.
   *
   * @param details null when they are gone or not genuine
   */
  take(
    event: AuditEventBody,
    details: JsonObject | null,
  ): { standing: Standing; problem: string | null; wereKnown?: boolean } {
    if (!announcesVocabulary(event)) return { standing: this.#note(event), problem: null };
    const number = announcedVocabulary(event, details);
    // Of a known vocabulary, the form of the details says what is wrong.
    if (number === null) {
      const problem = this.standing === "newer" ? "an announcement of a vocabulary does not have its form" : null;
      return { standing: this.#note(event), problem };
    }
    if (event.seq === 0) {
      this.#enter(number);
      return { standing: this.#note(event), problem: null };
    }
    const expected = this.inForce === null ? Math.max(number, 2) : this.inForce + 1;
    const problem = number === expected ? null : "the log announces another vocabulary than the next one";
    const wasOpen = this.standing === "open";
    if (wasOpen) this.#enter(number - 1);
    const wereKnown = this.standing === "known";
    const standing = this.#note(event);
    this.#wasRaised = true;
    this.#enter(Math.max(number, this.inForce ?? 0));
    return { standing, problem, ...(wasOpen && { wereKnown }) };
  }

  #enter(number: number): void {
    this.inForce = number;
    this.standing = number > VOCABULARY ? "newer" : "known";
    if (this.standing === "known") this.newerFrom = null;
  }

  /** Returns the standing of the event at a position, unless it announces a number itself. */
  standingAt(seq: number): Standing {
    if (this.raisedAt !== undefined && seq > this.raisedAt) this.standing = "newer";
    return this.standing;
  }

  #note({ seq }: AuditEventBody): Standing {
    this.standingAt(seq);
    if (this.standing !== "known") this.newerFrom ??= seq;
    return this.standing;
  }
}

/** Whether a text may be an event with another envelope, which comes with a vocabulary that this program does not know. */
export const hasNewerEnvelope = (text: string): boolean =>
  /"format":"governd\.audit\/(?:[2-9]|[1-9][0-9]+)"/.test(text);
