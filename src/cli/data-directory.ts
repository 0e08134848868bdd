/** Opening a data directory and its installation, for the commands about workspaces and keys. */

import { haveLogsEmptied } from "../core/datadir/empty-logs.ts";
import { readEncryptionKey } from "../core/datadir/encryption-key.ts";
import type { DataDirectory } from "../core/datadir/layout.ts";
import { existingDataDirectory, openDataDirectory } from "../core/datadir/open.ts";
import { sealKeySource } from "../core/datadir/seal-key.ts";
import { jsonOf, type Reply } from "../core/writer/contract.ts";
import type { Job } from "../core/writer/job.ts";
import type { WorkspaceWriter } from "../core/writer/perform.ts";
import { Failure, type FailureCode } from "../failure.ts";
import { IdSource, RandomPool, systemClock } from "../ids.ts";
import type { FoundingParts } from "../ops/directory/administration.ts";
import { Installation } from "../ops/directory/installation.ts";
import {
  cliPrincipal,
  fileJournal,
  openLog,
  requireWorkspaceFile,
  sealNow,
  withWriter,
} from "../ops/directory/journal.ts";
import { findWorkspace, isWorkspace, noSuchWorkspace } from "../ops/directory/workspaces.ts";
import type { ProblemCode } from "../problem.ts";
import type { Settings } from "../settings/definitions.ts";
import { serverOptions } from "../settings/server-options.ts";
import type { Connection } from "../store/connection.ts";
import type { Reader } from "../store/transaction.ts";
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
 * Runs `work`, which changes the installation. The data directory must exist, unless `create` says that the
 * command may create it.
 */
export async function administer<T>(
  session: Session,
  options: object,
  work: (parts: FoundingParts) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  const settings = settingsOf(options);
  if (!create) existingDataDirectory(settings.data_dir);
  const directory = openDataDirectory(settings);
  using installation = await Installation.open(directory);
  const random = new RandomPool();
  const parts: FoundingParts = {
    installation,
    journal: fileJournal(directory, {
      key: sealKeySource(directory, settings.seal_key),
      hostnames: settings.hostnames,
      onUnsealed: (reason) => void session.terminal.err(unsealed(reason)),
      onHeadsLate: (reason) => void session.terminal.err(`governd: done, but the heads are not recorded: ${reason}\n`),
    }),
    clock: systemClock,
    ids: new IdSource(systemClock, random),
    random,
  };
  return await work(parts);
}

/** Returns what `read` finds in the installation of an existing data directory. */
export async function consult<T>(options: object, read: (installation: Installation) => T | Promise<T>): Promise<T> {
  using installation = await Installation.open(dataDirectoryOf(options).directory);
  return await read(installation);
}

/** Returns what `read` finds in the file of the installation of an existing data directory; `none` when it has none yet. */
export const consultInstallation = <T>(
  options: object,
  read: (connection: Connection) => T | Promise<T>,
  none: T,
): Promise<T> => consult(options, (installation) => installation.read(read, none));

/** @throws {Failure} `not_found` when there is no such workspace. The log of the installation is not a workspace. */
export async function requireNamedWorkspace(options: object, workspaceId: string): Promise<void> {
  const isThere = await consultInstallation(options, (connection) => isWorkspace(connection, workspaceId), false);
  if (!isThere) throw noSuchWorkspace();
}

/** @throws {Failure} `not_found` when the id is neither that of a workspace nor that of the installation */
export async function requireLog(installation: Installation, id: string): Promise<void> {
  if (!(await installation.read((connection) => findWorkspace(connection, id) !== undefined, false))) {
    throw noSuchWorkspace();
  }
}

/** Opens an existing workspace, or the installation, for writing and closes it after `work`. */
export async function writeWorkspace<T>(
  options: object,
  workspaceId: string,
  work: (writer: WorkspaceWriter, connection: Connection) => Promise<T>,
): Promise<T> {
  const { settings, directory } = dataDirectoryOf(options);
  await consult(options, (installation) => requireLog(installation, workspaceId));
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

/** Returns the body of the answer to an operation of the command line. @throws {Failure} when it was refused */
export function bodyOf<T>(reply: Reply | undefined): T {
  const answer = reply?.answer;
  if (answer === undefined) throw new Error("an operation of the command line has an answer");
  if (answer.kind === "problem") throw new Failure(FAILURES[answer.code] ?? "usage", answer.detail);
  return jsonOf(answer);
}

const FAILURES: Partial<Record<ProblemCode, FailureCode>> = { unavailable: "busy", outcome_unknown: "outcome_unknown" };

/** Reads a workspace: its file, or what is on the libSQL server. @throws {Failure} `not_found` when there is no file */
export async function readWorkspace<T>(
  directory: DataDirectory,
  workspaceId: string,
  work: (reader: Reader) => Promise<T>,
): Promise<T> {
  if (directory.server !== null) {
    return await withWriter(directory, sealKeySource(directory, null), workspaceId, (_, reader) => work(reader));
  }
  requireWorkspaceFile(directory, workspaceId);
  using connection = openLog(directory, workspaceId);
  return await work(connection);
}

const unsealed = (reason: string): string => `governd: recorded, but not sealed: ${reason}\n`;
