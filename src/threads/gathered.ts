/**
 * The operations that wait on the side of the workspace thread. They gather while a group is being committed, and
 * whatever is there when it is done makes the next group: an fsync costs about as much as twenty operations.
 */

/** Operations of one transaction: more of them make all wait longer. */
const MAX_GROUP = 512;
/** A group up to this size is never divided. */
const SMALL_GROUP = 16;

export class Gathered<T extends { readonly workspaceId: string }> {
  /** By workspace, in the order in which they are served. */
  readonly #waiting = new Map<string, T[]>();
  #depth = 0;

  /** `depth` is how many operations are asked for and not answered just now, wherever they wait. */
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
   * The next group, all of one workspace and in the order in which they came; null when nothing waits. It is at
   * most half of everything that is asked for: clients wait for an answer before they ask again, so with all of
   * them in one group either this thread or the main thread would have nothing to do.
   */
  take(): { workspaceId: string; group: T[] } | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const [workspaceId, waiting] = first;
    const most = Math.min(MAX_GROUP, Math.max(SMALL_GROUP, Math.ceil(this.#depth / 2)));
    this.#waiting.delete(workspaceId);
    // What is left stands behind the other workspaces: none keeps the thread for itself.
    if (waiting.length > most) this.#waiting.set(workspaceId, waiting.slice(most));
    return { workspaceId, group: waiting.slice(0, most) };
  }
}
