/**
 * Estimates how long the commit of a transaction will take. A long one is left to another thread, so that other
 * workspaces have their turns meanwhile. A short one is not, since waiting for the other thread would take as long.
 */

/** The shortest commit that is left to another thread, ms. */
const LONG_MS = 5;
/** The weight of the newest commit in the estimate. */
const NEWEST_SHARE = 1 / 4;
/** After each commit on another thread, the estimate becomes this much smaller, so that commits are measured again. */
const FORGETTING = 0.9;

export class CommitTime {
  /** How long commits take relative to the work of their transactions. */
  #share = 1;

  /** Whether the commit after `workMs` of work, ms, will be long. */
  isLong(workMs: number): boolean {
    return workMs * this.#share >= LONG_MS;
  }

  /** Records a commit for which the thread has waited. */
  waited(commitMs: number, workMs: number): void {
    if (workMs > 0) this.#share += (commitMs / workMs - this.#share) * NEWEST_SHARE;
  }

  /** Records a commit on another thread, whose time is not known: this thread has worked for others meanwhile. */
  left(): void {
    this.#share *= FORGETTING;
  }
}
