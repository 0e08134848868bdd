/** The stored heads of all workspaces, in the log of the installation: those of the newest `installation.heads`. */
import { INSTALLATION_HEADS } from "../../operations.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import { pages } from "../../store/walk.ts";
import { type HeadsFacts, HeadsTree, type WorkspaceHead } from "./tree.ts";

/** The heads that are read at once, and hashed before other work has a turn. */
const ROWS_AT_ONCE = 1_000;

/** How stored heads change. */
export interface HeadChanges {
  /** The heads that are new, or differ from the stored ones. */
  grown: readonly WorkspaceHead[];
  /** The workspaces that were deleted. */
  gone: readonly string[];
}

/** Returns the stored heads, by workspace. */
export async function readHeads(reader: Reader): Promise<Map<string, WorkspaceHead>> {
  const sql = "SELECT workspace_id, size, hash FROM heads WHERE workspace_id > ? ORDER BY workspace_id LIMIT ?";
  const read = async (after: string) => {
    const rows = await reader.all<[string, number, string]>(sql, [after, ROWS_AT_ONCE]);
    return rows.map(([workspaceId, size, hash]) => ({ workspaceId, size, hash }));
  };
  const heads = new Map<string, WorkspaceHead>();
  for await (const page of pages("", ROWS_AT_ONCE, read, ({ workspaceId }) => workspaceId)) {
    for (const head of page) heads.set(head.workspaceId, head);
  }
  return heads;
}

/** Returns when the stored heads were recorded, ms since the Unix epoch; NaN when they never were. */
export async function headsRecordedMs(reader: Reader): Promise<number> {
  const sql = "SELECT timestamp FROM events WHERE agent_id IS NULL AND operation = ? ORDER BY agent_seq DESC LIMIT 1";
  return Date.parse((await reader.value<string>(sql, [INSTALLATION_HEADS])) ?? "");
}

/** Returns what an event states of the heads after these changes. @param pause called between the steps */
export async function headsAfter(
  reader: Reader,
  changes: HeadChanges,
  pause: () => Promise<void>,
): Promise<HeadsFacts> {
  const heads = await readHeads(reader);
  for (const id of changes.gone) heads.delete(id);
  for (const head of changes.grown) heads.set(head.workspaceId, head);
  const tree = new HeadsTree();
  for (const [done, id] of [...heads.keys()].sort().entries()) {
    tree.add(heads.get(id) as WorkspaceHead);
    if (done % ROWS_AT_ONCE === 0) await pause();
  }
  return tree.facts();
}

/** Applies changes of the stored heads. */
export async function storeHeads(tx: Transaction, { grown, gone }: HeadChanges): Promise<void> {
  for (const id of gone) await tx.run("DELETE FROM heads WHERE workspace_id = ?", [id]);
  const sql = `INSERT INTO heads (workspace_id, size, hash) VALUES (?, ?, ?)
    ON CONFLICT (workspace_id) DO UPDATE SET size = excluded.size, hash = excluded.hash`;
  for (const { workspaceId, size, hash } of grown) await tx.run(sql, [workspaceId, size, hash]);
}
