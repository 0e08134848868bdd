/**
 * The history of one agent beyond single keys: the config versions and checkpoints that must be stored, and the changes
 * of many entries at once (restores, deletions by prefix, sweeps of expired entries).
 */
import type { RecordedEffect } from "../../../log/effects.ts";
import { type AuditEventBody, seesSetAside } from "../../../log/event.ts";
import { type Freshness, isFresh } from "../../../screen/retention.ts";
import type { ErasedWrites } from "./erased-writes.ts";
import { firstAtOrAfter } from "./positions.ts";
import { Quarantines } from "./quarantines.ts";
import { NO_RETENTION, type Retention } from "./retention.ts";

/** A change of many keys, and which entries existed for its actor. */
export type BulkChange = PrefixChange | RestoreChange;

/** A deletion of the entries under a prefix. */
export interface PrefixChange extends Freshness, Swept {
  kind: "prefix";
  seq: number;
  prefix: string;
  /** False when there was nothing to delete. */
  ends: boolean;
  /** Whether what it ended is kept as history. */
  keeps: boolean;
  /** How many entries the event states; null when the log does not tell how many there were. */
  stated: number | null;
  /** How many of the followed keys had an entry, and of how many a sweep may have removed it before. */
  found: number;
  open: number;
  /** How many writes before it have no details any more. */
  blankWrites: number;
}

interface RestoreChange extends Freshness {
  kind: "restore";
  seq: number;
  /** The position whose state is restored; null when the log does not tell which. */
  asOf: number | null;
}

/** Entries written before `sweptCutoffMs`, or that expired until `sweptUntilMs`, may have been removed. */
interface Swept {
  sweptCutoffMs: number;
  sweptUntilMs: number;
}

/** The facts about an agent that are needed before its log is read. */
export interface StoredFacts {
  /** Positions that the stored checkpoints see, ascending. */
  checkpoints: Float64Array;
  retention: Retention;
  /** Entries written before this moment (ms) may have been removed as expired; -1: none. */
  sweptBeforeMs: number;
  /** Of the versions that ended before this position, only those that checkpoints see are stored. */
  historyFrom: number;
  /** What is set aside, of all agents. */
  quarantines: Quarantines;
}

export const NOTHING_STORED: StoredFacts = {
  checkpoints: new Float64Array(),
  retention: NO_RETENTION,
  sweptBeforeMs: -1,
  historyFrom: 0,
  quarantines: new Quarantines(),
};

/** Returns which entries existed for an event's actor. */
const freshAtEvent = (retention: Retention, event: AuditEventBody, effect: RecordedEffect): Freshness => ({
  cutoffMs: cutoffOf(retention, event, effect),
  nowMs: Date.parse(event.timestamp),
  seesSetAside: seesSetAside(event.actor),
});

/** Returns the cutoff at an event. A restore depends on the config before it and on the config after it. */
export function cutoffOf(retention: Retention, event: AuditEventBody, effect: RecordedEffect): number {
  if (retention.isNone) return -1;
  const { seq, config_version, timestamp } = event;
  const timeMs = Date.parse(timestamp);
  const after = effect.kind === "restore" ? (effect.config?.version ?? null) : null;
  return Math.max(retention.cutoff(config_version, seq, timeMs), retention.cutoff(after, seq, timeMs));
}

export class AgentHistory {
  /** The number of config versions made. */
  configs = 0;
  /** The number of checkpoints made and not removed, including safety checkpoints. */
  checkpoints = 0;
  /** The position of the newest event that removed entries from checkpoints; -1 for none. */
  lastRemoval: number;
  /** Whether any entry has an expiry time, as far as the log was read. */
  expiring = false;
  /** Entries with an expiry time up to this moment, ms, may have been removed, as far as the log was read. */
  sweptUntilMs = Number.NEGATIVE_INFINITY;
  /** Entries that were written before this moment, ms, may have been removed, as far as the log was read. */
  sweptCutoffMs = Number.NEGATIVE_INFINITY;
  /** The number of writes so far that have no details any more. */
  blankWrites = 0;
  /** How many entries restores have brought back so far. */
  restored = 0;
  /** Where its history begins, as far as the log was read. */
  historyFrom = 0;
  /** When its newest sweep was, ms. */
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  /** The position of the newest event that may have removed expired entries; -1 for none. */
  #lastSweep = -1;
  /** Whether it is not known which entries there are: of a change of many keys, the details are gone. */
  isOpen: boolean;
  /** The same, and no erasure will say which entries it took. */
  isLost: boolean;
  /** Whether details that are needed for counting are erased, or pruned with their events. */
  uncertain: boolean;
  readonly bulkChanges: BulkChange[] = [];
  /** The checkpoints that exist as far as the log was read, and all their positions, ascending. */
  readonly #existing = new Map<string, number>();
  readonly #positions: number[] = [];
  /** The checkpoints that do not exist any more: their positions, and those of their ends. */
  readonly #removed: { asOf: number; to: number }[] = [];
  /** The positions of restores whose effect is unknown, ascending. */
  readonly #unknown: number[] = [];
  #firstSweep = Number.POSITIVE_INFINITY;

  /**
   * @param prunedBefore the position from which the log has all events, if it is not known what was stored before it:
   *   one agent alone is verified, which does not need the list of kept rows, or that list was changed; otherwise 0
   * @param start the position of the pruning whose kept rows the history begins with; otherwise -1
   */
  constructor(
    readonly facts: StoredFacts,
    readonly prunedBefore: number,
    readonly start: number,
  ) {
    this.lastRemoval = prunedBefore > 0 ? Number.POSITIVE_INFINITY : start;
    this.uncertain = prunedBefore > 0;
    this.isOpen = prunedBefore > 0;
    this.isLost = prunedBefore > 0;
  }

  /** Whether anything can expire, as far as the log was read. */
  get expires(): boolean {
    return this.expiring || !this.facts.retention.isNone;
  }

  /** Whether a sweep may have removed an entry. */
  mayBeSwept({ timeMs, expiresMs }: { timeMs: number; expiresMs: number }, swept: Swept = this): boolean {
    return timeMs < swept.sweptCutoffMs || expiresMs <= swept.sweptUntilMs;
  }

  /**
   * Returns which entries count for the root of the state after event `seq`, as far as the log was read: a test of each
   * version (docs/audit-format.md, "State root").
   * @param timeMs the time of that event
   */
  presence(seq: number, timeMs: number): (version: { from: number; timeMs: number; expiresMs: number }) => boolean {
    const nowMs = Math.max(timeMs, this.#sweptAtMs);
    const config = this.configs === 0 ? null : `v${this.configs}`;
    const cutoffMs = this.facts.retention.cutoff(config, seq + 1, nowMs);
    const fresh = { cutoffMs, nowMs, seesSetAside: true };
    return (version) => {
      if (version.from < this.#lastSweep && this.mayBeSwept(version)) return false;
      return isFresh({ updatedAt: version.timeMs, expiresAt: version.expiresMs, isSetAside: false }, fresh);
    };
  }

  /** Takes an event that found no entry under a prefix. */
  miss(event: AuditEventBody, prefix: string): void {
    if (event.seq > this.start) this.#addPrefix(event, { kind: "none" }, { prefix, ends: false, stated: 0 });
  }

  /** Applies the effect of the next event of the log. {@link Replay} handles effects on single keys. */
  take(event: AuditEventBody, effect: RecordedEffect): void {
    const { seq } = event;
    const kind = effect.kind === "unknown" ? effect.of : effect.kind;
    if (seq <= this.start) {
      // All versions of the config are stored, so a pruning keeps the events of all.
      if (kind === "add_config" || (effect.kind === "restore" && effect.config !== null)) this.configs += 1;
      return;
    }
    switch (kind) {
      case "add_config":
        this.configs += 1;
        return;
      case "add_checkpoint":
        this.#addCheckpoint(effect.kind === kind ? effect.id : null, seq);
        return;
      case "remove_checkpoint":
        this.#removeCheckpoint(effect.kind === kind ? effect.id : null, seq);
        return;
      case "restore":
        this.#restore(event, effect);
        return;
      case "end_prefix":
        // Without its details, the keys that it ended were erased with the prefix.
        if (effect.kind !== kind) this.isOpen = true;
        else this.#addPrefix(event, effect, { prefix: effect.prefix, ends: true, stated: effect.count });
        return;
      case "expire":
        if (effect.kind === kind) this.historyFrom = effect.through;
        this.#sweptAtMs = Date.parse(event.timestamp);
        // Where nothing expires, it dropped history alone.
        if (!this.expires && this.blankWrites === 0) return;
        this.#sweep(event, effect);
        this.lastRemoval = Math.max(this.lastRemoval, seq);
        return;
      case "erase":
        this.lastRemoval = Math.max(this.lastRemoval, seq);
        return;
      case "put":
        this.blankWrites += 1;
        return;
      case "end":
      case "set_aside":
      case "release":
      case "suspend":
      case "resume":
      case "prune":
      case "heads":
      case "rows":
      case "none":
        return;
      default:
        kind satisfies never;
    }
  }

  /** Adds a checkpoint that the pruning kept; to be called in the order of their positions. */
  keep(id: string, asOf: number): void {
    this.#addCheckpoint(id, asOf);
  }

  /** Returns the position of a checkpoint that exists as far as the log was read; null for none. */
  asOf(id: string): number | null {
    return this.#existing.get(id) ?? null;
  }

  /** Whether these are exactly the ids of the checkpoints that exist after the last event. */
  areCheckpoints(ids: ReadonlySet<string>): boolean {
    return ids.size === this.#existing.size && [...ids].every((id) => this.#existing.has(id));
  }

  /** Whether a checkpoint that exists as far as the log was read sees a version that was live from `from` to `to`. */
  isSeenNow(from: number, to: number): boolean {
    const index = firstAtOrAfter(this.#positions, from);
    return (this.#positions[index] ?? Number.POSITIVE_INFINITY) < to;
  }

  /** Whether a checkpoint saw a version that was live since `from`, when the event at `to` ended it. */
  wasSeen(from: number, to: number): boolean {
    if (this.isSeenNow(from, to)) return true;
    return this.#removed.some((one) => one.asOf >= from && one.asOf < to && one.to > to);
  }

  /** Whether a version that an event ends is kept as history. */
  keeps({ config_version, seq }: Pick<AuditEventBody, "config_version" | "seq">): boolean {
    return this.facts.retention.keepsHistory(config_version, seq);
  }

  /** Whether a version that was kept when the event at `to` ended it must still be stored. */
  isStored(from: number, to: number): boolean {
    return to >= this.facts.historyFrom || this.isSeen(from, to);
  }

  /** Whether a stored checkpoint sees a version that was live from `from` until before `to`. */
  isSeen(from: number, to: number): boolean {
    const { checkpoints } = this.facts;
    return (checkpoints[firstAtOrAfter(checkpoints, from)] ?? Number.POSITIVE_INFINITY) < to;
  }

  /** Whether the log does not determine what happened to a version that was live from `from` to `to`. */
  isUncertain(from: number, to: number): boolean {
    const next = this.#unknown[firstAtOrAfter(this.#unknown, from)];
    return next !== undefined && next <= to;
  }

  /** Whether the log determines, up to a position, where each key began. */
  knowsOrigins(seq: number): boolean {
    return seq < this.#firstSweep && seq < (this.#unknown[0] ?? Number.POSITIVE_INFINITY);
  }

  /** @param id null when the event's details are erased */
  #addCheckpoint(id: string | null, asOf: number): void {
    this.checkpoints += 1;
    if (id === null) {
      this.uncertain = true;
      return;
    }
    this.#existing.set(id, asOf);
    this.#positions.push(asOf);
  }

  #removeCheckpoint(id: string | null, seq: number): void {
    this.checkpoints -= 1;
    if (id === null) this.uncertain = true;
    const asOf = id === null ? undefined : this.#existing.get(id);
    if (id === null || asOf === undefined) return;
    this.#existing.delete(id);
    this.#positions.splice(firstAtOrAfter(this.#positions, asOf), 1);
    this.#removed.push({ asOf, to: seq });
  }

  #restore(event: AuditEventBody, effect: RecordedEffect): void {
    const { seq } = event;
    const known = effect.kind === "restore" ? effect : null;
    this.restored += known?.restored ?? 0;
    if (known !== null && known.restored === 0 && known.removed === 0) {
      // The restore may still have ended expired entries, which it does not count.
      if (this.expires) this.#sweep(event, effect);
    } else if (seq >= this.prunedBefore) {
      const asOf = known === null ? undefined : this.#existing.get(known.checkpointId);
      // The effect of a restore depends on the entries before it, so it is unknown after another unknown restore.
      const follows = asOf !== undefined && asOf >= this.prunedBefore && this.#unknown.length === 0;
      if (!follows) {
        this.#unknown.push(seq);
        this.isOpen = true;
        this.isLost = true;
      }
      const fresh = freshAtEvent(this.facts.retention, event, effect);
      this.bulkChanges.push({ kind: "restore", seq, ...fresh, asOf: follows ? asOf : null });
    }
    this.#addCheckpoint(known?.safety.id ?? null, seq - 1);
    if (known?.config) this.configs += 1;
  }

  #sweep(event: AuditEventBody, effect: RecordedEffect): void {
    const { cutoffMs, nowMs } = freshAtEvent(this.facts.retention, event, effect);
    this.#firstSweep = Math.min(this.#firstSweep, event.seq);
    this.#lastSweep = event.seq;
    this.sweptUntilMs = Math.max(this.sweptUntilMs, nowMs);
    this.sweptCutoffMs = Math.max(this.sweptCutoffMs, cutoffMs);
  }

  #addPrefix(
    event: AuditEventBody,
    effect: RecordedEffect,
    of: Pick<PrefixChange, "prefix" | "ends"> & { stated: number },
  ): void {
    const { isOpen, blankWrites, sweptUntilMs, sweptCutoffMs } = this;
    const fresh = freshAtEvent(this.facts.retention, event, effect);
    const before = { blankWrites, sweptUntilMs, sweptCutoffMs, keeps: this.keeps(event) };
    const stated = isOpen ? null : of.stated;
    this.bulkChanges.push({ kind: "prefix", seq: event.seq, ...of, ...fresh, ...before, stated, found: 0, open: 0 });
  }
}

/** The histories of all agents. */
export class Histories {
  readonly #agents = new Map<string | null, AgentHistory>();

  /**
   * @param others the facts about agents that are not in `stored`
   * @param prunedBefore @param start see {@link AgentHistory}
   */
  constructor(
    private readonly stored: ReadonlyMap<string | null, StoredFacts>,
    private readonly others: StoredFacts,
    readonly prunedBefore: number,
    readonly start = -1,
    readonly erasedWrites: ErasedWrites = new Map(),
  ) {}

  /** What is set aside, of all agents. */
  get quarantines(): Quarantines {
    return this.others.quarantines;
  }

  /** Returns the history of an agent, which is empty before its first event. */
  of(agentId: string | null): AgentHistory {
    const made = () => new AgentHistory(this.stored.get(agentId) ?? this.others, this.prunedBefore, this.start);
    return this.#agents.getOrInsertComputed(agentId, made);
  }

  /** Returns the same histories, before any event. */
  restarted(): Histories {
    return new Histories(this.stored, this.others, this.prunedBefore, this.start, this.erasedWrites);
  }
}
