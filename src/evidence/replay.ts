/**
 * Which entries must be stored as a whole. The log is gone through once more in thought: each key is
 * followed from write to write, and each version that must still be there (it is the present one, or
 * a stored checkpoint sees it) is added to a sum; the stored rows are added to another. A row that is
 * gone, that was put back to an earlier genuine content, or that began or ended elsewhere than the
 * log says makes the sums differ.
 *
 * Versions that restores or sweeps had a part in are left out on both sides, as the log alone does
 * not say enough of them; entry.ts and visibility.ts check these. Memory is bounded: when there are
 * more keys than fit, they are divided into parts, and the log is read once for each part.
 */
import type { JsonObject } from "../json.ts";
import type { AuditEventBody } from "../log/event.ts";
import type { StoredVersion } from "./entry.ts";
import { MultisetPrint } from "./multiset.ts";
import { Timeline } from "./timeline.ts";

/** Keys that are followed at once, unless said otherwise. */
export const MAX_KEYS = 1 << 18;

/** The present version of a key. */
interface Present {
  from: number;
  timeMs: number;
  created: number;
}

interface AgentReplay {
  timeline: Timeline;
  keys: Map<string, Present>;
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

  /** Takes an event, in the order of the log; `details` are null where erased or not genuine. */
  add(event: AuditEventBody, details: string | null): void {
    switch (event.operation) {
      case "data.write":
        if (event.result === "allowed" && details !== null) this.#write(event, keyOf(details));
        return;
      case "data.delete":
        if (event.result === "ok" && details !== null) this.#delete(event, keyOf(details));
        return;
      case "data.delete_prefix":
      case "checkpoint.restore":
      case "data.expire":
        if (event.result === "ok") this.#disturb(event, details);
    }
  }

  /** The write that must be the present one of a key, as far as the log alone says. */
  presentOf(agentId: string | null, key: string): number | null {
    return this.#agents.get(agentId)?.keys.get(key)?.from ?? null;
  }

  /** Says of a stored row how it is to be counted; null when it is left out. */
  nameOf(agentId: string | null, row: StoredVersion): string | null {
    const { timeline } = this.#agent(agentId);
    if (row.liveFrom !== row.writtenSeq || timeline.unknown) return null;
    if (row.updatedAt < timeline.sweptBeforeMs) return null;
    if (timeline.isUncertain(row.writtenSeq, row.liveTo ?? Number.POSITIVE_INFINITY)) return null;
    const ending = row.to?.event.operation;
    if (row.liveTo !== null && ending !== "data.write" && ending !== "data.delete") return null;
    return nameOf(timeline, row.key, row.writtenSeq, row.liveTo, row.createdSeq);
  }

  /** True when erased details keep the sum of an agent from being known. */
  isUnknown(agentId: string | null): boolean {
    return this.#agent(agentId).timeline.unknown;
  }

  /** The sum for an agent, after the last event. Can be asked once. */
  expected(agentId: string | null): MultisetPrint {
    const agent = this.#agents.get(agentId);
    if (agent === undefined) return new MultisetPrint();
    for (const [key, present] of agent.keys) this.#count(agent, key, present, null);
    this.#held -= agent.keys.size;
    agent.keys.clear();
    return agent.expected;
  }

  #write(event: AuditEventBody, key: string): void {
    if (partOf(key, this.parts) !== this.#part) return;
    const agent = this.#agent(event.agent_id);
    const { timeline } = agent;
    // Times matter where something expires, and reading them is slow.
    const timeMs = timeline.retention.size > 0 ? Date.parse(event.timestamp) : 0;
    const present = agent.keys.get(key);
    if (present === undefined) {
      agent.keys.set(key, { from: event.seq, timeMs, created: event.seq });
      this.#held += 1;
      if (this.#held > this.#maxKeys) this.#divide();
      return;
    }
    // What is expired is gone already: what follows it under the same key is a new entry.
    const goesOn =
      this.#count(agent, key, present, event.seq) &&
      present.timeMs >= timeline.cutoff(event.config_version, timeMs);
    present.from = event.seq;
    present.timeMs = timeMs;
    if (!goesOn) present.created = event.seq;
  }

  #delete(event: AuditEventBody, key: string): void {
    if (partOf(key, this.parts) !== this.#part) return;
    const agent = this.#agent(event.agent_id);
    const present = agent.keys.get(key);
    if (present === undefined) return;
    this.#count(agent, key, present, event.seq);
    agent.keys.delete(key);
    this.#held -= 1;
  }

  /** Counts a version, unless something else ended it; answers whether it lived until `to`. */
  #count(agent: AgentReplay, key: string, { from, timeMs, created }: Present, to: number | null): boolean {
    const { timeline, expected } = agent;
    const end = to ?? Number.POSITIVE_INFINITY;
    if (timeline.isUncertain(from, end) || timeline.wasDeletedByPrefix(key, timeMs, from, end)) return false;
    const isStored = to === null || timeline.isSeen(from, to);
    if (isStored && timeMs >= timeline.sweptBeforeMs) {
      expected.add(nameOf(timeline, key, from, to, created), 1);
    }
    return true;
  }

  #disturb(event: AuditEventBody, text: string | null): void {
    const { timeline } = this.#agent(event.agent_id);
    const details = text === null ? null : (JSON.parse(text) as JsonObject);
    if (event.operation === "data.expire") {
      timeline.addSweep(event.seq);
    } else if (event.operation === "checkpoint.restore") {
      // Expired entries that a restore ends are in no count.
      const counts = [details?.entries_restored, details?.entries_removed, timeline.retention.size];
      if (counts.some((count) => count !== 0)) timeline.addRestore(event.seq);
    } else if (typeof details?.prefix === "string") {
      const cutoffMs = timeline.cutoff(event.config_version, Date.parse(event.timestamp));
      timeline.addPrefixDeletion(event.seq, details.prefix, cutoffMs);
    } else {
      timeline.unknown = true;
    }
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
      for (const key of keys.keys()) if (partOf(key, this.parts) !== this.#part) keys.delete(key);
      this.#held += keys.size;
    }
  }
}

/** What is summed of a version: all of its life. Where a key began is left out where the log cannot say. */
function nameOf(timeline: Timeline, key: string, from: number, to: number | null, created: number): string {
  return `${from} ${to ?? "-"} ${timeline.knowsOrigins(from) ? created : "-"} ${key}`;
}

const KEY_START = '{"key":"';
const KEY_END = '","value_digest":"';
/** Characters behind {@link KEY_END}: the digest and the end of the object. */
const REST = 66;

/** The key in the details of a write or a deletion; most need no parser. */
function keyOf(details: string): string {
  const end = details.length - REST - KEY_END.length;
  if (details.startsWith(KEY_START) && details.startsWith(KEY_END, end) && !details.includes("\\")) {
    return details.slice(KEY_START.length, end);
  }
  return String((JSON.parse(details) as JsonObject).key);
}
