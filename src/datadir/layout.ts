/** Where things are in a data directory. Nothing else composes these paths. */
import { join } from "node:path";

/** The paths of one data directory. */
export interface DataDirectory {
  root: string;
  /** Accounts, workspaces, API keys. */
  control: string;
  /** Tells the processes on this directory that `control` changed. */
  generation: string;
  /** Held by the running daemon. */
  lock: string;
  /** One database for each workspace. */
  workspaces: string;
  /** One file of seals for each workspace. */
  seals: string;
  keys: string;
  sealKey: string;
  sealPublicKey: string;
  tls: string;
}

export function dataDirectory(root: string): DataDirectory {
  const keys = join(root, "keys");
  return {
    root,
    control: join(root, "control.db"),
    generation: join(root, "control.generation"),
    lock: join(root, "daemon.lock"),
    workspaces: join(root, "workspaces"),
    seals: join(root, "seals"),
    keys,
    sealKey: join(keys, "seal.key"),
    sealPublicKey: join(keys, "seal.pub"),
    tls: join(root, "tls"),
  };
}

/** The database of a workspace. */
export function workspaceFile(directory: DataDirectory, workspaceId: string): string {
  return join(directory.workspaces, `${workspaceId}.db`);
}

/** The seals of a workspace, append-only. */
export function sealFile(directory: DataDirectory, workspaceId: string): string {
  return join(directory.seals, `${workspaceId}.log`);
}
