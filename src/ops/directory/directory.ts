/**
 * Where to find things: which workspaces each account has ever joined, and which workspaces have sinks. What decides is in
 * the workspaces' files, where it is read before it is shown or used. That an account joins is noted before, and the note
 * stays when it leaves.
 */
import type { Connection } from "../../store/connection.ts";
import type { FoundingParts } from "./administration.ts";

const IS_THERE = "workspace_id IN (SELECT id FROM workspaces WHERE deleted_seq IS NULL)";

/** Returns the ids of the workspaces that an account may belong to. */
export const listDirectory = (connection: Connection, accountId: string): string[] =>
  connection
    .all<[string]>(`SELECT workspace_id FROM directory WHERE account_id = ? AND ${IS_THERE}`, [accountId])
    .flat();

/** Returns the workspaces that have sinks, each with the number of changes of its sinks. */
export const sinkWorkspaces = (connection: Connection): Map<string, number> =>
  new Map(connection.all<[string, number]>(`SELECT workspace_id, changes FROM sink_workspaces WHERE ${IS_THERE}`));

/** Notes the workspaces that an account is about to join, unless that is noted. */
export async function noteMember(
  { installation, journal }: Pick<FoundingParts, "installation" | "journal">,
  accountId: string,
  workspaceIds: readonly string[],
): Promise<void> {
  const sql = "SELECT workspace_id FROM directory WHERE account_id = ?";
  const known = new Set(installation.connection.all<[string]>(sql, [accountId]).flat());
  const missing = workspaceIds.filter((id) => !known.has(id));
  if (missing.length > 0) await journal.note(installation.id, { kind: "joins", accountId, workspaceIds: missing });
}
