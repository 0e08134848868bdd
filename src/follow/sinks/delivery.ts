/**
 * The deliveries of one sink: batch by batch in the order of the log. Each batch is sent until the receiver has
 * accepted it. The position moves only after that, so after a crash some events are sent a second time, but none is
 * left out.
 */
import type { Clock } from "../../ids.ts";
import type { SinkProgress } from "../../sink.ts";
import type { Reader } from "../../store/transaction.ts";
import { type Batch, eventsBehind, firstPosition, positionBack, readBatch } from "./batch.ts";
import { type SinkConfig, SinkFailed } from "./config.ts";
import type { Receiver } from "./receiver.ts";

/** How often to check for new events, ms. */
const LOOK_EVERY_MS = 200;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 5 * 60_000;
/** A pause is randomly longer by up to this part, so that the sinks of many daemons do not retry at the same moment. */
const JITTER = 0.25;
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
  /** A number from 0 to 1. */
  random(): number;
  /** Resolves after some time, or as soon as the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export class Delivery implements AsyncDisposable {
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;
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
        this.#failed(error);
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
    // A batch without lines was not sent, so it says nothing about what the receiver has rejected before.
    if (isFailing && batch.lines.length === 0) lastError = null;
    this.#set({ position, lag: Math.max(left, 0), isFailing: false, lastError });
  }

  #failed(error: unknown): void {
    const message = error instanceof SinkFailed ? error.message : UNREADABLE;
    this.#failures += 1;
    // Over a new connection, more than this batch is sent again.
    if (this.deps.receiver.connection !== undefined) this.#batch = null;
    this.#set({ isFailing: true, lastError: { at: this.deps.clock(), message }, failed: this.#state.failed + 1 });
    if (isGone(error)) this.deps.onGone();
  }

  #pauseMs(error: unknown): number {
    if (isGone(error)) return MAX_RETRY_MS;
    const doubled = Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), MAX_RETRY_MS);
    const asked = error instanceof SinkFailed ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(asked, Math.min(doubled * (1 + JITTER * this.deps.random()), MAX_RETRY_MS));
  }

  #set(change: Partial<SinkState>): void {
    this.#state = { ...this.#state, ...change };
    this.deps.report(this.#state);
  }
}

const isGone = (error: unknown): boolean => error instanceof SinkFailed && error.isGone;

const UNREADABLE = "the workspace's file cannot be read; the server's log names it";
const CUT_OFF = "the receiver closed the connection soon after it took events: the last ones are sent again";
const WENT_BACK =
  "the log ends before the position of the sink: the workspace was replaced by an older copy. Make a new sink with the position at which it begins";
