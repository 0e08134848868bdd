/** A worker thread that is restarted when it dies, with growing pauses if it keeps dying. */
import { Worker } from "node:worker_threads";
import { workerEntry } from "../../compiled.ts";
import { systemTimer, type Timer } from "../../timer.ts";
import type { FailureReport, FromThread, RecoveryReport, ThreadOptions } from "./messages.ts";

/** The pause before a restart, ms. It doubles each time that the thread dies before it is `ready`. */
const RESTART_MS = 100;
const MAX_RESTART_MS = 10_000;

/** The part of a worker that its supervisor uses. */
interface ThreadHandle {
  postMessage(message: unknown): void;
}

/** Starts threads, and times their restarts. */
export interface Spawning {
  /** `onEnd` is called with the error that ended the thread, or null; it may be called more than once. */
  start(
    entry: string,
    options: ThreadOptions,
    onMessage: (message: never) => void,
    onEnd: (error: unknown) => void,
  ): ThreadHandle;
  timer: Timer;
}

export const REAL_THREADS: Spawning = {
  start(entry, options, onMessage, onEnd) {
    const worker = new Worker(workerEntry(entry), { workerData: options });
    worker.on("message", onMessage as (message: unknown) => void);
    worker.on("error", onEnd);
    worker.on("exit", () => onEnd(null));
    return worker;
  },
  timer: systemTimer,
};

/** Callbacks for what happens outside of operations. */
export interface ThreadReports {
  onFailure(failure: FailureReport): void;
  onRecovery?(recovery: RecoveryReport): void;
  onWarning?(warning: string): void;
  onNoDescriptors?(): void;
}

interface Supervision {
  /** The worker's source below `src/`. */
  entry: string;
  options: ThreadOptions;
  reports: ThreadReports;
  /** Called with each message. It passes messages of {@link FromThread} on to {@link SupervisedWorker.receive}. */
  onMessage(message: never): void;
  /** Called when the thread has ended: the work that it was given is lost. */
  onEnd(): void;
}

export class SupervisedWorker {
  readonly #ready = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #worker: ThreadHandle | null = null;
  #deaths = 0;
  #isClosing = false;

  constructor(
    private readonly supervision: Supervision,
    private readonly spawning: Spawning,
  ) {
    // Nobody needs to await this promise: the thread's death is reported anyway.
    this.#ready.promise.catch(() => {});
    this.#start();
  }

  /** Resolves when the thread has first started; rejects when it dies before that. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** False while a dead thread waits to be restarted. */
  get alive(): boolean {
    return this.#worker !== null;
  }

  /** Whether {@link close} was called, after which the thread accepts no more work. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  post(message: unknown): void {
    this.#worker?.postMessage(message);
  }

  receive(message: FromThread): void {
    switch (message.kind) {
      case "ready":
        this.#deaths = 0;
        this.#ready.resolve();
        break;
      case "failure":
        this.supervision.reports.onFailure(message.failure);
        break;
      case "recovery":
        this.supervision.reports.onRecovery?.(message.recovery);
        break;
      case "warning":
        this.supervision.reports.onWarning?.(message.warning);
        break;
      case "no_descriptors":
        this.supervision.reports.onNoDescriptors?.();
        break;
      case "closed":
        this.#closed.resolve();
    }
  }

  /** Calls `ask`, which tells the thread to finish; resolves when the thread has ended. A second call does nothing. */
  async close(ask: () => void): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (!this.alive) return this.supervision.onEnd();
    ask();
    await this.#closed.promise;
  }

  #start(): void {
    const { entry, options, onMessage } = this.supervision;
    const worker = this.spawning.start(entry, options, onMessage, (error) => this.#die(worker, error));
    this.#worker = worker;
  }

  #die(worker: ThreadHandle, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    if (!this.#isClosing) {
      const { entry, reports } = this.supervision;
      const name = error instanceof Error ? `died: ${error.name}` : "died";
      reports.onFailure({ where: entry, name, frames: [] });
      this.#ready.reject(new Error(`the thread ${entry} could not be started`, { cause: error }));
      const pause = Math.min(RESTART_MS * 2 ** this.#deaths++, MAX_RESTART_MS);
      this.spawning.timer(pause, () => this.#isClosing || this.#start());
    }
    this.supervision.onEnd();
    if (this.#isClosing) this.#closed.resolve();
  }
}
