/**
 * Deletes a workspace: seals its log for the last time; records in the log of the installation that it is deleted, with
 * the head and the seal; and removes its files. What a crash left is removed when the daemon starts.
 */
import { rmSync } from "node:fs";
import {
  anchorFile,
  type DataDirectory,
  presentWorkspaces,
  sealFile,
  workspaceFile,
} from "../../core/datadir/layout.ts";
import type { SealKeySource } from "../../core/datadir/seal-key.ts";
import { newestSeal } from "../../core/rows/log/seals.ts";
import { requireSealed } from "../../core/writer/continuity.ts";
import { readHead } from "../../core/writer/head.ts";
import { Failure } from "../../failure.ts";
import { parseSeal } from "../../log/seal.ts";
import { removeDatabase } from "../../store/remove.ts";
import { syncDirectory } from "../../store/sync.ts";
import type { FoundingParts } from "./administration.ts";
import { recordHeads } from "./heads.ts";
import type { Installation } from "./installation.ts";
import { withWriter } from "./journal.ts";
import { isUnfinished } from "./unfinished.ts";
import { listDeleted, listLogIds, requireWorkspace } from "./workspaces.ts";

/** The end of a deleted workspace, as its event states it. */
interface Deleted {
  /** The number of its events, and the hash of the last one. */
  size: number;
  head: string;
  /** The seal over all of them. */
  seal: string;
}

/**
 * Deletes a workspace. Nobody else may use the data directory meanwhile.
 * @throws {Failure} `not_found`; `busy` when its log cannot be sealed, or has grown meanwhile, and nothing was changed
 */
export async function deleteWorkspace(
  parts: FoundingParts,
  directory: DataDirectory,
  key: SealKeySource,
  id: string,
): Promise<Deleted & { auditId: string }> {
  const { installation, journal } = parts;
  requireWorkspace(installation.connection, id);
  const deleted = await sealFinally(directory, key, id);
  const auditId = await installation.alone(async () => {
    requireWorkspace(installation.connection, id);
    if (journal.headOf(id).hash !== deleted.head) {
      throw new Failure("busy", "The workspace was written meanwhile. Nothing was changed. Try again.");
    }
    const details = { for_workspace_id: id, ...deleted };
    const event = { operation: "installation.delete_workspace", actor: "cli", details } as const;
    return await journal.record(installation.id, event);
  });
  await recordHeads(parts, { deleted: [id] });
  removeDeleted(directory, installation);
  return { ...deleted, auditId };
}

/** Seals the whole log of a workspace. */
function sealFinally(directory: DataDirectory, key: SealKeySource, id: string): Promise<Deleted> {
  return withWriter(directory, key, id, async (writer, connection) => {
    await writer.seal();
    const { seq, hash } = readHead(connection);
    const newest = await newestSeal(connection);
    if (newest === null || parseSeal(newest.note).size !== seq + 1) {
      throw new Failure("busy", "The workspace's log could not be sealed for the last time. Nothing was changed.");
    }
    return { size: seq + 1, head: hash, seal: newest.note };
  });
}

/** Removes the files of deleted workspaces that are still there. */
export function removeDeleted(directory: DataDirectory, installation: Installation): void {
  const deleted = listDeleted(installation.connection);
  for (const id of deleted) removeFiles(directory, id);
  if (deleted.length === 0) return;
  for (const path of [directory.workspaces, directory.seals]) syncDirectory(path);
}

/**
 * Removes the files of workspaces that a crash left without a row, before anybody had their key. A file without a row that has
 * events of its own is somebody else's: `onUnknown` is called with it.
 */
export function removeUnfinished(
  directory: DataDirectory,
  installation: Installation,
  onUnknown: (workspaceId: string) => void,
): Promise<void> {
  return installation.alone(async () => {
    const { connection, id: own } = installation;
    const known = new Set([...listDeleted(connection), ...listLogIds(connection)]);
    // An older copy of the installation's file lacks workspaces whose keys people have.
    const isNewest = await requireSealed(connection, sealFile(directory, own)).then(
      () => true,
      () => false,
    );
    for (const id of presentWorkspaces(directory)) {
      if (known.has(id)) continue;
      if (isNewest && isUnfinished(directory, id)) removeFiles(directory, id);
      else onUnknown(id);
    }
  });
}

function removeFiles(directory: DataDirectory, id: string): void {
  for (const path of [sealFile(directory, id), anchorFile(directory, id)]) rmSync(path, { force: true });
  removeDatabase(workspaceFile(directory, id));
}
