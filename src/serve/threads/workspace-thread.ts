/**
 * A workspace thread: it owns the workspaces that are assigned to it, and runs their operations one after another.
 * Operations of one workspace that wait at the same time share a transaction and its fsync.
 */
import { join } from "node:path";
import { storeNote } from "../../core/rows/access/notes.ts";
import type { StoredSeal } from "../../core/rows/log/seals.ts";
import { SealKeyring } from "../../core/seals/keyring.ts";
import { sealFilePath } from "../../core/seals/options.ts";
import { WorkspaceSealer } from "../../core/seals/sealer.ts";
import { NamedQueues, SerialQueue } from "../../core/serial-queue.ts";
import { headMs, requireContinuation, requireSealed } from "../../core/writer/continuity.ts";
import { problem, type Reply } from "../../core/writer/contract.ts";
import { type Head, readHead } from "../../core/writer/head.ts";
import { recordingJob } from "../../core/writer/job.ts";
import { type AnyJob, type OnReplies, WorkspaceWriter } from "../../core/writer/perform.ts";
import { DamagedWorkspace, OVERWRITTEN, ReplacedWorkspace } from "../../core/writer/storage-failure.ts";
import { expiryBefore } from "../../core/writer/sweep.ts";
import { BesideOneAnother, Copies } from "../../engine-libsql/threads/copies.ts";
import { EmbeddingUpkeep } from "../../follow/embedding-upkeep.ts";
import { storePositions } from "../../follow/sinks/stored.ts";
import type { RowTableName } from "../../log/row-effects.ts";
import { type EmbeddingOptions, embedderOf } from "../../search/vectors/embedding-options.ts";
import { identityOf } from "../../store/checkpoint.ts";
import type { Connection } from "../../store/connection.ts";
import { DiskSpace } from "../../store/disk-space.ts";
import { EncryptionKey } from "../../store/encryption.ts";
import { nextTurn, repeat } from "../../timer.ts";
import { CircuitBreaker, type OpenWriter, whyUnusable } from "./circuit-breaker.ts";
import { Compaction } from "./compaction.ts";
import { FullTextUpkeep } from "./full-text-upkeep.ts";
import { ThreadGauges } from "./gauges.ts";
import { KnownHeads } from "./known-heads.ts";
import {
  charactersOf,
  countOf,
  type FromWriter,
  failureOf,
  type QueuedMessage,
  type Recorded,
  type Surroundings,
  type ThreadOptions,
  type ToWriter,
} from "./messages.ts";
import { OpenWorkspaces } from "./open-workspaces.ts";
import { PartsAhead } from "./parts.ts";
import { jobOf, sweep } from "./registry.ts";
import { Sealing } from "./sealing.ts";
import { BatchQueue } from "./turns/batch-queue.ts";
import { Turns } from "./turns/turns.ts";

/** How long an idle workspace stays open, ms. */
const IDLE_MS = 60_000;
/** How often idle workspaces are sealed and closed, ms. */
const UPKEEP_INTERVAL_MS = 30_000;
/** How often workspaces in trouble are tried again, ms. */
const PROBE_INTERVAL_MS = 1_000;

export class WorkspaceThread {
  readonly #encryptionKey: EncryptionKey | null;
  readonly #gauges: ThreadGauges;
  /** All work on workspaces goes through this queue, so that no two pieces of work use a workspace at the same time. */
  readonly #queue = new SerialQueue();
  readonly #parts = new PartsAhead();
  readonly #batches = new BatchQueue<Recorded>(charactersOf, countOf);
  readonly #turns: Turns<Recorded>;
  readonly #workspaces: OpenWorkspaces<OpenWriter>;
  readonly #heads: KnownHeads;
  /** Files that were overwritten in place, and so mix two databases, by workspace. */
  readonly #overwritten = new Map<string, string | null>();
  readonly #breaker: CircuitBreaker;
  readonly #keyring: SealKeyring;
  readonly #sealing: Sealing;
  readonly #fullText: FullTextUpkeep;
  /** The upkeep of vectors by an external model; null without one. */
  readonly #embedding: EmbeddingUpkeep | null;
  readonly #compaction: Compaction;
  readonly #endUpkeep: () => void;
  readonly #endProbing: () => void;
  readonly #space: DiskSpace;
  /** The working copies of a server's workspaces; null when the workspaces are in files. */
  readonly #copies: Copies | null;
  readonly #beside = new BesideOneAnother(
    this.#batches,
    (workspaceId, group) => this.#turns.serve(workspaceId, group),
    (error) => this.#post(failureOf("operations", error)),
  );

  constructor(
    private readonly options: ThreadOptions,
    private readonly around: Surroundings,
  ) {
    const { workspacesDir, encryptionKey, sealing, embeddings, server } = options;
    const { clock, timer } = around;
    this.#encryptionKey = encryptionKey === null ? null : EncryptionKey.ofText(encryptionKey);
    this.#gauges = new ThreadGauges(options.gauges);
    this.#gauges.begin();
    this.#heads = new KnownHeads(options.heads);
    this.#space = new DiskSpace(options.space);
    const pathOf = (workspaceId: string) => join(workspacesDir, `${workspaceId}.db`);
    const parts = { encryptionKey: this.#encryptionKey, pathOf, post: (message: FromWriter) => this.#post(message) };
    this.#copies = server && new Copies({ server, ...parts });
    this.#workspaces = new OpenWorkspaces(
      (workspaceId) => this.#openWorkspace(workspaceId),
      { maxOpen: options.open.writers, idleMs: IDLE_MS },
      pathOf,
      () => this.#post({ kind: "no_descriptors" }),
      this.#copies?.open ?? null,
    );
    this.#turns = new Turns(this.#batches, {
      monotonicMs: around.monotonicMs,
      // Copies of a server's workspaces are served concurrently by `#beside`, so turns never serve them.
      isInUse: (workspaceId) => this.#copies !== null || this.#workspaces.isInUse(workspaceId),
      perform: (workspaceId, group, answer) => this.#runGroup(workspaceId, group, answer),
      post: (text) => around.post(text),
    });
    this.#breaker = new CircuitBreaker(this.#workspaces, clock, parts.post, server && new NamedQueues());
    this.#keyring = new SealKeyring(sealing.key);
    this.#sealing = new Sealing({
      intervalMs: sealing.intervalMs,
      workspaces: this.#workspaces,
      breaker: this.#breaker,
      gauges: this.#gauges,
      clock,
      around,
      run: (work) => this.#queue.run(work),
      giveWay: () => this.#turns.giveWay(),
    });
    // Full text is brought up to date between groups of operations, step by step.
    this.#fullText = new FullTextUpkeep({
      run: (workspaceId, work) => this.#derive(workspaceId, work),
      onFailure: (workspaceId, error) => this.#breaker.fail(workspaceId, `full text of ${workspaceId}`, error),
      around,
    });
    this.#embedding = embeddings === null ? null : this.#keepEmbeddings(embeddings);
    this.#compaction = new Compaction(this.#queue, this.#workspaces, this.#breaker, around);
    this.#endUpkeep = repeat(timer, UPKEEP_INTERVAL_MS, () => this.#enqueue("upkeep", () => this.#upkeep()));
    this.#endProbing = repeat(timer, PROBE_INTERVAL_MS, () => this.#enqueue("probing", () => this.#breaker.probe()));
  }

  /** Handles a message: a {@link ToWriter} as JSON. */
  receive(text: string): void {
    const message = JSON.parse(text) as ToWriter;
    if (message.kind === "compact") void this.#compaction.receive(message);
    else if (message.kind === "parts") this.#parts.add(message.id, message.parts);
    else if (message.kind !== "operations") this.#enqueue(message.kind, () => this.#handle(message));
    else {
      this.#batches.add(this.#parts.complete(message.asked), message.depth);
      this.#turns.arrived();
      if (this.#copies === null) this.#enqueue(message.kind, () => this.#serve());
      else this.#beside.begin();
    }
  }

  /** Yields the connections to the open workspaces. */
  *connections(): Iterable<Connection> {
    for (const { connection } of this.#workspaces.resources()) yield connection;
  }

  #post(message: FromWriter): void {
    this.around.post(JSON.stringify(message));
  }

  #enqueue(what: string, work: () => Promise<void>): void {
    this.#queue.run(work).catch((error) => this.#post(failureOf(what, error)));
  }

  /** Changes data that is derived from a workspace's log, after all queued work. */
  #derive<T>(workspaceId: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#queue.run(() => this.#breaker.use(workspaceId, ({ writer }) => writer.derive(work)));
  }

  #keepEmbeddings(embeddings: EmbeddingOptions): EmbeddingUpkeep {
    return new EmbeddingUpkeep({
      embedder: embedderOf(embeddings),
      run: (workspaceId, work) => this.#derive(workspaceId, work),
      around: this.around,
      onFailure: (workspaceId, error) => this.#post(failureOf(`vectors of ${workspaceId}`, error)),
      onRecovery: (failures) => this.#post({ kind: "recovery", recovery: { where: "vectors", failures } }),
    });
  }

  #openWorkspace(workspaceId: string): OpenWriter {
    const { clock, random, openFile } = this.around;
    const path = this.#workspaces.path(workspaceId);
    const file = identityOf(path);
    if (file !== null && this.#overwritten.get(workspaceId) === file) throw new ReplacedWorkspace(OVERWRITTEN);
    const copy = this.#copies?.take(workspaceId);
    const connection = copy?.connection ?? openFile(path, this.#encryptionKey);
    connection.limitLog(this.#space, () => this.#post({ kind: "no_space" }));
    const onFailure = (operation: string, error: unknown) => {
      if (operation === "commit") this.#gauges.increment("failedGroups");
      this.#breaker.fail(workspaceId, `${operation} in ${workspaceId}`, error);
    };
    const sealPath = sealFilePath(this.options.sealing, workspaceId);
    const onSealed = (seal: StoredSeal) => this.#post({ kind: "sealed", workspaceId, seal });
    const sealer = new WorkspaceSealer({ keyring: this.#keyring, file: sealPath, onSealed });
    try {
      let knownMs = 0;
      const onHead = (head: Head) => this.#heads.set(workspaceId, { ...head, knownMs });
      const slice = this.#turns.sliceOf(workspaceId);
      const writer = new WorkspaceWriter(connection, {
        ...(copy && { engine: copy.engine }),
        ...{ clock, random, onFailure, slice, sealer, onHead, answerBytes: () => this.options.answerBytes },
        ...{ site: () => this.options.site, onRows: (tables) => this.#postRows(workspaceId, connection, tables) },
      });
      // A workspace's file under the name of another one would take the other's events into its log.
      if (writer.workspaceId !== workspaceId) throw new DamagedWorkspace("the file holds another workspace");
      const known = this.#heads.get(workspaceId);
      knownMs = known === null ? headMs(connection) : (requireContinuation(connection, known) ?? known.knownMs);
      if (hasRows(connection, "sinks")) this.#post({ kind: "rows", workspaceId, tables: { sinks: true } });
      const load = sealer.load(connection).catch((error) => onFailure("file of seals", error));
      const ready = load
        .then(() => requireSealed(connection, sealPath))
        .then(() => {
          onHead(readHead(connection));
          this.#post({ kind: "opened", workspaceId });
        });
      ready.catch(() => {}); // each use of the workspace awaits this promise, and reports the error
      this.#embedding?.note(workspaceId);
      void this.#fullText.opened(workspaceId, connection).catch((error) => onFailure("full text", error));
      const close = () => {
        if (connection.own?.isDisowned) this.#overwritten.set(workspaceId, file);
        writer.close();
      };
      return { connection, writer, ready, close, settle: () => writer.settle() };
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #postRows(workspaceId: string, connection: Connection, changed: ReadonlySet<RowTableName>): void {
    const tables = Object.fromEntries([...changed].map((table) => [table, hasRows(connection, table)]));
    this.#post({ kind: "rows", workspaceId, tables });
  }

  /**
   * Runs the next batch. Waits for a turn of the event loop first, so that operations that have arrived join the batch,
   * and the descriptors of closed workspaces are released.
   */
  async #serve(): Promise<void> {
    if (this.#batches.isEmpty) return; // these operations joined an earlier batch
    await nextTurn();
    const next = this.#batches.take();
    if (!this.#batches.isEmpty) this.#enqueue("operations", () => this.#serve());
    if (next !== null) await this.#turns.serve(next.workspaceId, next.group);
  }

  async #handle(message: QueuedMessage): Promise<void> {
    const giveWay = () => this.#turns.giveWay();
    const onWarning = (warning: string) => this.#post({ kind: "warning", warning });
    switch (message.kind) {
      case "sweep":
        return this.#breaker.each(message.workspaceIds, "sweeping", giveWay, async (open, workspaceId) => {
          await sweep(open, { quota: this.options.quota, space: this.#space }, giveWay, onWarning);
          // The workspace may have events that a crash or another process left unsealed.
          this.#sealing.note(workspaceId, open);
        });
      case "empty_logs":
        return this.#breaker.each(message.workspaceIds, "emptying the log of", giveWay, (one) => one.writer.emptyLog());
      case "cosigned":
        return this.#breaker.use(message.workspaceId, ({ writer }) =>
          writer.addCosignatures(message.size, message.note),
        );
      case "positions": {
        const { workspaceId, positions } = message;
        return this.#breaker.use(workspaceId, ({ writer }) =>
          writer.derive((connection) => storePositions(connection, positions)),
        );
      }
      case "note":
        return await this.#storeNote(message);
      case "change": {
        const { quota, answerBytes, sealing, site } = message;
        Object.assign(this.options, { quota, answerBytes, sealing, site });
        return this.#sealing.useInterval(sealing.intervalMs);
      }
      case "close":
        return this.#shutDown();
    }
  }

  async #storeNote({ id, workspaceId, note }: Extract<QueuedMessage, { kind: "note" }>): Promise<void> {
    let reason: string | null = null;
    try {
      await this.#breaker.use(workspaceId, ({ writer }) => writer.derive((connection) => storeNote(connection, note)));
    } catch (error) {
      this.#breaker.fail(workspaceId, `a note of ${workspaceId}`, error);
      reason = whyUnusable(error);
    }
    this.#post({ kind: "noted", id, reason });
  }

  /** @param answer called with the replies if they may be sent before this returns */
  async #runGroup(workspaceId: string, group: readonly Recorded[], answer: OnReplies): Promise<Reply[]> {
    try {
      return await this.#breaker.use(workspaceId, (open) => this.#runJobs(workspaceId, open, group, answer));
    } catch (error) {
      this.#breaker.fail(workspaceId, `opening ${workspaceId}`, error);
      return group.map(() => problem("unavailable", whyUnusable(error)));
    }
  }

  async #runJobs(
    workspaceId: string,
    open: OpenWriter,
    group: readonly Recorded[],
    answer: OnReplies,
  ): Promise<Reply[]> {
    const beganMs = performance.now();
    const count = () => {
      this.#gauges.transactions.observe((performance.now() - beganMs) / 1_000);
      this.#gauges.set("openWorkspaces", this.#workspaces.size);
      this.#sealing.note(workspaceId, open);
    };
    let isAnswered = false;
    const jobs = group.map((message) => this.#jobOf(message));
    const replies = await open.writer.perform(jobs, (early) => {
      // A client that has its reply must find the change in the metrics.
      this.#breaker.committed(workspaceId);
      count();
      isAnswered = true;
      return answer(early);
    });
    if (!isAnswered) count();
    this.#fullText.performed(workspaceId, group);
    this.#embedding?.note(workspaceId);
    return replies;
  }

  #jobOf(message: Recorded): AnyJob {
    if ("event" in message) return recordingJob(message.workspaceId, message.event);
    const job = jobOf(message, message.found, { quota: this.options.quota, space: this.#space });
    if (!("parts" in job)) job.before = expiryBefore(message);
    return job;
  }

  async #upkeep(): Promise<void> {
    await this.#sealing.sealScheduled(this.#workspaces.idle(this.around.clock()));
    // Closing a workspace copies its write-ahead log back, which a full disk may have no space for.
    if (!this.#space.isFull) await this.#workspaces.closeIdle(this.around.clock(), () => this.#turns.giveWay());
    this.#gauges.set("openWorkspaces", this.#workspaces.size);
  }

  async #shutDown(): Promise<void> {
    if (this.#copies !== null) await this.#beside.ended();
    while (!this.#batches.isEmpty) await this.#serve();
    this.#endUpkeep();
    this.#endProbing();
    this.#fullText.stop();
    this.#compaction.stop();
    this.#embedding?.stop();
    try {
      await this.#sealing.end();
      this.#workspaces.end();
    } finally {
      // A damaged file that cannot be sealed or closed does not keep the thread.
      this.#post({ kind: "closed" });
      this.around.onClosed();
    }
  }
}

const hasRows = (connection: Connection, table: RowTableName): boolean =>
  connection.get(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined;
