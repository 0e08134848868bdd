/** Removes expired entries from all workspaces, periodically. */

import type { Ownership } from "../../engine-libsql/nodes/ownership.ts";
import type { WorkspacePool } from "../threads/pool.ts";

/** The time between two sweeps of all workspaces, ms. Expired entries are hidden at once, and removed by a sweep. */
const SWEEP_INTERVAL_MS = 10 * 60 * 1_000;
/** The first sweep waits this long, ms, so that it does not slow down the start. */
const FIRST_SWEEP_MS = 5_000;
/** The workspaces of a batch, and the pause after a batch, ms, so that thousands of workspaces cause little load. */
const WORKSPACES_AT_ONCE = 20;
const PAUSE_MS = 250;

export class Sweeper implements Disposable {
  #timer: NodeJS.Timeout;
  #left: string[] = [];

  constructor(
    private readonly list: () => string[],
    private readonly pool: WorkspacePool,
    private readonly ownership: Ownership,
  ) {
    this.#timer = setTimeout(() => this.#begin(), FIRST_SWEEP_MS).unref();
  }

  #begin(): void {
    this.#left = this.list();
    this.#next();
  }

  #next(): void {
    this.#sweep(this.#left.splice(0, WORKSPACES_AT_ONCE));
    const more = this.#left.length > 0;
    this.#timer = setTimeout(() => (more ? this.#next() : this.#begin()), more ? PAUSE_MS : SWEEP_INTERVAL_MS).unref();
  }

  #sweep(workspaceIds: string[]): void {
    const { owned } = this.ownership;
    if (owned === null) this.pool.sweep(workspaceIds);
    // Without the server, nothing could be removed either.
    else
      owned(workspaceIds).then(
        (own) => this.pool.sweep([...own]),
        () => {},
      );
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
