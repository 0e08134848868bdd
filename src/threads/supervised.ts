/** A worker thread that is started again when it dies, ever more slowly if it keeps dying. */
import { Worker } from "node:worker_threads";
import { systemTimer, type Timer } from "../timer.ts";
import { workerEntry } from "../worker-entry.ts";
import type { FailureReport, ThreadOptions } from "./messages.ts";

/** Pause before the first restart; it doubles with each that follows a death before `ready`. */
const RESTART_MS = 100;
const MAX_RESTART_MS = 10_000;

/** A thread as its supervisor sees it. */
export interface ThreadHandle {
  postMessage(message: unknown): void;
}

/** Starts threads, and times their restarts. */
export interface Spawning {
  /** `onEnd` is called with the error that ended the thread, or with null; it may be called again. */
  start(
    entry: string,
    options: ThreadOptions,
    onMessage: (message: never) => void,
    onEnd: (error: unknown) => void,
  ): ThreadHandle;
  timer: Timer;
}

const REAL_THREADS: Spawning = {
  start(entry, options, onMessage, onEnd) {
    const worker = new Worker(workerEntry(entry), { workerData: options });
    worker.on("message", onMessage as (message: unknown) => void);
    worker.on("error", onEnd);
    worker.on("exit", () => onEnd(null));
    return worker;
  },
  timer: systemTimer,
};

export interface Supervision {
  /** The worker's source below `src/`. */
  entry: string;
  options: ThreadOptions;
  onMessage(message: never): void;
  /** The thread died: whatever it was given is lost. */
  onCrash(): void;
  onFailure(failure: FailureReport): void;
  /** Real threads unless given. */
  spawning?: Spawning;
}

export class SupervisedWorker {
  readonly #supervision: Supervision;
  readonly #spawning: Spawning;
  readonly #ready = Promise.withResolvers<void>();
  #worker: ThreadHandle | null = null;
  #deaths = 0;
  #stopping = false;

  constructor(supervision: Supervision) {
    this.#supervision = supervision;
    this.#spawning = supervision.spawning ?? REAL_THREADS;
    // A rejection that is not awaited is not an error: the thread's death is reported.
    this.#ready.promise.catch(() => {});
    this.#start();
  }

  /** Resolves when the thread first runs; rejects when it dies before that. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** False while a dead thread waits to be started again. */
  get alive(): boolean {
    return this.#worker !== null;
  }

  post(message: unknown): void {
    this.#worker?.postMessage(message);
  }

  /** From now on the thread's end is no death. */
  expectEnd(): void {
    this.#stopping = true;
  }

  /** To be called when the thread says that it runs. */
  markReady(): void {
    this.#deaths = 0;
    this.#ready.resolve();
  }

  #start(): void {
    const { entry, options, onMessage } = this.#supervision;
    const worker = this.#spawning.start(entry, options, onMessage, (error) => this.#die(worker, error));
    this.#worker = worker;
  }

  #die(worker: ThreadHandle, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    if (!this.#stopping) {
      const name = error instanceof Error ? `died: ${error.name}` : "died";
      this.#supervision.onFailure({ where: this.#supervision.entry, name, frames: [] });
      this.#ready.reject(new Error(`the thread ${this.#supervision.entry} could not be started`, { cause: error }));
      const pause = Math.min(RESTART_MS * 2 ** this.#deaths++, MAX_RESTART_MS);
      this.#spawning.timer(pause, () => this.#stopping || this.#start());
    }
    this.#supervision.onCrash();
  }
}
