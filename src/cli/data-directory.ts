/** Opening a data directory and its control database, for the commands about workspaces and keys. */

import { haveLogsEmptied } from "../core/datadir/empty-logs.ts";
import { readEncryptionKey } from "../core/datadir/encryption-key.ts";
import type { DataDirectory } from "../core/datadir/layout.ts";
import { existingDataDirectory, openDataDirectory } from "../core/datadir/open.ts";
import { sealKeySource } from "../core/datadir/seal-key.ts";
import type { Reply } from "../core/writer/contract.ts";
import type { Job } from "../core/writer/job.ts";
import type { WorkspaceWriter } from "../core/writer/perform.ts";
import { IdSource, RandomPool, systemClock } from "../ids.ts";
import type { ActParts } from "../ops/directory/acts.ts";
import { Administration, type AdministrationOptions } from "../ops/directory/administration.ts";
import { ControlDatabase } from "../ops/directory/database.ts";
import { cliPrincipal, fileJournal, requireWorkspaceFile, sealNow, withWriter } from "../ops/directory/journal.ts";
import { requireLog } from "../ops/directory/workspaces.ts";
import type { Settings } from "../settings/definitions.ts";
import { serverOptions } from "../settings/server-options.ts";
import type { Connection } from "../store/connection.ts";
import { type Session, settingsOf } from "./session.ts";

/** The actor that the audit log shows for the command line. */
export const ACTOR = "cli";

/** Returns the settings of a command and the data directory that they name. @throws {Failure} when it does not exist */
export function dataDirectoryOf(options: object): { settings: Settings; directory: DataDirectory } {
  const settings = settingsOf(options);
  const key = readEncryptionKey(settings.encryption_key_file);
  return { settings, directory: existingDataDirectory(settings.data_dir, key, serverOptions(settings)) };
}

/**
 * Runs `work`, which changes the control database. The data directory must exist, unless `create` says that the
 * command may create it.
 */
export async function administer<T>(
  session: Session,
  options: object,
  work: (administration: Administration, parts: ActParts) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  const settings = settingsOf(options);
  if (!create) existingDataDirectory(settings.data_dir);
  const directory = openDataDirectory(settings);
  using control = await ControlDatabase.openShared(directory, () => {});
  control.shared?.outwaitNodes();
  const random = new RandomPool();
  const parts: ActParts & Pick<AdministrationOptions, "random"> = {
    control,
    journal: fileJournal(directory, {
      key: sealKeySource(directory, settings.seal_key),
      hostnames: settings.hostnames,
      onUnsealed: (reason) => void session.terminal.err(unsealed(reason)),
    }),
    clock: systemClock,
    ids: new IdSource(systemClock, random),
    random,
  };
  return await work(new Administration({ ...parts, actor: ACTOR, permit: () => {} }), parts);
}

/** Returns what `read` finds in the control database of an existing data directory. */
export async function consult<T>(options: object, read: (control: ControlDatabase) => T): Promise<T> {
  using control = await ControlDatabase.openShared(dataDirectoryOf(options).directory, () => {});
  return read(control);
}

/** Opens an existing workspace for writing and closes it after `work`. */
export async function writeWorkspace<T>(
  options: object,
  workspaceId: string,
  work: (writer: WorkspaceWriter, connection: Connection) => Promise<T>,
): Promise<T> {
  const { settings, directory } = dataDirectoryOf(options);
  if (directory.server === null) requireWorkspaceFile(directory, workspaceId);
  else await consult(options, ({ connection }) => requireLog(connection, workspaceId));
  return await withWriter(directory, sealKeySource(directory, settings.seal_key), workspaceId, work);
}

/** Empties a workspace's write-ahead log, so that it keeps nothing that a command removed. */
export const scrubLog = (options: object, workspaceId: string): Promise<void> =>
  haveLogsEmptied(dataDirectoryOf(options).directory, [workspaceId]);

/** Performs an operation as the command line, and seals the log, or warns that it could not be sealed. */
export async function performSealed(
  { terminal }: Session,
  writer: WorkspaceWriter,
  job: Pick<Job, "operation" | "run">,
): Promise<Reply | undefined> {
  const [reply] = await writer.perform([{ ...job, principal: cliPrincipal(writer.workspaceId) }]);
  const reason = reply?.auditId ? await sealNow(writer) : null;
  if (reason !== null) await terminal.err(unsealed(reason));
  return reply;
}

const unsealed = (reason: string): string => `governd: recorded, but not sealed: ${reason}\n`;
