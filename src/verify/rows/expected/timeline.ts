/**
 * What happened to an agent's entries other than by their own keys: restores, deletions by prefix,
 * sweeps of expired ones; and which positions its stored checkpoints see. One for each agent.
 */
import { cutoffAt, type Retention } from "./retention.ts";

/** Something that happens to many keys. Entries written before `cutoffMs` are past their retention then. */
export type Disturbance = { seq: number; cutoffMs: number } & (
  | { kind: "prefix"; prefix: string }
  /** `asOf`: the position whose state is brought back; null when the log does not say enough of it. */
  | { kind: "restore"; asOf: number | null }
);

export class Timeline {
  // Filled while the log is read.
  readonly disturbances: Disturbance[] = [];
  /** Checkpoints that exist, and their positions, ascending. */
  readonly #existing = new Map<string, number>();
  readonly #positions: number[] = [];
  /** Positions of the restores that are not followed, ascending. */
  readonly #unknown: number[] = [];
  #firstSweep = Number.POSITIVE_INFINITY;
  /** Details that would be needed are erased: nothing is said about this agent's entries as a whole. */
  unknown = false;

  /**
   * @param checkpoints positions that the stored checkpoints see, ascending
   * @param retention days of retention by config version, of the versions that have it
   * @param sweptBeforeMs entries written before this moment may have been removed as expired; -1: none
   */
  constructor(
    readonly checkpoints = new Float64Array(),
    readonly retention: Retention = new Map(),
    readonly sweptBeforeMs = -1,
  ) {}

  /** The same before the log is read. */
  anew(): Timeline {
    return new Timeline(this.checkpoints, this.retention, this.sweptBeforeMs);
  }

  /** Adds a checkpoint that the log makes. */
  addCheckpoint(id: string, asOf: number): void {
    this.#existing.set(id, asOf);
    this.#positions.push(asOf);
  }

  removeCheckpoint(id: string): void {
    const asOf = this.#existing.get(id);
    if (asOf === undefined) return;
    this.#existing.delete(id);
    this.#positions.splice(
      firstAtOrAfter(this.#positions, asOf, (seq) => seq),
      1,
    );
  }

  /** Whether a checkpoint that exists as far as the log is read sees what was live from `from` to `to`. */
  isSeenNow(from: number, to: number): boolean {
    const index = firstAtOrAfter(this.#positions, from, (asOf) => asOf);
    return (this.#positions[index] ?? Number.POSITIVE_INFINITY) < to;
  }

  /** @param checkpointId what is restored; null when the event does not say enough to follow it */
  addRestore(seq: number, cutoffMs: number, checkpointId: string | null): void {
    const asOf = checkpointId === null ? null : (this.#existing.get(checkpointId) ?? null);
    // What a restore does depends on what is there: behind one that is not known none is.
    const known = asOf !== null && this.#unknown.length === 0;
    if (!known) this.#unknown.push(seq);
    this.disturbances.push({ kind: "restore", seq, cutoffMs, asOf: known ? asOf : null });
  }

  addPrefixDeletion(seq: number, prefix: string, cutoffMs: number): void {
    this.disturbances.push({ kind: "prefix", seq, cutoffMs, prefix });
  }

  /** Adds an event that removed expired entries, or may have. */
  addSweep(seq: number): void {
    this.#firstSweep = Math.min(this.#firstSweep, seq);
  }

  /** Entries written before this moment (ms) were expired under a config at a time; -1: none. */
  cutoff(configVersion: string | null, timeMs: number): number {
    return this.retention.size === 0 ? -1 : cutoffAt(this.retention, configVersion, timeMs);
  }

  /** Whether a checkpoint sees what was live from `from` until before `to`. */
  isSeen(from: number, to: number): boolean {
    const index = firstAtOrAfter(this.checkpoints, from, (asOf) => asOf);
    return (this.checkpoints[index] ?? Number.POSITIVE_INFINITY) < to;
  }

  /** Whether the log leaves open what became of a version that lived from `from` to `to`. */
  isUncertain(from: number, to: number): boolean {
    const index = firstAtOrAfter(this.#unknown, from, (seq) => seq);
    const next = this.#unknown[index];
    return next !== undefined && next <= to;
  }

  /** Whether, at a position, the log alone says where each key began. */
  knowsOrigins(seq: number): boolean {
    return seq < this.#firstSweep && seq < (this.#unknown[0] ?? Number.POSITIVE_INFINITY);
  }
}

/** The first index whose position is `seq` or later; the length when there is none. */
function firstAtOrAfter<T>(items: ArrayLike<T>, seq: number, position: (item: T) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (position(items[middle] as T) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
