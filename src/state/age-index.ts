/**
 * The index by which entries past their retention are found. Every write of a workspace pays for it, so it is there
 * only where a configuration has a retention, or once had. Without it everything is as right, and finding what has
 * expired takes a look at each entry of the agent.
 */
import drop from "../../sql/workspace/003-entries-by-age.sql" with { type: "text" };
import create from "../../sql/workspace/derived/entries-by-age.sql" with { type: "text" };
import { RETENTION } from "../policy/retention.ts";
import type { Connection } from "../store/connection.ts";
import type { Transaction } from "../store/transaction.ts";

/** Makes it, unless it is there. */
export const AGE_INDEX_SCHEMA = create;
/** Its name. */
export const AGE_INDEX = "entries_by_age";

/** Has it there from now on, in the transaction that puts a retention into force. */
export async function ensureAgeIndex(tx: Transaction): Promise<void> {
  await tx.run(AGE_INDEX_SCHEMA);
}

/** Schema version 3: files have had it until then, and most do not need it. */
export function keepAgeIndexIfNeeded(connection: Connection): void {
  const sql = `SELECT 1 FROM configs WHERE instr(config, '"${RETENTION}"') > 0 LIMIT 1`;
  connection.exec(connection.get<[number]>(sql) === undefined ? drop : AGE_INDEX_SCHEMA);
}
