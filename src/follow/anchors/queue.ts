/**
 * The queue of seals for one sink. Only the newest seal of each workspace waits, since it covers what the earlier ones
 * cover. So the queue is bounded by the number of workspaces, and by a limit. Failed deliveries are retried with
 * exponential backoff.
 */
import { type Clock, systemClock } from "../../ids.ts";
import { type AnchoredSeal, AnchorFailed, type AnchorSink } from "./sinks.ts";

/** The most workspaces whose seals wait for one sink. Beyond that, the longest waiting seal is dropped. */
const MAX_WAITING = 10_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 5 * 60_000;
/** How long one delivery may take, ms. */
const DELIVERY_MS = 30_000;
/** How long the remaining deliveries may take at shutdown, ms. */
const LAST_DELIVERIES_MS = 2_000;

/** The backlog of a sink, and its deliveries. */
export interface AnchorLag {
  sink: string;
  waiting: number;
  /** When the longest waiting seal was queued, ms since the epoch; null when none waits. */
  sinceMs: number | null;
  /** Failed deliveries since the last success. */
  failures: number;
  /** Failed deliveries since the start. */
  failed: number;
  delivered: number;
  /** When the last delivery succeeded, ms since the epoch; null when none succeeded since the start. */
  deliveredMs: number | null;
  dropped: number;
}

/** A seal that waits for a sink. */
export interface WaitingSeal {
  /** When a seal of the workspace was first queued after the last delivery. */
  sinceMs: number;
  /** The number of failed attempts. */
  failures: number;
}

interface Waiting extends WaitingSeal {
  seal: AnchoredSeal;
  /** When this seal was made. */
  sealedMs: number;
}

export interface AnchorEvents {
  /** A delivery failed. `attempt` counts the failures since the last success. */
  onFailure(sink: string, reason: string, attempt: number, lag: AnchorLag): void;
  /** A delivery succeeded after failures. */
  onRecovery(sink: string, lag: AnchorLag): void;
  /** A sink accepted a seal that was made at `sealedMs`. */
  onDelivered?(sink: string, seal: AnchoredSeal, sealedMs: number, takenMs: number): void;
}

export class AnchorQueue implements AsyncDisposable {
  /** The waiting seals by workspace, in the order of arrival. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #abort = new AbortController();
  #running: Promise<void> | null = null;
  #wake: () => void = () => {};
  #closing = false;
  readonly #counts: Omit<AnchorLag, "sink" | "waiting" | "sinceMs"> = {
    failures: 0,
    failed: 0,
    delivered: 0,
    deliveredMs: null,
    dropped: 0,
  };

  constructor(
    readonly sink: AnchorSink,
    private readonly events: AnchorEvents,
    private readonly clock: Clock = systemClock,
    private readonly retryMs = FIRST_RETRY_MS,
  ) {}

  get lag(): AnchorLag {
    let sinceMs: number | null = null;
    for (const waiting of this.#waiting.values()) sinceMs = Math.min(sinceMs ?? Infinity, waiting.sinceMs);
    return { sink: this.sink.name, waiting: this.#waiting.size, sinceMs, ...this.#counts };
  }

  waitingOf(workspaceId: string): WaitingSeal | null {
    return this.#waiting.get(workspaceId) ?? null;
  }

  /** Queues a seal. It replaces a waiting seal of the same workspace. */
  offer(seal: AnchoredSeal): void {
    if (this.#closing) return;
    const before = this.#waiting.get(seal.workspaceId);
    if (before !== undefined && before.seal.size > seal.size) return;
    const sealedMs = this.clock();
    const { sinceMs, failures } = before ?? { sinceMs: sealedMs, failures: 0 };
    this.#waiting.set(seal.workspaceId, { seal, sealedMs, sinceMs, failures });
    if (this.#waiting.size > MAX_WAITING) {
      const [longest] = this.#waiting.keys();
      this.#waiting.delete(longest as string);
      this.#counts.dropped += 1;
    }
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /**
   * Tries to deliver the waiting seals a last time. Undelivered ones are in the seal files, and covered by later seals.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    this.#wake();
    const timer = setTimeout(() => this.#abort.abort(), LAST_DELIVERIES_MS);
    await this.#running;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting.values();
      if (next === undefined) return;
      if (await this.#deliver(next)) continue;
      if (this.#closing || this.#abort.signal.aborted) return;
      await this.#pause();
    }
  }

  async #deliver({ seal, sealedMs }: Waiting): Promise<boolean> {
    try {
      await this.sink.deliver(seal, AbortSignal.any([this.#abort.signal, AbortSignal.timeout(DELIVERY_MS)]));
    } catch (error) {
      this.#counts.failures += 1;
      this.#counts.failed += 1;
      const reason = error instanceof AnchorFailed ? error.message : reasonOf(error);
      this.events.onFailure(this.sink.name, reason, this.#counts.failures, this.lag);
      this.#putLast(seal.workspaceId);
      return false;
    }
    // A newer seal of the same workspace may have been queued meanwhile.
    const waiting = this.#waiting.get(seal.workspaceId);
    if (waiting?.seal === seal) this.#waiting.delete(seal.workspaceId);
    else if (waiting !== undefined) Object.assign(waiting, { sinceMs: waiting.sealedMs, failures: 0 });
    const takenMs = this.clock();
    const recovered = this.#counts.failures > 0;
    Object.assign(this.#counts, { failures: 0, delivered: this.#counts.delivered + 1, deliveredMs: takenMs });
    this.events.onDelivered?.(this.sink.name, seal, sealedMs, takenMs);
    if (recovered) this.events.onRecovery(this.sink.name, this.lag);
    return true;
  }

  /** Moves a workspace to the end, so that one whose seal is always refused does not delay the others. */
  #putLast(workspaceId: string): void {
    const waiting = this.#waiting.get(workspaceId);
    if (waiting === undefined) return;
    waiting.failures += 1;
    this.#waiting.delete(workspaceId);
    this.#waiting.set(workspaceId, waiting);
  }

  #pause(): Promise<void> {
    const ms = Math.min(this.retryMs * 2 ** (this.#counts.failures - 1), MAX_RETRY_MS);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref?.();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Returns only the kind of an error, since its message may repeat an address that contains a secret. */
function reasonOf(error: unknown): string {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return [name, code].filter((part) => typeof part === "string").join(" ") || "it failed";
}
