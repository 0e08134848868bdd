/** The last step of a restore: what the file of the installation has of all workspaces. */

import { existsSync } from "node:fs";
import { type DataDirectory, workspaceFile } from "../core/datadir/layout.ts";
import type { SealKeySource } from "../core/datadir/seal-key.ts";
import { listMembers } from "../core/rows/access/members.ts";
import { type Note, storeNote } from "../core/rows/access/notes.ts";
import { Failure } from "../failure.ts";
import type { Clock } from "../ids.ts";
import { removeDeleted } from "../ops/directory/deletion.ts";
import { recordHeads } from "../ops/directory/heads.ts";
import { Installation } from "../ops/directory/installation.ts";
import { fileJournal, openLog, withWriter } from "../ops/directory/journal.ts";
import { listDeleted, listWorkspaces } from "../ops/directory/workspaces.ts";

/**
 * Removes the files of deleted workspaces, notes whose members and sinks the others have, and records the heads of all, which
 * the restore has changed. The notes in the copy may be older than the workspaces.
 * @throws {Failure} `backup_unusable` when the log of the installation cannot be written
 */
export async function finishInstallation(
  target: DataDirectory,
  { key, clock }: { key: SealKeySource; clock: Clock },
): Promise<void> {
  using installation = await Installation.open(target);
  const { connection, id: log } = installation;
  const onHeadsLate = (reason: string) => {
    throw new Failure("backup_unusable", `The log of the installation could not be written (${reason}).`);
  };
  const journal = fileJournal(target, { key, clock, onHeadsLate });
  removeDeleted(target, installation);
  const present = listWorkspaces(connection)
    .map(({ id }) => id)
    .filter((id) => existsSync(workspaceFile(target, id)));
  const notes: Note[] = [];
  for (const id of present) notes.push(...(await notesOf(target, id)));
  await withWriter(target, key, log, (writer) =>
    writer.derive(async (file) => {
      for (const note of notes) await storeNote(file, note);
    }),
  );
  await recordHeads({ installation, journal }, { made: present, deleted: listDeleted(connection) });
}

/** Returns what the file of the installation notes of a workspace. */
async function notesOf(target: DataDirectory, workspaceId: string): Promise<Note[]> {
  using connection = openLog(target, workspaceId);
  const members = await listMembers(connection);
  const some = connection.value("SELECT 1 FROM sinks") !== undefined;
  return [
    ...members.map(({ accountId }): Note => ({ kind: "joins", accountId, workspaceIds: [workspaceId] })),
    { kind: "sinks", workspaceId, some },
  ];
}
