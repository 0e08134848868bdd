/**
 * The seals that wait for one sink. Of each workspace only the newest seal waits, since it covers what
 * the ones before it cover, so the queue is bounded by the number of workspaces and by a limit. What
 * is not delivered is tried again, ever more slowly.
 */
import { type AnchoredSeal, AnchorFailed, type AnchorSink } from "./sink.ts";

/** Workspaces whose seals may wait for one sink; past it the longest waiting is dropped. */
const MAX_WAITING = 10_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 5 * 60_000;
/** How long one delivery may take. */
const DELIVERY_MS = 30_000;
/** What a stop gives the deliveries that wait. */
const LAST_DELIVERIES_MS = 2_000;

/** How far a sink is behind. */
export interface AnchorLag {
  sink: string;
  waiting: number;
  /** Since when the longest waiting seal waits, ms since the epoch; null when none does. */
  sinceMs: number | null;
  /** Deliveries that failed in a row. */
  failures: number;
  delivered: number;
  dropped: number;
}

export interface AnchorEvents {
  /** A delivery failed. `attempt` counts those in a row. */
  onFailure(sink: string, reason: string, attempt: number, lag: AnchorLag): void;
  /** Deliveries work again. */
  onRecovery(sink: string, lag: AnchorLag): void;
}

export class AnchorQueue implements AsyncDisposable {
  readonly #sink: AnchorSink;
  readonly #events: AnchorEvents;
  readonly #clock: () => number;
  readonly #retryMs: number;
  /** In the order in which they came. */
  readonly #waiting = new Map<string, { seal: AnchoredSeal; sinceMs: number }>();
  readonly #abort = new AbortController();
  #running: Promise<void> | null = null;
  #wake: () => void = () => {};
  #closing = false;
  #failures = 0;
  #delivered = 0;
  #dropped = 0;

  constructor(
    sink: AnchorSink,
    events: AnchorEvents,
    { clock = Date.now, retryMs = FIRST_RETRY_MS }: { clock?: () => number; retryMs?: number } = {},
  ) {
    this.#sink = sink;
    this.#events = events;
    this.#clock = clock;
    this.#retryMs = retryMs;
  }

  get lag(): AnchorLag {
    const [oldest] = this.#waiting.values();
    return {
      sink: this.#sink.name,
      waiting: this.#waiting.size,
      sinceMs: oldest?.sinceMs ?? null,
      failures: this.#failures,
      delivered: this.#delivered,
      dropped: this.#dropped,
    };
  }

  /** Takes a seal; one of the same workspace that still waits is replaced. */
  offer(seal: AnchoredSeal): void {
    if (this.#closing) return;
    const before = this.#waiting.get(seal.workspaceId);
    if (before !== undefined && before.seal.size > seal.size) return;
    this.#waiting.set(seal.workspaceId, { seal, sinceMs: before?.sinceMs ?? this.#clock() });
    if (this.#waiting.size > MAX_WAITING) {
      const [longest] = this.#waiting.keys();
      this.#waiting.delete(longest as string);
      this.#dropped += 1;
    }
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Gives what waits a last try. What is left is in the files of seals, and in the next seals. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    this.#wake();
    const timer = setTimeout(() => this.#abort.abort(), LAST_DELIVERIES_MS);
    await this.#running;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const worked = await this.#deliver(next);
      if (worked) continue;
      if (this.#closing || this.#abort.signal.aborted) return;
      await this.#pause();
    }
  }

  #next(): AnchoredSeal | undefined {
    const [first] = this.#waiting.values();
    return first?.seal;
  }

  async #deliver(seal: AnchoredSeal): Promise<boolean> {
    try {
      await this.#sink.deliver(seal, AbortSignal.any([this.#abort.signal, AbortSignal.timeout(DELIVERY_MS)]));
    } catch (error) {
      this.#failures += 1;
      const reason = error instanceof AnchorFailed ? error.message : reasonOf(error);
      this.#events.onFailure(this.#sink.name, reason, this.#failures, this.lag);
      this.#putLast(seal.workspaceId);
      return false;
    }
    // A newer one of the same workspace may have come meanwhile.
    if (this.#waiting.get(seal.workspaceId)?.seal === seal) this.#waiting.delete(seal.workspaceId);
    this.#delivered += 1;
    const recovered = this.#failures > 0;
    this.#failures = 0;
    if (recovered) this.#events.onRecovery(this.#sink.name, this.lag);
    return true;
  }

  /** One workspace that is always refused must not keep the others waiting. */
  #putLast(workspaceId: string): void {
    const waiting = this.#waiting.get(workspaceId);
    if (waiting === undefined) return;
    this.#waiting.delete(workspaceId);
    this.#waiting.set(workspaceId, waiting);
  }

  #pause(): Promise<void> {
    const ms = Math.min(this.#retryMs * 2 ** (this.#failures - 1), MAX_RETRY_MS);
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

/** The kind of an error alone: its message may repeat an address with a secret in it. */
function reasonOf(error: unknown): string {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return [name, code].filter((part) => typeof part === "string").join(" ") || "it failed";
}
