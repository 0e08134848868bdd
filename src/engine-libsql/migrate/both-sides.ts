/**
 * Verifies a moved workspace on both sides: the file in the data directory, and the server's database, which is pulled
 * into a file of its own.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { verifyWorkspaceCopy } from "../../backup/verify-copy.ts";
import { type DataDirectory, dataDirectory, foldersOf, workspaceFile } from "../../core/datadir/layout.ts";
import { makePrivateDirectory } from "../../core/datadir/private-files.ts";
import { WORKSPACE_MIGRATIONS } from "../../core/writer/file.ts";
import { openConnection } from "../../store/connection.ts";
import { copyDatabase } from "../../store/snapshot.ts";
import type { Namespace } from "../namespace.ts";
import { pullAsIs } from "../pull.ts";

interface Sides {
  directory: DataDirectory;
  workspaceId: string;
  namespace: Namespace;
}

/** Returns why a side does not verify, or that the logs differ; null when both sides verify and have one log. */
export async function problemOfSides({ directory, workspaceId, namespace }: Sides): Promise<string | null> {
  const [here, there] = ["here", "there"].map((side) => draft(directory, side)) as [DataDirectory, DataDirectory];
  try {
    copyDatabase(workspaceFile(directory, workspaceId), workspaceFile(here, workspaceId), directory.encryptionKey);
    const { encryptionKey } = there;
    const migrations = WORKSPACE_MIGRATIONS;
    await pullAsIs(workspaceFile(there, workspaceId), { namespace, migrations, encryptionKey });
    for (const [side, name] of [
      [here, "in the data directory"],
      [there, "on the server"],
    ] as const) {
      const verdict = await verifyWorkspaceCopy(side, workspaceId);
      if (!verdict.good) return `what is ${name} does not verify: ${verdict.reason}`;
    }
    return haveOneLog(here, there, workspaceId) ? null : "the logs of both sides differ";
  } finally {
    for (const { root } of [here, there]) rmSync(root, { recursive: true, force: true });
  }
}

function draft(directory: DataDirectory, side: string): DataDirectory {
  const made = dataDirectory(join(directory.migration, side), directory.encryptionKey);
  rmSync(made.root, { recursive: true, force: true });
  for (const folder of foldersOf(made)) makePrivateDirectory(folder);
  return made;
}

/**
 * Whether the shorter log is the beginning of the longer one. Hashes are chained, so one hash covers all events before
 * it.
 */
function haveOneLog(here: DataDirectory, there: DataDirectory, workspaceId: string): boolean {
  const open = (side: DataDirectory) =>
    openConnection(workspaceFile(side, workspaceId), { readOnly: true, encryptionKey: side.encryptionKey });
  using one = open(here);
  using other = open(there);
  const ends = [one, other].map((side) => side.value<number>("SELECT seq FROM head") ?? -1);
  const hash = (side: typeof one) =>
    side.value<string>("SELECT hex(hash) FROM events WHERE seq = ?", [Math.min(...ends)]);
  return hash(one) !== undefined && hash(one) === hash(other);
}
