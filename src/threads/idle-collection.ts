/**
 * Collects garbage after a burst of work. By itself, the collector would leave an idle thread with the heap that the
 * burst needed.
 */

const LOOK_EVERY_MS = 250;
/** The process is idle when it used less than this share of one processor core since the last look. */
const IDLE_SHARE = 0.1;
/** A look that comes later than this share of its interval shows that others have the processor: that is not idleness. */
const LATE_SHARE = 1.5;
/** Processor time from the last collection on from which another is worth its cost, ms. */
const WORTH_MS = 250;

/** Decides when to collect, from the time and the processor time of the process, ms. */
export class IdleWatch {
  #lookedAtMs: number;
  #before: number;
  #collectedAt: number;

  constructor(nowMs: number, usedMs: number) {
    this.#lookedAtMs = nowMs;
    this.#before = usedMs;
    this.#collectedAt = usedMs;
  }

  /** Returns whether to collect now. To be called at every look. */
  look(nowMs: number, usedMs: number): boolean {
    const isLate = nowMs - this.#lookedAtMs > LOOK_EVERY_MS * LATE_SHARE;
    const isIdle = usedMs - this.#before < LOOK_EVERY_MS * IDLE_SHARE;
    this.#lookedAtMs = nowMs;
    this.#before = usedMs;
    return isIdle && !isLate && usedMs - this.#collectedAt >= WORTH_MS;
  }

  /** To be called after a collection. */
  collected(nowMs: number, usedMs: number): void {
    this.#lookedAtMs = nowMs;
    this.#before = usedMs;
    this.#collectedAt = usedMs;
  }
}

/** Watches and collects for the calling thread, until it ends. */
export function collectWhenIdle(): void {
  const watch = new IdleWatch(performance.now(), usedMs());
  const look = setInterval(() => {
    if (!watch.look(performance.now(), usedMs())) return;
    Bun.gc(true);
    watch.collected(performance.now(), usedMs());
  }, LOOK_EVERY_MS);
  look.unref();
}

/** Processor time of the whole process, ms. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
