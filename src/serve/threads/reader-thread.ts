/** The main thread's end of one reader thread. It sends queries, and pulls streams chunk by chunk. */
import type { Bytes, OperationRequest, Reply, StreamPlan } from "../../core/writer/contract.ts";
import type { Site } from "../../core/writer/site.ts";
import type { FromReader, LookupResult, Query, ThreadOptions, ToReader } from "./messages.ts";
import { REAL_THREADS, SupervisedWorker, type ThreadReports } from "./supervised.ts";
import type { Rejection } from "./writer-thread.ts";

/** The most queries that may wait for one thread. */
const MAX_QUERIES = 512;
/** The most that one workspace may have of a thread's streams, since its clients may be slow. */
const PART_OF_WORKSPACE = 1 / 4;

/** The result of a query. */
export type QueryResult = LookupResult | { reply: Reply } | Rejection;

/** The number of queries and streams that run on reader threads. */
export interface ReaderLoad {
  queries: number;
  /** Streams that end by themselves: exports, checkpoints. */
  streams: number;
  /** Streams that do not end by themselves. */
  live: number;
}

/** A stream that its consumer has not read to the end. */
interface OpenStream {
  workspaceId: string;
  /** Whether the stream does not end by itself. */
  live: boolean;
  controller: ReadableStreamDefaultController<Uint8Array>;
  /** Lets the consumer ask for the next bytes. */
  wake(): void;
}

export class ReaderThread {
  readonly #worker: SupervisedWorker;
  #nextId = 1;
  readonly #queries = new Map<number, (result: QueryResult) => void>();
  readonly #streams = new Map<number, OpenStream>();

  constructor(
    private readonly options: ThreadOptions,
    reports: ThreadReports,
  ) {
    const entry = "serve/threads/reader-worker.ts";
    const onMessage = (message: FromReader) => this.#receive(message);
    const onEnd = () => this.#abandonAll("unread");
    this.#worker = new SupervisedWorker({ entry, options, reports, onMessage, onEnd }, REAL_THREADS);
  }

  /** Adds this thread's running work to `load`. */
  addTo(load: ReaderLoad): void {
    load.queries += this.#queries.size;
    load.streams += this.#count(false);
    load.live += this.#count(true);
  }

  query(request: OperationRequest): Promise<QueryResult> {
    if (this.#worker.isClosing) return Promise.resolve("stopped");
    if (!this.#worker.alive || this.#queries.size >= MAX_QUERIES) return Promise.resolve("overloaded");
    const id = this.#nextId++;
    const { name, principal, retry, partTexts } = request;
    const input = partTexts === undefined ? request.input : { ...request.input, parts: [] };
    const query: Query = { id, workspaceId: principal.workspaceId, name, input, principal };
    if (retry !== undefined) query.retry = retry;
    if (partTexts !== undefined) query.partTexts = partTexts;
    return new Promise((resolve) => {
      this.#queries.set(id, resolve);
      this.#post({ kind: "query", query });
    });
  }

  /** Whether the workspace may not open another stream of this kind, live or not, at present. */
  isExhausted(workspaceId: string, live: boolean): boolean {
    if (this.#worker.isClosing || !this.#worker.alive) return true;
    const most = live ? this.options.open.tails : this.options.open.streams;
    return this.#count(live) >= most || this.#count(live, workspaceId) >= Math.ceil(most * PART_OF_WORKSPACE);
  }

  /** Returns the number of open streams of a kind, of one workspace or of all. */
  #count(live: boolean, workspaceId?: string): number {
    let count = 0;
    for (const stream of this.#streams.values()) {
      if (stream.live === live && (workspaceId ?? stream.workspaceId) === stream.workspaceId) count++;
    }
    return count;
  }

  /** Tells the thread to close a workspace, unless it is in use. */
  forget(workspaceId: string): void {
    if (!this.#worker.isClosing) this.#post({ kind: "forget", workspaceId });
  }

  change(site: Site): void {
    this.options.site = site;
    if (!this.#worker.isClosing) this.#post({ kind: "change", site });
  }

  /** Ends the streams that do not end by themselves. */
  endTails(): void {
    for (const [id, { live }] of [...this.#streams]) {
      if (!live) continue;
      this.#post({ kind: "cancel", id });
      this.#end(id);
    }
  }

  /** Returns the bytes of a plan as a stream, which is read as the consumer asks for bytes. */
  stream(workspaceId: string, plan: StreamPlan): Bytes {
    const id = this.#nextId++;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#streams.set(id, { workspaceId, live: plan.kind === "tail", controller, wake: () => {} });
        this.#post({ kind: "open", id, workspaceId, plan });
      },
      pull: () => {
        const stream = this.#streams.get(id);
        if (stream === undefined) return undefined;
        this.#post({ kind: "pull", id });
        return new Promise<void>((resolve) => {
          stream.wake = resolve;
        });
      },
      cancel: () => {
        this.#post({ kind: "cancel", id });
        this.#finish(id, () => {});
      },
    });
  }

  async close(): Promise<void> {
    if (this.#worker.isClosing) return;
    await this.#worker.close(() => this.#post({ kind: "close" }));
    this.#abandonAll("stopped");
  }

  #post(message: ToReader): void {
    this.#worker.post(message);
  }

  #receive(message: FromReader): void {
    switch (message.kind) {
      case "found":
        this.#answer(message.id, message);
        break;
      case "answered":
        this.#answer(message.id, { reply: message.reply });
        break;
      case "chunk":
        this.#add(message.id, message.bytes);
        break;
      case "end":
        this.#end(message.id);
        break;
      case "broken":
        this.#break(message.id);
        break;
      default:
        this.#worker.receive(message);
    }
  }

  #add(id: number, bytes: Uint8Array): void {
    const stream = this.#streams.get(id);
    stream?.controller.enqueue(bytes);
    stream?.wake();
  }

  #end(id: number): void {
    this.#finish(id, (controller) => controller.close());
  }

  /**
   * Ends a stream with an error, which breaks the connection, so that the consumer sees that the body is incomplete.
   */
  #break(id: number): void {
    this.#finish(id, (controller) => controller.error(new Error("the stream broke off")));
  }

  #finish(id: number, finish: (controller: OpenStream["controller"]) => void): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#streams.delete(id);
    finish(stream.controller);
    stream.wake();
  }

  #answer(id: number, result: QueryResult): void {
    this.#queries.get(id)?.(result);
    this.#queries.delete(id);
  }

  #abandonAll(reason: Rejection): void {
    for (const id of [...this.#queries.keys()]) this.#answer(id, reason);
    for (const id of [...this.#streams.keys()]) this.#break(id);
  }
}
