/** How long work on one workspace keeps its thread before the others on it have their turn. */
const SLICE_MS = 5;

export class TimeSlice {
  #beganMs = 0;
  #hasGivenWay = false;

  /**
   * `giveWay` lets the others on the thread have their turn, and resolves afterwards. `serveDuring` lets them have their
   * turns until work that is done beside the thread has ended, well or not.
   */
  constructor(
    private readonly monotonicMs: () => number,
    private readonly giveWay: () => Promise<void>,
    private readonly serveDuring: (work: Promise<unknown>) => Promise<void> = async () => {},
  ) {}

  /** Returns a slice that never ends, where nobody else waits. */
  static endless(): TimeSlice {
    return new TimeSlice(
      () => 0,
      async () => {},
    );
  }

  begin(): void {
    this.#beganMs = this.monotonicMs();
    this.#hasGivenWay = false;
  }

  /** Whether others had their turn since the slice began: the work has taken long. */
  get hasGivenWay(): boolean {
    return this.#hasGivenWay;
  }

  get isOver(): boolean {
    return this.monotonicMs() - this.#beganMs >= SLICE_MS;
  }

  /** Gives way when the slice is over. To be called between the steps of work that may take long. */
  async pause(): Promise<void> {
    if (!this.isOver) return;
    this.#hasGivenWay = true;
    await this.giveWay();
    this.#beganMs = this.monotonicMs();
  }

  /** Waits for work that is done beside the thread. Others have their turns meanwhile. */
  async during<T>(work: Promise<T>): Promise<T> {
    await this.serveDuring(work);
    const done = await work;
    this.#beganMs = this.monotonicMs();
    return done;
  }
}
