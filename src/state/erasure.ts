/**
 * Erasing for good: entries out of the present and out of every checkpoint, and what the log says of them out of the
 * details of its events. The events themselves stand, and so do chains and tree.
 */
import type { SeqRange } from "../log/effects.ts";
import { EVENT_NAMES, eventFacts } from "../operations.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import type { AgentState } from "./agents.ts";
import { eraseAnswers } from "./answers.ts";
import { endOfPrefix } from "./entries.ts";
import { sqlNames } from "./entry-changes.ts";

/** What is erased of an agent: one key, or all that begin with a prefix. */
export type ErasureTarget = { key: string } | { prefix: string };

/** A condition as SQL with its parameters. */
type Condition = readonly [sql: string, parameters: readonly SqlValue[]];

/**
 * Returns how much erasing would remove: present entries, versions with those that only checkpoints see, and events whose
 * details say something of the keys; and the positions of these events, ascending and not adjacent. `agent` is null when
 * the agent never began.
 */
export async function countErasable(reader: Reader, agent: AgentState | null, agentId: string, target: ErasureTarget) {
  const count = async ([condition, parameters]: Condition) =>
    (await reader.value<number>(`SELECT count(*) FROM entries WHERE ${condition}`, parameters)) ?? 0;
  const { live, past } = versionsOf(agent, target);
  const entries = await count(live);
  const versions = entries + (await count(past));
  const erased = await positionsAbout(reader, agentId, target);
  const events = erased.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return { entries, versions, events, erased };
}

async function positionsAbout(reader: Reader, agentId: string, target: ErasureTarget): Promise<SeqRange[]> {
  const conditions = eventsAbout(agentId, target);
  const seqs = conditions.map(([condition]) => `SELECT seq FROM events WHERE ${condition}`).join(" UNION ALL ");
  // Positions in a row have the same distance to their rank.
  return await reader.all<[number, number]>(
    `SELECT min(seq), max(seq) FROM (SELECT seq, seq - row_number() OVER (ORDER BY seq) AS run FROM (${seqs}))
     GROUP BY run ORDER BY 1`,
    conditions.flatMap(([, parameters]) => parameters),
  );
}

/** Erases, from stored answers, too. Returns how much was removed, counted as {@link countErasable} does. */
export async function erase(tx: Transaction, agent: AgentState, agentId: string, target: ErasureTarget) {
  const { live, past } = versionsOf(agent, target);
  const remove = ([condition, parameters]: Condition) => tx.run(`DELETE FROM entries WHERE ${condition}`, parameters);
  const entries = await remove(live);
  const versions = entries + (await remove(past));
  let events = 0;
  for (const [condition, parameters] of eventsAbout(agentId, target)) {
    const sql = `UPDATE events SET details = NULL, details_salt = NULL WHERE ${condition}`;
    events += await tx.run(sql, parameters);
  }
  await eraseAnswers(tx, agentId, textOf(target));
  return { entries, versions, events };
}

/** How the key, or the beginning of a key with the prefix, stands in a JSON text. */
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

/**
 * The events whose details name the key, or a key with the prefix; the list of operations says which operations have
 * such details. What was requested before the agent began stands among the workspace's own events, with the agent in
 * its details.
 */
function eventsAbout(agentId: string, target: ErasureTarget): readonly Condition[] {
  const isAbout = (member: "key" | "prefix") =>
    "key" in target ? `details ->> '$.${member}' = ?` : `substr(details ->> '$.${member}', 1, length(?)) = ?`;
  // A deletion by prefix ended entries of other keys, too, and what ended them stays known until the prefix is erased.
  const ended = "key" in target ? ` AND NOT (operation IN (${ENDING}) AND details ->> '$.count' > 0)` : "";
  const about = NAMING.map(([member, names]) => `(operation IN (${names}) AND ${isAbout(member)}${ended})`);
  // That alone rules out most events, and costs less than reading their JSON.
  const condition = `instr(details, ?) > 0 AND (${about.join(" OR ")})`;
  const each = "key" in target ? [target.key] : [target.prefix, target.prefix];
  const parameters = [textOf(target), ...NAMING.flatMap(() => each)];
  return [
    [`${condition} AND agent_id = ?`, [...parameters, agentId]],
    [`${condition} AND agent_id IS NULL AND details ->> '$.agent_id' = ?`, [...parameters, agentId]],
  ];
}

/** As SQL, the operations that end all entries whose keys begin with a prefix. */
const ENDING = sqlNames("end_prefix");

/** The members of details that name keys, each with the operations, as SQL, whose details have it. */
const NAMING = (["key", "prefix"] as const).map((member) => {
  const names = EVENT_NAMES.filter((name) => eventFacts(name)?.erasedBy.includes(member));
  return [member, names.map((name) => `'${name}'`).join(", ")] as const;
});
