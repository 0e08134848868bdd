/**
 * Erasing for good: entries out of the present and out of every checkpoint, and what the log says of
 * them out of the details of its events. The events themselves stand, and so do chains and tree.
 */
import { EVENT_NAMES, eventFacts } from "../operations.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import type { AgentState } from "./agents.ts";
import { endOfPrefix } from "./entries.ts";

/** What is erased of an agent: one key, or all that begin with a prefix. */
export type ErasureTarget = { key: string } | { prefix: string };

export interface Erased {
  /** Present entries. */
  entries: number;
  /** Versions, those that only checkpoints see included. */
  versions: number;
  /** Events whose details say something of the keys. */
  events: number;
}

/** A condition as SQL with its parameters. */
type Condition = readonly [sql: string, parameters: readonly SqlValue[]];

/** What erasing would remove. `agent` is null when the agent never began. */
export async function countErasable(
  reader: Reader,
  agent: AgentState | null,
  agentId: string,
  target: ErasureTarget,
): Promise<Erased> {
  const count = async (table: string, [condition, parameters]: Condition) => {
    const row = await reader.get<[number]>(`SELECT count(*) FROM ${table} WHERE ${condition}`, parameters);
    return row?.[0] ?? 0;
  };
  const { live, past } = versionsOf(agent, target);
  const entries = await count("entries", live);
  const versions = entries + (await count("entries", past));
  let events = 0;
  for (const condition of eventsAbout(agentId, target)) events += await count("events", condition);
  return { entries, versions, events };
}

/** Erases; returns what was removed. */
export async function erase(
  tx: Transaction,
  agent: AgentState,
  agentId: string,
  target: ErasureTarget,
): Promise<Erased> {
  const { live, past } = versionsOf(agent, target);
  const remove = ([condition, parameters]: Condition) =>
    tx.run(`DELETE FROM entries WHERE ${condition}`, parameters);
  const entries = await remove(live);
  const versions = entries + (await remove(past));
  let events = 0;
  for (const [condition, parameters] of eventsAbout(agentId, target)) {
    const sql = `UPDATE events SET details = NULL, details_salt = NULL WHERE ${condition}`;
    events += await tx.run(sql, parameters);
  }
  return { entries, versions, events };
}

function versionsOf(agent: AgentState | null, target: ErasureTarget): { live: Condition; past: Condition } {
  const [keys, bounds]: Condition =
    "key" in target
      ? ["key = ?", [target.key]]
      : ["key >= ? AND key < ?", [target.prefix, endOfPrefix(target.prefix)]];
  const parameters = [agent?.firstSeq ?? NO_AGENT, ...bounds];
  return {
    live: [`agent = ? AND ${keys} AND live_to IS NULL`, parameters],
    past: [`agent = ? AND ${keys} AND live_to IS NOT NULL`, parameters],
  };
}

/** No agent begins here. */
const NO_AGENT = -1;

/**
 * The events whose details name the key, or a key with the prefix; the list of operations says which operations have
 * such details. What was requested before the agent began stands among the workspace's own events, with the agent in
 * its details.
 */
function eventsAbout(agentId: string, target: ErasureTarget): readonly Condition[] {
  const isAbout = (member: "key" | "prefix") =>
    "key" in target ? `details ->> '$.${member}' = ?` : `substr(details ->> '$.${member}', 1, length(?)) = ?`;
  const about = NAMING.map(([member, names]) => `(operation IN (${names}) AND ${isAbout(member)})`);
  // Details are canonical JSON, so a key stands in them as in JSON.stringify. That alone rules out most events, and
  // costs less than reading their JSON.
  const condition = `instr(details, ?) > 0 AND (${about.join(" OR ")})`;
  const [text, each] =
    "key" in target
      ? [JSON.stringify(target.key), [target.key]]
      : [JSON.stringify(target.prefix).slice(0, -1), [target.prefix, target.prefix]];
  const parameters = [text, ...NAMING.flatMap(() => each)];
  return [
    [`${condition} AND agent_id = ?`, [...parameters, agentId]],
    [`${condition} AND agent_id IS NULL AND details ->> '$.agent_id' = ?`, [...parameters, agentId]],
  ];
}

/** The members of details that name keys, each with the operations, as SQL, whose details have it. */
const NAMING = (["key", "prefix"] as const).map((member) => {
  const names = EVENT_NAMES.filter((name) => eventFacts(name)?.erasedBy.includes(member));
  return [member, names.map((name) => `'${name}'`).join(", ")] as const;
});
