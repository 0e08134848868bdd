/**
 * Erases an account from the file of the installation: its rows with their salts, and the details of its events, which have
 * network addresses. The events themselves stay, and so do the chains and the tree.
 */
import type { SeqRange } from "../../../log/effects.ts";
import { EVENT_NAMES, eventFacts } from "../../../operations.ts";
import type { Reader, Transaction } from "../../../store/transaction.ts";
import { sqlTexts } from "../../../store/values.ts";
import { EVENTS_AT_ONCE, eraseDetails, erasedAt } from "../erasure.ts";

/** SQL: the operations whose events can be about an account. */
const ABOUT = sqlTexts(EVENT_NAMES.filter((name) => eventFacts(name)?.erasedBy.includes("account")));

/** Returns the links that were used to make an account. They are no rows of its own, so the event states their removal. */
export async function linksUsedBy(reader: Reader, accountId: string): Promise<string[]> {
  const sql = "SELECT id FROM links WHERE used_by = ? AND account_id IS NULL ORDER BY created_seq";
  return (await reader.all<[string]>(sql, [accountId])).flat();
}

/** Returns what the event of an erasure states of the events whose details are about an account. */
export async function eventsOfAccount(reader: Reader, accountId: string, pause: () => Promise<void>) {
  const sql = `SELECT seq FROM events WHERE seq > ?1 AND seq <= ?2 AND details IS NOT NULL AND operation IN (${ABOUT})
    AND (details ->> '$.account_id' = ?3
      OR (operation = 'account.unlink' AND details ->> '$.link_id' IN (SELECT id FROM links WHERE account_id = ?3)))`;
  const last = (await reader.value<number | null>("SELECT max(seq) FROM events")) ?? -1;
  const seqs: number[] = [];
  for (let from = -1; from < last; from += EVENTS_AT_ONCE) {
    await pause();
    seqs.push(...(await reader.all<[number]>(sql, [from, from + EVENTS_AT_ONCE, accountId])).flat());
  }
  return erasedAt(seqs);
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

/** Removes the rows of an account, and the details of the events at these positions. @throws as {@link eraseDetails} */
export async function eraseAccount(
  tx: Transaction,
  accountId: string,
  erased: readonly SeqRange[],
  pause: () => Promise<void>,
): Promise<void> {
  for (const [table, column] of TABLES) await tx.run(`DELETE FROM ${table} WHERE ${column} = ?`, [accountId]);
  await tx.run("DELETE FROM session_use WHERE id NOT IN (SELECT id FROM sessions)");
  await eraseDetails(tx, erased, pause);
}
