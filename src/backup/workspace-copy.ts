/** Copies one workspace into a backup: its seals, then its database. Then verifies the copies. */
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

/** The source and target of copies. */
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

/** A file that was copied, or linked from the last backup. */
type Placed = { file: ManifestFile; linked: boolean };

/**
 * Copies a workspace and verifies the copy. When the workspace itself is damaged, returns the reason and leaves nothing
 * of it in the target.
 * @throws for other reasons, such as a full disk
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
  // Both files were verified together in the last backup.
  if (linked === files.length && known !== undefined) return { ...done, workspace: known };
  const { encryptionKey } = parts.source;
  const copy = { workspaceId, path: target, encryptionKey, sealFile: seals };
  const verdict = await verifyWorkspaceCopy(copy, parts.onVerified);
  if (!verdict.good) {
    const left = leave(verdict.reason);
    // The linked file may not belong to the copied one, so try again without the last backup.
    return linked > 0 ? copyWorkspace({ ...parts, previous: null }, workspaceId) : left;
  }
  return { ...done, workspace: verdict.workspace };
}

function placeSeals({ source, target, previous, clock }: CopyParts, workspaceId: string): Placed | null {
  const [from, to, path] = [sealFile(source, workspaceId), sealFile(target, workspaceId), sealPath(workspaceId)];
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
  // If the file was written meanwhile, the copy is good but from an unknown state in between.
  const state = fileState(from, clock()) === before ? before : null;
  const digest = digestOfFile(to);
  const linked = previous?.replace(path, digest, to) ?? false;
  return { file: { path, ...digest, source_state: state }, linked };
}

/** Returns why a workspace's files cannot be copied; null when the files are not the reason. */
function unreadable(error: unknown): string | null {
  if (isDamage(error)) return "the database is damaged: it cannot be read completely";
  const code = systemCode(error);
  if (code === "SQLITE_CANTOPEN") return "its file cannot be opened";
  if (code?.startsWith("SQLITE_IOERR") || code === "SQLITE_BUSY") return `its file cannot be read (${code})`;
  if (code === "EACCES" || code === "EIO" || code === "ENOENT")
    return `its files cannot be read: ${systemReason(error)}`;
  return null;
}
