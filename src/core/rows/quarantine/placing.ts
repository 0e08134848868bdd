/** Sets versions aside, and releases them. */
import type { Transaction } from "../../../store/transaction.ts";
import { CHANGED_AT_ONCE } from "../../../store/walk.ts";
import { forgetValues } from "../answers.ts";
import type { StoredVersion } from "./stored.ts";

/** What is placed: the ids of the rows of some versions, and the agents whose they are. */
export interface Placed {
  ids: readonly number[];
  agents: readonly string[];
}

export const placedOf = (versions: readonly StoredVersion[]): Placed => ({
  ids: versions.flatMap(({ ids }) => ids),
  agents: [...new Set(versions.map(({ agentId }) => agentId))],
});

/**
 * Marks rows as set aside by the event at a position, and forgets stored answers that may show them to a program. Returns how
 * many rows were changed.
 */
export async function setAside(tx: Transaction, { ids, agents }: Placed, seq: number): Promise<number> {
  for (const agentId of agents) await forgetValues(tx, agentId);
  return mark(tx, ids, seq);
}

/** Takes the mark from rows. Returns how many were changed. */
export const release = (tx: Transaction, { ids }: Placed): Promise<number> => mark(tx, ids, null);

async function mark(tx: Transaction, ids: readonly number[], quarantined: number | null): Promise<number> {
  let changed = 0;
  for (let at = 0; at < ids.length; at += CHANGED_AT_ONCE) {
    const some = JSON.stringify(ids.slice(at, at + CHANGED_AT_ONCE));
    const sql = "UPDATE entries SET quarantined = ? WHERE id IN (SELECT value FROM json_each(?))";
    changed += await tx.change(sql, [quarantined, some]);
  }
  return changed;
}
