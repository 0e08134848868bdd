/**
 * All threads, as the routes see them: an operation goes to the thread that owns its workspace, with
 * a query on a reader thread before it or a stream from one behind it where the operation is so made.
 */

import { exportHeaders } from "../features/audit/export.ts";
import type { JsonValue } from "../json.ts";
import {
  isInquiry,
  isInspection,
  type OperationName,
  type OperationProblem,
  type OperationReply,
  type OperationRequest,
  type ProblemReply,
  type StreamReply,
  type WorkspaceClient,
  type WorkspaceEvent,
  type WorkspaceJournal,
} from "../workspace/contract.ts";
import type { StreamPlan } from "../workspace/streams.ts";
import type { ReplyMessage, ThreadOptions } from "./messages.ts";
import { ReaderThread } from "./reader-thread.ts";
import { type Rejection, type ThreadEvents, WriterThread } from "./writer-thread.ts";

export interface PoolOptions extends ThreadOptions, ThreadEvents {
  /** What the search indexes of all threads may occupy together, bytes. */
  searchMemoryBytes: number;
  /** Workspace threads; as many reader threads are started when first needed. */
  threads: number;
}

/** What overload or a stop tells the client. */
const RETRY_AFTER_SECONDS = 1;
const REJECTIONS: Record<Rejection, [OperationProblem, string]> = {
  overloaded: ["unavailable", "The server has more work than it can take just now; nothing was written."],
  stopped: ["unavailable", "The server is stopping; nothing was written. Try again when it is back."],
  crashed: [
    "internal",
    "An unexpected failure while the operation was under way; read before you repeat it.",
  ],
};

/** What the pool has to do just now. */
export interface PoolLoad {
  operations: number;
  readers: number;
}

export class WorkspacePool implements WorkspaceClient, WorkspaceJournal, AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #writers: WriterThread[];
  readonly #readers: (ReaderThread | undefined)[];
  #ending = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const count = Math.max(1, options.threads);
    this.#writers = Array.from({ length: count }, () => new WriterThread(threadOptions(options), options));
    this.#readers = new Array<ReaderThread | undefined>(count).fill(undefined);
  }

  /** Resolves when the workspace threads run. */
  async ready(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.ready));
  }

  async perform<N extends OperationName>(request: OperationRequest<N>): Promise<OperationReply> {
    const { workspaceId } = request.principal;
    if (!isInquiry(request.name) && !isInspection(request.name)) return this.#record(request, undefined);
    const result = await this.#reader(workspaceId).query(request);
    if (typeof result === "string") return rejection(result);
    if ("found" in result) return this.#record(request, result.found);
    return toReply(result.answer as Exclude<ReplyMessage["answer"], { kind: "stream" }>, null);
  }

  record(workspaceId: string, event: WorkspaceEvent): Promise<string | null> {
    return new Promise((resolve) => {
      const writer = this.#writers[this.#shard(workspaceId)] as WriterThread;
      const refused = writer.record(workspaceId, event, (reply) => {
        resolve(typeof reply === "string" ? null : reply.auditId);
      });
      if (refused !== null) resolve(null);
    });
  }

  get load(): PoolLoad {
    const sum = (depths: number[]) => depths.reduce((total, depth) => total + depth, 0);
    return {
      operations: sum(this.#writers.map((writer) => writer.depth)),
      readers: sum(this.#readers.map((reader) => reader?.depth ?? 0)),
    };
  }

  /** Removes what is past its retention in these workspaces, soon. */
  sweep(workspaceIds: readonly string[]): void {
    for (const [index, ids] of Map.groupBy(workspaceIds, (id) => this.#shard(id))) {
      this.#writers[index]?.sweep(ids);
    }
  }

  /** Keeps the cosignatures of a seal. */
  cosigned(workspaceId: string, size: number, note: string): void {
    this.#writers[this.#shard(workspaceId)]?.cosigned(workspaceId, size, note);
  }

  /** Ends the answers that do not end by themselves, and begins no more: what else is under way can finish. */
  endLive(): void {
    this.#ending = true;
    for (const reader of this.#readers) reader?.endTails();
  }

  /** Finishes what was taken, then closes every file and thread. */
  async close(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.close()));
    await Promise.all(this.#readers.map((reader) => reader?.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #record(request: OperationRequest, found: JsonValue | undefined): Promise<OperationReply> {
    const { workspaceId } = request.principal;
    return new Promise((resolve) => {
      const writer = this.#writers[this.#shard(workspaceId)] as WriterThread;
      const refused = writer.submit(request, found, (reply) => {
        resolve(typeof reply === "string" ? rejection(reply) : this.#finish(workspaceId, reply));
      });
      if (refused !== null) resolve(rejection(refused));
    });
  }

  #finish(workspaceId: string, { answer, auditId }: ReplyMessage): OperationReply {
    return answer.kind === "stream"
      ? this.#openStream(workspaceId, answer.plan, auditId ?? "")
      : toReply(answer, auditId);
  }

  #openStream(workspaceId: string, plan: StreamPlan, auditId: string): OperationReply {
    const reader = this.#reader(workspaceId);
    const live = plan.kind === "tail";
    if (this.#ending && live) return { ...rejection("stopped"), auditId };
    if (reader.isExhausted(workspaceId, live)) return { ...rejection("overloaded"), auditId };
    const body = reader.stream(workspaceId, plan);
    const common = { kind: "stream", status: 200, auditId, body } as const;
    if (plan.kind === "tail") return { ...common, contentType: "text/event-stream", live: true };
    if (plan.kind === "checkpoint") return { ...common, contentType: "application/json" };
    return { ...common, ...exportHeaders(plan, workspaceId) } satisfies StreamReply;
  }

  /** Always the same thread for a workspace. */
  #shard(workspaceId: string): number {
    return Number(BigInt(Bun.hash.wyhash(workspaceId)) % BigInt(this.#writers.length));
  }

  #reader(workspaceId: string): ReaderThread {
    const index = this.#shard(workspaceId);
    const known = this.#readers[index];
    if (known !== undefined) return known;
    const started = new ReaderThread(threadOptions(this.#options), this.#options);
    this.#readers[index] = started;
    return started;
  }
}

/** What a thread is told: no functions, which cannot be passed on. */
function threadOptions(options: PoolOptions): ThreadOptions {
  const { workspacesDir, clockOffsetMs, fullTextFrom, embeddings, sealing } = options;
  // Each workspace has its reader thread, and no two threads can hold one's index.
  const searchMemoryBytes = Math.floor(options.searchMemoryBytes / Math.max(1, options.threads));
  return { workspacesDir, clockOffsetMs, searchMemoryBytes, fullTextFrom, embeddings, sealing };
}

function rejection(reason: Rejection): ProblemReply {
  const [code, detail] = REJECTIONS[reason];
  const reply: ProblemReply = { kind: "problem", code, detail };
  if (code === "unavailable") reply.retryAfterSeconds = RETRY_AFTER_SECONDS;
  return reply;
}

function toReply(
  answer: Exclude<ReplyMessage["answer"], { kind: "stream" }>,
  auditId: string | null,
): OperationReply {
  const reply: Exclude<OperationReply, StreamReply> = { ...answer };
  if (auditId !== null) reply.auditId = auditId;
  if (reply.kind === "problem" && reply.code === "unavailable") reply.retryAfterSeconds = RETRY_AFTER_SECONDS;
  return reply;
}
