/**
 * Schedules backups. Another process makes them: closing a database file in the daemon could release its locks, and
 * copying on one of its threads would delay requests.
 */
import { CLOCK_LEEWAY_MS, type Clock } from "../ids.ts";
import { LONGEST_TIMER_MS } from "../timer.ts";
import { newestStart } from "./destination.ts";

/** The first backup waits this long, ms, so that it does not slow down the start. */
const FIRST_AFTER_MS = 60_000;
/** The longest wait before a failed backup is retried, ms. */
const RETRY_AFTER_MS = 15 * 60_000;

/** The outcome of a scheduled backup. */
export type BackupOutcome =
  | { kind: "made"; path: string; workspaces: number; bytes: number; leftOut: readonly string[] }
  | { kind: "failed"; reason: string };

/** The state of the scheduled backups. Times are in ms since the Unix epoch, or null when there was none. */
export interface BackupStatus {
  /** When the newest complete backup in the directory was started, by the daemon or by hand. */
  lastSuccessMs: number | null;
  /** When the last backup that failed or lacks workspaces was started. */
  lastFailureMs: number | null;
  lastFailure: string | null;
  running: boolean;
  nextMs: number;
}

interface ScheduleOptions {
  /** The directory that holds the backups. */
  destination: string;
  everyMs: number;
  clock: Clock;
  /** Makes one backup. Ends early when the signal is aborted. Never throws. */
  make(signal: AbortSignal): Promise<BackupOutcome>;
  onOutcome(outcome: BackupOutcome, tookMs: number): void;
  /** The newest backup has a time that has not come, so a new one is made soon. */
  onAhead?(): void;
  /** For tests. */
  firstAfterMs?: number;
}

export class BackupSchedule implements AsyncDisposable {
  readonly #end = new AbortController();
  readonly #status: BackupStatus;
  #timer: NodeJS.Timeout | null = null;
  #run: Promise<void> = Promise.resolve();

  constructor(private readonly options: ScheduleOptions) {
    const { destination, everyMs, clock, firstAfterMs = FIRST_AFTER_MS } = options;
    const { startMs: lastSuccessMs, isAhead } = newestStartIfReadable(destination, clock());
    if (isAhead) options.onAhead?.();
    const soonest = clock() + firstAfterMs;
    const nextMs = lastSuccessMs === null ? soonest : Math.max(soonest, lastSuccessMs + everyMs);
    this.#status = { lastSuccessMs, lastFailureMs: null, lastFailure: null, running: false, nextMs };
    this.#arm();
  }

  /** The present state. Reading it is cheap. */
  get status(): Readonly<BackupStatus> {
    return { ...this.#status };
  }

  /** Aborts a running backup, which leaves nothing behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#run;
  }

  #arm(): void {
    if (this.#end.signal.aborted) return;
    const wait = Math.max(0, this.#status.nextMs - this.options.clock());
    this.#timer = setTimeout(() => this.#wake(), Math.min(wait, LONGEST_TIMER_MS)).unref();
  }

  #wake(): void {
    const leftMs = this.#status.nextMs - this.options.clock();
    // No wait is longer than the interval: the clock was ahead when it began.
    if (leftMs > 0 && leftMs <= this.options.everyMs + CLOCK_LEEWAY_MS) this.#arm();
    else this.#run = this.#make();
  }

  async #make(): Promise<void> {
    const { everyMs, clock, make, onOutcome } = this.options;
    const status = this.#status;
    status.running = true;
    const startMs = clock();
    const outcome = await make(this.#end.signal);
    status.running = false;
    if (this.#end.signal.aborted) return;
    const failure = failureOf(outcome);
    if (failure === null) {
      status.lastSuccessMs = startMs;
      status.nextMs = startMs + everyMs;
    } else {
      status.lastFailureMs = startMs;
      status.lastFailure = failure;
      // A damaged workspace will still be damaged in a quarter of an hour, so there is no early retry.
      status.nextMs = outcome.kind === "made" ? startMs + everyMs : clock() + Math.min(everyMs, RETRY_AFTER_MS);
    }
    onOutcome(outcome, clock() - startMs);
    this.#arm();
  }
}

/** Returns why a backup failed or what it lacks; null when it is complete. */
function failureOf(outcome: BackupOutcome): string | null {
  if (outcome.kind === "failed") return outcome.reason;
  return outcome.leftOut.length === 0 ? null : `left out as damaged: ${outcome.leftOut.join(", ")}`;
}

function newestStartIfReadable(destination: string, nowMs: number): ReturnType<typeof newestStart> {
  try {
    return newestStart(destination, nowMs);
  } catch {
    return { startMs: null, isAhead: false }; // The first backup will report the reason.
  }
}
