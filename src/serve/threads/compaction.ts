/**
 * Compacts workspaces on the thread that owns them, in steps between groups of operations, so that none waits for long.
 */
import type { SerialQueue } from "../../core/serial-queue.ts";
import { afterStep, type Compacted, hasSpace, shrinkStep, spaceOf } from "../../store/compaction.ts";
import type { Timer } from "../../timer.ts";
import type { CircuitBreaker, OpenWriter } from "./circuit-breaker.ts";
import type { CompactMessage, FromWriter } from "./messages.ts";
import type { OpenWorkspaces } from "./open-workspaces.ts";

/** The pause between two steps, so that operations run first, ms. */
const PAUSE_MS = 2;

export class Compaction {
  #stopped = false;

  constructor(
    private readonly queue: SerialQueue,
    private readonly open: OpenWorkspaces<OpenWriter>,
    private readonly breaker: CircuitBreaker,
    private readonly around: { monotonicMs(): number; timer: Timer; post(text: string): void },
  ) {}

  stop(): void {
    this.#stopped = true;
  }

  /** Compacts a workspace, in many turns of the queue, and posts the result. */
  async receive({ workspaceId }: CompactMessage): Promise<void> {
    const compacted = await this.#compact(workspaceId);
    const message: FromWriter = { kind: "compacted", workspaceId, compacted };
    this.around.post(JSON.stringify(message));
  }

  async #compact(workspaceId: string): Promise<Compacted> {
    const done: Compacted = { before: 0, after: 0, longestMs: 0, trouble: null };
    try {
      await this.#shrink(workspaceId, done);
    } catch (error) {
      this.breaker.fail(workspaceId, `compacting ${workspaceId}`, error);
      done.trouble = "unavailable";
    }
    return done;
  }

  async #shrink(workspaceId: string, done: Compacted): Promise<void> {
    const { queue, open, breaker, around } = this;
    const look = () => breaker.use(workspaceId, async ({ connection }) => spaceOf(connection).total);
    done.before = await queue.run(look);
    done.after = done.before;
    for (let more = true; more && done.trouble === null; ) {
      if (!hasSpace(open.path(workspaceId), 0)) {
        done.trouble = "no_space";
        break;
      }
      await this.#step(done, () =>
        breaker.use(workspaceId, async ({ connection, writer }) => {
          more = await writer.derive(async () => shrinkStep(connection, around.monotonicMs));
        }),
      );
      await this.#step(done, () => breaker.use(workspaceId, async ({ connection }) => afterStep(connection)));
    }
    await this.#step(done, () =>
      breaker.use(workspaceId, async ({ connection }) => {
        connection.truncateLog();
        done.after = spaceOf(connection).total;
      }),
    );
  }

  /** Runs a step between groups of operations, and measures it. */
  async #step(done: Compacted, work: () => Promise<void>): Promise<void> {
    const { queue, around } = this;
    const pause = Promise.withResolvers<void>();
    around.timer(PAUSE_MS, pause.resolve);
    await pause.promise;
    await queue.run(async () => {
      if (this.#stopped) {
        done.trouble = "unavailable"; // everything is closed
        return;
      }
      const beganMs = around.monotonicMs();
      await work();
      done.longestMs = Math.max(done.longestMs, around.monotonicMs() - beganMs);
    });
  }
}
