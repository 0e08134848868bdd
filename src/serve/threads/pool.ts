/**
 * All threads, as one client for the routes. An operation goes to the thread that owns its workspace. Depending on its
 * kind, a reader thread runs a query before it, or sends a stream after it.
 */

import type { Note } from "../../core/rows/access/notes.ts";
import {
  type Answer,
  type Bytes,
  NOT_LOOKED,
  type OperationRequest,
  problem,
  type Reply,
  unrecorded,
  type WorkspaceClient,
  type WorkspaceEvent,
} from "../../core/writer/contract.ts";
import { OUTCOME_UNKNOWN, REPLACED } from "../../core/writer/storage-failure.ts";
import type { SinkPosition } from "../../follow/sinks/stored.ts";
import { systemClock } from "../../ids.ts";
import { isInspection, looksFirst, whatGrows } from "../../operations.ts";
import type { ProblemCode } from "../../problem.ts";
import type { Compacted } from "../../store/compaction.ts";
import { DISK_IS_FULL, DiskSpace } from "../../store/disk-space.ts";
import { BEHIND } from "../../thread-priority.ts";
import { Histogram } from "../metrics/histogram.ts";
import { ThreadGauges } from "./gauges.ts";
import { KnownHeads } from "./known-heads.ts";
import { type ChangeableOptions, type LookupResult, type ThreadOptions, withItems } from "./messages.ts";
import { partTexts } from "./parts.ts";
import { type ReaderLoad, ReaderThread } from "./reader-thread.ts";
import { RunningRetries } from "./running-retries.ts";
import { ScreeningThread } from "./screening-thread.ts";
import type { SinkPlan } from "./sinks/messages.ts";
import { type SinkEvents, SinkThread } from "./sinks/thread.ts";
import { type TroubleEvents, UnavailableWorkspaces } from "./unavailable.ts";
import { type Rejection, type ThreadEvents, WriterThread } from "./writer-thread.ts";

export interface PoolOptions
  extends Omit<ThreadOptions, "gauges" | "heads" | "space" | "behind">,
    TroubleEvents,
    Pick<
      ThreadEvents,
      "onFailure" | "onRecovery" | "onWarning" | "onSealed" | "onOpened" | "onRows" | "onNoSpace" | "onNoDescriptors"
    > {
  /** The most memory of the search indexes of all threads together, bytes. */
  searchMemoryBytes: number;
  /** The number of workspace threads, and of reader threads. */
  threads: number;
}

/** How often a lookup is repeated when other nodes write meanwhile. */
const MOST_LOOKS = 5;

/** The client's problem for each rejection. */
const REJECTIONS: Record<Rejection | "full", [ProblemCode, string]> = {
  overloaded: ["unavailable", "The server has more work than it can take just now; nothing was written."],
  stopped: ["unavailable", "The server is stopping; nothing was written. Try again when it is back."],
  full: ["unavailable", DISK_IS_FULL],
  abandoned: [
    "invalid_request",
    "The connection was closed before the operation began; nothing was done. Wait for each response before you send the next request on the connection.",
  ],
  crashed: ["outcome_unknown", OUTCOME_UNKNOWN],
  unread: ["internal", "An unexpected failure while this was being read; nothing was changed."],
};

/** The bounds of the histogram of operations per transaction. */
const GROUP_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** The pool's present load. */
interface PoolLoad extends ReaderLoad {
  /** The number of operations that were accepted and not yet answered. */
  operations: number;
}

export class WorkspacePool implements WorkspaceClient, AsyncDisposable {
  readonly down: UnavailableWorkspaces;
  /** The number of operations per transaction. */
  readonly groups = new Histogram(GROUP_BOUNDS);
  /** The gauges of each workspace thread and each reader thread. */
  readonly gauges: { writers: readonly ThreadGauges[]; readers: readonly ThreadGauges[] };
  readonly #heads: readonly KnownHeads[];
  readonly #events: ThreadEvents;
  readonly #writers: WriterThread[];
  /** Those that were needed already. */
  readonly #readers: (ReaderThread | undefined)[] = [];
  readonly #screening = new ScreeningThread(() => new ReaderThread(this.#backgroundOptions(), this.#events));
  /** The state of the disk. While it is full, operations that make the data grow are refused, and others recorded. */
  readonly space = DiskSpace.ample();
  readonly #retries = new RunningRetries();
  #sinks: SinkThread | null = null;
  #ending = false;

  constructor(private readonly options: PoolOptions) {
    this.down = new UnavailableWorkspaces(options, () => systemClock() + options.clockOffsetMs);
    this.#events = this.#watched(options);
    const count = Math.max(1, options.threads);
    const gauges = () => Array.from({ length: count }, () => new ThreadGauges());
    this.gauges = { writers: gauges(), readers: gauges() };
    this.#heads = Array.from({ length: count }, () => new KnownHeads());
    this.#writers = this.gauges.writers.map((_, index) => {
      // A restarted thread reports lasting trouble again.
      const onCrash = () => {
        for (const workspaceId of this.down.keys()) {
          if (this.#shard(workspaceId) === index) this.down.delete(workspaceId);
        }
      };
      return new WriterThread(this.#threadOptions("writers", index), { ...this.#events, onCrash });
    });
  }

  /** Resolves when the workspace threads have started. */
  async ready(): Promise<void> {
    await Promise.all(this.#writers.map(({ ready }) => ready));
  }

  perform(request: OperationRequest): Promise<Reply<Bytes>> {
    const { retry, principal } = request;
    if (retry === undefined) return this.#perform(request);
    return this.#retries.once(principal.workspaceId, retry, () => this.#perform(request));
  }

  /** Performs an operation. Most go directly to the workspace's thread. */
  #perform(request: OperationRequest): Promise<Reply<Bytes>> {
    if (this.space.isFull && whatGrows(request.name) !== "nothing") return Promise.resolve(rejection("full"));
    const isScreened = ScreeningThread.isFor(request);
    if (isScreened || looksFirst(request.name, request.input)) return this.#performAhead(request, isScreened);
    // The workspace's thread refuses work that would take it too long. The screening thread then does that work first.
    const begun = (reply: Reply<Bytes>) => (reply.again ? this.#performAhead(request, true, MOST_LOOKS - 1) : reply);
    return this.#record(request, undefined).then(begun);
  }

  /** Performs an operation that begins on another thread than its workspace's. */
  async #performAhead(request: OperationRequest, isScreened: boolean, looks = MOST_LOOKS): Promise<Reply<Bytes>> {
    const { workspaceId } = request.principal;
    // An inspection does not involve the workspace's thread, whose checks would refuse a replaced file.
    if (isInspection(request.name) && this.down.get(workspaceId)?.trouble === "replaced")
      return problem("unavailable", REPLACED);
    const unopened = await this.#openCopy(request);
    if (unopened !== null) return unopened;
    // The head is read before the lookup: if other nodes write while the lookup runs, its result is out of date.
    const lookedAt = this.#heads[this.#shard(workspaceId)]?.get(workspaceId)?.seq ?? -1;
    const result = await (isScreened
      ? this.#screening.screen(request, looks < MOST_LOOKS)
      : this.#reader(workspaceId).query(request));
    if (typeof result === "string") return rejection(result);
    if ("found" in result) {
      const reply = await this.#record(isScreened ? request : { ...request, lookedAt }, result);
      return reply.again && looks > 1 ? this.#performAhead(request, isScreened, looks - 1) : reply;
    }
    return this.#opened(workspaceId, result.reply);
  }

  /**
   * On a node of a libSQL server, brings the working copy of a workspace up to date. Returns the refusal when that is
   * not possible.
   */
  async refresh({ principal, isAbandoned }: Pick<OperationRequest, "principal" | "isAbandoned">) {
    const request: OperationRequest = { name: "agent.read", input: { agentId: "" }, principal, lookedAt: NOT_LOOKED };
    const reply = await this.#record(isAbandoned === undefined ? request : { ...request, isAbandoned }, undefined);
    return reply.again ? null : reply;
  }

  /**
   * On a node of a libSQL server, has the workspace's thread open a working copy that it has not opened yet: until then
   * the copy may be missing or empty, so that no other thread can read it. Returns the refusal when it cannot be opened.
   */
  async #openCopy(request: OperationRequest): Promise<Reply<Bytes> | null> {
    const { workspaceId } = request.principal;
    if (this.options.server === null || this.#heads[this.#shard(workspaceId)]?.get(workspaceId)) return null;
    return await this.refresh(request);
  }

  /** Appends an event to a workspace's log. Returns null when the event was not accepted or its thread died. */
  record(workspaceId: string, event: WorkspaceEvent): Promise<Reply | null> {
    return new Promise((resolve) => {
      const complete = (reply: Reply | Rejection) => resolve(typeof reply === "string" ? null : reply);
      if (this.#writer(workspaceId).record(workspaceId, event, complete) !== null) resolve(null);
    });
  }

  /**
   * Returns how many events a workspace's log has, as far as this process knows from having it opened; null when it does
   * not.
   */
  knownSize(workspaceId: string): number | null {
    const known = this.#heads[this.#shard(workspaceId)]?.get(workspaceId) ?? null;
    return known && known.seq + 1;
  }

  /** Whether every workspace thread runs. */
  get running(): boolean {
    return this.#writers.every((writer) => writer.running);
  }

  get load(): PoolLoad {
    const load: PoolLoad = { operations: 0, queries: 0, streams: 0, live: 0 };
    for (const writer of this.#writers) load.operations += writer.depth;
    for (const reader of this.#readers) reader?.addTo(load);
    return load;
  }

  /** Returns the handlers of the threads' events, which keep the pool's own state up to date. */
  #watched(options: PoolOptions): ThreadEvents {
    return {
      ...options,
      onGroup: (operations) => this.groups.observe(operations),
      onUnwritable: (workspaceId) => this.#forget(workspaceId),
      onTrouble: (workspaceId, reason, trouble) => this.down.note(workspaceId, reason, trouble),
    };
  }

  /** Has expired data of these workspaces removed soon. */
  sweep(workspaceIds: readonly string[]): void {
    this.#tellAll("sweep", workspaceIds);
  }

  /** Has the write-ahead logs of these workspaces emptied soon, or as soon as their readers allow. */
  emptyLogs(workspaceIds: readonly string[]): void {
    this.#tellAll("empty_logs", workspaceIds);
  }

  #tellAll(kind: "sweep" | "empty_logs", workspaceIds: readonly string[]): void {
    for (const [index, ids] of Map.groupBy(workspaceIds, (id) => this.#shard(id)))
      this.#writers[index]?.tell({ kind, workspaceIds: ids });
  }

  /** Releases a workspace's free pages in steps. */
  compact(workspaceId: string): Promise<Compacted> {
    return this.#writer(workspaceId).compact(workspaceId);
  }

  /** Tells the threads that only read to close a workspace, unless they use it. */
  #forget(workspaceId: string): void {
    this.#readers[this.#shard(workspaceId)]?.forget(workspaceId);
    this.#screening.forget(workspaceId);
    this.#sinks?.forget(workspaceId);
  }

  /** Changes the options of the threads. */
  change(options: ChangeableOptions): void {
    Object.assign(this.options, options);
    for (const writer of this.#writers) writer.change(options);
    for (const reader of this.#readers) reader?.change(options.site);
  }

  /** Has the positions of sinks of a workspace stored. */
  storePositions(workspaceId: string, positions: readonly SinkPosition[]): void {
    this.#writer(workspaceId).tell({ kind: "positions", workspaceId, positions });
  }

  /** Has a note stored in the file of a workspace. @throws {Problem} `unavailable` when it is not on disk */
  note(workspaceId: string, note: Note): Promise<void> {
    return this.#writer(workspaceId).note(workspaceId, note);
  }

  /** Starts the thread that delivers to sinks. @param plan returns what to deliver */
  startSinks(events: SinkEvents, plan: () => SinkPlan): SinkThread {
    this.#sinks = new SinkThread(this.#backgroundOptions(), this.#events, events, plan);
    return this.#sinks;
  }

  /** Stores the cosignatures and time stamps of a seal. */
  cosigned(workspaceId: string, size: number, note: string): void {
    this.#writer(workspaceId).tell({ kind: "cosigned", workspaceId, size, note });
  }

  /** Ends live streams, and refuses new ones. Other operations can finish. */
  endLive(): void {
    this.#ending = true;
    for (const reader of this.#readers) reader?.endTails();
  }

  /** Finishes all accepted operations, then closes every file and ends every thread. */
  async close(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.close()));
    await Promise.all([this.#screening.close(), ...this.#readers.map((reader) => reader?.close())]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #record(request: OperationRequest, found: LookupResult | undefined): Promise<Reply<Bytes>> {
    const { input, principal } = request;
    if ("parts" in input && request.partTexts === undefined)
      return partTexts(input.parts).then((texts) => this.#record({ ...request, partTexts: texts }, found));
    const { workspaceId } = principal;
    return new Promise((resolve) => {
      const complete = (reply: Reply | Rejection) =>
        resolve(typeof reply === "string" ? rejection(reply) : this.#opened(workspaceId, withItems(reply, found)));
      const refused = this.#writer(workspaceId).submit(request, found, complete);
      if (refused !== null) resolve(rejection(refused));
    });
  }

  /** Returns the reply with its stream opened, if it has one. */
  #opened(workspaceId: string, reply: Reply): Reply<Bytes> {
    const { answer } = reply;
    if (answer.kind !== "stream") return reply as Reply<never>;
    const reader = this.#reader(workspaceId);
    const live = answer.live === true;
    if (this.#ending && live) return { ...reply, answer: refusal("stopped") };
    if (reader.isExhausted(workspaceId, live)) return { ...reply, answer: refusal("overloaded") };
    return { ...reply, answer: { ...answer, body: reader.stream(workspaceId, answer.body) } };
  }

  /** Returns the number of a workspace's thread, which is always the same. */
  #shard(workspaceId: string): number {
    return Number(BigInt(Bun.hash.wyhash(workspaceId)) % BigInt(this.#writers.length));
  }

  #writer(workspaceId: string): WriterThread {
    return this.#writers[this.#shard(workspaceId)] as WriterThread;
  }

  #reader(workspaceId: string): ReaderThread {
    const index = this.#shard(workspaceId);
    this.#readers[index] ??= new ReaderThread(this.#threadOptions("readers", index), this.#events);
    return this.#readers[index];
  }

  #backgroundOptions(): ThreadOptions {
    const own = { gauges: new ThreadGauges().memory, heads: new KnownHeads().memory };
    return { ...this.#threadOptions("readers", 0), ...own, behind: BEHIND.screening };
  }

  /** Returns a thread's options, without functions, which cannot be passed to a thread. */
  #threadOptions(kind: "writers" | "readers", index: number): ThreadOptions {
    const plain = Object.entries(this.options).filter(([, value]) => typeof value !== "function");
    return {
      ...(Object.fromEntries(plain) as Omit<ThreadOptions, "gauges" | "heads" | "space" | "behind">),
      // A workspace always has the same reader thread, so its index is in only one thread.
      searchMemoryBytes: Math.floor(this.options.searchMemoryBytes / this.#heads.length),
      gauges: (this.gauges[kind][index] as ThreadGauges).memory,
      heads: (this.#heads[index] as KnownHeads).memory,
      space: this.space.memory,
      behind: kind === "readers" ? BEHIND.reading : 0,
    };
  }
}

function refusal(reason: Rejection | "full"): Answer<never> {
  const [code, detail] = REJECTIONS[reason];
  return { kind: "problem", code, detail };
}

const rejection = (reason: Rejection | "full"): Reply<never> => unrecorded(refusal(reason));
