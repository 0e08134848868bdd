/**
 * Replaces the sealing key when it has reached its age (`seal_key_lifetime`), and finishes a rotation that was
 * interrupted: runs `governd rotate-seal-key` as a separate process. The age is that of the key's file.
 */
import { statSync } from "node:fs";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { isInterrupted } from "../../core/datadir/seal-key.ts";
import { isFromFuture, systemClock } from "../../ids.ts";
import type { Settings } from "../../settings/definitions.ts";
import { systemTimer, type Timer } from "../../timer.ts";
import type { Logger } from "./logger.ts";
import { runOwnCommand, wordsOf } from "./own-command.ts";

/** The longest time between two checks of the age, and between two attempts, ms. */
const CHECK_EVERY_MS = 60 * 60 * 1000;
/** The time after which a failed attempt is repeated, ms. It doubles with each failure. */
const FIRST_RETRY_MS = 2_000;

export class SealKeyRotation implements AsyncDisposable {
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #retryMs = FIRST_RETRY_MS;
  #cancel = () => {};

  constructor(
    private readonly settings: Settings,
    private readonly directory: DataDirectory,
    private readonly logger: Logger,
    private readonly timer: Timer = systemTimer,
  ) {
    this.#check();
  }

  #check(): void {
    this.#running = this.#rotateIfDue().then((failed) => {
      if (this.#stop.signal.aborted) return;
      const waitMs = failed ? this.#retryMs : Math.max(this.#leftMs(), 0);
      this.#retryMs = failed ? Math.min(2 * this.#retryMs, CHECK_EVERY_MS) : FIRST_RETRY_MS;
      this.#cancel = this.timer(Math.min(waitMs, CHECK_EVERY_MS), () => this.#check());
    });
  }

  /** Returns the time that the key has left, ms; Infinity without a limit, and 0 if its age is not known. */
  #leftMs(): number {
    const { seal_key_lifetime: lifetimeMs } = this.settings;
    if (lifetimeMs === null) return Number.POSITIVE_INFINITY;
    // The times of files are by the system clock, which may differ from the daemon's clock.
    return this.#isFromFuture() ? 0 : lifetimeMs - (systemClock() - this.#madeMs());
  }

  #madeMs(): number {
    return statSync(this.directory.sealKey, { throwIfNoEntry: false })?.mtimeMs ?? systemClock();
  }

  #isFromFuture(): boolean {
    return isFromFuture(this.#madeMs(), systemClock());
  }

  /** Returns whether a rotation was due and failed. */
  async #rotateIfDue(): Promise<boolean> {
    if (this.#leftMs() > 0 && !isInterrupted(this.directory)) return false;
    if (this.settings.seal_key_lifetime !== null && this.#isFromFuture()) {
      this.logger.warn("the sealing key's file has a time that has not come, so its age is not known: it is replaced");
    }
    const outcome = await runOwnCommand(wordsOf(["rotate-seal-key"], this.settings), this.settings, this.#stop.signal);
    if (outcome.kind === "done") {
      const { fingerprint, announced } = JSON.parse(outcome.out) as { fingerprint: string; announced: number };
      this.logger.info("the sealing key was replaced", { fingerprint, workspaces: announced });
    } else if (!this.#stop.signal.aborted) {
      this.logger.error("the sealing key could not be replaced", { reason: outcome.reason });
    }
    return outcome.kind === "failed";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancel();
    this.#stop.abort();
    await this.#running;
  }
}
