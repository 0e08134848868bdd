/** One workspace of a backup: its seals, then its database, then the proof that the copies are good. */
import { existsSync, rmSync } from "node:fs";
import { type DataDirectory, sealFile, workspaceFile } from "../datadir/layout.ts";
import { systemCode, systemReason } from "../failure.ts";
import type { Clock } from "../ids.ts";
import { isDamage } from "../store/damage.ts";
import { copyDatabase, fileState, isDiskFull } from "../store/snapshot.ts";
import { copyFile, digestOfFile } from "./files.ts";
import type { ManifestFile, ManifestWorkspace } from "./manifest.ts";
import type { PreviousBackup } from "./previous.ts";
import { verifyWorkspaceCopy } from "./verify-copy.ts";

/** Where copies come from and go to. */
export interface CopyParts {
  source: DataDirectory;
  target: DataDirectory;
  previous: PreviousBackup | null;
  clock: Clock;
  onVerified?: (checked: number, total: number) => void | Promise<void>;
}

export type WorkspaceOutcome =
  | { left: null; files: ManifestFile[]; linked: number; workspace: ManifestWorkspace }
  | { left: string };

export const workspacePath = (workspaceId: string): string => `workspaces/${workspaceId}.db`;
const sealPath = (workspaceId: string): string => `seals/${workspaceId}.log`;

/** A file that was copied, or taken over from the backup before. */
type Placed = { file: ManifestFile; linked: boolean };

/**
 * Copies a workspace and verifies the copy. What is wrong with the workspace itself is answered, and then
 * nothing of it is left in the target.
 * @throws what is no fault of the workspace: a full disk, a target that cannot be written
 */
export async function copyWorkspace(parts: CopyParts, workspaceId: string): Promise<WorkspaceOutcome> {
  const target = workspaceFile(parts.target, workspaceId);
  const seals = sealFile(parts.target, workspaceId);
  const leave = (reason: string): WorkspaceOutcome => {
    rmSync(target, { force: true });
    rmSync(seals, { force: true });
    return { left: reason };
  };
  if (!existsSync(workspaceFile(parts.source, workspaceId))) return leave("its file is missing");
  let placed: { seals: Placed | null; database: Placed };
  try {
    placed = { seals: placeSeals(parts, workspaceId), database: placeDatabase(parts, workspaceId) };
  } catch (error) {
    const reason = isDiskFull(error) ? null : unreadable(error);
    if (reason === null) throw error;
    return leave(reason);
  }
  const files = [placed.database, ...(placed.seals === null ? [] : [placed.seals])];
  const linked = files.filter((one) => one.linked).length;
  const known = parts.previous?.workspace(workspaceId);
  const done = { left: null, files: files.map(({ file }) => file), linked };
  // Both were verified together when they were made.
  if (linked === files.length && known !== undefined) return { ...done, workspace: known };
  const { encryptionKey } = parts.source;
  const copy = { workspaceId, path: target, encryptionKey, sealFile: seals };
  const verdict = await verifyWorkspaceCopy(copy, parts.onVerified);
  if (!verdict.good) {
    const left = leave(verdict.reason);
    // Perhaps what was taken over does not belong to what was copied now.
    return linked > 0 ? copyWorkspace({ ...parts, previous: null }, workspaceId) : left;
  }
  return { ...done, workspace: verdict.workspace };
}

function placeSeals({ source, target, previous, clock }: CopyParts, workspaceId: string): Placed | null {
  const [from, to, path] = [
    sealFile(source, workspaceId),
    sealFile(target, workspaceId),
    sealPath(workspaceId),
  ];
  if (!existsSync(from)) return null;
  const state = fileState(from, clock());
  const taken = previous?.take(path, state, to) ?? null;
  if (taken !== null) return { file: taken, linked: true };
  const digest = copyFile(from, to);
  const linked = previous?.replace(path, digest, to) ?? false;
  return { file: { path, ...digest, source_state: state }, linked };
}

function placeDatabase({ source, target, previous, clock }: CopyParts, workspaceId: string): Placed {
  const from = workspaceFile(source, workspaceId);
  const [to, path] = [workspaceFile(target, workspaceId), workspacePath(workspaceId)];
  const before = fileState(from, clock());
  const taken = previous?.take(path, before, to) ?? null;
  if (taken !== null) return { file: taken, linked: true };
  copyDatabase(from, to, source.encryptionKey);
  // Written to meanwhile, the copy is good, and of some state between.
  const state = fileState(from, clock()) === before ? before : null;
  const digest = digestOfFile(to);
  const linked = previous?.replace(path, digest, to) ?? false;
  return { file: { path, ...digest, source_state: state }, linked };
}

/** Why a workspace's files cannot be copied, when that is a matter of these files; null otherwise. */
function unreadable(error: unknown): string | null {
  if (isDamage(error)) return "the database is damaged: it cannot be read to its end";
  const code = systemCode(error);
  if (code === "SQLITE_CANTOPEN") return "its file cannot be opened";
  if (code?.startsWith("SQLITE_IOERR") || code === "SQLITE_BUSY") return `its file cannot be read (${code})`;
  if (code === "EACCES" || code === "EIO" || code === "ENOENT")
    return `its files cannot be read: ${systemReason(error)}`;
  return null;
}
