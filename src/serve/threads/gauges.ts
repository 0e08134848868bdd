/**
 * Numbers that a thread keeps for the metrics, in memory that it shares with the main thread. So the main thread can
 * read them while the thread is busy or stuck.
 */
import { DURATION_BOUNDS, Histogram } from "../metrics/histogram.ts";

/** Gauges. They are reset to zero when the thread starts. */
const GAUGES = {
  /** Workspaces that are open. */
  openWorkspaces: 0,
  /** Workspaces with events that no seal covers yet. */
  unsealedWorkspaces: 1,
  /**
   * Since when the first of these workspaces has been waiting for a seal, ms since the Unix epoch; 0 when none waits.
   */
  unsealedSinceMs: 2,
  /** The memory of the search indexes, bytes. */
  searchBytes: 3,
} as const;

/** Counters. They keep their values when the thread is restarted. */
const COUNTERS = {
  /** Seals that could not be made. */
  sealFailures: 4,
  /** Groups of operations that failed because the file could not be written. */
  failedGroups: 5,
} as const;

const SLOTS = { ...GAUGES, ...COUNTERS };

type GaugeName = keyof typeof GAUGES;
type CounterName = keyof typeof COUNTERS;

const FIRST_DURATION = 8;
const NUMBERS = FIRST_DURATION + Histogram.cells(DURATION_BOUNDS);

export class ThreadGauges {
  readonly #numbers: Float64Array;
  /** The time from the begin of a group of operations to the end of its commit, seconds. */
  readonly transactions: Histogram;

  constructor(readonly memory = new SharedArrayBuffer(NUMBERS * Float64Array.BYTES_PER_ELEMENT)) {
    this.#numbers = new Float64Array(memory);
    this.transactions = new Histogram(DURATION_BOUNDS, this.#numbers.subarray(FIRST_DURATION, NUMBERS));
  }

  /** Resets the gauges; to be called when the thread starts. */
  begin(): void {
    for (const at of Object.values(GAUGES)) this.#numbers[at] = 0;
  }

  set(name: GaugeName, value: number): void {
    this.#numbers[GAUGES[name]] = value;
  }

  increment(name: CounterName): void {
    this.#numbers[COUNTERS[name]] = this.get(name) + 1;
  }

  get(name: GaugeName | CounterName): number {
    return this.#numbers[SLOTS[name]] as number;
  }
}
