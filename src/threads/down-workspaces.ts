/** The workspaces whose files cannot be used: each is down alone, and the rest of the daemon works. */

import type { StorageTrouble } from "../workspace/storage-failure.ts";

/** Workspaces that are kept in mind. */
const MAX_KEPT = 1_000;

/** One that is down. */
export interface DownWorkspace {
  workspaceId: string;
  /** The class and code of the error; holds no data. */
  reason: string;
  /** What kind of trouble it is. */
  trouble: StorageTrouble;
  /** Since when, ms since the epoch. */
  sinceMs: number;
}

export class DownWorkspaces {
  readonly #clock: () => number;
  readonly #down = new Map<string, DownWorkspace>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** This one cannot be used. Answers what is now known of it, or null when it was known to be down. */
  mark(workspaceId: string, reason: string, trouble: StorageTrouble): DownWorkspace | null {
    const known = this.#down.get(workspaceId);
    if (known === undefined && this.#down.size >= MAX_KEPT) return null;
    const workspace = { workspaceId, reason, trouble, sinceMs: known?.sinceMs ?? this.#clock() };
    this.#down.set(workspaceId, workspace);
    return known === undefined ? workspace : null;
  }

  /** This one works again. Answers whether it was known to be down. */
  clear(workspaceId: string): boolean {
    return this.#down.delete(workspaceId);
  }

  /** Forgets those that a thread knew of which is gone. */
  clearWhere(isGone: (workspaceId: string) => boolean): void {
    for (const workspaceId of [...this.#down.keys()]) if (isGone(workspaceId)) this.#down.delete(workspaceId);
  }

  some(is: (workspace: DownWorkspace) => boolean): boolean {
    return this.#down.size > 0 && this.list().some(is);
  }

  get size(): number {
    return this.#down.size;
  }

  /** Those that are down, the longest first. */
  list(): DownWorkspace[] {
    return [...this.#down.values()];
  }
}
