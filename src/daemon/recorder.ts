/** Writes a workspace's own events straight to its file, beside a running daemon or before its first start. */
import { existsSync } from "node:fs";
import type { Terminal } from "../cli/terminal.ts";
import type { WorkspaceEvent, WorkspaceRecorder } from "../control/recorder.ts";
import { type DataDirectory, sealFile, workspaceFile } from "../datadir/layout.ts";
import { readSealKey, type SealKeySource, sealKeySource } from "../datadir/seal-key.ts";
import { Failure, messageOf } from "../failure.ts";
import { isId, systemClock } from "../ids.ts";
import { verifierKey } from "../log/note.ts";
import { SealKeyring } from "../seals/keyring.ts";
import { newOrigin } from "../seals/options.ts";
import { WorkspaceSealer } from "../seals/sealer.ts";
import type { Connection } from "../store/connection.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { MigrationFailed, NewerDatabase } from "../store/migrate.ts";
import type { Principal, WorkspaceJournal } from "../workspace/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../workspace/file.ts";
import { WorkspaceWriter } from "../workspace/perform.ts";
import { recordingJob } from "../workspace/recording.ts";

/** The recorder of the daemon: the thread that owns a workspace appends to it, and seals it in its time. */
export function poolRecorder(files: WorkspaceRecorder, journal: WorkspaceJournal): WorkspaceRecorder {
  return {
    create: (workspace) => files.create(workspace),
    async record(workspaceId, event) {
      const auditId = await journal.record(workspaceId, event);
      if (auditId === null) throw notRecorded();
      return auditId;
    },
  };
}

/** What a recorder needs besides the directory. */
export interface RecorderOptions {
  key: SealKeySource;
  hostnames: readonly string[];
  /** Told when what was recorded could not be sealed; a daemon on the directory seals it later. */
  onUnsealed(reason: string): void;
}

/** The recorder of a process that owns no workspaces. It seals what it appends. */
export function workspaceRecorder(
  directory: DataDirectory,
  options: Partial<RecorderOptions> = {},
): WorkspaceRecorder {
  const { key = sealKeySource(directory, null), hostnames = [], onUnsealed = () => {} } = options;
  const write = <T>(workspaceId: string, work: (writer: WorkspaceWriter) => Promise<T>) =>
    withWriter(directory, key, workspaceId, async (writer) => {
      const done = await work(writer);
      await sealNow(writer, onUnsealed);
      return done;
    });
  return {
    async create({ id, name, actor }) {
      const sealKey = verifierKey(newOrigin(hostnames, id), readSealKey(key).publicBytes);
      await createWorkspaceFile(
        workspaceFile(directory, id),
        { workspaceId: id, name, actor, sealKey },
        systemClock,
        undefined,
        directory.encryptionKey,
      );
      await write(id, async () => {});
    },
    record: (workspaceId, event) => write(workspaceId, (writer) => append(writer, event)),
  };
}

/** Opens a workspace that is there as its writer, beside a daemon, if need be. */
export async function withWriter<T>(
  directory: DataDirectory,
  key: SealKeySource,
  workspaceId: string,
  work: (writer: WorkspaceWriter, connection: Connection) => Promise<T>,
): Promise<T> {
  const path = workspaceFile(directory, workspaceId);
  // Opening would make an empty database where there is none.
  if (!existsSync(path)) {
    throw new Failure(
      "data_directory_unusable",
      `The workspace's file ${path} is missing: restore it from a backup.`,
    );
  }
  const connection = openExplained(path, directory.encryptionKey);
  const sealer = new WorkspaceSealer({
    keyring: new SealKeyring(key),
    file: sealFile(directory, workspaceId),
  });
  const writer = new WorkspaceWriter(connection, { sealer });
  try {
    await sealer.load(connection);
    return await work(writer, connection);
  } finally {
    writer.close();
  }
}

/** Opens a workspace; what keeps it from being brought up to date is said in words. */
function openExplained(path: string, key: EncryptionKey | null): Connection {
  try {
    return openWorkspaceFile(path, key);
  } catch (error) {
    if (error instanceof MigrationFailed)
      throw new Failure("migration_failed", error.message, { cause: error });
    if (!(error instanceof NewerDatabase)) throw error;
    throw new Failure("newer_database", `${path}: ${error.message}. Nothing was changed.`, { cause: error });
  }
}

/** Who the command line is in the log. */
export function cliPrincipal(workspaceId: string): Principal {
  return { actor: "cli", workspaceId, scope: "full", agents: null };
}

/** @throws {Failure} `not_found` when there is no such workspace. */
export function requireWorkspace(directory: DataDirectory, workspaceId: string): void {
  if (isId("ws", workspaceId) && existsSync(workspaceFile(directory, workspaceId))) return;
  throw new Failure("not_found", "There is no such workspace. `governd workspace list` lists them.");
}

/** Seals, or says on the terminal why that cannot be done now. */
export function sealOrSay(writer: WorkspaceWriter, terminal: Terminal): Promise<void> {
  return sealNow(writer, (reason) => {
    void terminal.err(`governd: recorded, but not sealed: ${reason}\n`);
  });
}

/** What was recorded stays so, sealed or not: it is reported, and does not undo what was done. */
async function sealNow(writer: WorkspaceWriter, onUnsealed: (reason: string) => void): Promise<void> {
  try {
    await writer.seal();
  } catch (error) {
    onUnsealed(messageOf(error));
  }
}

async function append(writer: WorkspaceWriter, event: WorkspaceEvent): Promise<string> {
  const [settled] = await writer.perform([recordingJob(writer.workspaceId, event)]);
  if (settled?.auditId) return settled.auditId;
  throw notRecorded();
}

const notRecorded = () =>
  new Failure(
    "busy",
    "The workspace could not be written just now, so nothing was changed. Is the disk full, or the daemon very busy? Try again.",
  );
