/** How the workspaces of a data directory are sealed. Plain data: it is passed on to threads. */
import { join } from "node:path";
import type { DataDirectory } from "../datadir/layout.ts";
import { type SealKeySource, sealKeySource } from "../datadir/seal-key.ts";
import type { Settings } from "../settings/definitions.ts";

export interface SealingOptions {
  /** Directory of the files of seals. */
  sealsDir: string;
  key: SealKeySource;
  /** From a workspace's first unsealed event to its seal, ms. */
  intervalMs: number;
}

/**
 * The host in the origin of seals where no setting names one. An origin is fixed when its workspace is
 * made, so that another name of the machine does not make another log of it.
 */
export const DEFAULT_SEAL_HOST = "localhost";

export function sealingOptions(
  directory: DataDirectory,
  settings: Pick<Settings, "seal_key" | "seal_interval">,
): SealingOptions {
  return {
    sealsDir: directory.seals,
    key: sealKeySource(directory, settings.seal_key),
    intervalMs: settings.seal_interval,
  };
}

/** The origin of a new workspace's seals: the first of `hostnames` that is a name, and the workspace. */
export function newOrigin(hostnames: readonly string[], workspaceId: string): string {
  const host = hostnames.find((name) => !name.startsWith("*.")) ?? DEFAULT_SEAL_HOST;
  return `${host}/${workspaceId}`;
}

/** The file of a workspace's seals. */
export function sealFilePath({ sealsDir }: Pick<SealingOptions, "sealsDir">, workspaceId: string): string {
  return join(sealsDir, `${workspaceId}.log`);
}
