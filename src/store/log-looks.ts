/** When a connection looks how long its write-ahead log is: looking costs a read of the file. */

/** The fewest and the most writing statements between two looks. */
const FEWEST_BETWEEN = 64;
const MOST_BETWEEN = 512;

export class LogLooks {
  /** At how many writing statements the next look is due. */
  #dueAt = FEWEST_BETWEEN;
  /** The writing statements and the frames at the last look, and how often the log had started over. */
  #last = { writes: 0, frames: 0, starts: 0 };
  /** Frames that the last checkpoint found. While readers keep the log, it is copied again only when it has grown. */
  #framesBefore = 0;

  /** `writes`: the writing statements so far. */
  isDue(writes: number): boolean {
    return writes >= this.#dueAt;
  }

  /**
   * Notes what a look found, and plans the next one. Returns how many more frames the log may have before it is copied
   * back. `starts`: how often it has started over.
   */
  look(starts: number, frames: number, most: number, writes: number): number {
    // The commit after a checkpoint that copied everything started the log over.
    if (starts !== this.#last.starts) this.#framesBefore = 0;
    const left = Math.max(0, most - (frames - this.#framesBefore));
    this.#plan(starts, frames, left, writes);
    return left;
  }

  /** Notes that so many frames were found when the log was copied back. */
  copied(frames: number): void {
    this.#framesBefore = frames;
  }

  /** The next look comes when half of the frames left would be filled, if the log grew as it did since the last look. */
  #plan(starts: number, frames: number, left: number, writes: number): void {
    const last = this.#last;
    const grown = starts === last.starts ? frames - last.frames : frames;
    const next = ((writes - last.writes) * left) / (2 * Math.max(1, grown));
    this.#dueAt = writes + Math.max(FEWEST_BETWEEN, Math.min(MOST_BETWEEN, Math.floor(next)));
    this.#last = { writes, frames, starts };
  }
}
