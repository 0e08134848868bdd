/** Removes expired entries from all workspaces, periodically. */

import type { Ownership } from "../../engine-libsql/nodes/ownership.ts";
import { messageOf } from "../../failure.ts";
import { Follower } from "../../follower.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { Logger } from "./logger.ts";

/** The time between two sweeps of all workspaces, ms. Expired entries are hidden at once, and removed by a sweep. */
const SWEEP_INTERVAL_MS = 10 * 60 * 1_000;
/** The first sweep waits this long, ms, so that it does not slow down the start. */
const FIRST_SWEEP_MS = 5_000;
/** The workspaces of a batch, and the pause after a batch, ms, so that thousands of workspaces cause little load. */
const WORKSPACES_AT_ONCE = 20;
const PAUSE_MS = 250;

export class Sweeper implements AsyncDisposable {
  readonly #follower: Follower;
  #left: string[] = [];

  constructor(
    private readonly list: () => string[],
    private readonly pool: WorkspacePool,
    private readonly ownership: Ownership,
    logger: Logger,
  ) {
    const failed = (error: unknown) => logger.error("cannot sweep workspaces", { reason: messageOf(error) });
    this.#follower = new Follower({ step: () => this.#sweep(), failed });
    this.#follower.wake(FIRST_SWEEP_MS);
  }

  async #sweep(): Promise<number> {
    if (this.#left.length === 0) this.#left = this.list();
    const batch = this.#left.slice(0, WORKSPACES_AT_ONCE);
    this.pool.sweep(this.ownership.owned === null ? batch : [...(await this.ownership.owned(batch))]);
    this.#left = this.#left.slice(WORKSPACES_AT_ONCE);
    this.#follower.recovered();
    return this.#left.length > 0 ? PAUSE_MS : SWEEP_INTERVAL_MS;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#follower.end();
  }
}
