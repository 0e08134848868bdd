/**
 * The operations that wait on a workspace thread. Operations that arrive while a batch is being committed form the next
 * batch, since an fsync costs about as much as twenty operations.
 */

/** The most operations in one transaction: with more, all of them wait longer. */
const MAX_GROUP = 512;
/** A batch up to this size is never divided. */
const SMALL_GROUP = 16;
/** The most text in one transaction, UTF-16 code units, unless a single operation has more. */
const MAX_CHARACTERS = 512 * 1024;
/** The weight of a workspace's newest group in the expected time of its groups. */
const NEWEST_SHARE = 1 / 4;
/** The most workspaces whose time is remembered before workspaces without a claim are forgotten. */
const MAX_REMEMBERED = 1_024;

export class BatchQueue<T extends { readonly workspaceId: string }> {
  readonly #waiting = new Map<string, T[]>();
  /** The thread's time that each workspace has used, ms. A workspace that begins to wait has no claim from before. */
  readonly #usedMs = new Map<string, number>();
  /** How long a group of each workspace is expected to take, ms: an average in which the newest groups count most. */
  readonly #groupMs = new Map<string, number>();
  /** The used time of the workspace that was served last. */
  #servedMs = 0;
  #depth = 0;

  /** `charactersOf`: how much text an operation holds; `countOf`: how many operations it stands for. */
  constructor(
    private readonly charactersOf: (operation: T) => number,
    private readonly countOf: (operation: T) => number = () => 1,
  ) {}

  /** `depth`: how many operations are requested and not yet answered, wherever they wait. */
  add(operations: readonly T[], depth: number): void {
    this.#depth = depth;
    for (const operation of operations) {
      const { workspaceId } = operation;
      const waiting = this.#waiting.get(workspaceId);
      if (waiting !== undefined) {
        waiting.push(operation);
        continue;
      }
      this.#waiting.set(workspaceId, [operation]);
      this.#usedMs.set(workspaceId, Math.max(this.#usedMs.get(workspaceId) ?? 0, this.#servedMs));
    }
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Records how long a batch of a workspace took, and how much of that time passed before its replies were sent. */
  spent(workspaceId: string, ms: number, answeredMs = ms): void {
    this.#usedMs.set(workspaceId, (this.#usedMs.get(workspaceId) ?? this.#servedMs) + ms);
    const before = this.#groupMs.get(workspaceId) ?? answeredMs;
    this.#groupMs.set(workspaceId, before + (answeredMs - before) * NEWEST_SHARE);
    if (this.#usedMs.size <= MAX_REMEMBERED) return;
    for (const [id, used] of this.#usedMs) {
      if (used > this.#servedMs || this.#waiting.has(id)) continue;
      this.#usedMs.delete(id);
      this.#groupMs.delete(id);
    }
  }

  /**
   * Returns the next batch, all of one workspace and in the order of arrival; null when nothing waits, or only
   * workspaces that may not be served now. The batch is of the workspace that has used the least time. It has at most
   * half of the requested operations: clients wait for a reply before they send again, so with all of them in one batch
   * either this thread or the main thread would be idle.
   */
  take(
    mayServe: (workspaceId: string, groupMs: number) => boolean = () => true,
  ): { workspaceId: string; group: T[] } | null {
    const workspaceId = this.#next(mayServe);
    if (workspaceId === null) return null;
    const waiting = this.#waiting.get(workspaceId) as T[];
    this.#servedMs = this.#usedMs.get(workspaceId) as number;
    const group = waiting.slice(0, this.#groupOf(waiting));
    this.#waiting.delete(workspaceId);
    // The rest is queued after the other workspaces that have used as little time.
    if (waiting.length > group.length) this.#waiting.set(workspaceId, waiting.slice(group.length));
    return { workspaceId, group };
  }

  #next(mayServe: (workspaceId: string, groupMs: number) => boolean): string | null {
    let next: string | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const workspaceId of this.#waiting.keys()) {
      const used = this.#usedMs.get(workspaceId) as number;
      if (used >= least || !mayServe(workspaceId, this.#groupMs.get(workspaceId) ?? 0)) continue;
      next = workspaceId;
      least = used;
    }
    return next;
  }

  /** Returns how many of a workspace's operations share the next transaction. */
  #groupOf(waiting: readonly T[]): number {
    const most = Math.min(MAX_GROUP, Math.max(SMALL_GROUP, Math.ceil(this.#depth / 2)), waiting.length);
    let [characters, parts] = [this.charactersOf(waiting[0] as T), this.countOf(waiting[0] as T)];
    let count = 1;
    for (; count < most; count++) {
      characters += this.charactersOf(waiting[count] as T);
      parts += this.countOf(waiting[count] as T);
      if (characters > MAX_CHARACTERS || parts > MAX_GROUP) break;
    }
    return count;
  }
}
