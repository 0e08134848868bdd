/**
 * How often what was measured fell into which range: plain numbers, so that observing costs next to
 * nothing. They can lie in memory that threads share; one of them writes, the others read.
 */

/** Upper bounds of durations, seconds: from a cached read to what somebody waits for. */
export const DURATION_BOUNDS: readonly number[] = [
  0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export class Histogram {
  readonly bounds: readonly number[];
  /** How many fell under each bound and above the one before, then those above all, then the sum of all. */
  readonly #cells: Float64Array<ArrayBufferLike>;

  /** How many numbers a histogram with these bounds needs. */
  static cells(bounds: readonly number[]): number {
    return bounds.length + 2;
  }

  /** `bounds` ascend. `cells` holds {@link Histogram.cells} numbers, all 0 at first. */
  constructor(
    bounds: readonly number[],
    cells: Float64Array<ArrayBufferLike> = new Float64Array(Histogram.cells(bounds)),
  ) {
    this.bounds = bounds;
    this.#cells = cells;
  }

  observe(value: number): void {
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at++;
    const cells = this.#cells;
    cells[at] = (cells[at] as number) + 1;
    cells[bounds.length + 1] = (cells[bounds.length + 1] as number) + value;
  }

  /** Takes over what another one with the same bounds observed. */
  add(other: Histogram): void {
    other.#cells.forEach((value, at) => {
      this.#cells[at] = (this.#cells[at] as number) + value;
    });
  }

  /** How many were observed that are not above each bound; the last number is how many there are in all. */
  get cumulative(): number[] {
    let sum = 0;
    return Array.from(this.#cells.subarray(0, this.bounds.length + 1), (count) => {
      sum += count;
      return sum;
    });
  }

  /** Everything observed, added up. */
  get sum(): number {
    return this.#cells[this.bounds.length + 1] as number;
  }
}
