/**
 * Erases entries permanently: from the present, from every checkpoint, and from the details of events. The events
 * themselves stay, and so do the chains and the tree.
 */
import type { SeqRange } from "../../log/effects.ts";
import { EVENT_NAMES, eventFacts } from "../../operations.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import { type SqlValue, sqlTexts } from "../../store/values.ts";
import type { AgentState } from "./agents.ts";
import { eraseAnswers } from "./answers.ts";
import { endOfPrefix } from "./entries.ts";
import { sqlNames } from "./entry-changes.ts";
import { BYTES, removeVersions, type Sized } from "./expiry.ts";

/** What to erase: one key of an agent, or all keys with a prefix; or one ended version of a key, by the position of its write. */
export type ErasureTarget = { key: string; writtenSeq?: number } | { prefix: string };

/** Gives other workspaces a turn. */
type Pause = () => Promise<void>;

/** A condition as SQL with its parameters. */
type Condition = readonly [sql: string, parameters: readonly SqlValue[]];

/**
 * Returns how much an erasure would remove: present entries, all versions including those that only checkpoints see,
 * and events whose details concern the keys; and the positions of these events as ranges, ascending and not adjacent.
 * @param agent null when the agent does not exist
 */
export async function countErasable(
  reader: Reader,
  agent: AgentState | null,
  agentId: string,
  target: ErasureTarget,
  pause: Pause,
) {
  const count = async ([condition, parameters]: Condition) =>
    (await reader.value<number>(`SELECT count(*) FROM entries WHERE ${condition}`, parameters)) ?? 0;
  const { live, past } = versionsOf(agent, target);
  const entries = await count(live);
  const versions = entries + (await count(past));
  const seqs: number[] = [];
  if ("key" in target && target.writtenSeq !== undefined)
    return { entries, versions, ...erasedAt([target.writtenSeq]) };
  for await (const [condition, parameters] of eventsAbout(reader, agentId, target, pause)) {
    const rows = await reader.all<[number]>(`SELECT seq FROM events WHERE ${condition}`, parameters);
    for (const [seq] of rows) seqs.push(seq);
  }
  return { entries, versions, ...erasedAt(seqs) };
}

/** Returns what the event of an erasure states of these events: their number, and their positions as ranges, ascending. */
export function erasedAt(seqs: number[]) {
  const erased: [from: number, to: number][] = [];
  for (const seq of seqs.sort((a, b) => a - b)) {
    const last = erased.at(-1);
    if (last?.[1] === seq - 1) last[1] = seq;
    else erased.push([seq, seq]);
  }
  return { events: seqs.length, erased };
}

/**
 * Removes the details of the events at these positions.
 * @throws when an event has none, since the event of the erasure would be false
 */
export async function eraseDetails(tx: Transaction, erased: readonly SeqRange[], pause: Pause): Promise<void> {
  const sql = `UPDATE events SET details = NULL, details_salt = NULL WHERE seq >= ? AND seq <= ? AND details IS NOT NULL`;
  for (const [index, [from, to]] of erased.entries()) {
    if (index % RANGES_AT_ONCE === 0) await pause();
    if ((await tx.change(sql, [from, to])) !== to - from + 1) throw new Error("an event has no details to erase");
  }
}

/** The ranges of events that lose their details before other workspaces have a turn. */
const RANGES_AT_ONCE = 500;

/** Erases the entries of the target, also from stored answers. Returns how many were removed, as {@link countErasable} does. */
export async function erase(tx: Transaction, agent: AgentState, agentId: string, target: ErasureTarget, pause: Pause) {
  const { live, past } = versionsOf(agent, target);
  const remove = async ([condition, parameters]: Condition) =>
    removeVersions(tx, await tx.all<Sized>(`SELECT id, ${BYTES} FROM entries WHERE ${condition}`, parameters), pause);
  const entries = await remove(live);
  const versions = entries + (await remove(past));
  await eraseAnswers(tx, agentId, textOf(target));
  return { entries, versions };
}

/** Returns the JSON text of the key, or the beginning of the JSON text of a key with the prefix. */
const textOf = (target: ErasureTarget): string =>
  "key" in target ? JSON.stringify(target.key) : JSON.stringify(target.prefix).slice(0, -1);

function versionsOf(agent: AgentState | null, target: ErasureTarget): { live: Condition; past: Condition } {
  const [keys, bounds]: Condition =
    "key" in target ? ["key = ?", [target.key]] : ["key >= ? AND key < ?", [target.prefix, endOfPrefix(target.prefix)]];
  const isOne = "key" in target && target.writtenSeq !== undefined;
  const one = isOne ? "AND written_seq = ?" : "";
  const parameters = [agent?.firstSeq ?? NO_AGENT, ...bounds, ...(isOne ? [target.writtenSeq as number] : [])];
  return {
    live: [`agent = ? AND ${keys} AND live_to IS NULL ${one}`, parameters],
    past: [`agent = ? AND ${keys} AND live_to IS NOT NULL ${one}`, parameters],
  };
}

/**
 * Returns the position of an event other than a write whose details name the same key: the nearest one before it, or
 * else after it; null for none.
 */
export async function eventNaming(
  reader: Reader,
  agentId: string,
  { key, writtenSeq }: { key: string; writtenSeq: number },
  pause: Pause,
): Promise<number | null> {
  let [last, next] = [-1, Number.POSITIVE_INFINITY];
  for await (const [condition, parameters] of eventsAbout(reader, agentId, { key }, pause)) {
    const sql = `SELECT seq FROM events WHERE ${condition} AND details ->> '$.key' = ? AND seq <> ?`;
    for (const [seq] of await reader.all<[number]>(sql, [...parameters, key, writtenSeq])) {
      if (seq < writtenSeq) last = Math.max(last, seq);
      else next = Math.min(next, seq);
    }
  }
  return last >= 0 ? last : Number.isFinite(next) ? next : null;
}

/** A position at which no agent begins. */
const NO_AGENT = -1;

/** The events that are examined before other workspaces have a turn. */
export const EVENTS_AT_ONCE = 2_000;

/**
 * Yields conditions, each for the next events of a chain whose details name the key, or a key with the prefix. The
 * table of operations states which details do. Requests from before the agent existed are in the workspace's own chain,
 * with the agent in their details.
 */
async function* eventsAbout(
  reader: Reader,
  agentId: string,
  target: ErasureTarget,
  pause: Pause,
): AsyncGenerator<Condition> {
  const isAbout = (member: "key" | "prefix") =>
    "key" in target ? `details ->> '$.${member}' = ?` : `substr(details ->> '$.${member}', 1, length(?)) = ?`;
  // A deletion by prefix also ended entries of other keys, so its details are kept until the prefix itself is erased.
  const ended = "key" in target ? ` AND NOT (operation IN (${ENDING}) AND details ->> '$.count' > 0)` : "";
  const about = NAMING.map(([member, names]) => `(operation IN (${names}) AND ${isAbout(member)}${ended})`);
  // This excludes most events, and costs less than parsing their JSON.
  const condition = `instr(details, ?) > 0 AND (${about.join(" OR ")})`;
  const each = "key" in target ? [target.key] : [target.prefix, target.prefix];
  const parameters = [textOf(target), ...NAMING.flatMap(() => each)];
  const chains: [sql: string, chain: string | null, more: string, bound: string[]][] = [
    ["agent_id = ?", agentId, "", []],
    ["agent_id IS ?", null, "AND details ->> '$.agent_id' = ?", [agentId]],
  ];
  for (const [ofChain, chain, more, bound] of chains) {
    const last = await reader.value<number | null>(`SELECT max(agent_seq) FROM events WHERE ${ofChain}`, [chain]);
    for (let from = 0; from <= (last ?? -1); from += EVENTS_AT_ONCE) {
      await pause();
      yield [
        `${ofChain} AND agent_seq >= ? AND agent_seq < ? AND ${condition} ${more}`,
        [chain, from, from + EVENTS_AT_ONCE, ...parameters, ...bound],
      ];
    }
  }
}

/** SQL: the operations that end all entries whose keys begin with a prefix. */
const ENDING = sqlNames("end_prefix");

/** The members of details that name keys, and for each, as SQL, the operations whose details have it. */
const NAMING = (["key", "prefix"] as const).map((member) => {
  const names = EVENT_NAMES.filter((name) => eventFacts(name)?.erasedBy.includes(member));
  return [member, sqlTexts(names)] as const;
});
