/** Making and deleting workspaces: one process, and one node, at a time. */
import { holdLock } from "../../core/datadir/file-lock.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Coordination } from "../../engine-libsql/nodes/coordination.ts";
import { Failure } from "../../failure.ts";

/** How long to wait for other processes, ms. */
const PATIENCE_MS = 30_000;
/** How often to check whether another process has finished, ms. */
const INTERVAL_MS = 5;

export class AloneLock {
  readonly #queue = new SerialQueue();

  /** @param path the file that is locked on this machine */
  constructor(
    private readonly path: string,
    private readonly nodes: Coordination | null,
  ) {}

  /**
   * Runs `work` while no other such work runs.
   * @throws {Failure} `busy` when others take longer than {@link PATIENCE_MS}
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      using _ = await this.#lock();
      return this.nodes === null ? await work() : await this.nodes.alone(PATIENCE_MS, inUse, work);
    });
  }

  async #lock(): Promise<Disposable> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return holdLock(this.path, inUse);
      } catch (error) {
        if (!(error instanceof Failure) || performance.now() > until) throw error;
      }
      // Waiting inside SQLite would stop the daemon's event loop.
      await Bun.sleep(INTERVAL_MS);
    }
  }
}

const inUse = (cause?: unknown) =>
  new Failure(
    "busy",
    "Another governd has been making or deleting a workspace for half a minute. Nothing was changed. Try again.",
    { cause },
  );
