/** Threads that verify parts of one source, and return their results in the order of the parts. */
import { Worker } from "node:worker_threads";
import { workerEntry } from "../compiled.ts";
import { Failure } from "../failure.ts";
import type { PartMessage, PartResult, ThreadData, Work, WorkInput, WorkResult } from "./worker.ts";

/** The most parts that a thread has at a time. With two, it never waits for the next one, and memory is bounded. */
const JOBS_OF_THREAD = 2;

/** Work that was given to a thread and not finished, and how many parts it counts for. */
interface Given {
  given: PromiseWithResolvers<WorkResult<keyof Work>>;
  load: number;
}

export class PartThreads implements Disposable {
  readonly #workers: Worker[];
  /** The number of parts that each thread has. */
  readonly #load: number[];
  readonly #ends: Promise<void>[];
  readonly #waiting = new Map<number, Given>();
  #failure: Failure | null = null;
  #ending = false;
  #lastId = 0;

  constructor(count: number, data: ThreadData = null) {
    this.#load = new Array<number>(count).fill(0);
    this.#workers = Array.from({ length: count }, (_, index) => {
      const worker = new Worker(workerEntry("verify/worker.ts"), { workerData: data });
      worker.on("message", ({ id, result }: PartResult) => {
        const answered = this.#waiting.get(id);
        if (answered === undefined) return; // another thread has died meanwhile, so nobody waits for this result
        this.#load[index] = (this.#load[index] as number) - answered.load;
        this.#waiting.delete(id);
        answered.given.resolve(result);
      });
      worker.on("error", (error) => this.#fail(error));
      worker.on("exit", () => this.#fail(null));
      return worker;
    });
    this.#ends = this.#workers.map((worker) => new Promise((resolve) => worker.once("exit", () => resolve())));
  }

  /**
   * Gives parts to threads as they arrive, and yields the results in the order of the parts.
   *
   * @throws {Failure} `evidence_unreadable` when a thread dies; nothing is then established
   */
  async *verify<K extends keyof Work>(
    kind: K,
    parts: AsyncIterable<WorkInput<K>> | Iterable<WorkInput<K>>,
  ): AsyncGenerator<WorkResult<K>> {
    const given: Promise<WorkResult<K>>[] = [];
    for await (const asked of parts) {
      given.push(this.#give(this.#leastBusy(), kind, asked));
      if (given.length >= this.#ahead) yield await (given.shift() as Promise<WorkResult<K>>);
    }
    for (const result of given) yield await result;
  }

  /** Lets every thread take a snapshot. @throws as {@link verify} */
  askAll(kind: "snapshot"): Promise<WorkResult<"snapshot">[]> {
    return Promise.all(this.#workers.map((_, index) => this.#give(index, kind, null)));
  }

  /** Lets one thread run SQLite's check of the file, while the others verify parts. @throws as {@link verify} */
  askOne(kind: "file"): Promise<WorkResult<"file">> {
    return this.#give(this.#leastBusy(), kind, null, this.#ahead);
  }

  /** Ends the threads after they have finished their parts, so that they can close their files. */
  async end(): Promise<void> {
    this.#ending = true;
    for (const worker of this.#workers) worker.postMessage(null);
    await Promise.all(this.#ends);
  }

  /** Ends the threads at once. */
  [Symbol.dispose](): void {
    this.#failure ??= new Failure("evidence_unreadable", "The verification was ended.");
    for (const worker of this.#workers) void worker.terminate();
  }

  /** The number of parts that are given before the first is awaited. */
  get #ahead(): number {
    return this.#workers.length * JOBS_OF_THREAD;
  }

  /** Returns the thread with the fewest parts, since parts differ, and so do the threads' shares of the cores. */
  #leastBusy(): number {
    return this.#load.indexOf(Math.min(...this.#load));
  }

  /** Gives work to a thread. @param load how many parts it counts for */
  #give<K extends keyof Work>(index: number, kind: K, asked: WorkInput<K>, load = 1): Promise<WorkResult<K>> {
    const given = Promise.withResolvers<WorkResult<K>>();
    given.promise.catch(() => {}); // it is awaited in its turn
    if (this.#failure !== null) given.reject(this.#failure);
    else {
      const id = ++this.#lastId;
      this.#waiting.set(id, { given: given as Given["given"], load });
      this.#load[index] = (this.#load[index] as number) + load;
      this.#workers[index]?.postMessage({ id, kind, asked } as PartMessage);
    }
    return given.promise;
  }

  #fail(cause: unknown): void {
    if (this.#ending && cause === null) return;
    const message = "A thread of the verification died, so nothing is established. Try again with --threads 1.";
    this.#failure ??= new Failure("evidence_unreadable", message, { cause });
    for (const { given } of this.#waiting.values()) given.reject(this.#failure);
    this.#waiting.clear();
  }
}
