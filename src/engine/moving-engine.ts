/**
 * The engine of a workspace in a node of a libSQL server. While the file is the workspace, because it was not brought to
 * the server yet, a commit is one of the file. `governd migrate` may move it either way between two transactions.
 */
import type { Connection } from "../store/connection.ts";
import { AT_HOME, LEAVING, placeOf } from "../store/place.ts";
import { type Engine, embeddedEngine } from "../workspace/engine.ts";
import type { Head } from "../workspace/head.ts";
import { Unreachable } from "../workspace/storage-failure.ts";

/** How long a transaction waits for the end of a move, ms, and how often it looks. */
const PATIENCE_MS = 2_500;
const LOOK_EVERY_MS = 10;

export class MovingEngine implements Engine {
  /** The engine of the file as a copy; null while the file is the workspace. */
  #copy: Engine | null = null;

  /** @param makeCopy returns the engine of the file as a copy of what the server has */
  constructor(
    private readonly connection: Connection,
    private readonly makeCopy: () => Engine,
  ) {}

  /** @throws {Unreachable} when a move takes long, or was interrupted */
  async begin(): Promise<boolean> {
    const isAtHome = (await this.#settledPlace()) === AT_HOME;
    if (!isAtHome) {
      const isNew = this.#copy === null;
      this.#copy ??= this.makeCopy();
      const hasChanged = await this.#copy.begin?.();
      return isNew || hasChanged === true;
    }
    if (this.#copy === null) return false;
    this.#copy = null;
    // A copy has no need of it.
    this.connection.exec("PRAGMA synchronous = FULL");
    return true;
  }

  commit(expected: Head, isLong: boolean): ReturnType<Engine["commit"]> {
    if (this.#copy !== null) return this.#copy.commit(expected, isLong);
    // Nobody moves it as long as the transaction is open.
    if (placeOf(this.connection) !== AT_HOME) return "stale";
    return embeddedEngine(this.connection).commit(expected, isLong);
  }

  async #settledPlace(): Promise<number> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const place = placeOf(this.connection);
      if (place !== LEAVING) return place;
      if (performance.now() > end) throw new Unreachable("the move of the workspace to the server has not ended");
      await Bun.sleep(LOOK_EVERY_MS);
    }
  }
}
