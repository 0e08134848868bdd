/**
 * The index for entries past their retention. Every write of a workspace pays for it, so it exists only if some
 * configuration has, or once had, a retention. Without it results are the same, but finding expired entries reads all
 * entries of the agent.
 */
import create from "../../../sql/workspace/derived/entries-by-age.sql" with { type: "text" };
import type { Transaction } from "../../store/transaction.ts";

/** Creates the index unless it exists. */
export const AGE_INDEX_SCHEMA = create;
/** The name of the index. */
export const AGE_INDEX = "entries_by_age";

/** Creates the index unless it exists; to be called in the transaction that puts a retention into force. */
export async function ensureAgeIndex(tx: Transaction): Promise<void> {
  await tx.run(AGE_INDEX_SCHEMA);
}
