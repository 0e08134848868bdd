/** Times as events show them. Many operations share a millisecond, and its text. */
export class Timestamps {
  #lastMs = Number.NaN;
  #text = "";

  /** Returns a time in ms since the epoch as RFC 3339, UTC, three decimals. */
  of(ms: number): string {
    if (ms !== this.#lastMs) this.#text = new Date(ms).toISOString();
    this.#lastMs = ms;
    return this.#text;
  }
}
