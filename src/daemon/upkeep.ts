/** What the daemon does on its own: sweeps of expired entries, and looking whether the storage takes writes. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspacePool } from "../threads/pool.ts";

/** Between two sweeps of all workspaces. Expired entries are hidden at once; this is when they are removed. */
const SWEEP_INTERVAL_MS = 10 * 60 * 1_000;
/** The first sweep waits, so that a start is not slowed down by it. */
const FIRST_SWEEP_MS = 5_000;
/** Workspaces swept at once, and the pause after them: thousands are gone through gently. */
const WORKSPACES_AT_ONCE = 20;
const PAUSE_MS = 250;

/** Has every workspace swept, again and again. */
export class Sweeper implements Disposable {
  readonly #list: () => string[];
  readonly #pool: WorkspacePool;
  #timer: NodeJS.Timeout;
  #left: string[] = [];

  constructor(list: () => string[], pool: WorkspacePool) {
    this.#list = list;
    this.#pool = pool;
    this.#timer = setTimeout(() => this.#begin(), FIRST_SWEEP_MS).unref();
  }

  #begin(): void {
    this.#left = this.#list();
    this.#next();
  }

  #next(): void {
    this.#pool.sweep(this.#left.splice(0, WORKSPACES_AT_ONCE));
    const [pause, then] =
      this.#left.length > 0 ? [PAUSE_MS, () => this.#next()] : [SWEEP_INTERVAL_MS, () => this.#begin()];
    this.#timer = setTimeout(then, pause).unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Whether a file can be written to the data directory, durably. */
export async function isWritable(directory: string): Promise<boolean> {
  const probe = join(directory, `.ready-${process.pid}`);
  try {
    await writeFile(probe, "ready", { mode: 0o600, flush: true });
    await rm(probe);
    return true;
  } catch {
    return false;
  }
}
