/**
 * Replays the log to derive the entries that must be stored. Each key is followed from write to write. Each version
 * that must still exist (the present one, and those that a stored checkpoint sees) is added to a sum, and the stored
 * rows are added to another. The sums differ when a row is missing, has an earlier genuine content, or began or ended
 * at another event than the log says.
 *
 * Both sums leave out what the log does not determine: entries that may have been swept, and entries that a restore
 * with erased details may have changed; entry.ts and checkpoints.ts check these. Both also leave out rows that equal
 * their key's last write in all columns. Memory is bounded: when there are too many keys, they are divided into parts,
 * and the log is read once for each part.
 */

import { staysPresent } from "../../../core/rows/restore.ts";
import { Bytes } from "../../../log/bytes.ts";
import { type EffectFacts, type RecordedEffect, recordedEffect } from "../../../log/effects.ts";
import type { AuditEventBody } from "../../../log/event.ts";
import { type Freshness, isFresh } from "../../../screen/retention.ts";
import type { Accepted } from "../../events/fast/known-chains.ts";
import { HASH_CHARS } from "../../events/fast/text-forms.ts";
import type { AgentHistory, BulkChange, Histories } from "./history.ts";
import { KeyTable, partOf } from "./key-table.ts";
import { ExpectedNames, MultisetPrint, nameOf, PresentVersions, type Version } from "./versions.ts";
import {
  type KeyPlace,
  NEVER,
  type PackedWrites,
  type PlainWrite,
  packedEnd,
  packedWrite,
  type StoredWrite,
  UsualDetails,
} from "./writes.ts";

/** The most keys that are followed at once by default. */
const MAX_KEYS = 1 << 18;

/** A version that has ended, and the position of the event that ended it. */
type Past = Version & { to: number };

interface AgentReplay {
  number: number;
  history: AgentHistory;
  expected: ExpectedNames;
}

export class Replay {
  readonly #histories: Histories;
  readonly #agents = new Map<string | null, AgentReplay>();
  readonly #byNumber: AgentReplay[] = [];
  readonly #keys = new KeyTable();
  readonly #details = new UsualDetails();
  readonly #present = new PresentVersions();
  /** By slot, ended versions that a checkpoint may see, as far as the log was read. */
  readonly #past = new Map<number, Past[]>();
  readonly #part: number;
  readonly #maxKeys: number;
  /** The number of parts into which the keys are divided. */
  parts: number;
  /** Whether keys had to be left out, so that no sum is right. */
  overflowed = false;
  #held = 0;
  #counted = false;

  /**
   * @param division the part of the keys that is followed. A number instead: all keys are followed until there are more
   *   than that; then `overflowed` is true, and the log must be read once for each of `parts`.
   */
  constructor(histories: Histories, division: { part: number; parts: number } | number = MAX_KEYS) {
    const all = typeof division === "number";
    this.#histories = histories;
    this.#part = all ? 0 : division.part;
    this.parts = all ? 1 : division.parts;
    this.#maxKeys = all ? division : Number.POSITIVE_INFINITY;
  }

  /** Applies an allowed write that is known to be genuine, without making an object of it. */
  addWrite({ shape, seq, timeMs, foreign, detailsAt, detailsEnd }: Accepted, text: Bytes): void {
    if (seq <= this.#histories.start) return;
    const { agent_id, config_version } = shape.event;
    const details = this.#details;
    const isUsual = !foreign && details.read(text, detailsAt, detailsEnd);
    const write = { agent_id, config_version, seq, timeMs, expiresMs: isUsual ? details.expiresMs : NEVER };
    if (isUsual) this.#addPlain(write, text, details.keyAt, details.keyEnd, details.digestAt);
    else this.#put(write, recordedEffect(shape.event, JSON.parse(text.text(detailsAt, detailsEnd))));
  }

  /** Applies the packed writes from number `from` to before number `to`. @param text their bytes */
  addPacked(writes: PackedWrites, text: Bytes, from: number, to: number): void {
    let start = from === 0 ? 0 : packedEnd(writes, from - 1);
    for (let index = from; index < to; index++) {
      const end = packedEnd(writes, index);
      this.#addPlain(packedWrite(writes, index), text, start, end - HASH_CHARS, end - HASH_CHARS);
      start = end;
    }
  }

  /** Applies a write with the key from `keyAt` to `keyEnd` of a text, and the digest (hex) at `digestAt`. */
  #addPlain(write: PlainWrite, text: Bytes, keyAt: number, keyEnd: number, digestAt: number): void {
    const slot = this.#write(write, text, keyAt, keyEnd);
    if (slot >= 0) this.#present.setDigest(slot, write.seq, text, digestAt);
  }

  #put(write: Omit<PlainWrite, "expiresMs">, effect: RecordedEffect): void {
    if (effect.kind !== "put") return;
    const key = bytesOf(effect.key);
    const slot = this.#write({ ...write, expiresMs: effect.expiresAtMs ?? NEVER }, key, 0, key.u8.length);
    if (slot < 0 || effect.digest.length !== HASH_CHARS) return;
    this.#present.setDigest(slot, write.seq, Bytes.of(effect.digest), 0);
  }

  /**
   * Returns the key's slot if a stored present version equals the last write of its key in all columns, including the
   * times; otherwise -1. The write was allowed and had genuine details, so the row needs no other check.
   *
   * @param digest the digest of the stored content, 32 bytes
   */
  proves(agentId: string | null, row: StoredWrite, { text, start, end }: KeyPlace, digest: Uint8Array): number {
    const agent = this.#agents.get(agentId);
    if (this.overflowed || agent === undefined) return -1;
    const slot = this.#keys.find(agent.number, text, start, end);
    if (slot < 0) return -1;
    this.#follow(agent, slot);
    return this.#present.isWrite(slot, row, digest) ? slot : -1;
  }

  /** Marks a proved row as found. Returns false if another row was found for the key: then this row must be summed. */
  meet(slot: number): boolean {
    return this.#present.meet(slot);
  }

  /** Applies the effect of an event, in the order of the log. Keys in erased details have no rows any more. */
  add(event: AuditEventBody, effect: RecordedEffect): void {
    const isStated = event.seq <= this.#histories.start;
    if (effect.kind === "put" && !isStated) this.#put({ ...event, timeMs: Date.parse(event.timestamp) }, effect);
    else if (effect.kind === "end" && !isStated) this.#delete(event, bytesOf(effect.key));
    else this.#histories.of(event.agent_id).take(event, effect);
  }

  /** Adds a version that a pruning kept; to be called before the first event. */
  keep(agentId: string | null, { key, digest }: EffectFacts["put"], version: Version, to: number | null): void {
    if (version.expiresMs !== NEVER) this.#histories.of(agentId).expiring = true;
    if (this.parts !== 1 && partOf(key, this.parts) !== this.#part) return;
    const agent = this.#agent(agentId);
    const text = bytesOf(key);
    const known = this.#keys.find(agent.number, text, 0, text.u8.length);
    const slot = known < 0 ? this.#keys.add(agent.number, text, 0, text.u8.length) : known;
    if (known < 0) this.#present.begin(slot, version, 0);
    if (to === null) {
      this.#present.set(slot, version);
      if (digest.length === HASH_CHARS) this.#present.setDigest(slot, version.written, Bytes.of(digest), 0);
    } else {
      if (known < 0) this.#present.clear(slot);
      if (agent.history.isSeen(version.from, to)) this.#count(agent, slot, version, to);
      this.#past.getOrInsertComputed(slot, () => []).push({ ...version, to });
    }
    this.#held += 1;
    if (this.#held > this.#maxKeys) this.#divide();
  }

  /**
   * Returns the position from which the present version of a key must be live; null when the log does not determine it.
   */
  presentOf(agentId: string | null, key: string): number | null {
    const agent = this.#agents.get(agentId);
    if (agent === undefined) return null;
    const text = bytesOf(key);
    const slot = this.#keys.find(agent.number, text, 0, text.u8.length);
    if (slot < 0) return null;
    this.#follow(agent, slot);
    return this.#present.has(slot) ? this.#present.from(slot) : null;
  }

  /** Returns the sum of an agent's versions that were not found; to be called after the last event and the last row. */
  expected(agentId: string | null): MultisetPrint {
    if (!this.#counted) this.#countPresent();
    const agent = this.#agents.get(agentId);
    return agent?.expected.print(agent.history.sweptUntilMs) ?? new MultisetPrint();
  }

  #countPresent(): void {
    this.#counted = true;
    for (let slot = 0; slot < this.#keys.end; slot++) {
      const agent = this.#byNumber[this.#keys.agentOf(slot)];
      if (agent === undefined) continue;
      this.#follow(agent, slot);
      const present = this.#present.isMet(slot) ? null : this.#present.get(slot);
      if (present !== null) this.#count(agent, slot, present, null);
    }
  }

  /** Returns the slot of the key; -1 when the key is not followed. */
  #write(event: PlainWrite, text: Bytes, start: number, end: number): number {
    if (event.expiresMs !== NEVER) this.#histories.of(event.agent_id).expiring = true;
    if (this.parts !== 1 && partOf(text.text(start, end), this.parts) !== this.#part) return -1;
    const agent = this.#agent(event.agent_id);
    const { history } = agent;
    const { seq, timeMs } = event;
    const slot = this.#keys.find(agent.number, text, start, end);
    if (slot < 0) return this.#begin(agent, event, text, start, end);
    const present = this.#present;
    this.#follow(agent, slot);
    // An expired entry does not exist any more, so the next write of its key creates a new one.
    const cutoffMs = history.facts.retention.cutoff(event.config_version, seq, timeMs);
    const goesOn = present.isFresh(slot, { cutoffMs, nowMs: timeMs });
    const isKept = present.has(slot) && history.isSeenNow(present.from(slot), seq);
    if (isKept || (this.#past.size > 0 && this.#past.has(slot))) this.#keep(agent, slot, seq);
    present.overwrite(slot, event, goesOn);
    if (this.#held > this.#maxKeys) this.#divide();
    return slot;
  }

  #begin(agent: AgentReplay, { seq, timeMs, expiresMs }: PlainWrite, text: Bytes, start: number, end: number): number {
    const slot = this.#keys.add(agent.number, text, start, end);
    const version = { written: seq, from: seq, timeMs, created: seq, createdMs: timeMs, expiresMs };
    this.#present.begin(slot, version, agent.history.bulkChanges.length);
    this.#held += 1;
    if (this.#held > this.#maxKeys) this.#divide();
    return slot;
  }

  /** Ends the present version, and keeps it if a checkpoint may see it. */
  #keep(agent: AgentReplay, slot: number, seq: number): void {
    const begun = this.#present.get(slot);
    this.#end(agent, slot, seq);
    this.#forget(agent, slot);
    // The time of creation is kept for the versions that follow.
    if (begun !== null) this.#present.set(slot, begun);
  }

  #delete(event: AuditEventBody, key: Bytes): void {
    if (this.parts !== 1 && partOf(key.text(0, key.u8.length), this.parts) !== this.#part) return;
    const agent = this.#agent(event.agent_id);
    const slot = this.#keys.find(agent.number, key, 0, key.u8.length);
    if (slot < 0) return;
    this.#follow(agent, slot);
    this.#end(agent, slot, event.seq);
    this.#forget(agent, slot);
    if (this.#past.has(slot)) return;
    this.#keys.remove(slot);
    this.#held -= 1;
  }

  /** Applies to a key the bulk changes since its previous call. */
  #follow(agent: AgentReplay, slot: number): void {
    const { bulkChanges } = agent.history;
    const present = this.#present;
    for (let next = present.followed(slot); next < bulkChanges.length; next++) {
      present.setFollowed(slot, next + 1);
      const change = bulkChanges[next] as BulkChange;
      if (change.kind === "restore") this.#restore(agent, slot, change);
      else if (present.isFresh(slot, change) && this.#keys.keyOf(slot).startsWith(change.prefix))
        this.#end(agent, slot, change.seq);
    }
  }

  /** Applies a restore to one key, as `planRestore` and `restoreEntries` do. */
  #restore(agent: AgentReplay, slot: number, change: { seq: number; asOf: number | null } & Freshness): void {
    const { seq, asOf } = change;
    if (asOf === null) {
      this.#present.clear(slot);
      return;
    }
    const present = this.#present.get(slot);
    if (present !== null && present.from <= asOf) return;
    const past = this.#past.get(slot) ?? [];
    const wanted = past.find((one) => one.from <= asOf && one.to > asOf && isFresh(one.timeMs, one.expiresMs, change));
    if (present !== null && staysPresent(present, change, wanted?.written)) return;
    this.#end(agent, slot, seq);
    if (wanted !== undefined) this.#present.set(slot, { ...wanted, from: seq });
  }

  /** Ends a key's present version, if there is one. */
  #end(agent: AgentReplay, slot: number, to: number): void {
    const present = this.#present.get(slot);
    this.#present.clear(slot);
    if (present === null) return;
    if (agent.history.isSeen(present.from, to)) this.#count(agent, slot, present, to);
    const past = this.#past.get(slot);
    if (past === undefined) this.#past.set(slot, [{ ...present, to }]);
    else past.push({ ...present, to });
    this.#held += 1;
  }

  /** Drops versions that no checkpoint sees any more, if all bulk changes are applied. */
  #forget({ history }: AgentReplay, slot: number): void {
    const past = this.#past.get(slot);
    if (past === undefined) return;
    const seen = past.filter(({ from, to }) => history.isSeenNow(from, to));
    this.#held -= past.length - seen.length;
    if (seen.length > 0) this.#past.set(slot, seen);
    else this.#past.delete(slot);
  }

  /** Adds a version that must be stored to the sum. */
  #count({ history, expected }: AgentReplay, slot: number, version: Version, to: number | null): void {
    if (version.timeMs < history.facts.sweptBeforeMs || version.expiresMs <= history.sweptUntilMs) return;
    if (history.isUncertain(version.from, to ?? Number.POSITIVE_INFINITY)) return;
    expected.add(nameOf(history, this.#keys.keyOf(slot), version, to), version.expiresMs);
  }

  #agent(agentId: string | null): AgentReplay {
    const known = this.#agents.get(agentId);
    if (known !== undefined) return known;
    const history = this.#histories.of(agentId);
    const agent = { number: this.#byNumber.length, history, expected: new ExpectedNames() };
    this.#agents.set(agentId, agent);
    this.#byNumber.push(agent);
    return agent;
  }

  /** Continues with half of the keys, to determine how many parts are needed. */
  #divide(): void {
    this.overflowed = true;
    this.parts *= 2;
    this.#held = 0;
    for (let slot = 0; slot < this.#keys.end; slot++) {
      if (this.#keys.agentOf(slot) < 0) continue;
      if (partOf(this.#keys.keyOf(slot), this.parts) === this.#part) {
        this.#held += 1 + (this.#past.get(slot)?.length ?? 0);
        continue;
      }
      this.#keys.remove(slot);
      this.#past.delete(slot);
    }
  }
}

const bytesOf = (text: string): Bytes => new Bytes(Buffer.from(text));
