/**
 * The main thread's end of one workspace thread. Operations that arrive in one turn of the event loop are sent in one
 * message; while the thread is busy, they wait in its queue (batch-queue.ts) and share the next commit.
 */

import { lengthOf } from "../../core/long-text.ts";
import type { Note } from "../../core/rows/access/notes.ts";
import type { StoredSeal } from "../../core/rows/log/seals.ts";
import type { OperationRequest, Principal, Reply, WorkspaceEvent } from "../../core/writer/contract.ts";
import type { StorageTrouble } from "../../core/writer/storage-failure.ts";
import type { RowTableName } from "../../log/row-effects.ts";
import { Problem } from "../../problem.ts";
import type { Compacted } from "../../store/compaction.ts";
import { CLOSING_TURNS, ownTurn } from "../../timer.ts";
import {
  addText,
  askedText,
  type ChangeableOptions,
  type FromWriter,
  type LookupResult,
  type Texts,
  type ThreadOptions,
  type ToWriter,
} from "./messages.ts";
import { inputText } from "./parts.ts";
import { isOfReplies, ReplyReader } from "./reply-text.ts";
import { REAL_THREADS, SupervisedWorker, type ThreadReports } from "./supervised.ts";

/**
 * The most operations that may wait for one thread, and their most text, UTF-16 units. More are refused as overload.
 */
const MAX_WAITING = 4_096;
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;
/** The most operations that are sent to the thread and not completed. A thread that dies loses them. */
const MAX_HANDED_OVER = 1_024;

/** Why an operation was not accepted or not finished. `unread`: an operation that only reads was not finished. */
export type Rejection = "overloaded" | "stopped" | "crashed" | "unread" | "abandoned";

/** The result when the thread cannot compact. */
const NOT_COMPACTED: Compacted = { before: 0, after: 0, longestMs: 0, trouble: "unavailable" };

/** Why a note was not stored. */
const NO_THREAD = "The server is restarting a part of itself. Try again shortly.";

type Complete = (reply: Reply | Rejection) => void;

interface Waiting {
  id: number;
  /** The principal of the operation; null for an event. */
  principal: Principal | null;
  text: string;
  /** Lists of the operation's parts as JSON, which are sent before the text. */
  ahead: readonly string[];
  /** The length of the text and of the lists, UTF-16 units. */
  characters: number;
  complete: Complete;
  isAbandoned: (() => boolean) | undefined;
  /** The turn of the event loop from which it is known whether the runtime has closed the client's connection. */
  dueTurn: number;
}

export interface ThreadEvents extends ThreadReports {
  /** Called with every new seal, once it is on disk. */
  onSealed?(workspaceId: string, seal: StoredSeal): void;
  /** Called when rows of these tables may have changed, with whether the table has any. */
  onRows?(workspaceId: string, tables: Partial<Record<RowTableName, boolean>>): void;
  /** Called when a workspace's file was opened, which may be another one than before that continues its log. */
  onOpened?(workspaceId: string): void;
  /** Called when a workspace's file cannot be used, and with null when it can be used again. */
  onTrouble?(workspaceId: string, reason: string | null, trouble: StorageTrouble | null): void;
  /** Called when the disk has no space to copy a write-ahead log back; the disk then counts as full. */
  onNoSpace?(): void;
  /** Called for a file that cannot be written until every thread has closed it. */
  onUnwritable?(workspaceId: string): void;
  /** Called when the thread has died. The state of workspaces that it reported as unusable is then unknown. */
  onCrash?(): void;
  /** Called with the number of operations that shared a transaction. */
  onGroup?(operations: number): void;
}

export class WriterThread {
  readonly #worker: SupervisedWorker;
  #nextId = 1;
  #waiting: Waiting[] = [];
  #waitingCharacters = 0;
  /** Callbacks of the operations that were sent and not yet answered, by id. */
  readonly #sent = new Map<number, Complete>();
  /** Operations whose lists of parts are being sent. */
  readonly #sending = new Set<Promise<void>>();
  readonly #replies = new ReplyReader();
  /** Called with the reason when a note that was sent could not be stored, and with null when it is on disk, by id. */
  readonly #noting = new Map<number, (reason: string | null) => void>();
  /** Workspaces that are being compacted. */
  readonly #compacting = new Map<string, (compacted: Compacted) => void>();
  /** The number of the turn of the event loop. Turns are counted only while an operation waits for its `dueTurn`. */
  #turn = 0;
  #turnScheduled = false;

  constructor(
    private readonly options: ThreadOptions,
    private readonly events: ThreadEvents,
    spawning = REAL_THREADS,
  ) {
    const onMessage = (text: string) =>
      isOfReplies(text) ? this.#complete(this.#replies.read(text)) : this.#receive(JSON.parse(text) as FromWriter);
    const onEnd = () => this.#end();
    const entry = "serve/threads/worker.ts";
    this.#worker = new SupervisedWorker({ entry, options, reports: events, onMessage, onEnd }, spawning);
  }

  /** Resolves when the thread has started. */
  get ready(): Promise<void> {
    return this.#worker.ready;
  }

  /** False while a dead thread waits to be restarted. */
  get running(): boolean {
    return this.#worker.alive;
  }

  /** The number of operations that were accepted and not yet answered. */
  get depth(): number {
    return this.#waiting.length + this.#sent.size;
  }

  /**
   * Submits an operation. Returns null when it was accepted; `complete` is then called exactly once, after this has
   * returned. Otherwise returns why it was not accepted.
   * @param looked what a reader thread has found for the operation
   */
  submit(request: OperationRequest, looked: LookupResult | undefined, complete: Complete): Rejection | null {
    const { name, principal, via, withheld, retry, lookedAt, partTexts = [] } = request;
    let rest = via === undefined ? "" : `,"via":${JSON.stringify(via)}`;
    if (withheld !== undefined) rest += `,"withheld":${JSON.stringify(withheld)}`;
    if (retry !== undefined) rest += `,"retry":${JSON.stringify(retry)}`;
    if (lookedAt !== undefined) rest += `,"lookedAt":${lookedAt}`;
    if (looked !== undefined) rest += `,"found":${looked.found}`;
    const isLong = partTexts.length > 1;
    const input =
      partTexts.length === 0 ? JSON.stringify(request.input) : inputText(request.input, isLong ? "[]" : partTexts[0]);
    const text = `"name":"${name}","input":${input}${rest}`;
    const beside = lengthOf(looked?.items ?? "");
    const id = this.#take(principal, text, complete, request.isAbandoned, beside, isLong ? partTexts : undefined);
    return typeof id === "string" ? id : null;
  }

  /** Submits an event of the workspace itself, as {@link submit} does an operation. */
  record(workspaceId: string, event: WorkspaceEvent, complete: Complete): Rejection | null {
    const id = this.#take(null, JSON.stringify({ workspaceId, event }).slice(1, -1), complete);
    return typeof id === "string" ? id : null;
  }

  /**
   * @param members the members of an operation or an event (messages.ts) as JSON, without the id and the principal
   * @param beside the length of the text that is kept on this thread until the answer, UTF-16 units
   * @param ahead lists of parts that are sent before the operation, each in its own message, so that neither thread
   * copies or reads all of them at once
   */
  #take(
    principal: Principal | null,
    members: string,
    complete: Complete,
    isAbandoned?: () => boolean,
    beside = 0,
    ahead: readonly string[] = [],
  ): Rejection | number {
    if (this.#worker.isClosing) return "stopped";
    if (this.depth >= MAX_WAITING || this.#waitingCharacters >= MAX_WAITING_CHARACTERS) return "overloaded";
    const id = this.#nextId++;
    const text = `{"id":${id},${members}}`;
    const characters = text.length + lengthOf(ahead) + beside;
    this.#waitingCharacters += characters;
    this.#waiting.push({
      id,
      principal,
      text,
      ahead,
      characters,
      complete,
      isAbandoned,
      dueTurn: this.#turn + CLOSING_TURNS,
    });
    this.#countTurns();
    return id;
  }

  /** Sends a message that is not an operation. The message is lost while a dead thread waits to be restarted. */
  tell(message: ToWriter): void {
    if (!this.#worker.isClosing) this.#post(message);
  }

  /** Changes the thread's options, also for later restarts. */
  change(options: ChangeableOptions): void {
    Object.assign(this.options, options);
    this.tell({ kind: "change", ...options });
  }

  /** Has a note stored. @throws {Problem} `unavailable` when it is not on disk */
  async note(workspaceId: string, note: Note): Promise<void> {
    const reason = await new Promise<string | null>((resolve) => {
      if (!this.running || this.#worker.isClosing) return resolve(NO_THREAD);
      const id = this.#nextId++;
      this.#noting.set(id, resolve);
      this.tell({ kind: "note", id, workspaceId, note });
    });
    if (reason !== null) throw new Problem("unavailable", reason);
  }

  /** Compacts a workspace. Fails as unavailable while the workspace is being compacted already. */
  compact(workspaceId: string): Promise<Compacted> {
    if (!this.running || this.#worker.isClosing || this.#compacting.has(workspaceId))
      return Promise.resolve(NOT_COMPACTED);
    return new Promise((resolve) => {
      this.#compacting.set(workspaceId, resolve);
      this.tell({ kind: "compact", workspaceId });
    });
  }

  /** Finishes all accepted operations, then closes the files and ends the thread. */
  close(): Promise<void> {
    return this.#worker.close(() => {
      this.#flush(Number.POSITIVE_INFINITY);
      void Promise.all(this.#sending).then(() => this.#post({ kind: "close" }));
    });
  }

  #post(message: ToWriter): void {
    this.#worker.post(JSON.stringify(message));
  }

  /** Counts turns of the event loop, and sends the operations that are due in each, until none waits for its turn. */
  #countTurns(): void {
    if (this.#turnScheduled || (this.#waiting.at(-1)?.dueTurn ?? 0) <= this.#turn) return;
    this.#turnScheduled = true;
    setImmediate(() => {
      this.#turnScheduled = false;
      this.#turn += 1;
      this.#flushDue();
      this.#countTurns();
    });
  }

  #flushDue(): void {
    const notDue = this.#waiting.findIndex(({ dueTurn }) => dueTurn > this.#turn);
    const due = notDue === -1 ? this.#waiting.length : notDue;
    this.#flush(Math.min(due, MAX_HANDED_OVER - this.#sent.size));
  }

  #flush(most: number): void {
    if (!this.#worker.alive || this.#waiting.length === 0 || most <= 0) return;
    const { depth } = this;
    const texts: Texts = new Map();
    for (const one of this.#waiting.splice(0, most)) {
      this.#waitingCharacters -= one.characters;
      if (one.isAbandoned?.() === true) {
        one.complete("abandoned");
        continue;
      }
      this.#sent.set(one.id, one.complete);
      if (one.ahead.length > 0) this.#sendInParts(one);
      else addText(texts, one);
    }
    if (texts.size > 0) this.#postOperations(depth, texts);
  }

  #sendInParts(long: Waiting): void {
    const sending = this.#postInParts(long).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  /** Sends lists of parts, each in its own turn of the event loop, then the operation. Stops when the thread dies. */
  async #postInParts(long: Waiting): Promise<void> {
    const { id, ahead } = long;
    for (const parts of ahead) {
      await ownTurn();
      if (!this.#sent.has(id)) return;
      this.#worker.post(`{"kind":"parts","id":${id},"parts":${parts}}`);
    }
    this.#postOperations(this.depth, addText(new Map(), long));
  }

  /** @param depth the operations accepted and not yet answered */
  #postOperations(depth: number, texts: Texts): void {
    this.#worker.post(`{"kind":"operations","depth":${depth},"asked":${askedText(texts)}}`);
  }

  #receive(message: FromWriter): void {
    switch (message.kind) {
      case "sealed":
        this.events.onSealed?.(message.workspaceId, message.seal);
        break;
      case "opened":
        this.events.onOpened?.(message.workspaceId);
        break;
      case "trouble":
        this.events.onTrouble?.(message.workspaceId, message.reason, message.trouble);
        break;
      case "compacted":
        this.#compacting.get(message.workspaceId)?.(message.compacted);
        this.#compacting.delete(message.workspaceId);
        break;
      case "noted":
        this.#noting.get(message.id)?.(message.reason);
        this.#noting.delete(message.id);
        break;
      case "rows":
        this.events.onRows?.(message.workspaceId, message.tables);
        break;
      case "no_space":
        this.events.onNoSpace?.();
        break;
      case "unwritable":
        this.events.onUnwritable?.(message.workspaceId);
        break;
      default:
        this.#worker.receive(message);
        if (message.kind === "ready") this.#flushDue();
    }
  }

  #complete(replies: ReturnType<ReplyReader["read"]>): void {
    if (replies.length === 0) return;
    this.events.onGroup?.(replies.length);
    for (const { id, reply } of replies) {
      this.#sent.get(id)?.(reply);
      this.#sent.delete(id);
    }
    if (this.#waiting.length > 0) this.#flushDue();
  }

  /**
   * Handles the end of the thread: operations that were sent have an unknown outcome; those that waited were not begun.
   */
  #end(): void {
    this.events.onCrash?.();
    for (const complete of this.#sent.values()) complete("crashed");
    this.#sent.clear();
    this.#replies.forget();
    for (const resolve of this.#noting.values()) resolve(NO_THREAD);
    this.#noting.clear();
    for (const resolve of this.#compacting.values()) resolve(NOT_COMPACTED);
    this.#compacting.clear();
    if (!this.#worker.isClosing) return;
    for (const one of this.#waiting.splice(0)) one.complete("stopped");
  }
}
