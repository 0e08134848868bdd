/** The main thread's end of one reader thread: queries, and streams that are pulled chunk by chunk. */
import type { JsonValue } from "../json.ts";
import type { Answer, Bytes, OperationRequest, StreamPlan } from "../workspace/contract.ts";
import type { FromReader, ThreadOptions, ToReader } from "./messages.ts";
import { SupervisedWorker } from "./supervised.ts";
import type { Rejection, ThreadEvents } from "./writer-thread.ts";

/** Queries that may wait for one thread. */
const MAX_QUERIES = 512;
/** Streams that end by themselves and may be open on one thread, and of one workspace: its clients may be slow. */
const MAX_STREAMS = 64;
const MAX_STREAMS_OF_WORKSPACE = 16;
/** Live streams that may be open on one thread, and of one workspace. */
const MAX_TAILS = 128;
const MAX_TAILS_OF_WORKSPACE = 32;

/** The result of a query. */
export type QueryResult = { found: JsonValue } | { answer: Answer } | Rejection;

interface StreamSink {
  workspaceId: string;
  /** Whether it does not end by itself. */
  live: boolean;
  chunk(bytes: Uint8Array): void;
  end(): void;
  broken(): void;
}

export class ReaderThread {
  readonly #events: ThreadEvents;
  readonly #worker: SupervisedWorker;
  #nextId = 1;
  readonly #queries = new Map<number, (result: QueryResult) => void>();
  readonly #streams = new Map<number, StreamSink>();
  #state: "running" | "closing" | "closed" = "running";
  #closed: () => void = () => {};

  constructor(options: ThreadOptions, events: ThreadEvents) {
    this.#events = events;
    this.#worker = new SupervisedWorker({
      entry: "threads/reader-worker.ts",
      options,
      onMessage: (message: FromReader) => this.#receive(message),
      onCrash: () => this.#crash(),
      onFailure: (failure) => events.onFailure(failure),
    });
  }

  /** The running work, by kind. */
  get load(): { queries: number; streams: number; live: number } {
    const live = this.#count(true);
    return { queries: this.#queries.size, streams: this.#streams.size - live, live };
  }

  query(request: OperationRequest): Promise<QueryResult> {
    if (this.#state !== "running") return Promise.resolve("stopped");
    if (!this.#worker.alive) return Promise.resolve("overloaded");
    if (this.#queries.size >= MAX_QUERIES) return Promise.resolve("overloaded");
    const id = this.#nextId++;
    const { name, input, principal } = request;
    return new Promise((resolve) => {
      this.#queries.set(id, resolve);
      this.#post({ kind: "query", query: { id, workspaceId: principal.workspaceId, name, input, principal } });
    });
  }

  /** Whether no more streams of this kind, live or not, may be opened at present. */
  isExhausted(workspaceId: string, live: boolean): boolean {
    if (this.#state !== "running" || !this.#worker.alive) return true;
    const [most, mostOwn] = live ? [MAX_TAILS, MAX_TAILS_OF_WORKSPACE] : [MAX_STREAMS, MAX_STREAMS_OF_WORKSPACE];
    return this.#count(live) >= most || this.#count(live, workspaceId) >= mostOwn;
  }

  /** Open streams of a kind, of one workspace or of all. */
  #count(live: boolean, workspaceId?: string): number {
    let count = 0;
    for (const sink of this.#streams.values()) {
      if (sink.live === live && (workspaceId === undefined || sink.workspaceId === workspaceId)) count++;
    }
    return count;
  }

  /** Has what is open of a workspace closed, but for what is in use. */
  forget(workspaceId: string): void {
    if (this.#state === "running" && this.#worker.alive) this.#post({ kind: "forget", workspaceId });
  }

  /** Ends the streams that do not end by themselves. */
  endTails(): void {
    for (const [id, { live }] of [...this.#streams]) {
      if (!live) continue;
      this.#post({ kind: "cancel", id });
      this.#finish(id)?.end();
    }
  }

  /** The bytes of a plan, read as the consumer asks for them. */
  stream(workspaceId: string, plan: StreamPlan): Bytes {
    const id = this.#nextId++;
    let wake: () => void = () => {};
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#streams.set(id, {
          workspaceId,
          live: plan.kind === "tail",
          chunk: (bytes) => {
            controller.enqueue(bytes);
            wake();
          },
          end: () => {
            controller.close();
            wake();
          },
          // The reader must see that the answer is not whole: the connection breaks off.
          broken: () => {
            controller.error(new Error("the stream broke off"));
            wake();
          },
        });
        this.#post({ kind: "open", id, workspaceId, plan });
      },
      pull: () => {
        if (!this.#streams.has(id)) return undefined;
        this.#post({ kind: "pull", id });
        return new Promise<void>((resolve) => {
          wake = resolve;
        });
      },
      cancel: () => {
        this.#finish(id);
        this.#post({ kind: "cancel", id });
        wake();
      },
    });
  }

  async close(): Promise<void> {
    if (this.#state !== "running") return;
    this.#state = "closing";
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
    this.#worker.expectEnd();
    if (!this.#worker.alive) {
      this.#crash();
      return;
    }
    this.#post({ kind: "close" });
    await closed;
    this.#abandonAll("stopped");
  }

  #post(message: ToReader): void {
    this.#worker.post(message);
  }

  #receive(message: FromReader): void {
    switch (message.kind) {
      case "ready":
        this.#worker.markReady();
        break;
      case "found":
        this.#answer(message.id, { found: message.found });
        break;
      case "answered":
        this.#answer(message.id, { answer: message.answer });
        break;
      case "chunk":
        this.#streams.get(message.id)?.chunk(message.bytes);
        break;
      case "end":
        this.#finish(message.id)?.end();
        break;
      case "broken":
        this.#finish(message.id)?.broken();
        break;
      case "failure":
        this.#events.onFailure(message.failure);
        break;
      case "recovery":
        this.#events.onRecovery?.(message.recovery);
        break;
      case "closed":
        this.#state = "closed";
        this.#closed();
    }
  }

  #answer(id: number, result: QueryResult): void {
    this.#queries.get(id)?.(result);
    this.#queries.delete(id);
  }

  #finish(id: number): StreamSink | undefined {
    const sink = this.#streams.get(id);
    this.#streams.delete(id);
    return sink;
  }

  #abandonAll(reason: Rejection): void {
    for (const id of [...this.#queries.keys()]) this.#answer(id, reason);
    for (const id of [...this.#streams.keys()]) this.#finish(id)?.broken();
  }

  #crash(): void {
    this.#abandonAll("crashed");
    if (this.#state === "running") return;
    this.#state = "closed";
    this.#closed();
  }
}
