/**
 * Puts a backup back, into a data directory of its own. The directory carries a mark until everything in it
 * is verified, so that nothing uses half of one; what fails on the way removes what it made.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { endPassingSecrets } from "../control/after-restore.ts";
import { ControlDatabase } from "../control/database.ts";
import { type DataDirectory, dataDirectory, sealFile, workspaceFile } from "../datadir/layout.ts";
import { lockDataDirectory } from "../datadir/lock.ts";
import { isEmptyDirectory } from "../datadir/prepare.ts";
import { createPrivateFile, makePrivateDirectory, PRIVATE_DIRECTORY_MODE } from "../datadir/private-files.ts";
import { sealKeySource } from "../datadir/seal-key.ts";
import { Failure, systemCode, systemReason } from "../failure.ts";
import type { Clock } from "../ids.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { isDiskFull } from "../store/snapshot.ts";
import { syncPath } from "../store/sync.ts";
import { CONTROL_PATH, readControlCopy } from "./control-copy.ts";
import { listBackups } from "./destination.ts";
import { beginEpoch } from "./epoch.ts";
import { copyFile } from "./files.ts";
import { type ManifestFile, type ReadManifest, readManifest } from "./manifest.ts";
import { removedOnSignal } from "./removed-on-signal.ts";
import { verifyWorkspaceCopy } from "./verify-copy.ts";
import { workspacePath } from "./workspace-copy.ts";

export interface RestoreWish {
  /** The backup: one directory with a manifest. */
  backup: string;
  /** The data directory to be: empty, or not there yet. */
  dataDir: string;
  /** The key of the databases in the backup; they keep it. */
  encryptionKey?: EncryptionKey | null;
  /** The setting `seal_key`: where the key is that signs seals, when it is not in the backup. */
  sealKey: string | null;
  /** Restore one that lacks workspaces, too. */
  partial: boolean;
  clock: Clock;
  /** Told how far the work is, in bytes of the backup's files; what it returns is awaited. */
  onProgress?: (done: number, total: number) => void | Promise<void>;
}

/** A backup that was put back. */
export interface Restored {
  dataDir: string;
  backupCreatedAt: string;
  workspaces: number;
  leftOut: ReadManifest["manifest"]["left_out"];
  /** Workspaces whose new epoch is not sealed yet, and why. */
  unsealed: { workspaceId: string; reason: string }[];
  ended: { sessions: number; links: number };
}

/** @throws {Failure} when the backup is not good, or cannot be put there; nothing is left behind then */
export async function restoreBackup(wish: RestoreWish): Promise<Restored> {
  const backup = resolve(wish.backup);
  const read = readBackup(backup, wish.partial);
  const target = dataDirectory(wish.dataDir, wish.encryptionKey);
  refuseOccupied(target);
  const existed = existsSync(target.root);
  const made = () => (existed ? entriesOf(target.root) : [target.root]);
  using _cleaner = removedOnSignal(made);
  try {
    return await restoreInto(target, backup, read, wish);
  } catch (error) {
    for (const path of made()) rmSync(path, { recursive: true, force: true });
    throw explained(error, target.root);
  }
}

/** @throws {Failure} `backup_unusable` when it is not a whole backup */
function readBackup(backup: string, partial: boolean): ReadManifest {
  const newest = listBackups(backup).at(-1);
  if (newest !== undefined) {
    throw new Failure(
      "backup_unusable",
      `${backup} holds backups: name one of them, such as ${join(backup, newest)}`,
    );
  }
  const read = readManifest(backup);
  const { left_out: leftOut } = read.manifest;
  if (leftOut.length > 0 && !partial) {
    const names = leftOut.map(({ workspace_id: id, reason }) => `  ${id}: ${reason}`).join("\n");
    throw new Failure(
      "backup_unusable",
      `${backup} lacks workspaces that could not be copied when it was made:\n${names}\nAn older backup may have them; with --partial this one is restored without them.`,
    );
  }
  return read;
}

function refuseOccupied(target: DataDirectory): void {
  // Says so itself when a daemon runs on it.
  if (existsSync(target.lock)) lockDataDirectory(target)[Symbol.dispose]();
  if (!existsSync(target.root) || (statSync(target.root).isDirectory() && isEmptyDirectory(target.root)))
    return;
  throw new Failure(
    "data_directory_unusable",
    `${target.root} is not empty, and nothing is ever overwritten: name another directory with --data-dir, or move this one away.`,
  );
}

async function restoreInto(
  target: DataDirectory,
  backup: string,
  { manifest, digest }: ReadManifest,
  wish: RestoreWish,
): Promise<Restored> {
  const { clock, onProgress = () => {} } = wish;
  makePrivateDirectory(target.root);
  createPrivateFile(target.unfinished, "governd restore was cut off here.\n");
  using _lock = lockDataDirectory(target);
  for (const path of [target.workspaces, target.seals, target.keys, target.tls]) {
    mkdirSync(path, { mode: PRIVATE_DIRECTORY_MODE });
  }
  // Copied, and then verified: each byte is gone over twice.
  const progress = new Steps(2 * manifest.files.reduce((sum, { size }) => sum + size, 0), onProgress);
  for (const file of manifest.files) {
    copyBack(backup, target, file);
    await progress.add(file.size);
  }
  await verifyAll(target, backup, manifest, progress);
  const from = { createdAt: manifest.created_at, digest };
  const key = sealKeySource(target, wish.sealKey);
  const unsealed: Restored["unsealed"] = [];
  for (const { workspace_id: workspaceId } of manifest.workspaces) {
    const reason = await beginEpoch(target, workspaceId, from, { key, clock });
    if (reason !== null) unsealed.push({ workspaceId, reason });
  }
  const ended = finishControl(target, clock());
  for (const path of [target.workspaces, target.seals, target.keys, target.tls]) syncPath(path);
  rmSync(target.unfinished);
  syncPath(target.root);
  return {
    dataDir: target.root,
    backupCreatedAt: manifest.created_at,
    workspaces: manifest.workspaces.length,
    leftOut: manifest.left_out,
    unsealed,
    ended,
  };
}

/** Counts work that was done. */
class Steps {
  #done = 0;

  constructor(
    readonly total: number,
    readonly tell: (done: number, total: number) => void | Promise<void>,
  ) {}

  async add(amount: number): Promise<void> {
    this.#done += amount;
    await this.tell(this.#done, this.total);
  }
}

function copyBack(backup: string, target: DataDirectory, file: ManifestFile): void {
  const from = join(backup, file.path);
  const refuse = (reason: string, cause?: unknown) =>
    new Failure(
      "backup_unusable",
      `${from} ${reason}: the backup is damaged. Nothing was restored: use another backup.`,
      { cause },
    );
  if (!existsSync(from)) throw refuse("is missing");
  let copied: { size: number; sha256: string };
  try {
    copied = copyFile(from, join(target.root, file.path));
  } catch (error) {
    if (isDiskFull(error) || systemCode(error) === undefined) throw error;
    throw refuse(`cannot be read (${systemReason(error)})`, error);
  }
  if (copied.sha256 !== file.sha256 || copied.size !== file.size) throw refuse("is not what was backed up");
}

/** @throws {Failure} `backup_unusable` or `newer_database` */
async function verifyAll(
  target: DataDirectory,
  backup: string,
  manifest: ReadManifest["manifest"],
  progress: Steps,
): Promise<void> {
  const sizes = new Map(manifest.files.map(({ path, size }) => [path, size]));
  const control = readControlCopy(target.control, join(backup, CONTROL_PATH), target.encryptionKey);
  const held = new Set(manifest.workspaces.map(({ workspace_id: id }) => id));
  for (const { workspace_id: id } of manifest.left_out) held.add(id);
  const missing = control.workspaceIds.find((id) => !held.has(id));
  if (missing !== undefined) throw notGood(backup, `${missing} is missing`);
  for (const { workspace_id: workspaceId, head_seq: seq, head_hash: hash } of manifest.workspaces) {
    const path = workspaceFile(target, workspaceId);
    if (!existsSync(path)) throw notGood(backup, `${workspaceId} is missing`);
    const verdict = await verifyWorkspaceCopy({
      workspaceId,
      path,
      encryptionKey: target.encryptionKey,
      sealFile: sealFile(target, workspaceId),
    });
    if (!verdict.good) throw notGood(backup, `${workspaceId} does not verify (${verdict.reason})`);
    if (verdict.workspace.head_seq !== seq || verdict.workspace.head_hash !== hash) {
      throw notGood(backup, `${workspaceId} does not end with the event that the manifest names`);
    }
    await progress.add(sizes.get(workspacePath(workspaceId)) ?? 0);
  }
}

const notGood = (backup: string, reason: string) =>
  new Failure(
    "backup_unusable",
    `${backup} is not good: ${reason}. Nothing was restored: use another backup.`,
  );

/** Brings the control database up to date, and ends what must not come back. */
function finishControl(target: DataDirectory, nowMs: number): Restored["ended"] {
  using control = ControlDatabase.open(target);
  return endPassingSecrets(control.connection, nowMs);
}

/** What is in a directory that was empty. */
function entriesOf(root: string): string[] {
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .filter((name) => name !== "lost+found")
    .map((name) => join(root, name));
}

function explained(error: unknown, root: string): unknown {
  if (error instanceof Failure) return error;
  if (isDiskFull(error)) {
    return new Failure(
      "destination_unusable",
      `There is no room in ${root} for what the backup holds. Nothing was left behind: make room, or choose another directory.`,
      { cause: error },
    );
  }
  if (systemCode(error) === undefined) return error;
  return new Failure("data_directory_unusable", `Cannot restore into ${root}: ${systemReason(error)}.`, {
    cause: error,
  });
}
