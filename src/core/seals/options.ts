/** How the workspaces of a data directory are sealed. Plain data that can be sent to threads. */
import { join } from "node:path";
import type { Settings } from "../../settings/definitions.ts";
import type { DataDirectory } from "../datadir/layout.ts";
import { type SealKeySource, sealKeySource } from "../datadir/seal-key.ts";

export interface SealingOptions {
  /** The directory of the seal files. */
  sealsDir: string;
  key: SealKeySource;
  /** Time from the first unsealed event of a workspace to its seal, ms. */
  intervalMs: number;
}

/**
 * The host in the origin of seals when no setting names one. The origin is fixed when the workspace is created, so
 * renaming the machine does not change the identity of the log.
 */
const DEFAULT_SEAL_HOST = "localhost";

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

/** Returns the origin of a new workspace's seals: the first of `hostnames` without a wildcard, and the workspace. */
export function newOrigin(hostnames: readonly string[], workspaceId: string): string {
  const host = hostnames.find((name) => !name.startsWith("*.")) ?? DEFAULT_SEAL_HOST;
  return `${host}/${workspaceId}`;
}

/** Returns the path of a workspace's seal file. */
export const sealFilePath = ({ sealsDir }: Pick<SealingOptions, "sealsDir">, workspaceId: string): string =>
  join(sealsDir, `${workspaceId}.log`);
