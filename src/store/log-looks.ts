/** Decides when a connection checks the length of its write-ahead log, since a check reads the file. */

/** The fewest and the most writing statements between two checks. */
const FEWEST_BETWEEN = 64;
const MOST_BETWEEN = 512;

export class LogLooks {
  /** The number of writing statements at which the next check is due. */
  #dueAt = FEWEST_BETWEEN;
  /** The numbers of writing statements, frames and restarts of the log at the last check. */
  #last = { writes: 0, frames: 0, starts: 0 };
  /** The frames at the last checkpoint. While readers keep the log, it is copied again only after it has grown. */
  #framesBefore = 0;

  /** Whether a check is due. @param writes the number of writing statements so far */
  isDue(writes: number): boolean {
    return writes >= this.#dueAt;
  }

  /**
   * Records the result of a check, and plans the next one. Returns how many more frames the log may have before it is
   * copied back. `starts`: how often the log was restarted.
   */
  look(starts: number, frames: number, most: number, writes: number): number {
    // The first commit after a complete checkpoint restarts the log.
    if (starts !== this.#last.starts) this.#framesBefore = 0;
    const left = Math.max(0, most - (frames - this.#framesBefore));
    this.#plan(starts, frames, left, writes);
    return left;
  }

  /** Records the number of frames at a checkpoint. */
  copied(frames: number): void {
    this.#framesBefore = frames;
  }

  /**
   * Plans the next check for when half of the frames left would be filled, if the log grew as it did since the last
   * check.
   */
  #plan(starts: number, frames: number, left: number, writes: number): void {
    const last = this.#last;
    const grown = starts === last.starts ? frames - last.frames : frames;
    const next = ((writes - last.writes) * left) / (2 * Math.max(1, grown));
    this.#dueAt = writes + Math.max(FEWEST_BETWEEN, Math.min(MOST_BETWEEN, Math.floor(next)));
    this.#last = { writes, frames, starts };
  }
}
