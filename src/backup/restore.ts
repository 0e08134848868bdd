/**
 * Restores a backup into an empty data directory. The directory has a marker file until everything in it is verified,
 * so that nothing uses an incomplete directory. A failed restore removes what it created.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type DataDirectory, dataDirectory, foldersOf, sealFile, workspaceFile } from "../core/datadir/layout.ts";
import { lockDataDirectory } from "../core/datadir/lock.ts";
import { isEmptyDirectory } from "../core/datadir/open.ts";
import { readPointer, writePointer } from "../core/datadir/pointer.ts";
import {
  createPrivateFile,
  makePrivateDirectory,
  PRIVATE_DIRECTORY_MODE,
  removedOnSignal,
} from "../core/datadir/private-files.ts";
import { sealKeySource } from "../core/datadir/seal-key.ts";
import { hasTotp, listAccounts } from "../core/rows/access/accounts.ts";
import { readHead } from "../core/writer/head.ts";
import type { WorkspaceWriter } from "../core/writer/perform.ts";
import { NO_SITE } from "../core/writer/site.ts";
import { asFailure, Failure } from "../failure.ts";
import { type Clock, RandomPool } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { formatVerifierKey } from "../log/note.ts";
import { LOG_RESTORE } from "../log/seal.ts";
import { cliPrincipal, openLog, sealNow, withWriter } from "../ops/directory/journal.ts";
import { type Connection, openConnection } from "../store/connection.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { EMBEDDED, locationOf, markEmbedded } from "../store/location.ts";
import { isDiskFull } from "../store/snapshot.ts";
import { syncDirectory } from "../store/sync.ts";
import { listBackups } from "./destination.ts";
import { epochNumber, KeptSeals, planEpoch } from "./epoch.ts";
import { copyFile } from "./files.ts";
import { finishInstallation } from "./finish-installation.ts";
import { readLater } from "./later.ts";
import { type ManifestFile, type ReadManifest, readManifest } from "./manifest.ts";
import { applyToFile, type Decided, decideRights, type Rights, type RightsRequest } from "./rights.ts";
import { readInstallationCopy, verifyWorkspaceCopy } from "./verify-copy.ts";
import { workspacePath } from "./workspace-copy.ts";

export interface RestoreRequest {
  /** The directory of the backup. */
  backup: string;
  /** The new data directory: empty or missing. */
  dataDir: string;
  /** The key that encrypts the databases in the backup. The restored databases keep it. */
  encryptionKey?: EncryptionKey | null;
  /** The setting `seal_key`: the signing key's place when the backup does not have the key. */
  sealKey: string | null;
  /** Whether to restore a backup that lacks workspaces. */
  partial: boolean;
  rights: RightsRequest;
  /** Sources of the lost directory's seals: that directory itself, or seal files that were kept elsewhere. */
  seals?: readonly string[];
  clock: Clock;
  random?: RandomPool;
  /** Reports progress in bytes of the backup's files. Its result is awaited. */
  onProgress?: (done: number, total: number) => void | Promise<void>;
}

/** The result of a restore, with the names that `governd restore --json` prints. */
export interface Restored {
  data_dir: string;
  backup_created_at: string;
  workspaces: number;
  left_out: ReadManifest["manifest"]["left_out"];
  epochs: BegunEpoch[];
  /** Workspaces whose new epoch is not sealed yet, and why. */
  unsealed: { workspace_id: string; reason: string }[];
  ended_sessions: number;
  ended_links: number;
  /** What was made of the keys and memberships of each workspace. */
  rights: { workspace_id: string; rights: Rights }[];
  /** Files of `seals` that end inside a seal, which was not used. */
  seals_cut_off: string[];
  /**
   * How many accounts there are, and how many of them have a second factor. Both factors are those of the backup's
   * time.
   */
  accounts: number;
  accounts_with_second_factor: number;
  account_ids: { id: string; second_factor: boolean }[];
}

/** The epoch that a restore began in a workspace's log. */
interface BegunEpoch {
  workspace_id: string;
  /** The verifier key that seals from now on. Its name is the new origin. */
  verifier_key: string;
  /** The last position that is known to be lost; null for none. */
  lost_through: number | null;
}

/**
 * Restores a backup.
 * @throws {Failure} when the backup is unusable or cannot be restored there; nothing is left behind
 */
export async function restoreBackup(request: RestoreRequest): Promise<Restored> {
  const backup = resolve(request.backup);
  const read = readBackup(backup, request.partial);
  const kept = new KeptSeals(request.seals ?? []);
  const target = dataDirectory(request.dataDir, request.encryptionKey);
  refuseOccupied(target);
  const existed = existsSync(target.root);
  const made = () => (existed ? entriesOf(target.root) : [target.root]);
  using _cleaner = removedOnSignal(made);
  try {
    const { encryptionKey = null, rights } = request;
    const { workspaces } = read.manifest;
    const later = await readLater(rights.later, workspaces, encryptionKey);
    const decided = await decideRights({ path: backup, workspaces, encryptionKey }, later, rights.otherwise);
    return await restoreInto(target, backup, read, { ...request, kept, decided });
  } catch (error) {
    for (const path of made()) rmSync(path, { recursive: true, force: true });
    throw explained(error, target.root);
  }
}

/** Reads the manifest. @throws {Failure} `backup_unusable` when this is not a complete backup */
function readBackup(backup: string, partial: boolean): ReadManifest {
  const newest = listBackups(backup).at(-1);
  if (newest !== undefined) {
    const example = join(backup, newest);
    throw new Failure("backup_unusable", `${backup} contains several backups. Name one of them, such as ${example}`);
  }
  const read = readManifest(backup);
  const { left_out: leftOut } = read.manifest;
  if (leftOut.length > 0 && !partial) {
    const names = leftOut.map(({ workspace_id: id, reason }) => `  ${id}: ${reason}`).join("\n");
    const lacks = `${backup} lacks workspaces that could not be copied when it was made:\n${names}`;
    const advice = "An older backup may have them. To restore this one without them, add --partial.";
    throw new Failure("backup_unusable", `${lacks}\n${advice}`);
  }
  return read;
}

function refuseOccupied(target: DataDirectory): void {
  // Reports a daemon that is running on the directory.
  if (existsSync(target.lock)) lockDataDirectory(target)[Symbol.dispose]();
  if (!existsSync(target.root) || (statSync(target.root).isDirectory() && isEmptyDirectory(target.root))) return;
  const advice = "Name another directory with --data-dir, or move this one away.";
  const message = `${target.root} is not empty, and a restore never overwrites anything. ${advice}`;
  throw new Failure("data_directory_unusable", message);
}

async function restoreInto(
  target: DataDirectory,
  backup: string,
  { manifest, digest }: ReadManifest,
  request: RestoreRequest & { kept: KeptSeals; decided: ReadonlyMap<string, Decided> },
): Promise<Restored> {
  const { clock, random = new RandomPool(), onProgress = () => {} } = request;
  makePrivateDirectory(target.root);
  createPrivateFile(target.unfinished, "governd restore was interrupted.\n");
  using _lock = lockDataDirectory(target);
  for (const path of foldersOf(target)) mkdirSync(path, { mode: PRIVATE_DIRECTORY_MODE });
  // Each byte is processed twice: copied, and then verified.
  const total = 2 * manifest.files.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  const onDone = (bytes: number) => {
    done += bytes;
    return onProgress(done, total);
  };
  for (const file of manifest.files) {
    copyBack(backup, target, file);
    await onDone(file.size);
  }
  const installation = await verifyAll(target, backup, manifest, onDone);
  // Files of a node on a libSQL server are copies. They are now the databases.
  for (const { workspace_id } of manifest.workspaces) {
    using database = openConnection(workspaceFile(target, workspace_id), { encryptionKey: target.encryptionKey });
    if (locationOf(database) !== EMBEDDED) markEmbedded(database);
  }
  writePointer(target, { installation_id: installation, engine: "embedded" });
  const accounts = await accountsIn(target, installation);
  const known = new Set(accounts.map(({ id }) => id));
  const backupOf = { backup_created_at: manifest.created_at, backup_digest: digest };
  const key = sealKeySource(target, request.sealKey);
  const site = { ...NO_SITE, sinkKey: target.sinkKey };
  const unsealed: Restored["unsealed"] = [];
  const epochs: BegunEpoch[] = [];
  const ended = { ended_sessions: 0, ended_links: 0 };
  // Only the log of the installation knows all workspaces.
  const leftOut = manifest.left_out.map((one) => one.workspace_id);
  for (const [workspace_id, decided] of request.decided) {
    const lacking = workspace_id === installation && leftOut.length > 0 ? { workspaces_left_out: leftOut } : {};
    const details = { ...backupOf, ...lacking, ...rightsDetails(decided) };
    const number = epochNumber(clock(), random);
    const seals = { number, kept: request.kept, sealFile: sealFile(target, workspace_id) };
    const begin = async (writer: WorkspaceWriter, connection: Connection) => {
      epochs.push(await beginEpoch(writer, connection, details, seals));
      const { sessions, links } = await applyToFile(writer, connection, decided, { nowMs: clock(), accounts: known });
      ended.ended_sessions += sessions;
      ended.ended_links += links;
      return await sealNow(writer);
    };
    const reason = await withWriter(target, key, workspace_id, begin, { clock, site: () => site });
    if (reason !== null) unsealed.push({ workspace_id, reason });
  }
  await finishInstallation(target, { key, clock });
  for (const path of foldersOf(target)) syncDirectory(path);
  rmSync(target.unfinished);
  syncDirectory(target.root);
  return {
    data_dir: target.root,
    backup_created_at: manifest.created_at,
    workspaces: request.decided.size,
    left_out: manifest.left_out,
    epochs,
    unsealed,
    seals_cut_off: [...request.kept.cutOff],
    ...ended,
    accounts: accounts.length,
    accounts_with_second_factor: accounts.filter((one) => one.second_factor).length,
    account_ids: accounts,
    rights: [...request.decided].map(([workspace_id, { rights }]) => ({ workspace_id, rights })),
  };
}

/** Returns the members of `log.restore` that say what became of the rights in the copy. */
const rightsDetails = ({ rights, later }: Decided) => ({ rights, later: later && { ...later.head } });

/** Returns the accounts of the backup, and whether each has an authenticator. */
async function accountsIn(target: DataDirectory, installation: string): Promise<Restored["account_ids"]> {
  if (!existsSync(workspaceFile(target, installation))) return [];
  using connection = openLog(target, installation);
  return (await listAccounts(connection)).map((account) => ({ id: account.id, second_factor: hasTotp(account) }));
}

function copyBack(backup: string, target: DataDirectory, file: ManifestFile): void {
  const from = join(backup, file.path);
  const damaged = (reason: string) =>
    `${from} ${reason}, so the backup is damaged. Nothing was restored. Use another backup.`;
  if (!existsSync(from)) throw new Failure("backup_unusable", damaged("is missing"));
  try {
    const { size, sha256 } = copyFile(from, join(target.root, file.path));
    if (sha256 === file.sha256 && size === file.size) return;
  } catch (error) {
    if (isDiskFull(error)) throw error;
    throw asFailure(error, "backup_unusable", (reason) => damaged(`cannot be read (${reason})`));
  }
  throw new Failure("backup_unusable", damaged("differs from what was backed up"));
}

/** Returns the id of the installation. @throws {Failure} `backup_unusable` or `newer_database` */
async function verifyAll(
  target: DataDirectory,
  backup: string,
  manifest: ReadManifest["manifest"],
  onDone: (bytes: number) => void | Promise<void>,
): Promise<string> {
  const sizes = new Map(manifest.files.map(({ path, size }) => [path, size]));
  const installation = readPointer(target)?.installation_id;
  for (const { workspace_id: workspaceId, head_seq: seq, head_hash: hash } of manifest.workspaces) {
    if (!existsSync(workspaceFile(target, workspaceId))) throw notGood(backup, `${workspaceId} is missing`);
    const verdict = await verifyWorkspaceCopy(target, workspaceId);
    if (!verdict.good) throw notGood(backup, `${workspaceId} does not verify (${verdict.reason})`);
    if (verdict.workspace.head_seq !== seq || verdict.workspace.head_hash !== hash) {
      throw notGood(backup, `${workspaceId} does not end with the event that the manifest names`);
    }
    await onDone(sizes.get(workspacePath(workspaceId)) ?? 0);
  }
  if (installation === undefined || !existsSync(workspaceFile(target, installation))) {
    throw notGood(backup, "the log of the installation is missing");
  }
  const held = new Set([...manifest.workspaces, ...manifest.left_out].map(({ workspace_id: id }) => id));
  const missing = readInstallationCopy(target, installation).workspaceIds.find((id) => !held.has(id));
  if (missing !== undefined) throw notGood(backup, `${missing} is missing`);
  return installation;
}

const notGood = (backup: string, reason: string) =>
  new Failure("backup_unusable", `${backup} is unusable: ${reason}. Nothing was restored. Use another backup.`);

/**
 * Begins a new epoch in a workspace's log: records that the workspace was restored, from which backup, and which lost
 * seals are known. Auditors see this event; a rollback without it contradicts the seals that they kept.
 * @throws {Failure} `backup_unusable` when the workspace cannot be written
 */
async function beginEpoch(
  writer: WorkspaceWriter,
  connection: Connection,
  restored: JsonObject,
  seals: { number: number; kept: KeptSeals; sealFile: string },
): Promise<BegunEpoch> {
  const { workspaceId } = writer;
  const { seq, hash } = readHead(connection);
  const { key, details } = await planEpoch(connection, { workspaceId, headSeq: seq }, seals);
  try {
    const restore = { ...restored, head_hash: hash, head_seq: seq, ...details };
    await writer.announceSealKey({ operation: LOG_RESTORE, principal: cliPrincipal(workspaceId) }, key, restore);
  } catch (error) {
    if (isDiskFull(error)) throw error;
    throw asFailure(error, "backup_unusable", (reason) => `${workspaceId} could not be written (${reason}).`);
  }
  return { workspace_id: workspaceId, verifier_key: formatVerifierKey(key), lost_through: details.lost_through };
}

/** Returns the paths of everything in a directory that was empty before. */
function entriesOf(root: string): string[] {
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .filter((name) => name !== "lost+found")
    .map((name) => join(root, name));
}

function explained(error: unknown, root: string): unknown {
  if (!isDiskFull(error)) {
    return asFailure(error, "data_directory_unusable", (reason) => `Cannot restore into ${root}: ${reason}.`);
  }
  const advice = "Nothing was left behind. Free some space, or choose another directory.";
  return new Failure("destination_unusable", `Not enough space in ${root} for the backup. ${advice}`, { cause: error });
}
