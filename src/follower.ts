/**
 * The loop of a follower. The log is its queue: it has a position, and what is behind that is still to be done, so a crash
 * loses nothing, and no writer waits. Each follower keeps its position where that belongs: with its sink, beside its
 * index, in the newest seal. What is here is common to all: steps, waits, wake-ups, pauses after failures, and the end.
 */
import { RandomPool } from "./ids.ts";
import { systemTimer, type Timer } from "./timer.ts";

/** The pause after a failed step, ms. It doubles with each further failure, up to the longest. */
const FIRST_RETRY_MS = 1_000;
export const LONGEST_RETRY_MS = 60_000;
/** A pause is randomly longer by up to this part, so that many followers do not retry at the same moment. */
const JITTER = 0.25;

/** The wait of a follower that has nothing to do until it is woken. */
export const UNTIL_WOKEN = Number.POSITIVE_INFINITY;

/** Time and chance, which a test replaces. */
export interface Around {
  timer: Timer;
  random: RandomPool;
}

const SYSTEM: Around = { timer: systemTimer, random: new RandomPool() };

interface Work {
  /**
   * Does the next step. Returns how long to wait before the one after it, ms: 0 when more is known to be left. A step that
   * rejects is repeated after a pause, at the least of its error's `retryAfterMs`. It may end early when the signal is
   * aborted.
   */
  step(signal: AbortSignal): Promise<number>;
  /** Called when a step failed, with the number of failures in a row. */
  failed(error: unknown, failures: number): void;
}

export class Follower {
  readonly #abort = new AbortController();
  #isEnding = false;
  #failures = 0;
  #isPaused = false;
  /** The steps that run now; null between steps. */
  #running: Promise<void> | null = null;
  /** The wait for the next step; null when none is set. */
  #wait: { ms: number; cancel(): void } | null = null;
  /** The wait that was asked for while a step runs, ms. */
  #askedMs = UNTIL_WOKEN;

  /** A new follower waits until it is woken. */
  constructor(
    private readonly work: Work,
    private readonly around: Around = SYSTEM,
  ) {}

  /** The failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** To be called when what had failed works again. Returns the number of failures before. */
  recovered(): number {
    const failures = this.#failures;
    this.#failures = 0;
    return failures;
  }

  /** Has a step begin at the latest in `afterMs`. A pause after a failure is not shortened. */
  wake(afterMs = 0): void {
    if (this.#running !== null) this.#askedMs = Math.min(this.#askedMs, afterMs);
    else if (!this.#isPaused) this.#waitFor(afterMs);
  }

  /**
   * Ends the loop. Resolves when the step that runs has ended; its signal is aborted. With `lastMs`, that happens only
   * after this time, and what is left is tried until then, without pauses.
   */
  async end(lastMs = 0): Promise<void> {
    this.#isEnding = true;
    this.#wait?.cancel();
    if (lastMs === 0) this.#abort.abort();
    else if (this.#running === null) this.#begin();
    const cancel = lastMs === 0 ? null : this.around.timer(lastMs, () => this.#abort.abort());
    await this.#running;
    cancel?.();
  }

  #waitFor(ms: number): void {
    if (this.#isEnding || ms >= (this.#wait?.ms ?? UNTIL_WOKEN)) return;
    this.#wait?.cancel();
    if (ms === 0) this.#begin();
    else this.#wait = { ms, cancel: this.around.timer(ms, () => this.#begin()) };
  }

  #begin(): void {
    this.#wait = null;
    this.#isPaused = false;
    this.#running = this.#run().then((waitMs) => {
      this.#running = null;
      this.#waitFor(waitMs);
    });
  }

  /** Does steps until there is a time to wait, and returns it, ms. */
  async #run(): Promise<number> {
    const { signal } = this.#abort;
    let waitMs = 0;
    while (waitMs === 0 && !signal.aborted) {
      this.#askedMs = UNTIL_WOKEN;
      try {
        waitMs = Math.min(await this.work.step(signal), this.#askedMs);
      } catch (error) {
        return signal.aborted ? UNTIL_WOKEN : this.#pauseMs(error);
      }
    }
    return waitMs;
  }

  #pauseMs(error: unknown): number {
    this.#failures++;
    this.#isPaused = true;
    this.work.failed(error, this.#failures);
    const { retryAfterMs } = error as { retryAfterMs?: number | null };
    const [chance] = this.around.random.take(1) as unknown as [number];
    const doubledMs = FIRST_RETRY_MS * 2 ** (this.#failures - 1);
    return Math.max(retryAfterMs ?? 0, Math.min(doubledMs * (1 + (JITTER * chance) / 255), LONGEST_RETRY_MS));
  }
}
