/** How long work on one workspace keeps its thread before the others on it have their turn. */
const SLICE_MS = 5;

export class TimeSlice {
  #beganMs = performance.now();

  /** `giveWay` lets the others on the thread have their turn, and resolves afterwards. */
  constructor(private readonly giveWay: () => Promise<void> | undefined) {}

  begin(): void {
    this.#beganMs = performance.now();
  }

  get isOver(): boolean {
    return performance.now() - this.#beganMs >= SLICE_MS;
  }

  /** Gives way when the slice is over. To be called between the steps of work that may take long. */
  async pause(): Promise<void> {
    if (!this.isOver) return;
    await this.giveWay();
    this.begin();
  }
}
