/**
 * Frees memory after a burst of work. Left alone, an idle thread would keep the heap of the burst, and the database
 * driver the pages that it read.
 */
import { dlopen } from "bun:ffi";

const LOOK_EVERY_MS = 250;
/** The process is idle when it used less than this share of one processor core since the last look. */
const IDLE_SHARE = 0.1;
/**
 * A look that is later than its interval times this shows that other processes use the processor, not that this one is
 * idle.
 */
const LATE_SHARE = 1.5;
/** Processor time since the last collection that makes another one worth its cost, ms. */
const WORTH_MS = 250;

/** Decides when to collect, from the wall time and the processor time of the process, both in ms. */
export class IdleWatch {
  #lookedAtMs: number;
  #before: number;
  #collectedAt: number;

  constructor(nowMs: number, usedMs: number) {
    this.#lookedAtMs = nowMs;
    this.#before = usedMs;
    this.#collectedAt = usedMs;
  }

  /** Reports whether to collect now; to be called every {@link LOOK_EVERY_MS}. */
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

/** Frees the pages that a connection caches and that no open transaction has changed. */
export const forgetPages = (connection: { exec(sql: string): void }): void => connection.exec("PRAGMA shrink_memory");

/**
 * Frees memory of the calling thread whenever it is idle, until the thread ends.
 * @param connections returns its open ones
 */
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

/** Returns the processor time of the whole process, ms. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

let trim: (() => void) | null = null;

/**
 * Returns the free memory of the C library to the system. Only glibc needs it: it keeps memory that the driver freed,
 * so a process would stay as large as in its largest burst.
 */
export function returnFreeMemory(): void {
  trim ??= trimOf("libc.so.6");
  trim();
}

/** Returns `malloc_trim(3)` of a library, or a function that does nothing where there is none: only glibc has it. */
function trimOf(library: string): () => void {
  try {
    const { symbols } = dlopen(library, { malloc_trim: { args: ["usize"], returns: "int" } });
    return () => void symbols.malloc_trim(0);
  } catch {
    return () => {};
  }
}
