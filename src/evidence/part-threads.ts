/** Threads that verify parts of one export, and hand back what they found in the order of the parts. */
import { Worker } from "node:worker_threads";
import { Failure } from "../failure.ts";
import type { PartOptions } from "../log/export-part.ts";
import type { Segment } from "../log/segment.ts";
import { workerEntry } from "../worker-entry.ts";
import type { FileRange } from "./lines.ts";

/** Some lines of a file, to be verified. */
export interface PartJob {
  id: number;
  path: string;
  range: FileRange;
  options: PartOptions;
}

/** `segment` is null when not all is well with the part. */
export interface PartResult {
  id: number;
  segment: Segment | null;
}

/** Parts that may be given to one thread at once, so that it has no pause, and memory is bounded. */
const JOBS_OF_THREAD = 2;

type Waiting = { resolve(segment: Segment | null): void; reject(error: Error): void };

export class PartThreads implements Disposable {
  readonly #workers: Worker[];
  /** How many parts each of them has been given and not answered. */
  readonly #load: number[];
  readonly #waiting = new Map<number, Waiting>();
  #failure: Failure | null = null;

  constructor(count: number) {
    this.#load = new Array<number>(count).fill(0);
    this.#workers = Array.from({ length: count }, (_, index) => {
      const worker = new Worker(workerEntry("evidence/part-worker.ts"));
      worker.on("message", ({ id, segment }: PartResult) => {
        this.#load[index] = (this.#load[index] as number) - 1;
        this.#waiting.get(id)?.resolve(segment);
        this.#waiting.delete(id);
      });
      worker.on("error", (error) => this.#fail(error));
      worker.on("exit", () => this.#fail(null));
      return worker;
    });
  }

  /**
   * Verifies parts; yields their segments in order, with null for one that is not good.
   *
   * @throws {Failure} `evidence_unreadable` when a thread dies: nothing is known then
   */
  async *verify(jobs: readonly Omit<PartJob, "id">[]): AsyncGenerator<Segment | null> {
    const under: Promise<Segment | null>[] = [];
    const ahead = this.#workers.length * JOBS_OF_THREAD;
    for (let next = 0; next < jobs.length || under.length > 0; ) {
      for (; next < jobs.length && under.length < ahead; next++) {
        const part = this.#give({ ...(jobs[next] as Omit<PartJob, "id">), id: next });
        part.catch(() => {}); // it is awaited in its turn
        under.push(part);
      }
      yield await (under.shift() as Promise<Segment | null>);
    }
  }

  [Symbol.dispose](): void {
    this.#failure ??= new Failure("evidence_unreadable", "The verification was ended.");
    for (const worker of this.#workers) void worker.terminate();
  }

  #give(job: PartJob): Promise<Segment | null> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.set(job.id, { resolve, reject });
      // The least busy one: parts differ, and so do the threads' shares of the cores.
      const index = this.#load.indexOf(Math.min(...this.#load));
      this.#load[index] = (this.#load[index] as number) + 1;
      this.#workers[index]?.postMessage(job);
    });
  }

  #fail(cause: unknown): void {
    const message =
      "A thread of the verification died, so nothing is established. Try again with --threads 1.";
    this.#failure ??= new Failure("evidence_unreadable", message, { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}
