/**
 * What happened to an agent's entries other than by their own keys: restores, deletions by prefix,
 * sweeps of expired ones; and which positions its stored checkpoints see. One for each agent.
 */
import { retentionCutoff } from "../state/configs.ts";

/** A deletion by prefix. Entries written before `cutoffMs` were expired, and so not deleted. */
interface PrefixDeletion {
  seq: number;
  prefix: string;
  cutoffMs: number;
}

/** A restore of the state at `asOf`; -1 when it is not known which that was. */
interface Restore {
  seq: number;
  asOf: number;
}

/** Restores, and deletions by prefix, that are looked through for one version of an entry. */
const MAX_LOOKED_THROUGH = 256;

export class Timeline {
  // Filled while the log is read.
  readonly #restores: Restore[] = [];
  readonly #prefixDeletions: PrefixDeletion[] = [];
  #firstSweep = Number.POSITIVE_INFINITY;
  /** Details that would be needed are erased: nothing is said about this agent's entries as a whole. */
  unknown = false;

  /**
   * @param checkpoints positions that stored checkpoints see, ascending
   * @param retention days of retention by config version, of the versions that have it
   * @param sweptBeforeMs entries written before this moment may have been swept; -1: none
   * @param restored the position whose state a restore brought back, by the restore's own position
   */
  constructor(
    readonly checkpoints = new Float64Array(),
    readonly retention: ReadonlyMap<string, number> = new Map(),
    readonly sweptBeforeMs = -1,
    readonly restored: ReadonlyMap<number, number> = new Map(),
  ) {}

  /** The same before the log is read. */
  anew(): Timeline {
    return new Timeline(this.checkpoints, this.retention, this.sweptBeforeMs, this.restored);
  }

  addRestore(seq: number): void {
    this.#restores.push({ seq, asOf: this.restored.get(seq) ?? -1 });
  }

  addPrefixDeletion(seq: number, prefix: string, cutoffMs: number): void {
    this.#prefixDeletions.push({ seq, prefix, cutoffMs });
  }

  addSweep(seq: number): void {
    this.#firstSweep = Math.min(this.#firstSweep, seq);
  }

  /** Entries written before this moment (ms) were expired under a config at a time; -1: none. */
  cutoff(configVersion: string | null, timeMs: number): number {
    if (this.retention.size === 0) return -1;
    const retentionDays = configVersion === null ? null : (this.retention.get(configVersion) ?? null);
    return retentionCutoff({ blockPii: false, blockSecrets: false, retentionDays }, timeMs);
  }

  /** Whether a checkpoint sees what was live from `from` until before `to`. */
  isSeen(from: number, to: number): boolean {
    const index = firstAtOrAfter(this.checkpoints, from, (asOf) => asOf);
    return (this.checkpoints[index] ?? Number.POSITIVE_INFINITY) < to;
  }

  /**
   * Whether the log leaves open what became of a version that was written at `after`, until `before`:
   * a restore may have ended it, or too much happened. A restore leaves what its state holds.
   */
  isUncertain(after: number, before: number): boolean {
    const first = firstAfter(this.#restores, after);
    for (let index = first; index < this.#restores.length; index++) {
      const { seq, asOf } = this.#restores[index] as Restore;
      if (seq >= before) break;
      if (asOf < after || index - first >= MAX_LOOKED_THROUGH) return true;
    }
    const deletion = this.#prefixDeletions[firstAfter(this.#prefixDeletions, after) + MAX_LOOKED_THROUGH];
    return deletion !== undefined && deletion.seq < before;
  }

  /** Whether a deletion by prefix ended what was written under a key at `after`, before `before`. */
  wasDeletedByPrefix(key: string, timeMs: number, after: number, before: number): boolean {
    const start = firstAfter(this.#prefixDeletions, after);
    for (let index = start; index < this.#prefixDeletions.length; index++) {
      const { seq, prefix, cutoffMs } = this.#prefixDeletions[index] as PrefixDeletion;
      if (seq >= before) return false;
      if (timeMs >= cutoffMs && key.startsWith(prefix)) return true;
    }
    return false;
  }

  /** Whether, at a position, the log alone says where each key began. */
  knowsOrigins(seq: number): boolean {
    return seq < this.#firstSweep && seq < (this.#restores[0]?.seq ?? Number.POSITIVE_INFINITY);
  }
}

function firstAfter(items: readonly { seq: number }[], after: number): number {
  return firstAtOrAfter(items, after + 1, ({ seq }) => seq);
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
