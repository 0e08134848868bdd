/**
 * The queue of seals for one target. Only the newest seal of each workspace waits, since it covers what the earlier ones
 * cover. So the queue is bounded by the number of workspaces, and by a limit.
 */
import { type Around, Follower, UNTIL_WOKEN } from "../../follower.ts";
import { type Clock, systemClock } from "../../ids.ts";
import { type AnchoredSeal, AnchorFailed, type AnchorTarget } from "./targets.ts";

/** The most workspaces whose seals wait for one target. Beyond that, the longest waiting seal is dropped. */
const MAX_WAITING = 10_000;
/** How long one delivery may take, ms. */
const DELIVERY_MS = 30_000;
/** How long the remaining deliveries may take at shutdown, ms. */
const LAST_DELIVERIES_MS = 2_000;

/** The backlog of a target, and its deliveries. */
export interface AnchorLag {
  target: string;
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

/** A seal that waits for a target. */
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
  onFailure(target: string, reason: string, attempt: number, lag: AnchorLag): void;
  /** A delivery succeeded after failures. */
  onRecovery(target: string, lag: AnchorLag): void;
  /** A target accepted a seal that was made at `sealedMs`. */
  onDelivered?(target: string, seal: AnchoredSeal, sealedMs: number, takenMs: number): void;
}

export class AnchorQueue implements AsyncDisposable {
  /** The waiting seals by workspace, in the order of arrival. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #follower: Follower;
  readonly #counts: Omit<AnchorLag, "target" | "waiting" | "sinceMs" | "failures"> = {
    failed: 0,
    delivered: 0,
    deliveredMs: null,
    dropped: 0,
  };

  constructor(
    readonly target: AnchorTarget,
    private readonly events: AnchorEvents,
    private readonly clock: Clock = systemClock,
    around?: Around,
  ) {
    const step = (signal: AbortSignal) => this.#step(signal);
    this.#follower = new Follower({ step, failed: (error, attempt) => this.#failed(error, attempt) }, around);
  }

  get lag(): AnchorLag {
    let sinceMs: number | null = null;
    for (const waiting of this.#waiting.values()) sinceMs = Math.min(sinceMs ?? Infinity, waiting.sinceMs);
    const { failures } = this.#follower;
    return { target: this.target.name, waiting: this.#waiting.size, sinceMs, failures, ...this.#counts };
  }

  waitingOf(workspaceId: string): WaitingSeal | null {
    return this.#waiting.get(workspaceId) ?? null;
  }

  /** Queues a seal. It replaces a waiting seal of the same workspace. */
  offer(seal: AnchoredSeal): void {
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
    this.#follower.wake();
  }

  /**
   * Tries to deliver the waiting seals a last time. Undelivered ones are in the seal files, and covered by later seals.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#follower.end(LAST_DELIVERIES_MS);
  }

  async #step(end: AbortSignal): Promise<number> {
    const [next] = this.#waiting.values();
    if (next === undefined) return UNTIL_WOKEN;
    const { seal, sealedMs } = next;
    try {
      await this.target.deliver(seal, AbortSignal.any([end, AbortSignal.timeout(DELIVERY_MS)]));
    } catch (error) {
      this.#putLast(seal.workspaceId);
      throw error;
    }
    // A newer seal of the same workspace may have been queued meanwhile.
    const waiting = this.#waiting.get(seal.workspaceId);
    if (waiting?.seal === seal) this.#waiting.delete(seal.workspaceId);
    else if (waiting !== undefined) Object.assign(waiting, { sinceMs: waiting.sealedMs, failures: 0 });
    const takenMs = this.clock();
    Object.assign(this.#counts, { delivered: this.#counts.delivered + 1, deliveredMs: takenMs });
    this.events.onDelivered?.(this.target.name, seal, sealedMs, takenMs);
    if (this.#follower.recovered() > 0) this.events.onRecovery(this.target.name, this.lag);
    return 0;
  }

  #failed(error: unknown, attempt: number): void {
    this.#counts.failed += 1;
    const reason = error instanceof AnchorFailed ? error.message : reasonOf(error);
    this.events.onFailure(this.target.name, reason, attempt, this.lag);
  }

  /** Moves a workspace to the end, so that one whose seal is always refused does not delay the others. */
  #putLast(workspaceId: string): void {
    const waiting = this.#waiting.get(workspaceId);
    if (waiting === undefined) return;
    waiting.failures += 1;
    this.#waiting.delete(workspaceId);
    this.#waiting.set(workspaceId, waiting);
  }
}

/** Returns only the kind of an error, since its message may repeat an address that contains a secret. */
function reasonOf(error: unknown): string {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return [name, code].filter((part) => typeof part === "string").join(" ") || "it failed";
}
