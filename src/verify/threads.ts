/** Threads that verify parts of one source, and return what they found in the order of the parts. */
import { Worker } from "node:worker_threads";
import { Failure } from "../failure.ts";
import { workerEntry } from "../worker-entry.ts";
import type { Asked, Found, PartMessage, PartResult, ThreadData, Work } from "./worker.ts";

/** Parts that one thread has at most at a time: it never waits for the next one, and memory is bounded. */
const JOBS_OF_THREAD = 2;

export class PartThreads implements Disposable {
  readonly #workers: Worker[];
  /** How many parts each of them has. */
  readonly #load: number[];
  readonly #ends: Promise<void>[];
  readonly #waiting = new Map<number, PromiseWithResolvers<Found<keyof Work>>>();
  #failure: Failure | null = null;
  #ending = false;
  #lastId = 0;

  constructor(count: number, data: ThreadData = null) {
    this.#load = new Array<number>(count).fill(0);
    this.#workers = Array.from({ length: count }, (_, index) => {
      const worker = new Worker(workerEntry("verify/worker.ts"), { workerData: data });
      worker.on("message", ({ id, result }: PartResult) => {
        this.#load[index] = (this.#load[index] as number) - 1;
        this.#waiting.get(id)?.resolve(result);
        this.#waiting.delete(id);
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
    const ahead = this.#workers.length * JOBS_OF_THREAD;
    for await (const asked of parts) {
      // To the least busy one: parts differ, and so do the threads' shares of the cores.
      given.push(this.#give(this.#load.indexOf(Math.min(...this.#load)), kind, asked));
      if (given.length >= ahead) yield await (given.shift() as Promise<Found<K>>);
    }
    for (const result of given) yield await result;
  }

  /** Asks every thread the same. @throws as {@link verify} */
  askAll<K extends "snapshot" | "file">(kind: K): Promise<Found<K>[]> {
    return Promise.all(this.#workers.map((_, index) => this.#give(index, kind, null)));
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

  #give<K extends keyof Work>(index: number, kind: K, asked: Asked<K>): Promise<Found<K>> {
    const given = Promise.withResolvers<Found<K>>();
    given.promise.catch(() => {}); // it is awaited in its turn
    if (this.#failure !== null) given.reject(this.#failure);
    else {
      const id = ++this.#lastId;
      this.#waiting.set(id, given as PromiseWithResolvers<Found<keyof Work>>);
      this.#load[index] = (this.#load[index] as number) + 1;
      this.#workers[index]?.postMessage({ id, kind, asked } as PartMessage);
    }
    return given.promise;
  }

  #fail(cause: unknown): void {
    if (this.#ending && cause === null) return;
    const message = "A thread of the verification died, so nothing is established. Try again with --threads 1.";
    this.#failure ??= new Failure("evidence_unreadable", message, { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}
