/** Threads that verify parts of one source, and return what they found in the order of the parts. */
import { Worker } from "node:worker_threads";
import { Failure } from "../failure.ts";
import { workerEntry } from "../worker-entry.ts";
import type { FoundPart, PartJob, PartMessage, PartResult, ThreadData } from "./worker.ts";

/** Parts that one thread has at most at a time: it never waits for the next one, and memory is bounded. */
const JOBS_OF_THREAD = 2;

type Waiting = { resolve(result: FoundPart): void; reject(error: Error): void };

export class PartThreads implements Disposable {
  readonly #workers: Worker[];
  /** How many parts each of them has. */
  readonly #load: number[];
  readonly #ends: Promise<void>[];
  readonly #waiting = new Map<number, Waiting>();
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
   * Verifies parts as they arrive, and yields the findings in their order.
   *
   * @throws {Failure} `evidence_unreadable` when a thread dies: nothing is known then
   */
  async *verify(jobs: AsyncIterable<PartJob> | Iterable<PartJob>): AsyncGenerator<FoundPart> {
    const given: Promise<FoundPart>[] = [];
    const ahead = this.#workers.length * JOBS_OF_THREAD;
    for await (const job of jobs) {
      given.push(this.#giveToAny(job));
      if (given.length >= ahead) yield await (given.shift() as Promise<FoundPart>);
    }
    for (const result of given) yield await result;
  }

  /** Asks every thread the same. @throws as {@link verify} */
  askAll(job: PartJob): Promise<FoundPart[]> {
    return Promise.all(this.#workers.map((_, index) => this.#give(index, job)));
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

  #giveToAny(job: PartJob): Promise<FoundPart> {
    // The least busy one: parts differ, and so do the threads' shares of the cores.
    return this.#give(this.#load.indexOf(Math.min(...this.#load)), job);
  }

  #give(index: number, job: PartJob): Promise<FoundPart> {
    const given = new Promise<FoundPart>((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#load[index] = (this.#load[index] as number) + 1;
      this.#workers[index]?.postMessage({ id, job } satisfies PartMessage);
    });
    given.catch(() => {}); // it is awaited in its turn
    return given;
  }

  #fail(cause: unknown): void {
    if (this.#ending && cause === null) return;
    const message = "A thread of the verification died, so nothing is established. Try again with --threads 1.";
    this.#failure ??= new Failure("evidence_unreadable", message, { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}
