/**
 * The deliveries of one sink: batch by batch in the order of the log. Each batch is sent until the receiver has
 * accepted it. The position moves only after that, so after a crash some events are sent a second time, but none is
 * left out.
 */
import { type Around, Follower } from "../../follower.ts";
import type { Clock } from "../../ids.ts";
import type { SinkProgress } from "../../sink.ts";
import type { Reader } from "../../store/transaction.ts";
import { type Batch, eventsBehind, firstPosition, positionBack, readBatch } from "./batch.ts";
import { type SinkConfig, SinkFailed } from "./config.ts";
import type { Receiver } from "./receiver.ts";

/** How often to check for new events, ms. */
const LOOK_EVERY_MS = 200;
/**
 * How often the same events are sent again after their connections ended, since a receiver may close idle connections.
 */
const MAX_REPETITIONS = 5;
/** How long one delivery may take, ms. */
const DELIVERY_MS = 30_000;

/** The state of a sink while the daemon runs. */
export interface SinkState extends SinkProgress {
  id: string;
  /** The number of events after the position; null before the log was read. */
  lag: number | null;
  isFailing: boolean;
  /** The numbers of successful and failed attempts since the start of the daemon. */
  delivered: number;
  failed: number;
}

interface DeliveryDeps {
  /** Reads the sink's workspace. Null when the sink is not as it was any more: this delivery is about to end. */
  read<T>(work: (reader: Reader) => Promise<T>): Promise<T | null>;
  receiver: Receiver;
  /** Called with every change. */
  report(state: SinkState): void;
  /** Called when the receiver wants no more deliveries. If they go on, it is asked again after the longest pause. */
  onGone(): void;
  clock: Clock;
}

export class Delivery implements AsyncDisposable {
  readonly #follower: Follower;
  #state: SinkState;
  /** The batch that the receiver has not accepted yet. The same bytes are sent again, except over a new connection. */
  #batch: Batch | null = null;
  /** Where the next batch begins while a connection is open. It is before the position when events are sent again. */
  #next: number | null = null;
  /** Whether a connection has ended that may not have delivered what it accepted. */
  #mustRepeat = false;
  /** Whether the batch has only events that were sent before, and how many such batches were sent in a row. */
  #isRepetition = false;
  #repetitions = 0;
  #toldGapEnd = -1;

  constructor(
    readonly config: SinkConfig,
    before: SinkState,
    private readonly deps: DeliveryDeps,
    around?: Around,
  ) {
    this.#state = before;
    const step = (signal: AbortSignal) => this.#step(signal);
    this.#follower = new Follower({ step, failed: (error) => this.#failed(error) }, around);
    this.#follower.wake();
  }

  get state(): SinkState {
    return this.#state;
  }

  /**
   * Counts the events behind again. While the receiver is waited for, or is not asked for a while, the delivery itself
   * does not look at the log.
   */
  async measure(reader: Reader): Promise<void> {
    const { position } = this.#state;
    const lag = await eventsBehind(reader, { ...this.config, position });
    // After a step of the delivery, the number that this step has counted is the newer one.
    if (position === this.#state.position && lag !== this.#state.lag) this.#set({ lag });
  }

  /** Ends the deliveries. The next delivery sends unacknowledged events again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#follower.end();
    this.deps.receiver[Symbol.dispose]();
  }

  async #step(end: AbortSignal): Promise<number> {
    this.#batch ??= await this.#read();
    if (this.#batch === null) return LOOK_EVERY_MS;
    await this.#deliver(this.#batch, end);
    return 0;
  }

  async #read(): Promise<Batch | null> {
    const { connection } = this.deps.receiver;
    if (connection?.takeLoss() && this.#repetitions < MAX_REPETITIONS) {
      this.#mustRepeat = true;
      throw new SinkFailed(CUT_OFF);
    }
    const found = await this.deps.read((reader) => this.#find(reader));
    if (found === null) return null;
    const { batch, head } = found;
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
    const first = position === null ? firstPosition(config) : position + 1;
    const next = connection?.isOpen === true ? (this.#next ?? first) : first;
    const found = await readBatch(reader, config, { next, toldGapEnd: this.#toldGapEnd }, deps.clock());
    if (position !== null && found.head < position) throw new SinkFailed(WENT_BACK);
    const hasNews = found.batch !== null && found.batch.lines.length > 0;
    if (connection === undefined || connection.isOpen || (!hasNews && !this.#mustRepeat)) return found;
    const start = firstPosition(config);
    const back = await positionBack(reader, config, connection.repeats, start, first);
    return await readBatch(reader, config, { next: back, toldGapEnd: this.#toldGapEnd }, deps.clock());
  }

  async #deliver(batch: Batch, end: AbortSignal): Promise<void> {
    const { clock, receiver } = this.deps;
    let { lastError } = this.#state;
    if (batch.lines.length > 0) {
      const signal = AbortSignal.any([end, AbortSignal.timeout(DELIVERY_MS)]);
      const refused = await receiver.send(batch, signal);
      lastError = refused === null ? null : { at: clock(), message: refused, isPartial: true };
      this.#repetitions = this.#isRepetition ? this.#repetitions + 1 : 0;
      this.#set({ deliveredAt: clock(), delivered: this.#state.delivered + 1 });
    }
    this.#batch = null;
    this.#next = batch.to + 1;
    this.#mustRepeat = false;
    this.#toldGapEnd = batch.gapEnd;
    if (receiver.connection?.isProved !== false) this.#follower.recovered();
    const { position: before, lag, isFailing } = this.#state;
    const position = Math.max(before ?? -1, batch.to);
    const left = (lag ?? 0) - (position - Math.max(before ?? -1, batch.from - 1));
    // A batch without lines was not sent, so it says nothing about what the receiver has rejected before.
    if (isFailing && batch.lines.length === 0) lastError = null;
    this.#set({ position, lag: Math.max(left, 0), isFailing: false, lastError });
  }

  #failed(error: unknown): void {
    const { message, isGone } = error instanceof SinkFailed ? error : new SinkFailed(UNREADABLE);
    // Over a new connection, more than this batch is sent again.
    if (this.deps.receiver.connection !== undefined) this.#batch = null;
    this.#set({ isFailing: true, lastError: { at: this.deps.clock(), message }, failed: this.#state.failed + 1 });
    if (isGone) this.deps.onGone();
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
