/**
 * What an agent's data is meant to be, in the simplest form: maps, and whole copies for checkpoints.
 * The real thing keeps versions by position in the log; both must tell the same.
 */

const DAY_MS = 86_400_000;

interface Entry {
  value: string;
  createdAt: number;
  updatedAt: number;
  /** The write that it is from. */
  write: number;
  /** The step that made it the present one: its write, or the restore that brought it back. */
  liveFrom: number;
}

interface Checkpoint {
  step: number;
  entries: Map<string, Entry>;
}

export interface Shown {
  key: string;
  value: string;
  createdAt: number;
  updatedAt: number;
}

export interface RestoreCounts {
  entries_restored: number;
  entries_removed: number;
  entries_unchanged: number;
}

export class ModelAgent {
  readonly #live = new Map<string, Entry>();
  readonly #checkpoints = new Map<string, Checkpoint>();
  #retentionDays: number | null = null;
  #step = 0;

  configure(retentionDays: number | null): void {
    this.#retentionDays = retentionDays;
  }

  write(key: string, value: string, nowMs: number): void {
    const step = ++this.#step;
    const before = this.#live.get(key);
    const createdAt = before !== undefined && this.#isFresh(before, nowMs) ? before.createdAt : nowMs;
    this.#live.set(key, { value, createdAt, updatedAt: nowMs, write: step, liveFrom: step });
  }

  /** Answers how many went. */
  delete(wanted: (key: string) => boolean, nowMs: number): number {
    this.#step++;
    const gone = [...this.#live].filter(([key, entry]) => wanted(key) && this.#isFresh(entry, nowMs));
    for (const [key] of gone) this.#live.delete(key);
    return gone.length;
  }

  /** Answers the count of entries that it holds. */
  checkpoint(id: string, nowMs: number): number {
    this.#checkpoints.set(id, { step: ++this.#step, entries: new Map(this.#live) });
    return this.list(nowMs).length;
  }

  deleteCheckpoint(id: string): void {
    this.#checkpoints.delete(id);
  }

  restore(id: string, safetyId: string, nowMs: number): RestoreCounts {
    const { step: then, entries } = this.#checkpoints.get(id) as Checkpoint;
    this.#checkpoints.set(safetyId, { step: this.#step, entries: new Map(this.#live) });
    const step = ++this.#step;
    const present = new Map(this.#live);
    const counts: RestoreCounts = { entries_restored: 0, entries_removed: 0, entries_unchanged: 0 };
    for (const [key, entry] of present) {
      const past = entries.get(key);
      const fresh = this.#isFresh(entry, nowMs);
      if (past?.write === entry.write && fresh) counts.entries_unchanged++;
      else if (entry.liveFrom > then) this.#live.delete(key);
      if (fresh && (past === undefined || !this.#isFresh(past, nowMs))) counts.entries_removed++;
    }
    for (const [key, past] of entries) {
      if (!this.#isFresh(past, nowMs) || present.get(key)?.write === past.write) continue;
      this.#live.set(key, { ...past, liveFrom: step });
      counts.entries_restored++;
    }
    return counts;
  }

  /** What is past its retention goes for good, from checkpoints too. */
  sweep(nowMs: number): void {
    for (const entries of [this.#live, ...[...this.#checkpoints.values()].map((one) => one.entries)]) {
      for (const [key, entry] of entries) if (!this.#isFresh(entry, nowMs)) entries.delete(key);
    }
  }

  list(nowMs: number): Shown[] {
    return this.#show(this.#live, nowMs);
  }

  state(id: string, nowMs: number): Shown[] {
    return this.#show((this.#checkpoints.get(id) as Checkpoint).entries, nowMs);
  }

  get checkpoints(): string[] {
    return [...this.#checkpoints.keys()];
  }

  /** Live entries, hidden ones included. */
  get liveCount(): number {
    return this.#live.size;
  }

  #isFresh(entry: Entry, nowMs: number): boolean {
    return this.#retentionDays === null || entry.updatedAt >= nowMs - this.#retentionDays * DAY_MS;
  }

  #show(entries: Map<string, Entry>, nowMs: number): Shown[] {
    return [...entries]
      .filter(([, entry]) => this.#isFresh(entry, nowMs))
      .map(([key, { value, createdAt, updatedAt }]) => ({ key, value, createdAt, updatedAt }))
      .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  }
}
