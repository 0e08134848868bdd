/**
 * How many entries each checkpoint of one agent sees, counted in one pass over the entries. It holds
 * a few numbers for each checkpoint, and none for an entry.
 */

import { firstAtOrAfter } from "./expected/history.ts";

/** A checkpoint as far as counting goes. */
export interface CountedCheckpoint {
  id: string;
  asOfSeq: number;
  /** Entries that its event says it sees. */
  expected: number;
  /** Entries last written before this moment (ms) were past their retention then; -1: none were. */
  cutoffMs: number;
}

export class Visibility {
  readonly #asOf: Float64Array;
  readonly #counts: Float64Array;
  readonly #checkpoints: readonly CountedCheckpoint[];
  readonly #withRetention: boolean;

  /** @param checkpoints in ascending order of `asOfSeq` */
  constructor(checkpoints: readonly CountedCheckpoint[]) {
    this.#checkpoints = checkpoints;
    this.#asOf = Float64Array.from(checkpoints, ({ asOfSeq }) => asOfSeq);
    this.#counts = new Float64Array(checkpoints.length + 1);
    this.#withRetention = checkpoints.some(({ cutoffMs }) => cutoffMs >= 0);
  }

  /** Counts an entry. Returns whether any checkpoint sees it. */
  add(liveFrom: number, liveTo: number | null, updatedAt: number): boolean {
    const first = firstAtOrAfter(this.#asOf, liveFrom);
    const end = liveTo === null ? this.#asOf.length : firstAtOrAfter(this.#asOf, liveTo);
    if (first >= end) return false;
    if (this.#withRetention) {
      for (let index = first; index < end; index++) {
        const expired = updatedAt < (this.#checkpoints[index] as CountedCheckpoint).cutoffMs;
        if (!expired) this.#change(index, index + 1);
      }
    } else {
      this.#change(first, end);
    }
    return true;
  }

  /** Each checkpoint with the entries counted for it. */
  *counted(): Generator<CountedCheckpoint & { counted: number }> {
    let counted = 0;
    for (const [index, checkpoint] of this.#checkpoints.entries()) {
      counted += this.#counts[index] as number;
      yield { ...checkpoint, counted };
    }
  }

  /** One more for the checkpoints from `first` to before `end`: kept as differences. */
  #change(first: number, end: number): void {
    this.#counts[first] = (this.#counts[first] as number) + 1;
    this.#counts[end] = (this.#counts[end] as number) - 1;
  }
}
