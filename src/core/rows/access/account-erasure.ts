/**
 * Erases an account from the file of the installation: its rows with their salts, and the details of its events, which have
 * network addresses. The events themselves stay, and so do the chains and the tree.
 */
import type { SeqRange } from "../../../log/effects.ts";
import { EVENT_NAMES, eventFacts } from "../../../operations.ts";
import type { Reader, Transaction } from "../../../store/transaction.ts";
import { rangesOf } from "../erasure.ts";

/** The events that are examined before other work has a turn. */
const EVENTS_AT_ONCE = 2_000;

/** The operations whose events can be about an account. */
const ABOUT = EVENT_NAMES.filter((name) => eventFacts(name)?.erasedBy.includes("account"));

/** The links for which an account was made: other rows than its own, so that their removal is stated. */
export const linksUsedBy = async (reader: Reader, accountId: string): Promise<string[]> =>
  (
    await reader.all<[string]>("SELECT id FROM links WHERE used_by = ? AND account_id IS NULL ORDER BY created_seq", [
      accountId,
    ])
  ).flat();

/** Returns the positions of the events whose details are about an account, as ranges, ascending and not adjacent. */
export async function eventsOfAccount(
  reader: Reader,
  accountId: string,
  pause: () => Promise<void>,
): Promise<SeqRange[]> {
  const sql = `SELECT seq FROM events WHERE seq > ?1 AND seq <= ?2 AND details IS NOT NULL
    AND operation IN (${ABOUT.map((name) => `'${name}'`).join(", ")})
    AND (details ->> '$.account_id' = ?3
      OR (operation = 'account.unlink' AND details ->> '$.link_id' IN (SELECT id FROM links WHERE account_id = ?3)))`;
  const last = (await reader.value<number | null>("SELECT max(seq) FROM events")) ?? -1;
  const seqs: number[] = [];
  for (let from = -1; from < last; from += EVENTS_AT_ONCE) {
    await pause();
    seqs.push(...(await reader.all<[number]>(sql, [from, from + EVENTS_AT_ONCE, accountId])).flat());
  }
  return rangesOf(seqs);
}

/** The tables with rows of accounts. The last two are no evidence. */
const TABLES = [
  ["accounts", "id"],
  ["passkeys", "account_id"],
  ["identities", "account_id"],
  ["sessions", "account_id"],
  ["links", "account_id"],
  ["devices", "account_id"],
  ["directory", "account_id"],
] as const;

/**
 * Removes the rows of an account, and the details of the events at these positions.
 * @throws when an event has no details, since the event of the erasure would be false
 */
export async function eraseAccount(tx: Transaction, accountId: string, erased: readonly SeqRange[]): Promise<void> {
  for (const [table, column] of TABLES) await tx.run(`DELETE FROM ${table} WHERE ${column} = ?`, [accountId]);
  await tx.run("DELETE FROM session_use WHERE id NOT IN (SELECT id FROM sessions)");
  for (const [from, to] of erased) {
    const sql = `UPDATE events SET details = NULL, details_salt = NULL WHERE seq >= ? AND seq <= ? AND details IS NOT NULL`;
    if ((await tx.change(sql, [from, to])) !== to - from + 1) throw new Error("an event has no details to erase");
  }
}
