/**
 * Makes a backup: a copy of a data directory, while the daemon continues to write.
 *
 * Consistency: the log of the installation is copied first, then each workspace, each as a
 * snapshot of its own moment (no transaction spans two workspaces). So the backup holds every workspace that the copied log
 * of the installation names, at or after its recorded head. A workspace's seals are copied before its database, so no seal covers more
 * than the copied log. Between start and end, no workspace was deleted, and the signing key did not change.
 */
import { mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type DataDirectory,
  dataDirectory,
  foldersOf,
  presentWorkspaces,
  workspaceFile,
} from "../core/datadir/layout.ts";
import { type Pointer, readPointer, writePointer } from "../core/datadir/pointer.ts";
import { PRIVATE_DIRECTORY_MODE, removedOnSignal, replaceFile } from "../core/datadir/private-files.ts";
import { WORKSPACE_SCHEMA } from "../core/writer/file.ts";
import { Failure } from "../failure.ts";
import type { Clock } from "../ids.ts";
import { missingPointer, openInstallationFile } from "../ops/directory/installation.ts";
import { openLog } from "../ops/directory/journal.ts";
import { listDeleted } from "../ops/directory/workspaces.ts";
import { fileState, isDiskFull } from "../store/snapshot.ts";
import { syncDirectory } from "../store/sync.ts";
import { VERSION } from "../version.ts";
import { Destination, noRoom } from "./destination.ts";
import { areKeysAsCopied, copyKeyFiles, digestOfFile, sizeOf } from "./files.ts";
import { BACKUP_FORMAT, MANIFEST_FILE, type Manifest, type ManifestFile } from "./manifest.ts";
import { PreviousBackup } from "./previous.ts";
import { readInstallationCopy } from "./verify-copy.ts";
import { type CopyParts, copyWorkspace, workspacePath } from "./workspace-copy.ts";

interface BackupRequest {
  source: DataDirectory;
  /** The directory that holds the backups. */
  destination: string;
  /** How many backups to keep, including this one; null keeps all. */
  keep: number | null;
  clock: Clock;
  /** Reports progress in bytes of databases. Its result is awaited. */
  onProgress?: (done: number, total: number) => void | Promise<void>;
}

/** A finished backup. */
export interface MadeBackup {
  path: string;
  manifest: Manifest;
  /** The number of files that did not change since the last backup and share disk space with it. */
  linked: number;
  /** Names of old backups that were removed. */
  removed: string[];
}

/**
 * Makes a verified backup. A damaged workspace is left out and listed in the manifest. When this throws, nothing is
 * left behind.
 * @throws {Failure} for every problem that the operator can fix
 */
export async function makeBackup(request: BackupRequest): Promise<MadeBackup> {
  using destination = Destination.open(request.destination, request.source.root);
  const startMs = request.clock();
  const name = destination.newName(startMs);
  const draft = destination.draft(name);
  using _cleaner = removedOnSignal(() => [draft]);
  try {
    const target = dataDirectory(draft, request.source.encryptionKey);
    for (const path of [draft, ...foldersOf(target)]) mkdirSync(path, { mode: PRIVATE_DIRECTORY_MODE });
    const createdAt = new Date(startMs).toISOString();
    const { manifest, linked } = await fill(request, destination, target, createdAt);
    replaceFile(join(draft, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
    const path = destination.publish(name);
    const removed = request.keep === null ? [] : destination.keepNewest(request.keep);
    return { path, manifest, linked, removed };
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (isDiskFull(error)) throw noRoom(destination.path, "the disk is full");
    throw error;
  }
}

async function fill(
  request: BackupRequest,
  destination: Destination,
  target: DataDirectory,
  createdAt: string,
): Promise<{ manifest: Manifest; linked: number }> {
  const { source, clock } = request;
  const newest = destination.list().at(-1);
  const previous = newest === undefined ? null : PreviousBackup.read(join(destination.path, newest));
  const keyFiles = copyKeyFiles(source, target);
  const pointer = readPointer(source);
  if (pointer === null) throw missingPointer(source);
  const { installation_id: installation } = pointer;
  // Says what is wrong with it, before anything is copied.
  openInstallationFile(source, installation).close();
  destination.requireRoom(roomFor(presentWorkspaces(source), source, previous, clock));
  const parts = { source, target, previous, clock };
  const copied = await copyAll(parts, installation, request);
  if (!isDeepStrictEqual(deletedIn(source, installation), copied.deleted)) {
    throw new Failure("busy", "A workspace was deleted during the backup, so the backup was discarded. Run it again.");
  }
  if (!areKeysAsCopied(source, keyFiles)) {
    throw new Failure("busy", "The sealing key changed during the backup, so the backup was discarded. Run it again.");
  }
  for (const path of foldersOf(target)) syncDirectory(path);
  const manifest: Manifest = {
    format: BACKUP_FORMAT,
    governd: VERSION,
    created_at: createdAt,
    completed_at: new Date(clock()).toISOString(),
    schema: WORKSPACE_SCHEMA,
    has_seal_key: keyFiles.some(({ path }) => path === "keys/seal.key"),
    workspaces: copied.workspaces,
    left_out: copied.left_out,
    files: [copyPointer(target, pointer), ...keyFiles, ...copied.files],
  };
  return { manifest, linked: copied.linked };
}

/** Writes the pointer of the copy. */
function copyPointer(target: DataDirectory, pointer: Pointer): ManifestFile {
  writePointer(target, pointer);
  return { path: basename(target.pointer), ...digestOfFile(target.pointer), source_state: null };
}

type Copied = Pick<Manifest, "workspaces" | "left_out" | "files"> & { linked: number; deleted: string[] };

async function copyAll(
  parts: CopyParts,
  installation: string,
  { onProgress = () => {} }: BackupRequest,
): Promise<Copied> {
  const { source } = parts;
  const copied: Copied = { workspaces: [], left_out: [], files: [], linked: 0, deleted: [] };
  let done = 0;
  let total = presentWorkspaces(source).reduce((sum, id) => sum + databaseSize(source, id), 0);
  const copy = async (id: string): Promise<boolean> => {
    const size = databaseSize(source, id);
    total = Math.max(total, done + size);
    const onVerified = (checked: number, events: number) =>
      onProgress(done + Math.floor((size * checked) / Math.max(1, events)), total);
    const outcome = await copyWorkspace({ ...parts, onVerified }, id);
    done += size;
    await onProgress(done, total);
    if (outcome.left !== null) {
      copied.left_out.push({ workspace_id: id, reason: outcome.left });
      return false;
    }
    copied.workspaces.push(outcome.workspace);
    copied.files.push(...outcome.files);
    copied.linked += outcome.linked;
    return true;
  };
  if (!(await copy(installation))) {
    throw new Failure(
      "backup_unusable",
      `The log of the installation ${installation} is damaged, so nothing says which workspaces there are. Restore it from a backup.`,
    );
  }
  const { workspaceIds, deleted } = readInstallationCopy(parts.target, installation);
  copied.deleted = deleted;
  for (const id of workspaceIds.filter((one) => one !== installation).sort()) await copy(id);
  copied.workspaces.sort((a, b) => (a.workspace_id < b.workspace_id ? -1 : 1));
  return copied;
}

/** Returns the ids of the workspaces that were deleted until now. */
function deletedIn(source: DataDirectory, installation: string): string[] {
  using connection = openLog(source, installation);
  return listDeleted(connection);
}

/** Returns an upper bound for the size of the copies, bytes. */
function roomFor(ids: readonly string[], source: DataDirectory, previous: PreviousBackup | null, clock: Clock): number {
  return ids
    .filter((id) => !previous?.isOf(workspacePath(id), fileState(workspaceFile(source, id), clock())))
    .reduce((sum, id) => sum + databaseSize(source, id), 0);
}

function databaseSize(source: DataDirectory, id: string): number {
  const path = workspaceFile(source, id);
  return sizeOf(path) + sizeOf(`${path}-wal`);
}

/** Returns what `governd backup --json` prints, and what the daemon reads from it. */
export function backupResult({ path, manifest, linked, removed }: MadeBackup) {
  return {
    path,
    created_at: manifest.created_at,
    completed_at: manifest.completed_at,
    workspaces: manifest.workspaces.length,
    left_out: manifest.left_out,
    files: manifest.files.length,
    files_unchanged: linked,
    bytes: manifest.files.reduce((sum, { size }) => sum + size, 0),
    has_seal_key: manifest.has_seal_key,
    removed,
  };
}

export type BackupResult = ReturnType<typeof backupResult>;
