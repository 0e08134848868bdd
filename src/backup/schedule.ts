/**
 * Backups by the clock. The work itself is another process's: closing a database file within the daemon
 * could take its locks away, and copying on one of its threads would hold up requests.
 */
import type { Clock } from "../ids.ts";
import { listBackups, timeOfBackup } from "./destination.ts";

/** A start is not slowed down by a backup that is due. */
const FIRST_AFTER_MS = 60_000;
/** After a failure it is tried again, at the latest so soon. */
const RETRY_AFTER_MS = 15 * 60_000;
/** A timer cannot wait longer than 2^31 - 1 ms. */
const LONGEST_TIMER_MS = 24 * 60 * 60_000;

/** What became of a scheduled backup. */
export type BackupOutcome =
  | { kind: "made"; path: string; workspaces: number; bytes: number; leftOut: readonly string[] }
  | { kind: "failed"; reason: string };

/** What is known of the scheduled backups; times in ms since the Unix epoch, null where there was none. */
export interface BackupStatus {
  /** When the newest whole backup in the directory was begun, by whoever made it. */
  lastSuccessMs: number | null;
  /** When the last one failed, or came out without some workspaces. */
  lastFailureMs: number | null;
  lastFailure: string | null;
  running: boolean;
  nextMs: number;
}

export interface ScheduleOptions {
  /** The directory that backups are in. */
  destination: string;
  everyMs: number;
  clock: Clock;
  /** Makes one backup; ends early when the signal says so. Never throws. */
  make(signal: AbortSignal): Promise<BackupOutcome>;
  onOutcome(outcome: BackupOutcome, tookMs: number): void;
  /** For tests. */
  firstAfterMs?: number;
}

export class BackupSchedule implements AsyncDisposable {
  readonly #options: ScheduleOptions;
  readonly #end = new AbortController();
  readonly #status: BackupStatus;
  #timer: NodeJS.Timeout | null = null;
  #run: Promise<void> = Promise.resolve();

  constructor(options: ScheduleOptions) {
    this.#options = options;
    const { destination, everyMs, clock, firstAfterMs = FIRST_AFTER_MS } = options;
    const lastSuccessMs = newestTime(destination);
    const soonest = clock() + firstAfterMs;
    const nextMs = lastSuccessMs === null ? soonest : Math.max(soonest, lastSuccessMs + everyMs);
    this.#status = { lastSuccessMs, lastFailureMs: null, lastFailure: null, running: false, nextMs };
    this.#arm();
  }

  /** What is known now. Costs nothing, so that metrics can ask at any time. */
  get status(): Readonly<BackupStatus> {
    return { ...this.#status };
  }

  /** Ends a backup that is under way, which leaves nothing behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#run;
  }

  #arm(): void {
    if (this.#end.signal.aborted) return;
    const wait = Math.max(0, this.#status.nextMs - this.#options.clock());
    this.#timer = setTimeout(() => this.#wake(), Math.min(wait, LONGEST_TIMER_MS)).unref();
  }

  #wake(): void {
    if (this.#options.clock() < this.#status.nextMs) this.#arm();
    else this.#run = this.#make();
  }

  async #make(): Promise<void> {
    const { everyMs, clock, make, onOutcome } = this.#options;
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
      // What is damaged now will be so in a quarter of an hour.
      status.nextMs =
        outcome.kind === "made" ? startMs + everyMs : clock() + Math.min(everyMs, RETRY_AFTER_MS);
    }
    onOutcome(outcome, clock() - startMs);
    this.#arm();
  }
}

/** A backup that lacks workspaces is one, and yet it failed them. */
function failureOf(outcome: BackupOutcome): string | null {
  if (outcome.kind === "failed") return outcome.reason;
  return outcome.leftOut.length === 0 ? null : `left out as damaged: ${outcome.leftOut.join(", ")}`;
}

/** When the newest backup was begun; null when there is none, or the directory cannot be read now. */
function newestTime(destination: string): number | null {
  try {
    const newest = listBackups(destination).at(-1);
    return newest === undefined ? null : timeOfBackup(newest);
  } catch {
    return null; // the first backup says what is wrong with it
  }
}
