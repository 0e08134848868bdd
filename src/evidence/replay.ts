/**
 * Which entries must be stored as a whole. The log is gone through once more in thought: each key is
 * followed from write to write, and each version that must still be there (it is the present one, or
 * a stored checkpoint sees it) is added to a sum; the stored rows are added to another. A row that is
 * gone, that was put back to an earlier genuine content, or that began or ended elsewhere than the
 * log says makes the sums differ.
 *
 * What may have been swept, and what a restore had a part in whose details are erased, is left
 * out on both sides, as the log does not say enough of it; entry.ts and visibility.ts
 * check these. Memory is bounded: when there are
 * more keys than fit, they are divided into parts, and the log is read once for each part.
 */
import type { JsonObject } from "../json.ts";
import type { AuditEventBody } from "../log/event.ts";
import { Bytes } from "../log/fast/bytes.ts";
import type { Accepted } from "../log/fast/known-chains.ts";
import { DigestTable } from "./digest-table.ts";
import type { StoredRow, StoredVersion } from "./entry.ts";
import { MultisetPrint } from "./multiset.ts";
import { changedNothing, restoreCutoff } from "./retention.ts";
import { type Disturbance, Timeline } from "./timeline.ts";
import { digestIn, digestStart, keyEnd, keyOf, keyStart } from "./write-key.ts";

/** Keys that are followed at once, unless said otherwise. */
export const MAX_KEYS = 1 << 18;

/** A version of a key. */
interface Version {
  written: number;
  /** The write, or the restore that brought it back. */
  from: number;
  timeMs: number;
  created: number;
  createdMs: number;
}

/** What is known of a key. */
interface KeyState {
  present: Version | null;
  /** Ended versions that a checkpoint may see, as far as the log is read. */
  past: (Version & { to: number })[];
  /** How many of the agent's disturbances are taken into account. */
  followed: number;
  /** Its place in the table of digests. */
  slot: number;
}

/** What is followed of a write besides its key. */
export interface PlainWrite {
  agent_id: string | null;
  config_version: string | null;
  seq: number;
  timeMs: number;
}

interface AgentReplay {
  timeline: Timeline;
  keys: Map<string, KeyState>;
  expected: MultisetPrint;
}

/** Nobody can choose keys that all fall into one part. */
const SEED = crypto.getRandomValues(new Uint32Array(1))[0] as number;

/** Which part of all keys a key is in. */
export const partOf = (key: string, parts: number): number =>
  parts === 1 ? 0 : Bun.hash.xxHash32(key, SEED) % parts;

export class Replay {
  readonly #timelines: ReadonlyMap<string | null, Timeline>;
  readonly #agents = new Map<string | null, AgentReplay>();
  readonly #digests = new DigestTable();
  readonly #part: number;
  readonly #maxKeys: number;
  /** How many parts the keys are divided into. */
  parts: number;
  /** True when keys had to be left out on the way, so that no sum is right. */
  overflowed = false;
  #held = 0;

  /**
   * @param division the part of the keys that is followed. A number instead: all are, until they are
   *   more than that; then `overflowed` is true, and `parts` says how often the log is to be read.
   */
  constructor(
    timelines: ReadonlyMap<string | null, Timeline>,
    division: { part: number; parts: number } | number = MAX_KEYS,
  ) {
    const all = typeof division === "number";
    this.#timelines = timelines;
    this.#part = all ? 0 : division.part;
    this.parts = all ? 1 : division.parts;
    this.#maxKeys = all ? division : Number.POSITIVE_INFINITY;
  }

  /** Takes an allowed write that is known to be genuine, without making an object of it. */
  addWrite({ shape, seq, timeMs, foreign, detailsAt, detailsEnd }: Accepted, text: Bytes): void {
    const { agent_id, config_version } = shape.event;
    const write = { agent_id, config_version, seq, timeMs };
    const end = foreign ? -1 : keyEnd(text, detailsAt, detailsEnd);
    if (end < 0) this.#addText(write, text.text(detailsAt, detailsEnd));
    else this.addPlainWrite(write, text, keyStart(detailsAt), end, digestStart(detailsEnd));
  }

  /** The same with the key from `keyAt` to `keyEnd` of a text, in ASCII, and the digest at `digestAt`. */
  addPlainWrite(write: PlainWrite, text: Bytes, keyAt: number, keyEnd: number, digestAt: number): void {
    const state = this.#write(this.#agent(write.agent_id), write, text.ascii(keyAt, keyEnd));
    if (state !== null) this.#digests.set(state.slot, write.seq, text, digestAt);
  }

  #addText(write: PlainWrite, details: string): void {
    const state = this.#write(this.#agent(write.agent_id), write, keyOf(details));
    const digest = state && digestIn(details);
    if (state && digest) this.#digests.set(state.slot, write.seq, Bytes.of(digest), 0);
  }

  /**
   * Whether a stored present version is, in all its columns, what its key was last written with and when. It
   * was an allowed write with genuine details then, so nothing is left to be said of that row by itself.
   *
   * @param digest the digest of what is stored
   */
  proves(agentId: string | null, row: StoredRow, digest: string): boolean {
    if (this.overflowed) return false;
    const agent = this.#agents.get(agentId);
    const state = agent?.keys.get(row.key);
    if (agent === undefined || state === undefined) return false;
    this.#follow(agent, row.key, state);
    const { present } = state;
    return (
      present !== null &&
      present.written === row.writtenSeq &&
      present.from === row.liveFrom &&
      present.from === present.written &&
      present.created === row.createdSeq &&
      present.timeMs === row.updatedAt &&
      present.createdMs === row.createdAt &&
      this.#digests.is(state.slot, present.written, digest)
    );
  }

  /** Takes an event, in the order of the log; `details` are null where erased or not genuine. */
  add(event: AuditEventBody, details: string | null): void {
    switch (event.operation) {
      case "data.write":
        if (event.result === "allowed" && details !== null) {
          this.#addText({ ...event, timeMs: Date.parse(event.timestamp) }, details);
        }
        return;
      case "data.delete":
        if (event.result === "ok" && details !== null) this.#delete(event, keyOf(details));
        return;
      case "data.delete_prefix":
      case "data.expire":
      case "checkpoint.create":
      case "checkpoint.restore":
      case "checkpoint.delete":
        if (event.result === "ok") this.#disturb(event, details);
    }
  }

  /** Since when the present version of a key must be live; null when the log does not say. */
  presentOf(agentId: string | null, key: string): number | null {
    const agent = this.#agents.get(agentId);
    const state = agent?.keys.get(key);
    if (agent === undefined || state === undefined) return null;
    this.#follow(agent, key, state);
    return state.present?.from ?? null;
  }

  /** Says of a stored row how it is to be counted; null when it is left out. */
  nameOf(agentId: string | null, row: StoredVersion): string | null {
    const { timeline } = this.#agent(agentId);
    if (timeline.unknown || row.updatedAt < timeline.sweptBeforeMs) return null;
    if (timeline.isUncertain(row.liveFrom, row.liveTo ?? Number.POSITIVE_INFINITY)) return null;
    const version = { written: row.writtenSeq, from: row.liveFrom, created: row.createdSeq };
    return nameOf(timeline, row.key, version, row.liveTo);
  }

  /** True when erased details keep the sum of an agent from being known. */
  isUnknown(agentId: string | null): boolean {
    return this.#agent(agentId).timeline.unknown;
  }

  /** The sum for an agent, after the last event. Can be asked once. */
  expected(agentId: string | null): MultisetPrint {
    const agent = this.#agents.get(agentId);
    if (agent === undefined) return new MultisetPrint();
    for (const [key, state] of agent.keys) {
      this.#follow(agent, key, state);
      if (state.present !== null) this.#count(agent, key, state.present, null);
    }
    agent.keys.clear();
    return agent.expected;
  }

  /** Answers the state of the key; null when it is not followed. */
  #write(agent: AgentReplay, event: Omit<PlainWrite, "agent_id">, key: string): KeyState | null {
    if (partOf(key, this.parts) !== this.#part) return null;
    const { timeline } = agent;
    const { timeMs } = event;
    const state = agent.keys.get(key);
    if (state === undefined) {
      const created = { created: event.seq, createdMs: timeMs };
      const present = { written: event.seq, from: event.seq, timeMs, ...created };
      const slot = this.#digests.take();
      const begun = { present, past: [], followed: timeline.disturbances.length, slot };
      agent.keys.set(key, begun);
      this.#held += 1;
      this.#boundKeys();
      return begun;
    }
    this.#follow(agent, key, state);
    const { present } = state;
    // What is expired is gone already: what follows it under the same key is a new entry.
    const goesOn = present !== null && present.timeMs >= timeline.cutoff(event.config_version, timeMs);
    const created = goesOn ? present.created : event.seq;
    const createdMs = goesOn ? present.createdMs : timeMs;
    if (present !== null && state.past.length === 0 && !timeline.isSeenNow(present.from, event.seq)) {
      // The usual case, made quick: nobody can ask for what is overwritten.
      present.written = event.seq;
      present.from = event.seq;
      present.timeMs = timeMs;
      present.created = created;
      present.createdMs = createdMs;
      return state;
    }
    this.#end(agent, key, state, event.seq);
    this.#forget(agent, state);
    state.present = { written: event.seq, from: event.seq, timeMs, created, createdMs };
    this.#boundKeys();
    return state;
  }

  #delete(event: AuditEventBody, key: string): void {
    if (partOf(key, this.parts) !== this.#part) return;
    const agent = this.#agent(event.agent_id);
    const state = agent.keys.get(key);
    if (state === undefined) return;
    this.#follow(agent, key, state);
    this.#end(agent, key, state, event.seq);
    this.#forget(agent, state);
    if (state.past.length > 0) return;
    agent.keys.delete(key);
    this.#digests.release(state.slot);
    this.#held -= 1;
  }

  /** Brings a key up to all that happened to many keys since it was last looked at. */
  #follow(agent: AgentReplay, key: string, state: KeyState): void {
    const { disturbances } = agent.timeline;
    for (; state.followed < disturbances.length; state.followed++) {
      const disturbance = disturbances[state.followed] as Disturbance;
      if (disturbance.kind === "restore") this.#restore(agent, key, state, disturbance);
      else if (key.startsWith(disturbance.prefix) && (state.present?.timeMs ?? -1) >= disturbance.cutoffMs) {
        this.#end(agent, key, state, disturbance.seq);
      }
    }
  }

  /** What state/restore.ts does, for one key. */
  #restore(
    agent: AgentReplay,
    key: string,
    state: KeyState,
    { seq, asOf, cutoffMs }: { seq: number; asOf: number | null; cutoffMs: number },
  ): void {
    const { present } = state;
    if (asOf === null) {
      state.present = null;
      return;
    }
    if (present !== null && present.from <= asOf) return;
    const wanted = state.past.find(({ from, to, timeMs }) => from <= asOf && to > asOf && timeMs >= cutoffMs);
    const isFresh = present !== null && present.timeMs >= cutoffMs;
    if (isFresh && wanted?.written === present.written) return;
    this.#end(agent, key, state, seq);
    if (wanted === undefined) return;
    const { written, timeMs, created, createdMs } = wanted;
    state.present = { written, from: seq, timeMs, created, createdMs };
  }

  /** Ends a key's present version, if there is one. */
  #end(agent: AgentReplay, key: string, state: KeyState, to: number): void {
    const { present } = state;
    state.present = null;
    if (present === null) return;
    if (agent.timeline.isSeen(present.from, to)) this.#count(agent, key, present, to);
    state.past.push({ ...present, to });
    this.#held += 1;
  }

  /** Forgets versions that no checkpoint sees any more, when all that happened is followed. */
  #forget({ timeline }: AgentReplay, state: KeyState): void {
    if (state.past.length === 0) return;
    const before = state.past.length;
    state.past = state.past.filter(({ from, to }) => timeline.isSeenNow(from, to));
    this.#held -= before - state.past.length;
  }

  /** Counts a version that must be stored. */
  #count({ timeline, expected }: AgentReplay, key: string, version: Version, to: number | null): void {
    if (version.timeMs < timeline.sweptBeforeMs) return;
    if (timeline.isUncertain(version.from, to ?? Number.POSITIVE_INFINITY)) return;
    expected.add(nameOf(timeline, key, version, to), 1);
  }

  #boundKeys(): void {
    if (this.#held > this.#maxKeys) this.#divide();
  }

  /** Events that are about many keys, or none. */
  #disturb(event: AuditEventBody, text: string | null): void {
    const { timeline } = this.#agent(event.agent_id);
    const details = text === null ? {} : (JSON.parse(text) as JsonObject);
    const { checkpoint_id: checkpointId, safety_checkpoint_id: safetyId, prefix } = details;
    switch (event.operation) {
      case "data.expire":
        timeline.addSweep(event.seq);
        return;
      case "checkpoint.create":
        if (typeof checkpointId === "string") timeline.addCheckpoint(checkpointId, event.seq);
        return;
      case "checkpoint.delete":
        if (typeof checkpointId === "string") timeline.removeCheckpoint(checkpointId);
        return;
      case "checkpoint.restore":
        this.#addRestore(event, timeline, details);
        if (typeof safetyId === "string") timeline.addCheckpoint(safetyId, event.seq - 1);
        return;
      default: {
        const cutoffMs = timeline.cutoff(event.config_version, Date.parse(event.timestamp));
        if (typeof prefix === "string") timeline.addPrefixDeletion(event.seq, prefix, cutoffMs);
        else timeline.unknown = true;
      }
    }
  }

  #addRestore(event: AuditEventBody, timeline: Timeline, details: JsonObject): void {
    if (changedNothing(details)) {
      // Yet it may have ended what was expired, which is in no count.
      if (timeline.retention.size > 0) timeline.addSweep(event.seq);
      return;
    }
    const cutoffMs = restoreCutoff(timeline.retention, event, details);
    const { checkpoint_id: id } = details;
    timeline.addRestore(event.seq, cutoffMs, typeof id === "string" ? id : null);
  }

  #agent(agentId: string | null): AgentReplay {
    let agent = this.#agents.get(agentId);
    if (agent === undefined) {
      const timeline = this.#timelines.get(agentId) ?? new Timeline();
      agent = { timeline, keys: new Map(), expected: new MultisetPrint() };
      this.#agents.set(agentId, agent);
    }
    return agent;
  }

  /** Goes on with half of the keys, to learn how many parts are needed. */
  #divide(): void {
    this.overflowed = true;
    this.parts *= 2;
    this.#held = 0;
    for (const { keys } of this.#agents.values()) {
      for (const [key, { slot }] of keys) {
        if (partOf(key, this.parts) === this.#part) continue;
        keys.delete(key);
        this.#digests.release(slot);
      }
      for (const { past } of keys.values()) this.#held += 1 + past.length;
    }
  }
}

/** What is summed of a version: all of its life. Where a key began is left out where the log cannot say. */
function nameOf(
  timeline: Timeline,
  key: string,
  { written, from, created }: Pick<Version, "written" | "from" | "created">,
  to: number | null,
): string {
  return `${written} ${from} ${to ?? "-"} ${timeline.knowsOrigins(from) ? created : "-"} ${key}`;
}

/** Operations besides `data.write` that are followed. */
export const FOLLOWED: readonly string[] = [
  ...["data.delete", "data.delete_prefix", "data.expire"],
  ...["checkpoint.create", "checkpoint.restore", "checkpoint.delete"],
];
