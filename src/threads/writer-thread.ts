/**
 * The main thread's end of one workspace thread. Operations that arrive in one turn of the event loop travel together;
 * while the thread is busy, more wait there (batch-queue.ts), and share the next commit.
 */
import { lengthOf } from "../long-text.ts";
import type { StoredSeal } from "../state/seals.ts";
import type { Compacted } from "../store/compaction.ts";
import { CLOSING_TURNS, ownTurn } from "../timer.ts";
import type { OperationRequest, Principal, Reply, WorkspaceEvent } from "../workspace/contract.ts";
import type { StorageTrouble } from "../workspace/storage-failure.ts";
import type { ChangeableOptions, Found, FromWriter, ThreadOptions, ToWriter } from "./messages.ts";
import { inputText } from "./parts.ts";
import { isOfReplies, ReplyReader } from "./reply-text.ts";
import { REAL_THREADS, SupervisedWorker, type ThreadReports } from "./supervised.ts";

/** Operations that may wait for one thread, and the text they may amount to; past it is overload. */
const MAX_WAITING = 4_096;
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;
/** Operations passed to the thread and not completed: a thread that dies loses them. */
const MAX_HANDED_OVER = 1_024;

/** Why an operation was not taken or not finished. `unread`: what only reads was not finished. */
export type Rejection = "overloaded" | "stopped" | "crashed" | "unread" | "abandoned";

/** The thread could not do it. */
const NOT_COMPACTED: Compacted = { before: 0, after: 0, longestMs: 0, trouble: "unavailable" };

type Complete = (reply: Reply | Rejection) => void;

interface Waiting {
  id: number;
  text: string;
  /** Lists of its parts that are not in the text, as JSON. */
  ahead: readonly string[];
  /** The length of all that, UTF-16 units. */
  characters: number;
  complete: Complete;
  isAbandoned: (() => boolean) | undefined;
  /** From this turn of the event loop on it is known whether the runtime closed its connection. */
  dueTurn: number;
}

export interface ThreadEvents extends ThreadReports {
  /** Told of every new seal, once it is on disk. */
  onSealed?(workspaceId: string, seal: StoredSeal): void;
  /** Told when a workspace's file cannot be used, and with null when it can again. */
  onTrouble?(workspaceId: string, reason: string | null, trouble: StorageTrouble | null): void;
  /** Told that the disk has no space to copy a write-ahead log back: it is as good as full. */
  onNoSpace?(): void;
  /** Told of a file that can be written only once it is closed everywhere. */
  onUnwritable?(workspaceId: string): void;
  /** Called when the thread died; the troubles that it reported are unknown then. */
  onCrash?(): void;
  /** Told how many operations shared a transaction. */
  onGroup?(operations: number): void;
}

/** A key's principal is one object as long as keys do not change, and goes with every operation. */
const principalTexts = new WeakMap<Principal, string>();

function principalText(principal: Principal): string {
  const known = principalTexts.get(principal);
  if (known !== undefined) return known;
  const { workspaceId } = principal;
  const text = JSON.stringify({ workspaceId, principal }).slice(1, -1);
  principalTexts.set(principal, text);
  return text;
}

export class WriterThread {
  readonly #worker: SupervisedWorker;
  #nextId = 1;
  #waiting: Waiting[] = [];
  #waitingCharacters = 0;
  /** Sent and not yet answered, by id. */
  readonly #sent = new Map<number, Complete>();
  /** Operations whose lists of parts are being sent. */
  readonly #sending = new Set<Promise<void>>();
  readonly #replies = new ReplyReader();
  /** Workspaces that are being compacted. */
  readonly #compacting = new Map<string, (compacted: Compacted) => void>();
  /** Turns of the event loop that were counted; they are while an operation waits for its turn. */
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
    const entry = "threads/worker.ts";
    this.#worker = new SupervisedWorker({ entry, options, reports: events, onMessage, onEnd }, spawning);
  }

  /** Resolves when the thread runs. */
  get ready(): Promise<void> {
    return this.#worker.ready;
  }

  /** False while a dead thread waits to be started again. */
  get running(): boolean {
    return this.#worker.alive;
  }

  /** Operations taken and not yet answered. */
  get depth(): number {
    return this.#waiting.length + this.#sent.size;
  }

  /**
   * Submits an operation. `looked`: what a reader thread found. Returns null when it was taken: `complete` is
   * called exactly once then, after this has returned. Otherwise returns why it was not taken.
   */
  submit(request: OperationRequest, looked: Found | undefined, complete: Complete): Rejection | null {
    const { name, principal, via, retry, lookedAt, partTexts = [] } = request;
    let rest = via === undefined ? "" : `,"via":${JSON.stringify(via)}`;
    if (retry !== undefined) rest += `,"retry":${JSON.stringify(retry)}`;
    if (lookedAt !== undefined) rest += `,"lookedAt":${lookedAt}`;
    if (looked !== undefined) rest += `,"found":${looked.found}`;
    const isLong = partTexts.length > 1;
    const input =
      partTexts.length === 0 ? JSON.stringify(request.input) : inputText(request.input, isLong ? "[]" : partTexts[0]);
    const text = `"name":"${name}","input":${input},${principalText(principal)}${rest}`;
    const beside = lengthOf(looked?.items ?? "");
    return this.#take(text, complete, request.isAbandoned, beside, isLong ? partTexts : undefined);
  }

  /** Hands over an event of a workspace itself, in the way of {@link submit}. */
  record(workspaceId: string, event: WorkspaceEvent, complete: Complete): Rejection | null {
    return this.#take(JSON.stringify({ workspaceId, event }).slice(1, -1), complete);
  }

  /**
   * `members`: those of an operation or an event (messages.ts) as JSON, without the id. `beside`: the length of what waits
   * here for its answer. `ahead`: lists of parts that are sent before it, each as a message of its own, so that neither
   * thread copies or reads all of them at once.
   */
  #take(
    members: string,
    complete: Complete,
    isAbandoned?: () => boolean,
    beside = 0,
    ahead: readonly string[] = [],
  ): Rejection | null {
    if (this.#worker.isClosing) return "stopped";
    if (this.depth >= MAX_WAITING || this.#waitingCharacters >= MAX_WAITING_CHARACTERS) return "overloaded";
    const id = this.#nextId++;
    const text = `{"id":${id},${members}}`;
    const characters = text.length + lengthOf(ahead) + beside;
    this.#waitingCharacters += characters;
    this.#waiting.push({ id, text, ahead, characters, complete, isAbandoned, dueTurn: this.#turn + CLOSING_TURNS });
    this.#countTurns();
    return null;
  }

  /** Sends a message that is not an operation; it is lost while a dead thread waits to be started again. */
  tell(message: ToWriter): void {
    if (!this.#worker.isClosing) this.#post(message);
  }

  /** Has the thread use other options from now on, also when it is started again. */
  change(options: ChangeableOptions): void {
    Object.assign(this.options, options);
    this.tell({ kind: "change", ...options });
  }

  /** Compacts a workspace. It is one at a time that does so. */
  compact(workspaceId: string, state: string | null): Promise<Compacted> {
    if (!this.running || this.#worker.isClosing || this.#compacting.has(workspaceId))
      return Promise.resolve(NOT_COMPACTED);
    return new Promise((resolve) => {
      this.#compacting.set(workspaceId, resolve);
      this.tell({ kind: "compact", workspaceId, state });
    });
  }

  /** Lets everything taken so far finish, then closes files and thread. */
  close(): Promise<void> {
    return this.#worker.close(() => {
      this.#flush(Number.POSITIVE_INFINITY);
      void Promise.all(this.#sending).then(() => this.#post({ kind: "close" }));
    });
  }

  #post(message: ToWriter): void {
    this.#worker.post(JSON.stringify(message));
  }

  /** Hands over what is due in each of the next turns of the event loop, as long as something is not due yet. */
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
    const handed = this.#waiting.splice(0, most).filter((one) => {
      this.#waitingCharacters -= one.characters;
      const isWanted = one.isAbandoned?.() !== true;
      if (isWanted) this.#sent.set(one.id, one.complete);
      else one.complete("abandoned");
      return isWanted;
    });
    const whole = handed.filter(({ ahead }) => ahead.length === 0).map(({ text }) => text);
    if (whole.length > 0) this.#postOperations(depth, whole.join(","));
    if (whole.length < handed.length) for (const one of handed) if (one.ahead.length > 0) this.#sendInParts(one);
  }

  #sendInParts(long: Waiting): void {
    const sending = this.#postInParts(long).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  /** Sends lists of parts, each in a turn of its own, and then their operation; no more of it when the thread died. */
  async #postInParts({ id, ahead, text }: Waiting): Promise<void> {
    for (const parts of ahead) {
      await ownTurn();
      if (!this.#sent.has(id)) return;
      this.#worker.post(`{"kind":"parts","id":${id},"parts":${parts}}`);
    }
    this.#postOperations(this.depth, text);
  }

  /** `operations`: as JSON, with commas between them. `depth`: how many were taken and not yet answered. */
  #postOperations(depth: number, operations: string): void {
    this.#worker.post(`{"kind":"operations","depth":${depth},"operations":[${operations}]}`);
  }

  #receive(message: FromWriter): void {
    switch (message.kind) {
      case "sealed":
        this.events.onSealed?.(message.workspaceId, message.seal);
        break;
      case "trouble":
        this.events.onTrouble?.(message.workspaceId, message.reason, message.trouble);
        break;
      case "compacted":
        this.#compacting.get(message.workspaceId)?.(message.compacted);
        this.#compacting.delete(message.workspaceId);
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

  /** The thread ended: what was on its way has an unknown end; what waited was never begun. */
  #end(): void {
    this.events.onCrash?.();
    for (const complete of this.#sent.values()) complete("crashed");
    this.#sent.clear();
    this.#replies.forget();
    for (const resolve of this.#compacting.values()) resolve(NOT_COMPACTED);
    this.#compacting.clear();
    if (!this.#worker.isClosing) return;
    for (const one of this.#waiting.splice(0)) one.complete("stopped");
  }
}
