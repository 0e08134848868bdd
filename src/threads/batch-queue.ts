/**
 * The operations that wait on a workspace thread. Those that arrive while a batch is being committed make the next one,
 * since an fsync costs about as much as twenty operations.
 */

/** Most operations in one transaction: with more, all of them wait longer. */
const MAX_GROUP = 512;
/** A batch up to this size is never divided. */
const SMALL_GROUP = 16;

export class BatchQueue<T extends { readonly workspaceId: string }> {
  /** By workspace, in the order in which they are served. */
  readonly #waiting = new Map<string, T[]>();
  #depth = 0;

  /** `depth`: how many operations are requested and not answered at present, wherever they wait. */
  add(operations: readonly T[], depth: number): void {
    this.#depth = depth;
    for (const operation of operations) {
      const waiting = this.#waiting.get(operation.workspaceId);
      if (waiting === undefined) this.#waiting.set(operation.workspaceId, [operation]);
      else waiting.push(operation);
    }
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /**
   * Returns the next batch, all of one workspace and in the order of arrival; null when nothing waits. A batch is at
   * most half of everything that is requested: clients wait for a reply before they send again, so with all of them in
   * one batch either this thread or the main thread would be idle.
   */
  take(): { workspaceId: string; group: T[] } | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const [workspaceId, waiting] = first;
    const most = Math.min(MAX_GROUP, Math.max(SMALL_GROUP, Math.ceil(this.#depth / 2)));
    this.#waiting.delete(workspaceId);
    // The rest is queued after the other workspaces, so that no workspace occupies the thread.
    if (waiting.length > most) this.#waiting.set(workspaceId, waiting.slice(most));
    return { workspaceId, group: waiting.slice(0, most) };
  }
}
