/** The backoff after failures: the first pause, which doubles with every failure up to the longest. */
export interface Pauses {
  firstMs: number;
  longestMs: number;
}

/**
 * Counts the failures of an external service: when to retry, and what to log. A model that is down for a
 * night should be one line in the log, not thousands.
 */
export class Outage {
  #failures = 0;
  #reason = "";

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure. Returns how long to wait, and whether the failure is the first or a new kind. */
  fail(reason: string, { firstMs, longestMs }: Pauses): { pauseMs: number; isNews: boolean } {
    const isNews = this.#failures === 0 || reason !== this.#reason;
    const pauseMs = Math.min(firstMs * 2 ** this.#failures, longestMs);
    this.#failures++;
    this.#reason = reason;
    return { pauseMs, isNews };
  }

  /** Counts a success. Returns how many failures came before, 0 without an outage. */
  end(): number {
    const failures = this.#failures;
    this.#failures = 0;
    return failures;
  }
}
