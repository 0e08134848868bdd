/** The times of an agent's writes in the last minute. */

/** The time in which writes are counted, ms. */
export const WINDOW_MS = 60_000;
/** How many expired times are dropped together. */
const DROPPED_AT_ONCE = 1_024;

/**
 * The times of the writes of the last minute, ascending. Immutable, so a transaction that is rolled back keeps its
 * earlier list. A list and the lists made from it share one array, to which only the newest list appends.
 */
export class RecentWrites {
  /** @param times ascending, at least all of the last minute */
  constructor(
    private readonly times: number[],
    private readonly from = 0,
    private readonly to = times.length,
  ) {}

  /** Returns these times and one more. */
  and(nowMs: number): RecentWrites {
    const { times, to } = this;
    // The clock was set back: times in the future would count until they have passed.
    if (this.#isAhead(nowMs)) return new RecentWrites([nowMs]);
    let { from } = this;
    while (from < to && (times[from] as number) <= nowMs - WINDOW_MS) from++;
    if (from >= DROPPED_AT_ONCE) return new RecentWrites([...times.slice(from, to), nowMs]);
    times.length = to;
    times.push(nowMs);
    return new RecentWrites(times, from, to + 1);
  }

  /** Returns the time, ms, until there are fewer than `most` writes; 0 when there already are. */
  waitMs(most: number, nowMs: number): number {
    const last = this.to - most;
    if (last < this.from || this.#isAhead(nowMs)) return 0;
    return Math.max(0, (this.times[last] as number) + WINDOW_MS - nowMs);
  }

  #isAhead(nowMs: number): boolean {
    return this.to > this.from && (this.times[this.to - 1] as number) > nowMs;
  }
}
