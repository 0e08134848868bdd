/** Moments as events show them: RFC 3339, UTC, three decimals. */
export class Timestamps {
  #ms = Number.NaN;
  #text = "";

  /** The text of a moment, ms since the Unix epoch. Many operations share a millisecond, and its text. */
  of(ms: number): string {
    if (ms !== this.#ms) {
      this.#text = new Date(ms).toISOString();
      this.#ms = ms;
    }
    return this.#text;
  }
}
