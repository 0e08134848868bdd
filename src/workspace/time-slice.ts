/** How long work on one workspace keeps its thread before the others on it have their turn. */
const SLICE_MS = 5;

export class TimeSlice {
  #beganMs = 0;

  /** `giveWay` lets the others on the thread have their turn, and resolves afterwards. */
  constructor(
    private readonly monotonicMs: () => number,
    private readonly giveWay: () => Promise<void>,
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
  }

  get isOver(): boolean {
    return this.monotonicMs() - this.#beganMs >= SLICE_MS;
  }

  /** Gives way when the slice is over. To be called between the steps of work that may take long. */
  async pause(): Promise<void> {
    if (!this.isOver) return;
    await this.giveWay();
    this.begin();
  }
}
