/**
 * Appends events about workspaces and accounts to the audit logs that record them: through the daemon's threads,
 * or directly to the workspace's file, which works beside a running daemon and before its first start.
 */
import { existsSync, rmSync } from "node:fs";
import { type DataDirectory, sealFile, workspaceFile } from "../../core/datadir/layout.ts";
import { readSealKey, type SealKeySource, sealKeyPem, sealKeySource } from "../../core/datadir/seal-key.ts";
import type { WorkspaceHead } from "../../core/heads/tree.ts";
import { type Note, storeNote } from "../../core/rows/access/notes.ts";
import { SealKeyring } from "../../core/seals/keyring.ts";
import { newOrigin } from "../../core/seals/options.ts";
import { WorkspaceSealer } from "../../core/seals/sealer.ts";
import type { Principal, Reply, WorkspaceEvent } from "../../core/writer/contract.ts";
import { createWorkspaceFile, openWorkspaceFile, openWorkspaceReader } from "../../core/writer/file.ts";
import { readHead } from "../../core/writer/head.ts";
import { recordingJob } from "../../core/writer/job.ts";
import { WorkspaceWriter, type WriterOptions } from "../../core/writer/perform.ts";
import { UnknownNamespace } from "../../engine-libsql/copy-errors.ts";
import { ServerEngine } from "../../engine-libsql/server-engine.ts";
import { Failure, messageOf } from "../../failure.ts";
import { type Clock, isId, systemClock } from "../../ids.ts";
import { sameHash } from "../../log/merkle.ts";
import { verifierKey } from "../../log/note.ts";
import { ROTATE_SEAL_KEY } from "../../log/seal.ts";
import type { ServerOptions } from "../../settings/server-options.ts";
import type { Connection } from "../../store/connection.ts";
import { MigrationFailed, otherGovernd, UnknownSchema } from "../../store/migrate.ts";
import { removeDatabase } from "../../store/remove.ts";
import { noSuchWorkspace } from "./workspaces.ts";

export type { WorkspaceEvent } from "../../core/writer/contract.ts";

/** Appends to the audit logs of workspaces. A call returns when its event is on disk. */
export interface WorkspaceJournal {
  /**
   * Creates the workspace's file with its first event, `workspace.create`, and records `event` after it. Returns the id
   * of the latter.
   * @throws {Failure} `busy` when the event could not be recorded
   */
  create(workspace: NewWorkspace, event: WorkspaceEvent): Promise<string>;
  /**
   * Records an event. Returns its id.
   * @throws {Failure} `busy` when it could not be recorded, `outcome_unknown` when it may be
   */
  record(workspaceId: string, event: WorkspaceEvent): Promise<string>;
  /** Stores what a file has without an event. @throws {Failure} or {Problem} when it is not on disk */
  note(workspaceId: string, note: Note): Promise<void>;
  /** Removes the files of a workspace that was never used. */
  discard(workspaceId: string): Promise<void>;
  /** Returns how far the log of a workspace has come on disk. @throws the driver's error when it cannot be read */
  headOf(workspaceId: string): WorkspaceHead;
  /** Returns the hash of the first event of the log of a workspace, hex. @throws the driver's error when it cannot be read */
  genesisOf(workspaceId: string): string;
  /** Reports that heads could not be recorded. The daemon records them later. */
  headsLate(reason: string): void;
}

/** The facts in the first event of a workspace. */
interface NewWorkspace {
  id: string;
  name: string;
  actor: string;
  /** The account that owns it; by default none yet. */
  owner?: string | null;
}

/** Returns the daemon's journal. The thread that owns a workspace appends the event and seals it later. */
export function threadJournal(
  files: WorkspaceJournal,
  threads: {
    record(workspaceId: string, event: WorkspaceEvent): Promise<Reply | null>;
    note(workspaceId: string, note: Note): Promise<void>;
  },
): WorkspaceJournal {
  return {
    ...files,
    record: async (workspaceId, event) => requireRecorded(await threads.record(workspaceId, event)),
    note: (workspaceId, note) => threads.note(workspaceId, note),
  };
}

interface JournalOptions {
  key: SealKeySource;
  hostnames: readonly string[];
  /** The time of the events that the journal itself appends. */
  clock: Clock;
  /** Called when a recorded event could not be sealed. The daemon seals it later. */
  onUnsealed(reason: string): void;
  /** Called when heads could not be recorded. */
  onHeadsLate(reason: string): void;
}

/** Appends an event to a workspace's own chain. Returns its id. @throws as {@link requireRecorded} */
export async function recordIn(writer: WorkspaceWriter, event: WorkspaceEvent): Promise<string> {
  const [settled] = await writer.perform([recordingJob(writer.workspaceId, event)]);
  return requireRecorded(settled);
}

/** Returns the journal of a process that owns no workspaces. It seals what it appends. */
export function fileJournal(directory: DataDirectory, options: Partial<JournalOptions> = {}): WorkspaceJournal {
  const { key = sealKeySource(directory, null), hostnames = [], clock = systemClock } = options;
  const { onUnsealed = () => {}, onHeadsLate = () => {} } = options;
  const record = (workspaceId: string, event: WorkspaceEvent) =>
    withWriter(
      directory,
      key,
      workspaceId,
      async (writer) => {
        const id = await recordIn(writer, event);
        const reason = await sealNow(writer);
        if (reason !== null) onUnsealed(reason);
        return id;
      },
      { clock },
    );
  return {
    async create({ id, name, actor, owner = null }, event) {
      const pem = sealKeyPem(key);
      const sealKey = verifierKey(newOrigin(hostnames, id), readSealKey({ kind: "pem", pem }).publicBytes);
      await createWorkspaceFile(
        workspaceFile(directory, id),
        { workspaceId: id, name, actor, owner, sealKey },
        systemClock,
        undefined,
        directory.encryptionKey,
        directory.takeLogRight,
      );
      await publish(directory, id);
      // A rotation of the key that ended meanwhile did not include this file.
      const { publicBytes } = readSealKey(key);
      if (!sameHash(publicBytes, sealKey.publicKey)) {
        const rotation = { operation: ROTATE_SEAL_KEY, principal: cliPrincipal(id) } as const;
        await withWriter(directory, { kind: "pem", pem }, id, (writer) =>
          writer.announceSealKey(rotation, verifierKey(sealKey.name, publicBytes), {}),
        );
      }
      return record(id, event);
    },
    record,
    note: (workspaceId, note) =>
      withWriter(directory, key, workspaceId, (writer) => writer.derive((connection) => storeNote(connection, note))),
    async discard(workspaceId) {
      if (directory.server !== null) await serverOf(directory.server).discard(workspaceId);
      removeDatabase(workspaceFile(directory, workspaceId));
      rmSync(sealFile(directory, workspaceId), { force: true });
    },
    headOf: (workspaceId) => headOf(directory, workspaceId),
    genesisOf(workspaceId) {
      using connection = openLog(directory, workspaceId);
      return connection.value<string>("SELECT lower(hex(hash)) FROM events WHERE seq = 0") as string;
    },
    headsLate: onHeadsLate,
  };
}

/** Returns how far the log of a workspace has come on disk. @throws the driver's error when it cannot be read */
function headOf(directory: DataDirectory, workspaceId: string): WorkspaceHead {
  using connection = openLog(directory, workspaceId);
  const { seq, hash } = readHead(connection);
  return { workspaceId, size: seq + 1, hash };
}

/** Opens the log of a workspace for reading. */
export const openLog = (directory: DataDirectory, workspaceId: string): Connection =>
  openWorkspaceReader(workspaceFile(directory, workspaceId), workspaceId, directory.encryptionKey);

/** Copies a new workspace to the libSQL server, if workspaces are on a server. */
async function publish({ server, encryptionKey, ...directory }: DataDirectory, id: string): Promise<void> {
  if (server === null) return;
  const path = workspaceFile({ ...directory, server, encryptionKey }, id);
  using connection = openWorkspaceFile(path, encryptionKey, directory.takeLogRight);
  await serverOf(server).publish(id, connection);
}

/** Returns the engine of a server, without warnings: commands and operations report the server's errors in their messages. */
export const serverOf = (server: ServerOptions): ServerEngine => new ServerEngine(server, () => {});

/**
 * Opens an existing workspace for writing and closes it after `work`.
 * @throws {Failure} when the file is missing, or cannot be migrated to the present schema
 */
export async function withWriter<T>(
  directory: DataDirectory,
  key: SealKeySource,
  workspaceId: string,
  work: (writer: WorkspaceWriter, connection: Connection) => Promise<T>,
  options: Omit<WriterOptions, "sealer"> = {},
): Promise<T> {
  const path = workspaceFile(directory, workspaceId);
  // Opening a missing file would create an empty database.
  if (directory.server === null && !existsSync(path)) {
    throw new Failure("data_directory_unusable", `The workspace's file ${path} is missing: restore it from a backup.`);
  }
  const file = sealFile(directory, workspaceId);
  const sealer = new WorkspaceSealer({ keyring: new SealKeyring(key), file });
  const { connection, engine } =
    directory.server === null
      ? { connection: openExplained(path, directory) }
      : await serverOf(directory.server)
          .open(workspaceId, path, directory.encryptionKey)
          .catch((error) => {
            throw error instanceof UnknownNamespace ? unknownOnServer(error) : error;
          });
  const writer = new WorkspaceWriter(connection, { ...options, sealer, ...(engine && { engine }) });
  try {
    await sealer.load(connection);
    return await work(writer, connection);
  } finally {
    writer.close();
  }
}

function openExplained(path: string, { encryptionKey, takeLogRight }: DataDirectory): Connection {
  try {
    return openWorkspaceFile(path, encryptionKey, takeLogRight);
  } catch (error) {
    throw migrationFailure(path, error);
  }
}

/** Returns the failure to report when a database cannot be brought to the present schema; other errors unchanged. */
export function migrationFailure(path: string, error: unknown): unknown {
  if (error instanceof MigrationFailed) return new Failure("migration_failed", error.message, { cause: error });
  return error instanceof UnknownSchema ? unknownSchema(path, error) : error;
}

const unknownOnServer = (error: UnknownNamespace): Failure =>
  new Failure(
    error.isNewer ? "newer_database" : "engine_unusable",
    `On the libSQL server, ${error.message}. Nothing was changed.`,
    { cause: error },
  );

/** Returns the failure to report for a database that another governd wrote: a newer one, or one from before 0.1.0. */
function unknownSchema(path: string, error: UnknownSchema): Failure {
  const { found, newest } = error;
  return new Failure(
    found > newest ? "newer_database" : "data_directory_unusable",
    `${path} was written by ${otherGovernd(found, newest)}. Nothing was changed.`,
    { cause: error },
  );
}

/** Returns the principal of the command line, which the audit log shows as the actor `cli`. */
export function cliPrincipal(workspaceId: string): Principal {
  return { actor: "cli", workspaceId, scope: "full", agents: null };
}

/** @throws {Failure} `not_found` when the data directory has no file of this workspace */
export function requireWorkspaceFile(directory: DataDirectory, workspaceId: string): void {
  if (isId("ws", workspaceId) && existsSync(workspaceFile(directory, workspaceId))) return;
  if (directory.server === null) throw noSuchWorkspace();
  throw new Failure(
    "not_found",
    "This node has no copy of such a workspace: it has copies of those that it has served.",
  );
}

/** Seals the log. Returns why that failed, or null. Recorded events stay recorded in either case. */
export async function sealNow(writer: WorkspaceWriter): Promise<string | null> {
  try {
    await writer.seal();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Returns the id of a recorded event from the reply; null means that the event was not accepted.
 * @throws {Failure} `busy` when the event was not recorded, `outcome_unknown` when that is unknown
 */
export function requireRecorded(reply: Reply | null | undefined): string {
  if (reply?.auditId) return reply.auditId;
  const { answer } = reply ?? {};
  if (answer?.kind === "problem" && answer.code === "outcome_unknown") throw new Failure(answer.code, answer.detail);
  throw new Failure(
    "busy",
    "The workspace could not be written, so nothing was changed. The disk may be full, or the daemon very busy. Try again.",
  );
}
