/**
 * Compaction in the daemon: it carries out requests of `governd compact`, and runs this command as a separate process
 * on the schedule of `compact_every`.
 */
import { answerRequest, dropRequest, readRequest } from "../../core/datadir/compact-request.ts";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { messageOf } from "../../failure.ts";
import { repeat, systemTimer, type Timer } from "../../timer.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { Logger } from "./logger.ts";
import { type OwnSettings, runOwnCommand, wordsOf } from "./own-command.ts";

/** How often the daemon checks for a request, ms. */
const LOOK_EVERY_MS = 200;
/** The free part at which a scheduled run compacts a file. Less free space is soon used again. */
const SCHEDULED_FROM_PERCENT = 10;

/** Carries out the requests of `governd compact`, one at a time. */
export class CompactRequests implements Disposable {
  readonly #end: () => void;
  #busy = false;

  constructor(
    private readonly directory: DataDirectory,
    private readonly pool: Pick<WorkspacePool, "compact">,
    private readonly logger: Logger,
    timer: Timer = systemTimer,
  ) {
    this.#end = repeat(timer, LOOK_EVERY_MS, () => this.#look());
  }

  #look(): void {
    if (this.#busy) return;
    this.#busy = true;
    this.#serve()
      .catch((error) => {
        this.logger.error("a request to compact cannot be read", { reason: messageOf(error) });
        dropRequest(this.directory);
      })
      .finally(() => {
        this.#busy = false;
      });
  }

  async #serve(): Promise<void> {
    const request = readRequest(this.directory);
    if (request === null) return;
    const compacted = await this.pool.compact(request.workspaceId);
    answerRequest(this.directory, { id: request.id, compacted });
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}

/** Runs `governd compact` every `compact_every`. The first run is that long after the start. */
export class ScheduledCompaction implements AsyncDisposable {
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #cancel = () => {};

  constructor(
    private readonly settings: OwnSettings,
    private readonly everyMs: number,
    private readonly logger: Pick<Logger, "info" | "warn" | "error">,
    private readonly timer: Timer = systemTimer,
  ) {
    this.#wait();
  }

  #wait(): void {
    this.#cancel = this.timer(this.everyMs, () => {
      this.#running = this.#run();
    });
  }

  async #run(): Promise<void> {
    const words = wordsOf(["compact", "--from", `${SCHEDULED_FROM_PERCENT}`], this.settings);
    const outcome = await runOwnCommand(words, this.settings, this.#stop.signal);
    if (this.#stop.signal.aborted) return;
    if (outcome.kind === "failed") this.logger.error("the compaction failed", { reason: outcome.reason });
    else this.#report(JSON.parse(outcome.out));
    this.#wait();
  }

  #report({ given_back, failed }: { given_back: number; failed: { workspace_id: string; reason: string }[] }): void {
    if (given_back > 0) this.logger.info("disk space was given back", { bytes: given_back });
    for (const { workspace_id, reason } of failed)
      this.logger.warn("a workspace was not compacted", { workspace_id, reason });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancel();
    this.#stop.abort();
    await this.#running;
  }
}
