/** Copies one workspace into a backup: its seals, then its database. Then verifies the copies. */
import { existsSync, rmSync } from "node:fs";
import { type DataDirectory, sealFile, workspaceFile } from "../core/datadir/layout.ts";
import { systemCode, systemReason } from "../failure.ts";
import type { Clock } from "../ids.ts";
import { isDamage } from "../store/damage.ts";
import { copyDatabase, fileState, isDiskFull } from "../store/snapshot.ts";
import { copyFile, type Digest, digestOfFile } from "./files.ts";
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

type WorkspaceOutcome =
  | { left: null; files: ManifestFile[]; linked: number; workspace: ManifestWorkspace }
  | { left: string };

/** A file that was copied, or linked from the last backup. */
type Placed = { file: ManifestFile; linked: boolean };

/** A kind of file: where it is in a data directory and in a backup, and how to copy it. */
interface FileKind {
  in(directory: DataDirectory, workspaceId: string): string;
  path(workspaceId: string): string;
  copy(from: string, to: string, source: DataDirectory): Digest;
}

const SEALS: FileKind = { in: sealFile, path: (workspaceId) => `seals/${workspaceId}.log`, copy: copyFile };

const DATABASE: FileKind = {
  in: workspaceFile,
  path: (workspaceId) => `workspaces/${workspaceId}.db`,
  copy(from, to, { encryptionKey }) {
    copyDatabase(from, to, encryptionKey);
    return digestOfFile(to);
  },
};

export const workspacePath = DATABASE.path;

/**
 * Copies a workspace and verifies the copy. When the workspace itself is damaged, returns the reason and leaves nothing
 * of it in the target.
 * @throws for other reasons, such as a full disk
 */
export async function copyWorkspace(parts: CopyParts, workspaceId: string): Promise<WorkspaceOutcome> {
  const leave = (reason: string): WorkspaceOutcome => {
    for (const place of [DATABASE, SEALS]) rmSync(place.in(parts.target, workspaceId), { force: true });
    return { left: reason };
  };
  if (!existsSync(workspaceFile(parts.source, workspaceId))) return leave("its file is missing");
  let placed: Placed[];
  try {
    // The seals first, so that none covers more than the copied log.
    const seals = existsSync(sealFile(parts.source, workspaceId)) ? [put(parts, SEALS, workspaceId)] : [];
    placed = [put(parts, DATABASE, workspaceId), ...seals];
  } catch (error) {
    const reason = isDiskFull(error) ? null : unreadable(error);
    if (reason === null) throw error;
    return leave(reason);
  }
  const linked = placed.filter((one) => one.linked).length;
  const done = { left: null, files: placed.map(({ file }) => file), linked };
  const known = parts.previous?.workspace(workspaceId);
  // All files were verified together in the last backup.
  if (linked === placed.length && known !== undefined) return { ...done, workspace: known };
  const verdict = await verifyWorkspaceCopy(parts.target, workspaceId, parts.onVerified);
  if (verdict.good) return { ...done, workspace: verdict.workspace };
  const left = leave(verdict.reason);
  // The linked file may not belong to the copied one, so try again without the last backup.
  return linked > 0 ? copyWorkspace({ ...parts, previous: null }, workspaceId) : left;
}

/** Links a file from the last backup when it has the same state or content there, and copies it otherwise. */
function put({ source, target, previous, clock }: CopyParts, place: FileKind, workspaceId: string): Placed {
  const [from, to, path] = [place.in(source, workspaceId), place.in(target, workspaceId), place.path(workspaceId)];
  const before = fileState(from, clock());
  const taken = previous?.take(path, before, to) ?? null;
  if (taken !== null) return { file: taken, linked: true };
  const digest = place.copy(from, to, source);
  // If the file was written meanwhile, the copy is good but from an unknown state in between.
  const state = fileState(from, clock()) === before ? before : null;
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
