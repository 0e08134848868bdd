/**
 * The deliveries of one sink: batch by batch in the order of the log, each until the receiver has taken it. Nothing is
 * dropped. The position moves only behind what was taken, so after a crash some events are sent a second time, and none
 * is left out.
 */
import type { Clock } from "../ids.ts";
import type { SinkProgress } from "../sink.ts";
import type { Reader } from "../store/transaction.ts";
import { type Batch, firstPosition, positionBack, readBatch } from "./batch.ts";
import { type SinkConfig, SinkFailed } from "./config.ts";
import type { Receiver } from "./receiver.ts";

/** How often it looks for new events, ms. */
const LOOK_EVERY_MS = 200;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 5 * 60_000;
/** A pause is up to this part longer, so that the sinks of many daemons do not come back at the same moment. */
const JITTER = 0.25;
/** How often the same events are sent again because their connections end. A receiver may close all that is idle. */
const MAX_REPETITIONS = 5;
/** How long one delivery may take. */
const DELIVERY_MS = 30_000;

/** What is known of a sink while the daemon runs. */
export interface SinkState extends SinkProgress {
  id: string;
  /** Events behind the position; null until the log was looked at. */
  lag: number | null;
  isFailing: boolean;
  /** Attempts since the start of the daemon. */
  delivered: number;
  failed: number;
}

/** What a delivery needs. */
interface DeliveryDeps {
  /** Reads the sink's workspace. */
  read<T>(work: (reader: Reader) => Promise<T>): Promise<T>;
  receiver: Receiver;
  /** Called with every change. */
  report(state: SinkState): void;
  /** The receiver wants no more: called once, and nothing is sent any more. */
  onGone(): void;
  clock: Clock;
  /** A number from 0 to 1. */
  random(): number;
  /** Resolves after some time, or as soon as the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export class Delivery implements AsyncDisposable {
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;
  #state: SinkState;
  /** What the receiver has not taken yet. The same bytes are sent again, except over a new connection. */
  #batch: Batch | null = null;
  /** Where the next batch begins while a connection is open: before the position when events are sent again. */
  #next: number | null = null;
  /** A connection ended that may not have delivered what it took. */
  #mustRepeat = false;
  /** Whether the batch holds nothing but what was sent before, and how often in a row such a one was sent. */
  #isRepetition = false;
  #repetitions = 0;
  #toldGapEnd = -1;
  #failures = 0;

  constructor(
    readonly config: SinkConfig,
    before: SinkState,
    private readonly deps: DeliveryDeps,
  ) {
    this.#state = before;
    this.#running = this.#run();
  }

  get state(): SinkState {
    return this.#state;
  }

  /** Ends the deliveries. What was not acknowledged is sent again by the next delivery. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#running;
    this.deps.receiver[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        this.#batch ??= await this.#read();
        if (this.#batch === null) await this.deps.wait(LOOK_EVERY_MS, signal);
        else await this.#deliver(this.#batch);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#failed(error) === "gone") return;
        await this.deps.wait(this.#pauseMs(error), signal);
      }
    }
  }

  async #read(): Promise<Batch | null> {
    const { connection } = this.deps.receiver;
    if (connection?.takeLoss() && this.#repetitions < MAX_REPETITIONS) {
      this.#mustRepeat = true;
      throw new SinkFailed(CUT_OFF);
    }
    const { batch, head } = await this.deps.read((reader) => this.#find(reader));
    if (batch === null) this.#mustRepeat = false;
    else this.#isRepetition = batch.lastWanted <= (this.#state.position ?? -1);
    const done = batch === null ? head : Math.max(this.#state.position ?? -1, batch.from - 1);
    const behind = head - done;
    if (behind !== this.#state.lag) this.#set({ lag: behind });
    return batch;
  }

  async #find(reader: Reader) {
    const { config, deps } = this;
    const { connection } = deps.receiver;
    const { position } = this.#state;
    const first = position === null ? await firstPosition(reader, config.id, config.start) : position + 1;
    const next = connection?.isOpen === true ? (this.#next ?? first) : first;
    const found = await readBatch(reader, config, { next, toldGapEnd: this.#toldGapEnd }, deps.clock());
    if (position !== null && found.head < position) throw new SinkFailed(WENT_BACK);
    const hasNews = found.batch !== null && found.batch.lines.length > 0;
    if (connection === undefined || connection.isOpen || (!hasNews && !this.#mustRepeat)) return found;
    const start = await firstPosition(reader, config.id, config.start);
    const back = await positionBack(reader, config, connection.repeats, start, first);
    return await readBatch(reader, config, { next: back, toldGapEnd: this.#toldGapEnd }, deps.clock());
  }

  async #deliver(batch: Batch): Promise<void> {
    const { clock, receiver } = this.deps;
    let { lastError } = this.#state;
    if (batch.lines.length > 0) {
      const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(DELIVERY_MS)]);
      const refused = await receiver.send(batch, signal);
      lastError = refused === null ? null : { at: clock(), message: refused, isPartial: true };
      this.#repetitions = this.#isRepetition ? this.#repetitions + 1 : 0;
      this.#set({ deliveredAt: clock(), delivered: this.#state.delivered + 1 });
    }
    this.#batch = null;
    this.#next = batch.to + 1;
    this.#mustRepeat = false;
    this.#toldGapEnd = batch.gapEnd;
    if (receiver.connection?.isProved !== false) this.#failures = 0;
    const { position: before, lag, isFailing } = this.#state;
    const position = Math.max(before ?? -1, batch.to);
    const left = (lag ?? 0) - (position - Math.max(before ?? -1, batch.from - 1));
    // A batch that the filter empties shows nothing about what the receiver did not accept before.
    if (isFailing && batch.lines.length === 0) lastError = null;
    this.#set({ position, lag: Math.max(left, 0), isFailing: false, lastError });
  }

  #failed(error: unknown): "gone" | "again" {
    const message = error instanceof SinkFailed ? error.message : UNREADABLE;
    this.#failures += 1;
    // Over a new connection more is sent again than this.
    if (this.deps.receiver.connection !== undefined) this.#batch = null;
    this.#set({ isFailing: true, lastError: { at: this.deps.clock(), message }, failed: this.#state.failed + 1 });
    if (!(error instanceof SinkFailed) || !error.isGone) return "again";
    this.deps.onGone();
    return "gone";
  }

  #pauseMs(error: unknown): number {
    const doubled = Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), MAX_RETRY_MS);
    const asked = error instanceof SinkFailed ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(asked, Math.min(doubled * (1 + JITTER * this.deps.random()), MAX_RETRY_MS));
  }

  #set(change: Partial<SinkState>): void {
    this.#state = { ...this.#state, ...change };
    this.deps.report(this.#state);
  }
}

const UNREADABLE = "the workspace's file cannot be read; the server's log names it";
const CUT_OFF = "the receiver closed the connection soon after it took events: the last ones are sent again";
const WENT_BACK =
  "the log ends before the position of the sink: the workspace was replaced by an older copy. Make a new sink with the position at which it begins";
