/** How long work on one workspace runs before other workspaces of the thread have a turn, ms. */
const SLICE_MS = 5;

export class TimeSlice {
  #beganMs = 0;

  /**
   * @param giveWay gives other workspaces of the thread a turn, and resolves after it
   * @param serveDuring gives them turns until a promise settles, whose work is done on another thread
   */
  constructor(
    private readonly monotonicMs: () => number,
    private readonly giveWay: () => Promise<void>,
    private readonly serveDuring: (work: Promise<unknown>) => Promise<void> = async () => {},
  ) {}

  /** Returns a slice that never ends, for a thread with only one workspace. */
  static endless(): TimeSlice {
    return new TimeSlice(
      () => 0,
      async () => {},
    );
  }

  begin(): void {
    this.#beganMs = this.nowMs;
  }

  /** Time that is never set back, ms. */
  get nowMs(): number {
    return this.monotonicMs();
  }

  get isOver(): boolean {
    return this.nowMs - this.#beganMs >= SLICE_MS;
  }

  /** Gives other workspaces a turn if the slice is over; to be called between the steps of long work. */
  async pause(): Promise<void> {
    if (!this.isOver) return;
    await this.giveWay();
    this.#beganMs = this.nowMs;
  }

  /** Waits for work on another thread, and gives other workspaces turns meanwhile. */
  async during<T>(work: Promise<T>): Promise<T> {
    await this.serveDuring(work);
    const done = await work;
    this.#beganMs = this.nowMs;
    return done;
  }
}
