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
  /** The certificate of the daemon's own authority, which clients trust. */
  authority: string;
  authorityKey: string;
  serverCertificate: string;
  serverKey: string;
}

export function dataDirectory(root: string): DataDirectory {
  const keys = join(root, "keys");
  const tls = join(root, "tls");
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
    tls,
    authority: join(tls, "ca.crt"),
    authorityKey: join(tls, "ca.key"),
    serverCertificate: join(tls, "server.crt"),
    serverKey: join(tls, "server.key"),
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
