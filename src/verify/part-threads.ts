/** Threads that verify parts of one piece of evidence, and hand back what they found in the order of the parts. */
import { Worker } from "node:worker_threads";
import { Failure } from "../failure.ts";
import { workerEntry } from "../worker-entry.ts";

/** What a thread is sent: a part to verify, or null when it is to end. */
export type PartMessage<J> = { id: number; job: J } | null;

/** What it answers. */
export interface PartResult<R> {
  id: number;
  result: R;
}

/** Parts that may be given to one thread at once, so that it has no pause, and memory is bounded. */
const JOBS_OF_THREAD = 2;

type Waiting<R> = { resolve(result: R): void; reject(error: Error): void };

/** `J` is what a thread is asked, `R` what it answers. */
export class PartThreads<J, R> implements Disposable {
  readonly #workers: Worker[];
  /** How many parts each of them has been given and not answered. */
  readonly #load: number[];
  readonly #ends: Promise<void>[];
  readonly #waiting = new Map<number, Waiting<R>>();
  #failure: Failure | null = null;
  #ending = false;
  #lastId = 0;

  /** @param entry the thread's source, below `src/`; `data` is given to it at its start */
  constructor(count: number, entry: string, data: unknown = null) {
    this.#load = new Array<number>(count).fill(0);
    this.#workers = Array.from({ length: count }, (_, index) => {
      const worker = new Worker(workerEntry(entry), { workerData: data });
      worker.on("message", ({ id, result }: PartResult<R>) => {
        this.#load[index] = (this.#load[index] as number) - 1;
        this.#waiting.get(id)?.resolve(result);
        this.#waiting.delete(id);
      });
      worker.on("error", (error) => this.#fail(error));
      worker.on("exit", () => this.#fail(null));
      return worker;
    });
    this.#ends = this.#workers.map(
      (worker) => new Promise((resolve) => worker.once("exit", () => resolve())),
    );
  }

  /**
   * Has parts verified as they come; yields what was found in their order.
   *
   * @throws {Failure} `evidence_unreadable` when a thread dies: nothing is known then
   */
  async *verify(jobs: AsyncIterable<J> | Iterable<J>): AsyncGenerator<R> {
    const under: Promise<R>[] = [];
    const ahead = this.#workers.length * JOBS_OF_THREAD;
    for await (const job of jobs) {
      under.push(this.#giveToAny(job));
      if (under.length >= ahead) yield await (under.shift() as Promise<R>);
    }
    for (const result of under) yield await result;
  }

  /** Asks every thread the same. @throws as {@link verify} */
  askAll(job: J): Promise<R[]> {
    return Promise.all(this.#workers.map((_, index) => this.#give(index, job)));
  }

  /** Ends the threads when they are through with what they were given, so that they can close their files. */
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

  #giveToAny(job: J): Promise<R> {
    // The least busy one: parts differ, and so do the threads' shares of the cores.
    return this.#give(this.#load.indexOf(Math.min(...this.#load)), job);
  }

  #give(index: number, job: J): Promise<R> {
    const given = new Promise<R>((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#load[index] = (this.#load[index] as number) + 1;
      this.#workers[index]?.postMessage({ id, job } satisfies PartMessage<J>);
    });
    given.catch(() => {}); // it is awaited in its turn
    return given;
  }

  #fail(cause: unknown): void {
    if (this.#ending && cause === null) return;
    const message =
      "A thread of the verification died, so nothing is established. Try again with --threads 1.";
    this.#failure ??= new Failure("evidence_unreadable", message, { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}
