/**
 * A histogram of plain numbers, so that an observation is cheap. The numbers can be in memory that threads share: one
 * thread writes, the others read.
 */

/** Upper bounds for durations, seconds: from a cached read to a long wait. */
export const DURATION_BOUNDS: readonly number[] = [
  0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export class Histogram {
  readonly bounds: readonly number[];
  /** The count for each range, then the count above all bounds, then the sum of all values. */
  readonly #cells: Float64Array<ArrayBufferLike>;

  /** Returns how many numbers a histogram with these bounds needs. */
  static cells(bounds: readonly number[]): number {
    return bounds.length + 2;
  }

  /** `bounds` must ascend. `cells` holds {@link Histogram.cells} numbers, initially 0. */
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

  /** Adds the observations of another histogram with the same bounds. */
  add(other: Histogram): void {
    other.#cells.forEach((value, at) => {
      this.#cells[at] = (this.#cells[at] as number) + value;
    });
  }

  /** The cumulative count up to each bound. The last number is the total count. */
  get cumulative(): number[] {
    let sum = 0;
    return Array.from(this.#cells.subarray(0, this.bounds.length + 1), (count) => {
      sum += count;
      return sum;
    });
  }

  /** The sum of all observed values. */
  get sum(): number {
    return this.#cells[this.bounds.length + 1] as number;
  }
}
