/**
 * Collects garbage after a burst of work. By itself, the collector would leave an idle thread with the heap that the
 * burst needed, and the driver with the pages that it read.
 */
import { dlopen } from "bun:ffi";

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

/** Has a connection forget the pages that it has in memory and that no open transaction changed. */
export const forgetPages = (connection: { exec(sql: string): void }): void => connection.exec("PRAGMA shrink_memory");

/** Watches and collects for the calling thread, until it ends. `connections`: those that the thread has open. */
export function collectWhenIdle(connections: () => Iterable<Parameters<typeof forgetPages>[0]> = () => []): void {
  const watch = new IdleWatch(performance.now(), usedMs());
  const look = setInterval(() => {
    if (!watch.look(performance.now(), usedMs())) return;
    for (const connection of connections()) forgetPages(connection);
    Bun.gc(true);
    returnFreeMemory();
    watch.collected(performance.now(), usedMs());
  }, LOOK_EVERY_MS);
  look.unref();
}

/** Processor time of the whole process, ms. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

let trim: (() => void) | null = null;

/**
 * Returns to the system what the C library has free, where that is glibc: it keeps what the driver freed, so a process
 * would look as large as its largest burst.
 */
export function returnFreeMemory(): void {
  trim ??= trimOf("libc.so.6");
  trim();
}

/** Returns `malloc_trim(3)` of a library, or what does nothing where there is no such function: only glibc has it. */
function trimOf(library: string): () => void {
  try {
    const { symbols } = dlopen(library, { malloc_trim: { args: ["usize"], returns: "int" } });
    return () => void symbols.malloc_trim(0);
  } catch {
    return () => {};
  }
}
