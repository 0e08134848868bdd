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
  /** When it ends by itself; null for never. */
  expiresAt: number | null;
}

/** Days of retention, null for none; undefined for an agent without a config. */
type Retention = number | null | undefined;

/** A version that ended, and when. */
interface Past extends Entry {
  key: string;
  endedAt: number;
}

interface Checkpoint {
  step: number;
  retention: Retention;
  history: number;
  entries: Map<string, Entry>;
}

/** The days of history when nobody sets them. */
export const DEFAULT_HISTORY = 30;

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
  /** The writes that are set aside. */
  readonly #aside = new Set<number>();
  /** The entries right after positions of the log, and how many there were. */
  readonly #moments = new Map<number, { entries: Map<string, Entry>; count: number }>();
  #past: Past[] = [];
  #retention: Retention;
  #history = DEFAULT_HISTORY;
  #step = 0;

  /** Returns a copy that goes its own way. Its checkpoints are the same. */
  copy(): ModelAgent {
    const copy = new ModelAgent();
    for (const [key, entry] of this.#live) copy.#live.set(key, entry);
    for (const [id, checkpoint] of this.#checkpoints) copy.#checkpoints.set(id, checkpoint);
    for (const write of this.#aside) copy.#aside.add(write);
    copy.#past = [...this.#past];
    copy.#retention = this.#retention;
    copy.#history = this.#history;
    copy.#step = this.#step;
    return copy;
  }

  configure(retentionDays: number | null, historyDays: number): void {
    this.#step++;
    this.#retention = retentionDays;
    this.#history = historyDays;
  }

  /** Ends the present entry of a key. */
  #end(key: string, nowMs: number): void {
    const entry = this.#live.get(key);
    this.#live.delete(key);
    if (entry !== undefined && this.#history > 0 && this.#isFresh(entry, nowMs)) {
      this.#past.push({ ...entry, key, endedAt: nowMs });
    }
  }

  #readable(nowMs: number): Past[] {
    return this.#past.filter(
      (past) => this.#history > 0 && past.endedAt >= nowMs - this.#history * DAY_MS && this.#isFresh(past, nowMs),
    );
  }

  /** Sets the versions that some writes made aside, or releases them. */
  place(writes: readonly number[], isAside: boolean): void {
    this.#step++;
    for (const write of writes) isAside ? this.#aside.add(write) : this.#aside.delete(write);
  }

  isAside(write: number): boolean {
    return this.#aside.has(write);
  }

  /** The versions of a key, the newest write first, and when each ended; null for the present one. */
  versions(key: string, nowMs: number): [value: string, endedAt: number | null][] {
    return this.#versions(key, nowMs).map(([{ value }, endedAt]) => [value, endedAt]);
  }

  /** The writes of these versions. */
  writesOf(key: string, nowMs: number): number[] {
    return this.#versions(key, nowMs).map(([{ write }]) => write);
  }

  #versions(key: string, nowMs: number): [Entry, endedAt: number | null][] {
    const present = this.#live.get(key);
    const all: [Entry, number | null][] = this.#readable(nowMs)
      .filter((past) => past.key === key)
      .map((past) => [past, past.endedAt]);
    if (present !== undefined && this.#isFresh(present, nowMs)) all.push([present, null]);
    const byWrite = new Map(all.map((one) => [one[0].write, one]));
    return [...byWrite.values()].sort(([a], [b]) => b.write - a.write);
  }

  /** Keeps the state as that of a position. */
  passes(seq: number): void {
    this.#moments.set(seq, { entries: new Map(this.#live), count: this.#live.size });
  }

  get moments(): number[] {
    return [...this.#moments.keys()];
  }

  /**
   * Returns the state of a position without what has ended by itself since; whether some of the rest is no longer kept;
   * and whether anything has ended by itself.
   */
  at(seq: number, nowMs: number, sees = true): { shown: Shown[]; isLost: boolean; hasEnded: boolean } {
    const { entries, count } = this.#moments.get(seq) as { entries: Map<string, Entry>; count: number };
    const shown = this.#show(entries, nowMs, sees);
    const kept = [this.#live, ...Array.from(this.#checkpoints.values(), (one) => one.entries)];
    const past = this.#readable(nowMs);
    const isSame = (a: Entry | undefined, b: Entry) => a?.write === b.write && a.liveFrom === b.liveFrom;
    const isLost = [...entries].some(
      ([key, entry]) =>
        this.#isFresh(entry, nowMs) &&
        !kept.some((state) => isSame(state.get(key), entry)) &&
        !past.some((one) => one.key === key && isSame(one, entry)),
    );
    return { shown, isLost, hasEnded: shown.length < count };
  }

  /** @param sees whether who writes sees what is set aside */
  write(key: string, value: string, nowMs: number, expiresAt: number | null = null, sees = true): void {
    const step = ++this.#step;
    const before = this.#live.get(key);
    const createdAt = before !== undefined && this.#isFresh(before, nowMs, sees) ? before.createdAt : nowMs;
    this.#end(key, nowMs);
    this.#live.set(key, { value, createdAt, updatedAt: nowMs, write: step, liveFrom: step, expiresAt });
  }

  /** Returns how many were deleted. */
  delete(wanted: (key: string) => boolean, nowMs: number, sees = true): number {
    this.#step++;
    const gone = [...this.#live].filter(([key, entry]) => wanted(key) && this.#isFresh(entry, nowMs, sees));
    for (const [key] of gone) this.#end(key, nowMs);
    return gone.length;
  }

  /** Returns the number of entries in it. */
  checkpoint(id: string, nowMs: number): number {
    this.#save(id, ++this.#step);
    return this.list(nowMs).length;
  }

  deleteCheckpoint(id: string): void {
    this.#checkpoints.delete(id);
  }

  restore(
    id: string,
    parts: { config: boolean; data: boolean },
    safetyId: string,
    nowMs: number,
    sees = true,
  ): RestoreCounts {
    const then = this.#checkpoints.get(id) as Checkpoint;
    const before = this.#retention;
    this.#save(safetyId, this.#step);
    this.#step++;
    // What is past the one retention or the other stays gone.
    const after = parts.config && then.retention !== undefined ? then.retention : before;
    const isSeen = ({ write }: Entry) => sees || !this.#aside.has(write);
    const isFresh = (entry: Entry) => isSeen(entry) && isWithin(before, entry, nowMs) && isWithin(after, entry, nowMs);
    const counts = parts.data ? this.#restoreData(then, isFresh, nowMs) : null;
    if (parts.config && then.retention !== undefined) [this.#retention, this.#history] = [then.retention, then.history];
    if (counts !== null) return counts;
    const unchanged = [...this.#live.values()].filter(
      (entry) => isSeen(entry) && isWithin(before, entry, nowMs),
    ).length;
    return { entries_restored: 0, entries_removed: 0, entries_unchanged: unchanged };
  }

  #restoreData(then: Checkpoint, isFresh: (entry: Entry) => boolean, nowMs: number): RestoreCounts {
    const present = new Map(this.#live);
    const counts: RestoreCounts = { entries_restored: 0, entries_removed: 0, entries_unchanged: 0 };
    for (const [key, entry] of present) {
      const past = then.entries.get(key);
      if (past?.write === entry.write && isFresh(entry)) counts.entries_unchanged++;
      else if (entry.liveFrom > then.step) this.#end(key, nowMs);
      if (isFresh(entry) && (past === undefined || !isFresh(past))) counts.entries_removed++;
    }
    for (const [key, past] of then.entries) {
      if (!isFresh(past) || present.get(key)?.write === past.write) continue;
      this.#live.set(key, { ...past, liveFrom: this.#step });
      counts.entries_restored++;
    }
    return counts;
  }

  #save(id: string, step: number): void {
    const { entries, retention, history } = {
      entries: new Map(this.#live),
      retention: this.#retention,
      history: this.#history,
    };
    this.#checkpoints.set(id, { step, retention, history, entries });
  }

  /** What is past its retention goes for good, from checkpoints too, and so does history that is past its days. */
  sweep(nowMs: number): void {
    for (const entries of [...this.#states, ...Array.from(this.#moments.values(), (one) => one.entries)])
      for (const [key, entry] of entries) if (!this.#isFresh(entry, nowMs)) entries.delete(key);
    this.#past = this.#readable(nowMs);
  }

  /** Whether a sweep would find something. */
  hasExpired(nowMs: number): boolean {
    return this.#states.some((entries) => entries.values().some((entry) => !this.#isFresh(entry, nowMs)));
  }

  /** What is erased goes for good, too. Returns how many of the present entries went, hidden ones included. */
  erase(wanted: (key: string) => boolean): number {
    this.#step++;
    const before = this.#live.size;
    for (const entries of this.#states) for (const key of entries.keys()) if (wanted(key)) entries.delete(key);
    return before - this.#live.size;
  }

  /** Whether anything is stored under such a key, in the present or for a checkpoint. */
  holds(wanted: (key: string) => boolean): boolean {
    return this.#states.some((entries) => entries.keys().some(wanted));
  }

  /** Returns the value of a key; undefined when there is none or it is expired. */
  read(key: string, nowMs: number, sees = true): string | undefined {
    const entry = this.#live.get(key);
    return entry !== undefined && this.#isFresh(entry, nowMs, sees) ? entry.value : undefined;
  }

  /** The values that a restore of the data would bring back under that retention. */
  comingBack(id: string, retention: Retention, nowMs: number): string[] {
    const isFresh = (entry: Entry) => this.#isFresh(entry, nowMs) && isWithin(retention, entry, nowMs);
    const { entries } = this.#checkpoints.get(id) as Checkpoint;
    return [...entries]
      .filter(([key, past]) => isFresh(past) && this.#live.get(key)?.write !== past.write)
      .map(([, { value }]) => value);
  }

  get #states(): Map<string, Entry>[] {
    return [this.#live, ...Array.from(this.#checkpoints.values(), ({ entries }) => entries)];
  }

  list(nowMs: number, sees = true): Shown[] {
    return this.#show(this.#live, nowMs, sees);
  }

  state(id: string, nowMs: number, sees = true): Shown[] {
    return this.#show((this.#checkpoints.get(id) as Checkpoint).entries, nowMs, sees);
  }

  get checkpoints(): string[] {
    return [...this.#checkpoints.keys()];
  }

  /** Live entries, hidden ones included. */
  get liveCount(): number {
    return this.#live.size;
  }

  /** Whether an entry exists. @param sees for somebody who sees what is set aside */
  #isFresh(entry: Entry, nowMs: number, sees = true): boolean {
    return (sees || !this.#aside.has(entry.write)) && isWithin(this.#retention, entry, nowMs);
  }

  #show(entries: Map<string, Entry>, nowMs: number, sees: boolean): Shown[] {
    return [...entries]
      .filter(([, entry]) => this.#isFresh(entry, nowMs, sees))
      .map(([key, { value, createdAt, updatedAt }]) => ({ key, value, createdAt, updatedAt }))
      .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  }
}

function isWithin(retention: Retention, entry: Entry, nowMs: number): boolean {
  if (entry.expiresAt !== null && entry.expiresAt <= nowMs) return false;
  return typeof retention !== "number" || entry.updatedAt >= nowMs - retention * DAY_MS;
}
