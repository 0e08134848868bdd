/**
 * Replays the log to derive the entries that must be stored. Each key is followed from write to write. Each version
 * that must still exist (the present one, the history, and those that a stored checkpoint sees) is added to a sum, and the
 * stored rows are added to another. The sums differ when a row is missing, has an earlier genuine content, or began or ended
 * at another event than the log says.
 *
 * Both sums leave out what the log does not determine: entries that may have been swept, and entries that a restore
 * with erased details may have changed; entry.ts and checkpoints.ts check these. Both also leave out rows that equal
 * their key's last write in all columns. Memory is bounded: when there are too many keys, they are divided into parts,
 * and the log is read once for each part.
 */

import { staysPresent } from "../../../core/rows/restore.ts";
import type { JsonObject } from "../../../json.ts";
import { covers, recordedEffect } from "../../../log/effects.ts";
import { type AuditEventBody, seesSetAside } from "../../../log/event.ts";
import { type ListedRecall, listedRecall } from "../../../log/recall.ts";
import { comparePlaces, type StateLeaf } from "../../../log/state/tree.ts";
import { type Freshness, isFresh } from "../../../screen/retention.ts";
import type { StoredLife } from "../entry.ts";
import { ERASED } from "./erased-writes.ts";
import type { AgentHistory, BulkChange, Histories, PrefixChange } from "./history.ts";
import { type KeyEvent, keyEventOf, missedPrefix } from "./key-events.ts";
import { Lives } from "./lives.ts";
import { firstAtOrAfter } from "./positions.ts";
import { ExpectedNames, MultisetPrint, NEVER, nameOf, type Version, wholeName } from "./versions.ts";

/** The most keys that are followed at once by default. */
const MAX_KEYS = 1 << 18;

/** Random, so that nobody can choose keys that all fall into one part. */
const PART_SEED = crypto.getRandomValues(new Uint32Array(1))[0] as number;

/** Returns the part of a key. */
export const partOf = (key: string, parts: number): number =>
  parts === 1 ? 0 : Bun.hash.xxHash32(key, PART_SEED) % parts;

/** A version that has ended, and the position of the event that ended it. */
type Past = Version & { to: number };

/** A key that is followed. */
interface FollowedKey {
  key: string;
  present: Version | null;
  /** Ended versions that a checkpoint may see, as far as the log was read. */
  past: Past[];
  /** How many of its agent's bulk changes are applied. */
  followed: number;
  /** Whether the stored row of the present version was found. */
  met: boolean;
}

interface AgentReplay {
  history: AgentHistory;
  expected: ExpectedNames;
  /** The whole rows of those ended versions that {@link Replay.endedOf} counts. */
  ended: MultisetPrint;
  keys: Map<string, FollowedKey>;
  /** The number of versions of its keys, present and past, that there are at most. */
  versions: number;
  /** The positions of all writes whose details are known, of keys that are followed or not, ascending; and of the others. */
  writes: number[];
  blankWrites: Set<number>;
  /** When the versions of the followed keys were there; and the keys of those that may still be, or be again. */
  lives: Lives;
  keyOf: Map<number, FollowedKey>;
}

/** Is told before each event, so that it can look at the state after the ones before. */
export interface Reached {
  reach(seq: number, replay: Replay): void;
}

const SET_ASIDE = "the operation states that it returned a version that was set aside then";
const NOT_THERE = "the operation states that it returned a version that was not there then";

/** An event that is not possible after the events before it. */
interface Impossible {
  agentId: string | null;
  seq: number;
  message: string;
}

export class Replay {
  readonly #histories: Histories;
  readonly #agents = new Map<string | null, AgentReplay>();
  readonly #part: number;
  readonly #maxKeys: number;
  /** The number of parts into which the keys are divided. */
  parts: number;
  /** Whether keys had to be left out, so that no sum is right. */
  overflowed = false;
  /** What was impossible of the keys that are followed. */
  readonly impossible: Impossible[] = [];
  /** The positions of changes whose details are gone, and of which no erasure was read yet. */
  readonly #blanks = new Set<number>();
  /** The number of keys and of ended versions. */
  #held = 0;
  #counted = false;

  /**
   * @param division the part of the keys that is followed. A number instead: all keys are followed until there are more
   *   than that; then `overflowed` is true, and the log must be read once for each of `parts`.
   */
  constructor(
    histories: Histories,
    division: { part: number; parts: number } | number = MAX_KEYS,
    private readonly roots: Reached | null = null,
  ) {
    const all = typeof division === "number";
    this.#histories = histories;
    this.#part = all ? 0 : division.part;
    this.parts = all ? 1 : division.parts;
    this.#maxKeys = all ? division : Number.POSITIVE_INFINITY;
  }

  /** Applies the next event of the log. @param details null when they are erased or not genuine */
  take(event: AuditEventBody, details: JsonObject | null): void {
    this.roots?.reach(event.seq, this);
    const ofKey = keyEventOf(event, details) ?? this.#erasedWrite(event, details);
    if (ofKey !== null) return void this.takeKey(ofKey);
    const recall = listedRecall(event, details);
    if (recall !== null) this.#recall(event, recall);
    const history = this.#histories.of(event.agent_id);
    const missed = missedPrefix(event, details);
    if (missed !== null) return void history.miss(event, missed);
    const effect = recordedEffect(event, details);
    const begun = history.historyFrom;
    history.take(event, effect);
    if (effect.kind === "unknown" && effect.of === "put") this.#agent(event.agent_id).blankWrites.add(event.seq);
    if (effect.kind === "unknown" && event.seq > this.#histories.start) this.lack(event.seq);
    if (effect.kind === "erase")
      for (const seq of this.#blanks) if (covers(effect.erased, seq)) this.#blanks.delete(seq);
    if (effect.kind === "expire" && event.seq > this.#histories.start) this.#expire(event, history, effect, begun);
    if (effect.kind === "erase" && effect.version !== null) this.#forgetErased(event.agent_id, effect.version.seq);
  }

  /** Returns a write whose version was erased alone; null for every other event. */
  #erasedWrite(event: AuditEventBody, details: JsonObject | null) {
    const { actor, agent_id, config_version, seq, timestamp } = event;
    const known = details === null ? this.#histories.erasedWrites.get(seq) : undefined;
    if (known === undefined) return null;
    const timeMs = Date.parse(timestamp);
    const said = { seq, timeMs, sees: seesSetAside(actor), digest: ERASED, returned: null, ...known };
    return { act: "writes", agent_id, config_version, ...said } as const;
  }

  /** After a version was erased alone, no restore brings it back. */
  #forgetErased(agentId: string | null, written: number): void {
    const erased = this.#histories.erasedWrites.get(written);
    const known = erased && this.#find(agentId, erased.key);
    if (known === undefined) return;
    const left = known.past.filter((one) => one.written !== written);
    this.#held -= known.past.length - left.length;
    known.past = left;
  }

  /** Notes that the details of a change are gone. An erasure after it says so, and that nothing of it is there any more. */
  lack(seq: number): void {
    this.#blanks.add(seq);
  }

  /**
   * Returns the leaves of the state after event `seq`, which was read last, in order; null when the log does not determine it, or there are too many keys.
   * @param timeMs the time of that event
   */
  leavesAfter(seq: number, timeMs: number): StateLeaf[] | null {
    const { prunedBefore } = this.#histories;
    if (this.overflowed || this.parts > 1 || this.#blanks.size > 0 || prunedBefore > 0) return null;
    const leaves: StateLeaf[] = [];
    const agents = [...this.#agents].flatMap(([agentId, agent]) =>
      agentId === null ? [] : [[agentId, agent] as const],
    );
    // Ids of agents are ASCII.
    for (const [agentId, agent] of agents.sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (agent.history.isLost) return null;
      const isPresent = agent.history.presence(seq, timeMs);
      const own: StateLeaf[] = [];
      for (const one of agent.keys.values()) {
        this.#follow(agent, one);
        if (one.present === null || !isPresent(one.present)) continue;
        const { digest, written } = one.present;
        if (digest === ERASED) return null;
        own.push({ agent_id: agentId, key: one.key, value_digest: digest, version: written });
      }
      for (const leaf of own.sort(comparePlaces)) leaves.push(leaf);
    }
    return leaves;
  }

  /** Applies the next event, which is about a key. */
  takeKey(event: KeyEvent): void {
    const { act, agent_id, seq, key, expiresAtMs } = event;
    this.roots?.reach(seq, this);
    if (seq <= this.#histories.start) return;
    const agent = this.#agent(agent_id);
    if (expiresAtMs !== null) agent.history.expiring = true;
    if (act === "writes") agent.writes.push(seq);
    if (!this.#isFollowed(key)) return;
    const known = agent.keys.get(key);
    if (known !== undefined) this.#follow(agent, known);
    if (act === "writes") this.#write(agent, known, event);
    else this.#judge(agent, known, event);
    if (act === "ends" && known !== undefined) this.#delete(agent, known, event);
  }

  #write(agent: AgentReplay, known: FollowedKey | undefined, event: KeyEvent): void {
    const { history } = agent;
    const { seq, timeMs, key, digest, expiresAtMs } = event;
    const expiresMs = expiresAtMs ?? NEVER;
    const version = { written: seq, from: seq, timeMs, created: seq, createdMs: timeMs, expiresMs, digest };
    agent.lives.begin(seq, seq);
    if (known === undefined) {
      const followed = history.bulkChanges.length;
      const made = { key, present: version, past: [], followed, met: false };
      agent.keys.set(key, made);
      agent.keyOf.set(seq, made);
      agent.versions += 1;
      this.#hold(1);
      return;
    }
    const before = known.present;
    if (before !== null) {
      // An entry that does not exist for who writes: the next write of its key creates a new one.
      const fresh = freshAt(history, event);
      const isThere = isFresh(existing(history, before, seq), { ...fresh, seesSetAside: true });
      const goesOn = isFresh(existing(history, before, seq), fresh);
      if (goesOn) {
        version.created = before.created;
        version.createdMs = before.createdMs;
      }
      if (history.isSeenNow(before.from, seq) || (isThere && history.keeps(event))) this.#end(agent, known, seq, true);
      else this.#drop(agent, known, before.written, seq, isThere);
    }
    agent.keyOf.set(seq, known);
    this.#forget(agent, known);
    agent.versions += 1;
    known.present = version;
    this.#hold(0);
  }

  /** Compares what an event says of a key with the events before it. */
  #judge({ history }: AgentReplay, known: FollowedKey | undefined, event: KeyEvent): void {
    if (history.isOpen) return;
    const { act, agent_id: agentId, seq } = event;
    const present = known?.present ?? null;
    const isThere = present !== null && isFresh(existing(history, present, seq), freshAt(history, event));
    if (act !== "misses" && !isThere) {
      this.impossible.push({ agentId, seq, message: "the operation found an entry, and there was none under its key" });
    } else if (act === "misses" && isThere && !history.mayBeSwept(present)) {
      this.impossible.push({ agentId, seq, message: "the operation found no entry, and there was one under its key" });
    }
    const { returned } = event;
    if (returned !== null && isThere && present.written !== returned)
      this.impossible.push({ agentId, seq, message: NOT_THERE });
  }

  /** Compares the versions that a read lists with those that there were. */
  #recall({ agent_id: chain, actor, seq }: AuditEventBody, recall: ListedRecall): void {
    const { agentId, positions, checkpoints, readSeq, seenAt } = recall;
    const { start, prunedBefore, quarantines } = this.#histories;
    if (seq <= start || prunedBefore > 0 || this.overflowed) return;
    const isAside = (written: number) => quarantines.isSetAside(written, seenAt + 1);
    if (this.#part === 0 && !seesSetAside(actor) && positions.some(isAside))
      this.impossible.push({ agentId: chain, seq, message: SET_ASIDE });
    // What was there before a pruning is known only as far as it was kept.
    if (readSeq !== null && readSeq <= start) return;
    const agent = this.#agent(agentId);
    const moments = [...checkpoints.map((id) => agent.history.asOf(id)), readSeq].filter((at) => at != null);
    for (const written of positions) {
      if (this.#mayBeThere(agent, written, moments, recall)) continue;
      this.impossible.push({ agentId: chain, seq, message: NOT_THERE });
      return;
    }
  }

  /** Whether a version may have been there at one of some moments, or in the history of then, under the key of the read. */
  #mayBeThere(
    agent: AgentReplay,
    written: number,
    moments: readonly number[],
    { key, ofHistory }: Pick<ListedRecall, "key" | "ofHistory">,
  ): boolean {
    const { history, lives } = agent;
    const known = agent.keyOf.get(written);
    if (known !== undefined) this.#follow(agent, known);
    if (known !== undefined && key !== null && known.key !== key) return false;
    const endedFrom = ofHistory ? history.historyFrom : Number.POSITIVE_INFINITY;
    if (lives.has(written)) return history.isOpen || moments.some((at) => lives.wasThere(written, at, endedFrom));
    // The write was pruned or erased, or its key is followed in another part.
    if (written <= this.#histories.start || agent.blankWrites.has(written)) return true;
    return this.parts > 1 && agent.writes[firstAtOrAfter(agent.writes, written)] === written;
  }

  /**
   * Compares what a sweep states with what it may have found.
   * @param begun where the history began before it
   */
  #expire(
    { agent_id: agentId, seq }: AuditEventBody,
    history: AgentHistory,
    { count, through }: { count: number; through: number },
    begun: number,
  ): void {
    const impossible = (message: string) => this.impossible.push({ agentId, seq, message });
    if (through > seq || through < begun)
      impossible("a sweep states a position that is not between the last one and its own");
    // With the keys in parts, nobody knows them all at this moment.
    if (history.isOpen || this.overflowed || this.parts > 1) return;
    const { blankWrites, expires, restored } = history;
    const agent = this.#agent(agentId);
    const isPossible = expires || blankWrites > 0 || through > begun;
    if (!isPossible || count > agent.versions + restored + blankWrites) {
      impossible("a sweep states more versions than were past their time, or there were at all");
    }
    agent.versions = Math.max(0, agent.versions - count);
  }

  /**
   * Returns whether a stored present row is the last write of its key in all columns, including the times. The write was
   * allowed and had genuine details, so the row needs no other check. False also when another such row was found.
   *
   * @param digest the digest of the stored content, hex
   */
  proves(agentId: string | null, row: StoredLife, digest: string): boolean {
    if (this.overflowed || row.live_from !== row.written_seq) return false;
    const found = this.#find(agentId, row.key);
    const present = found?.present ?? null;
    if (found === undefined || present === null || found.met) return false;
    found.met =
      present.from === row.live_from &&
      present.written === row.written_seq &&
      present.timeMs === row.updated_at &&
      present.created === row.created_seq &&
      present.createdMs === row.created_at &&
      present.expiresMs === (row.expires_at ?? NEVER) &&
      present.digest === digest;
    return found.met;
  }

  /** Adds a version that a pruning kept; to be called before the first event. */
  keep(agentId: string | null, key: string, version: Version, to: number | null): void {
    if (version.expiresMs !== NEVER) this.#histories.of(agentId).expiring = true;
    if (!this.#isFollowed(key)) return;
    const agent = this.#agent(agentId);
    const made = (): FollowedKey => ({ key, present: null, past: [], followed: 0, met: false });
    const followed = agent.keys.getOrInsertComputed(key, made);
    if (to === null) followed.present = version;
    else {
      if (agent.history.isStored(version.from, to)) this.#count(agent, key, version, to);
      followed.past.push({ ...version, to });
    }
    agent.lives.keep(version.written, version.from, to);
    agent.keyOf.set(version.written, followed);
    agent.versions += 1;
    this.#hold(1);
  }

  /**
   * Returns the position from which the present version of a key must be live; null when the log does not determine it.
   */
  presentOf(agentId: string | null, key: string): number | null {
    return this.#find(agentId, key)?.present?.from ?? null;
  }

  /** The deletions by prefix of an agent, with the entries of the followed keys; to be called after the last event. */
  prefixChanges(agentId: string | null): PrefixChange[] {
    if (!this.#counted) this.#countPresent();
    const history = this.#histories.of(agentId);
    return history.bulkChanges.filter((change) => change.kind === "prefix");
  }

  /** Returns the sum of an agent's versions that were not found; to be called after the last event and the last row. */
  expected(agentId: string | null): MultisetPrint {
    if (!this.#counted) this.#countPresent();
    const agent = this.#agents.get(agentId);
    return agent?.expected.print(agent.history.sweptUntilMs) ?? new MultisetPrint();
  }

  /**
   * Returns the sum of the whole rows of an agent's ended versions; null when not all keys are followed. It has those of which
   * the log determines everything: that never expire, that no restore brought back, and whose key began at a known event.
   */
  endedOf(agentId: string | null): MultisetPrint | null {
    if (this.overflowed) return null;
    const agent = this.#agents.get(agentId);
    if (agent === undefined) return new MultisetPrint();
    for (const one of agent.keys.values()) this.#follow(agent, one);
    return agent.ended;
  }

  /** Forgets the keys, after the sums were compared. */
  withoutKeys(): this {
    if (!this.#counted) this.#countPresent();
    this.#agents.clear();
    return this;
  }

  #countPresent(): void {
    this.#counted = true;
    for (const agent of this.#agents.values()) {
      for (const one of agent.keys.values()) {
        this.#follow(agent, one);
        if (one.present !== null && !one.met) this.#count(agent, one.key, one.present, null);
      }
    }
  }

  #find(agentId: string | null, key: string): FollowedKey | undefined {
    const agent = this.#agents.get(agentId);
    const found = agent?.keys.get(key);
    if (agent !== undefined && found !== undefined) this.#follow(agent, found);
    return found;
  }

  #delete(agent: AgentReplay, known: FollowedKey, event: KeyEvent): void {
    const { history } = agent;
    const from = known.present?.from ?? event.seq;
    this.#end(agent, known, event.seq, history.keeps(event) || history.isSeenNow(from, event.seq));
    this.#forget(agent, known);
    if (known.past.length > 0) return;
    agent.keys.delete(known.key);
    this.#hold(-1);
  }

  /** Applies to a key the bulk changes since its previous call. */
  #follow(agent: AgentReplay, one: FollowedKey): void {
    const { bulkChanges } = agent.history;
    while (one.followed < bulkChanges.length) {
      const change = bulkChanges[one.followed++] as BulkChange;
      if (change.kind === "restore") this.#restore(agent, one, change);
      else if (one.key.startsWith(change.prefix)) this.#endUnder(agent, one, change);
    }
  }

  /** Applies a deletion by prefix to one of its keys. */
  #endUnder(agent: AgentReplay, one: FollowedKey, change: PrefixChange): void {
    const { present } = one;
    if (present === null || !isFresh(existing(agent.history, present, change.seq), change)) return;
    if (agent.history.mayBeSwept(present, change)) change.open += 1;
    else change.found += 1;
    if (change.ends) this.#end(agent, one, change.seq, change.keeps || agent.history.wasSeen(present.from, change.seq));
  }

  /** Applies a restore to one key, as `planRestore` and `restoreEntries` do. */
  #restore(agent: AgentReplay, one: FollowedKey, change: { seq: number; asOf: number | null } & Freshness): void {
    const { seq, asOf } = change;
    const { present } = one;
    if (asOf === null) one.present = null;
    if (asOf === null || (present !== null && present.from <= asOf)) return;
    const wanted = one.past.find(
      (past) => past.from <= asOf && past.to > asOf && isFresh(existing(agent.history, past, seq), change),
    );
    const now = present && { ...existing(agent.history, present, seq), written: present.written };
    if (now !== null && staysPresent(now, change, wanted?.written)) return;
    this.#end(agent, one, seq, true);
    if (wanted === undefined) return;
    const { to: _, ...version } = wanted;
    one.present = { ...version, from: seq };
    agent.lives.begin(version.written, seq);
    agent.versions += 1;
  }

  /** Ends a key's present version, if there is one. @param isKept whether the version was kept then */
  #end(agent: AgentReplay, one: FollowedKey, to: number, isKept: boolean): void {
    const { present } = one;
    one.present = null;
    if (present === null) return;
    agent.lives.end(present.written, to);
    if (!isKept) agent.versions -= 1;
    else if (agent.history.isStored(present.from, to)) this.#count(agent, one.key, present, to);
    one.past.push({ ...present, to });
    this.#held += 1;
  }

  /**
   * Ends a life of a version that is not kept. A checkpoint may see an earlier life of it. Of one that was gone, a sweep may
   * have removed the row before.
   */
  #drop(agent: AgentReplay, { past }: FollowedKey, written: number, to: number, wasThere: boolean): void {
    if (wasThere) agent.versions -= 1;
    agent.lives.end(written, to);
    if (!past.some((other) => other.written === written)) agent.keyOf.delete(written);
  }

  /** Forgets versions that no restore can bring back, since no checkpoint sees them, if all bulk changes are applied. */
  #forget(agent: AgentReplay, one: FollowedKey): void {
    if (one.past.length === 0) return;
    const seen = one.past.filter(({ from, to }) => agent.history.isSeenNow(from, to));
    for (const { written } of one.past)
      if (!seen.some((other) => other.written === written)) agent.keyOf.delete(written);
    this.#held -= one.past.length - seen.length;
    one.past = seen;
  }

  /** Adds a version that must be stored to the sum. */
  #count({ history, expected, ended }: AgentReplay, key: string, version: Version, to: number | null): void {
    if (version.digest === ERASED) return;
    if (version.timeMs < history.facts.sweptBeforeMs || version.expiresMs <= history.sweptUntilMs) return;
    if (history.isUncertain(version.from, to ?? Number.POSITIVE_INFINITY)) return;
    expected.add(nameOf(history, key, version, to), version.expiresMs);
    const { written, from, expiresMs } = version;
    if (to !== null && from === written && expiresMs === NEVER && history.knowsOrigins(from))
      ended.add(wholeName(key, version, to));
  }

  #agent(agentId: string | null): AgentReplay {
    return this.#agents.getOrInsertComputed(agentId, () => {
      const history = this.#histories.of(agentId);
      const versions = {
        versions: 0,
        writes: [],
        blankWrites: new Set<number>(),
        lives: new Lives(),
        keyOf: new Map(),
      };
      return { history, expected: new ExpectedNames(), ended: new MultisetPrint(), keys: new Map(), ...versions };
    });
  }

  #isFollowed(key: string): boolean {
    return this.parts === 1 || partOf(key, this.parts) === this.#part;
  }

  /** Counts keys and versions. Continues with half of the keys when there are too many. */
  #hold(more: number): void {
    this.#held += more;
    if (this.#held <= this.#maxKeys) return;
    this.overflowed = true;
    this.parts *= 2;
    this.#held = 0;
    for (const { keys } of this.#agents.values()) {
      for (const [key, { past }] of keys) {
        if (this.#isFollowed(key)) this.#held += 1 + past.length;
        else keys.delete(key);
      }
    }
  }
}

/** Returns which entries existed for an event's actor. */
const freshAt = (history: AgentHistory, { config_version, sees, seq, timeMs }: KeyEvent): Freshness => ({
  cutoffMs: history.facts.retention.cutoff(config_version, seq, timeMs),
  nowMs: timeMs,
  seesSetAside: sees,
});

/** Returns a version as it was right before the event at a position. */
const existing = ({ facts }: AgentHistory, { written, timeMs, expiresMs }: Version, seq: number) => ({
  updatedAt: timeMs,
  expiresAt: expiresMs,
  isSetAside: facts.quarantines.isSetAside(written, seq),
});
