/**
 * Erasing for good: entries out of the present and out of every checkpoint, and what the log says of
 * them out of the details of its events. The events themselves stand, and so do chains and tree.
 */
import { EVENT_NAMES, eventFacts } from "../operations.ts";
import type { Transaction } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import type { AgentState } from "./agents.ts";
import { endOfPrefix } from "./entries.ts";

/** What is erased of an agent: one key, or all that begin with a prefix. */
export type ErasureTarget = { key: string } | { prefix: string };

export interface Erased {
  /** Present entries that are gone. */
  live: number;
  /** Versions that are gone, those that only checkpoints saw included. */
  versions: number;
  /** Events whose details are gone. */
  events: number;
}

/** Erases; what the agent's cached state says of its entries is the caller's to change. */
export async function erase(
  tx: Transaction,
  agent: AgentState | null,
  agentId: string,
  target: ErasureTarget,
): Promise<Erased> {
  const { live, versions } =
    agent === null ? { live: 0, versions: 0 } : await eraseEntries(tx, agent, target);
  return { live, versions, events: await eraseDetails(tx, agentId, target) };
}

async function eraseEntries(
  tx: Transaction,
  agent: AgentState,
  target: ErasureTarget,
): Promise<{ live: number; versions: number }> {
  const [condition, bound]: [string, SqlValue[]] =
    "key" in target
      ? ["key = ?", [target.key]]
      : ["key >= ? AND key < ?", [target.prefix, endOfPrefix(target.prefix)]];
  const remove = (which: string) =>
    tx.run(`DELETE FROM entries WHERE agent = ? AND ${condition} AND ${which}`, [agent.firstSeq, ...bound]);
  const live = await remove("live_to IS NULL");
  return { live, versions: live + (await remove("live_to IS NOT NULL")) };
}

/**
 * Destroys the details that name the key, or a key with the prefix; which operations have such details the list of
 * operations says. What was requested before the agent began stands among the workspace's own events, with the
 * agent in its details.
 */
async function eraseDetails(tx: Transaction, agentId: string, target: ErasureTarget): Promise<number> {
  const isAbout = (member: "key" | "prefix") =>
    "key" in target ? `details ->> '$.${member}' = ?` : `substr(details ->> '$.${member}', 1, length(?)) = ?`;
  const condition = NAMING.map(([member, names]) => `(operation IN (${names}) AND ${isAbout(member)})`).join(
    " OR ",
  );
  const each = "key" in target ? [target.key] : [target.prefix, target.prefix];
  const bound = NAMING.flatMap(() => each);
  const change = `UPDATE events SET details = NULL, details_salt = NULL WHERE details IS NOT NULL AND (${condition})`;
  return (
    (await tx.run(`${change} AND agent_id = ?`, [...bound, agentId])) +
    (await tx.run(`${change} AND agent_id IS NULL AND details ->> '$.agent_id' = ?`, [...bound, agentId]))
  );
}

/** The members of details that name keys, each with the operations, as SQL, whose details have it. */
const NAMING = (["key", "prefix"] as const).map((member) => {
  const names = EVENT_NAMES.filter((name) => eventFacts(name)?.erasedBy.includes(member));
  return [member, names.map((name) => `'${name}'`).join(", ")] as const;
});
