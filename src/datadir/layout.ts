/** Where things are in a data directory. Nothing else composes these paths. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isId } from "../ids.ts";
import type { EncryptionKey } from "../store/encryption.ts";

/** Ends the name of a workspace's database. */
const DATABASE_SUFFIX = ".db";

/** The paths of one data directory, and what is needed to read its databases. */
export interface DataDirectory {
  root: string;
  /** Accounts, workspaces, API keys. */
  control: string;
  /** Tells the processes on this directory that `control` changed. */
  generation: string;
  /** Held by the running daemon. */
  lock: string;
  /** Held by whoever is opening `control`: making or upgrading it is for one process at a time. */
  controlLock: string;
  /** Space set aside for a full disk. */
  reserve: string;
  /** There while a backup is restored into this directory: until then it is no data directory. */
  unfinished: string;
  /** One database for each workspace. */
  workspaces: string;
  /** One file of seals for each workspace. */
  seals: string;
  /** For each workspace, what was anchored where; made with the first anchor. */
  anchors: string;
  keys: string;
  sealKey: string;
  sealPublicKey: string;
  tls: string;
  /** The certificate of the daemon's own authority, which clients trust. */
  authority: string;
  authorityKey: string;
  serverCertificate: string;
  serverKey: string;
  /** The key of its databases; null when they are not encrypted. */
  encryptionKey: EncryptionKey | null;
}

export function dataDirectory(root: string, encryptionKey: EncryptionKey | null = null): DataDirectory {
  const keys = join(root, "keys");
  const tls = join(root, "tls");
  return {
    root,
    control: join(root, "control.db"),
    generation: join(root, "control.generation"),
    lock: join(root, "daemon.lock"),
    controlLock: join(root, "control.lock"),
    reserve: join(root, "disk.reserve"),
    unfinished: join(root, "restore.unfinished"),
    workspaces: join(root, "workspaces"),
    seals: join(root, "seals"),
    anchors: join(root, "anchors"),
    keys,
    sealKey: join(keys, "seal.key"),
    sealPublicKey: join(keys, "seal.pub"),
    tls,
    authority: join(tls, "ca.crt"),
    authorityKey: join(tls, "ca.key"),
    serverCertificate: join(tls, "server.crt"),
    serverKey: join(tls, "server.key"),
    encryptionKey,
  };
}

/** The database of a workspace. */
export function workspaceFile(directory: DataDirectory, workspaceId: string): string {
  return join(directory.workspaces, `${workspaceId}${DATABASE_SUFFIX}`);
}

/** The ids of the workspaces whose databases are there, in no order. @throws when their directory is not */
export function presentWorkspaces({ workspaces }: DataDirectory): string[] {
  return readdirSync(workspaces)
    .filter((name) => name.endsWith(DATABASE_SUFFIX))
    .map((name) => name.slice(0, -DATABASE_SUFFIX.length))
    .filter((id) => isId("ws", id));
}

/** The seals of a workspace, append-only. */
export function sealFile(directory: DataDirectory, workspaceId: string): string {
  return join(directory.seals, `${workspaceId}.log`);
}
