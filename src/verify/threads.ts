/** Threads that verify parts of one source, and return what they found in the order of the parts. */
import { Worker } from "node:worker_threads";
import { Failure } from "../failure.ts";
import { workerEntry } from "../worker-entry.ts";
import type { Asked, Found, PartMessage, PartResult, ThreadData, Work } from "./worker.ts";

/** Parts that one thread has at most at a time: it never waits for the next one, and memory is bounded. */
const JOBS_OF_THREAD = 2;

/** What a thread was asked and has not answered, and how many parts it is worth. */
interface Given {
  given: PromiseWithResolvers<Found<keyof Work>>;
  load: number;
}

export class PartThreads implements Disposable {
  readonly #workers: Worker[];
  /** How many parts each of them has. */
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
        if (answered === undefined) return; // another thread has died meanwhile: nobody waits any more
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
   * Gives parts to threads as they arrive, and yields the findings in their order.
   *
   * @throws {Failure} `evidence_unreadable` when a thread dies: nothing is known then
   */
  async *verify<K extends keyof Work>(
    kind: K,
    parts: AsyncIterable<Asked<K>> | Iterable<Asked<K>>,
  ): AsyncGenerator<Found<K>> {
    const given: Promise<Found<K>>[] = [];
    for await (const asked of parts) {
      given.push(this.#give(this.#leastBusy(), kind, asked));
      if (given.length >= this.#ahead) yield await (given.shift() as Promise<Found<K>>);
    }
    for (const result of given) yield await result;
  }

  /** Asks every thread for a snapshot. @throws as {@link verify} */
  askAll(kind: "snapshot"): Promise<Found<"snapshot">[]> {
    return Promise.all(this.#workers.map((_, index) => this.#give(index, kind, null)));
  }

  /** Asks one thread for SQLite's check of the file; the others do the parts meanwhile. @throws as {@link verify} */
  askOne(kind: "file"): Promise<Found<"file">> {
    return this.#give(this.#leastBusy(), kind, null, this.#ahead);
  }

  /** Ends the threads when they have done their parts, so that they can close their files. */
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

  /** How many parts are given before the first of them is awaited. */
  get #ahead(): number {
    return this.#workers.length * JOBS_OF_THREAD;
  }

  /** Parts differ, and so do the threads' shares of the cores. */
  #leastBusy(): number {
    return this.#load.indexOf(Math.min(...this.#load));
  }

  /** @param load how many parts it is worth */
  #give<K extends keyof Work>(index: number, kind: K, asked: Asked<K>, load = 1): Promise<Found<K>> {
    const given = Promise.withResolvers<Found<K>>();
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
