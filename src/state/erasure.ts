/**
 * Erasing for good: entries out of the present and out of every checkpoint, and what the log says of them out of the
 * details of its events. The events themselves stay, and so do chains and tree.
 */
import type { SeqRange } from "../log/effects.ts";
import { EVENT_NAMES, eventFacts } from "../operations.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import type { AgentState } from "./agents.ts";
import { eraseAnswers } from "./answers.ts";
import { endOfPrefix } from "./entries.ts";
import { sqlNames } from "./entry-changes.ts";
import { BYTES, removeVersions, type Sized } from "./expiry.ts";

/** What is erased of an agent: one key, or all that begin with a prefix. */
export type ErasureTarget = { key: string } | { prefix: string };

/** Lets other workspaces have their turn. */
type Pause = () => Promise<void>;

/** A condition as SQL with its parameters. */
type Condition = readonly [sql: string, parameters: readonly SqlValue[]];

/**
 * Returns how much erasing would remove: present entries, versions with those that only checkpoints see, and events whose
 * details say something of the keys; and the positions of these events, ascending and not adjacent. `agent` is null when
 * the agent never began.
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
  const erased = await positionsAbout(reader, agentId, target, pause);
  const events = erased.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return { entries, versions, events, erased };
}

/** Returns the events about the target, as ranges that are not adjacent, ascending. */
async function positionsAbout(
  reader: Reader,
  agentId: string,
  target: ErasureTarget,
  pause: Pause,
): Promise<SeqRange[]> {
  const seqs: number[] = [];
  for await (const [condition, parameters] of eventsAbout(reader, agentId, target, pause)) {
    const rows = await reader.all<[number]>(`SELECT seq FROM events WHERE ${condition}`, parameters);
    for (const [seq] of rows) seqs.push(seq);
  }
  const ranges: [from: number, to: number][] = [];
  for (const seq of seqs.sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === seq - 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}

/** Erases, from stored answers, too. Returns how much was removed, counted as {@link countErasable} does. */
export async function erase(tx: Transaction, agent: AgentState, agentId: string, target: ErasureTarget, pause: Pause) {
  const { live, past } = versionsOf(agent, target);
  const remove = async ([condition, parameters]: Condition) =>
    removeVersions(tx, await tx.all<Sized>(`SELECT id, ${BYTES} FROM entries WHERE ${condition}`, parameters), pause);
  const entries = await remove(live);
  const versions = entries + (await remove(past));
  let events = 0;
  for await (const [condition, parameters] of eventsAbout(tx, agentId, target, pause)) {
    const sql = `UPDATE events SET details = NULL, details_salt = NULL WHERE ${condition}`;
    events += await tx.run(sql, parameters);
  }
  await eraseAnswers(tx, agentId, textOf(target));
  return { entries, versions, events };
}

/** How the key, or the beginning of a key with the prefix, is written in a JSON text. */
const textOf = (target: ErasureTarget): string =>
  "key" in target ? JSON.stringify(target.key) : JSON.stringify(target.prefix).slice(0, -1);

function versionsOf(agent: AgentState | null, target: ErasureTarget): { live: Condition; past: Condition } {
  const [keys, bounds]: Condition =
    "key" in target ? ["key = ?", [target.key]] : ["key >= ? AND key < ?", [target.prefix, endOfPrefix(target.prefix)]];
  const parameters = [agent?.firstSeq ?? NO_AGENT, ...bounds];
  return {
    live: [`agent = ? AND ${keys} AND live_to IS NULL`, parameters],
    past: [`agent = ? AND ${keys} AND live_to IS NOT NULL`, parameters],
  };
}

/** No agent begins here. */
const NO_AGENT = -1;

/** Events that are looked at before other workspaces have their turn. */
const EVENTS_AT_ONCE = 2_000;

/**
 * Yields conditions, each about the next events of a chain: those whose details name the key, or a key with the prefix;
 * the list of operations says which operations have such details. What was requested before the agent began is among
 * the workspace's own events, with the agent in its details.
 */
async function* eventsAbout(
  reader: Reader,
  agentId: string,
  target: ErasureTarget,
  pause: Pause,
): AsyncGenerator<Condition> {
  const isAbout = (member: "key" | "prefix") =>
    "key" in target ? `details ->> '$.${member}' = ?` : `substr(details ->> '$.${member}', 1, length(?)) = ?`;
  // A deletion by prefix ended entries of other keys, too, and what ended them stays known until the prefix is erased.
  const ended = "key" in target ? ` AND NOT (operation IN (${ENDING}) AND details ->> '$.count' > 0)` : "";
  const about = NAMING.map(([member, names]) => `(operation IN (${names}) AND ${isAbout(member)}${ended})`);
  // That alone rules out most events, and costs less than reading their JSON.
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

/** As SQL, the operations that end all entries whose keys begin with a prefix. */
const ENDING = sqlNames("end_prefix");

/** The members of details that name keys, each with the operations, as SQL, whose details have it. */
const NAMING = (["key", "prefix"] as const).map((member) => {
  const names = EVENT_NAMES.filter((name) => eventFacts(name)?.erasedBy.includes(member));
  return [member, names.map((name) => `'${name}'`).join(", ")] as const;
});
