/** How long a model that failed is left alone: first, doubling with every further failure, at most. */
export interface Pauses {
  firstMs: number;
  longestMs: number;
}

/**
 * Keeps count while something outside is away: when to try again, and what is news. A model that is away
 * for a night should be one line in the log, not thousands.
 */
export class Outage {
  #failures = 0;
  #reason = "";

  /** Failures since it last worked. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure: how long to wait, and whether it is the first, or the first of this kind. */
  fail(reason: string, { firstMs, longestMs }: Pauses): { pauseMs: number; isNews: boolean } {
    const isNews = this.#failures === 0 || reason !== this.#reason;
    const pauseMs = Math.min(firstMs * 2 ** this.#failures, longestMs);
    this.#failures++;
    this.#reason = reason;
    return { pauseMs, isNews };
  }

  /** It works: how many failures came before, 0 when there was no outage. */
  end(): number {
    const failures = this.#failures;
    this.#failures = 0;
    return failures;
  }
}
