/** The paths in a data directory. No other module composes them. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isId } from "../../ids.ts";
import type { ServerOptions } from "../../settings/server-options.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import type { TakeLogRight } from "../../store/log-right.ts";
import { tryLock } from "./file-lock.ts";

/** The file extension of workspace databases. */
const DATABASE_SUFFIX = ".db";

/** The paths of one data directory, the key of its databases, and the right to copy their logs back. */
export type DataDirectory = Readonly<ReturnType<typeof dataDirectory>>;

/**
 * @param encryptionKey the key of the databases; null when they are not encrypted
 * @param server the libSQL server that has the databases, of which the directory has working copies; null without one
 */
export function dataDirectory(
  root: string,
  encryptionKey: EncryptionKey | null = null,
  server: ServerOptions | null = null,
) {
  const keys = join(root, "keys");
  const tls = join(root, "tls");
  const logLock = join(root, "log.lock");
  const takeLogRight: TakeLogRight = () => tryLock(logLock);
  return {
    root,
    /** Which log is that of the installation. */
    pointer: join(root, "installation.json"),
    /** The shared counter that tells processes that keys, members, accounts or sinks changed. */
    generation: join(root, "changes.counter"),
    /** Held by the running daemon. */
    lock: join(root, "daemon.lock"),
    /** The name that the last daemon had among the nodes of a libSQL server. */
    node: join(root, "node.id"),
    /** Held by the process that makes or deletes a workspace. */
    workspacesLock: join(root, "workspaces.lock"),
    /** Held by the process that may copy write-ahead logs back (`src/store/log-right.ts`). */
    logLock,
    /** A command's request to the running daemon to empty the write-ahead logs of workspaces. */
    emptyLogs: join(root, "empty-logs.request"),
    /** Disk space reserved for when the disk is full. */
    reserve: join(root, "disk.reserve"),
    /** The request of `governd compact` to the running daemon, and the daemon's answer. */
    compactRequest: join(root, "compact.request"),
    compactResult: join(root, "compact.result"),
    /** Exists while a backup is being restored into this directory, which is unusable until then. */
    unfinished: join(root, "restore.unfinished"),
    /** The progress of `governd migrate`, while it moves workspaces. */
    migration: join(root, "migration"),
    /** One database for each workspace. */
    workspaces: join(root, "workspaces"),
    /** One seal file for each workspace. */
    seals: join(root, "seals"),
    /** One file of anchors for each workspace. Created with the first anchor. */
    anchors: join(root, "anchors"),
    keys,
    sealKey: join(keys, "seal.key"),
    sealPublicKey: join(keys, "seal.pub"),
    /** Encrypts the secrets of authenticators. Created with the first one. */
    factorKey: join(keys, "second-factor.key"),
    /** Encrypts the secrets of sinks. Created with the first sink. */
    sinkKey: join(keys, "sinks.key"),
    tls,
    /** The certificate of the daemon's own authority, which clients must trust. */
    authority: join(tls, "ca.crt"),
    authorityKey: join(tls, "ca.key"),
    serverCertificate: join(tls, "server.crt"),
    serverKey: join(tls, "server.key"),
    encryptionKey,
    server,
    takeLogRight,
  };
}

/** Returns the directories that every data directory has. */
export const foldersOf = ({ workspaces, seals, keys, tls }: DataDirectory): string[] => [workspaces, seals, keys, tls];

/** Returns the path of a workspace's database. */
export const workspaceFile = (directory: DataDirectory, workspaceId: string): string =>
  join(directory.workspaces, `${workspaceId}${DATABASE_SUFFIX}`);

/** Returns the ids of the workspaces whose databases exist, in no order. */
export function presentWorkspaces({ workspaces }: DataDirectory): string[] {
  const names = existsSync(workspaces) ? readdirSync(workspaces) : [];
  return names
    .filter((name) => name.endsWith(DATABASE_SUFFIX))
    .map((name) => name.slice(0, -DATABASE_SUFFIX.length))
    .filter((id) => isId("ws", id));
}

/** Returns the path of the receipts of a workspace's anchors. */
export const anchorFile = ({ anchors }: Pick<DataDirectory, "anchors">, workspaceId: string): string =>
  join(anchors, `${workspaceId}.json`);

/** Returns the path of a workspace's seal file, which is append-only. */
export const sealFile = (directory: DataDirectory, workspaceId: string): string =>
  join(directory.seals, `${workspaceId}.log`);
