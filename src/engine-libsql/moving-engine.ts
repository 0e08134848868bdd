/**
 * The engine of a workspace on a node that uses a libSQL server. A workspace that was not moved to the server yet is
 * still in its file, and commits go to the file. `governd migrate` may move it either way between two transactions.
 */

import { type Engine, embeddedEngine } from "../core/writer/engine.ts";
import type { Head } from "../core/writer/head.ts";
import { Unreachable } from "../core/writer/storage-failure.ts";
import type { Connection } from "../store/connection.ts";
import { EMBEDDED, locationOf, MOVING } from "../store/location.ts";

/** How long a transaction waits for the end of a move, ms, and how often it checks. */
const PATIENCE_MS = 2_500;
const LOOK_EVERY_MS = 10;

export class MovingEngine implements Engine {
  /** The engine of the file as a copy; null while the file is the workspace. */
  #copy: Engine | null = null;

  /** @param makeCopy returns the engine of the file as a copy of the server's database */
  constructor(
    private readonly connection: Connection,
    private readonly makeCopy: () => Engine,
  ) {}

  /** @throws {Unreachable} when a move takes longer than {@link PATIENCE_MS}, or was interrupted */
  async begin(): Promise<boolean> {
    const isEmbedded = (await this.#settledPlace()) === EMBEDDED;
    if (!isEmbedded) {
      const isNew = this.#copy === null;
      this.#copy ??= this.makeCopy();
      const hasChanged = await this.#copy.begin?.();
      return isNew || hasChanged === true;
    }
    if (this.#copy === null) return false;
    this.#copy = null;
    // A working copy had set NORMAL: its commits are safe on the server.
    this.connection.exec("PRAGMA synchronous = FULL");
    return true;
  }

  doubt(): void {
    this.#copy?.doubt?.();
  }

  commit(expected: Head, isLong: boolean): ReturnType<Engine["commit"]> {
    if (this.#copy !== null) return this.#copy.commit(expected, isLong);
    // The place cannot change while the transaction is open.
    if (locationOf(this.connection) !== EMBEDDED) return "stale";
    return embeddedEngine(this.connection).commit(expected, isLong);
  }

  async #settledPlace(): Promise<number> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const place = locationOf(this.connection);
      if (place !== MOVING) return place;
      if (performance.now() > end) throw new Unreachable("the move of the workspace to the server has not ended");
      await Bun.sleep(LOOK_EVERY_MS);
    }
  }
}
