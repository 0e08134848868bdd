/** The first thing that every command with a data directory does: make it, or see that it is one. */
import { accessSync, chmodSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import { Failure, systemCode, systemReason } from "../failure.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { type DataDirectory, dataDirectory } from "./layout.ts";
import { makePrivateDirectory, PRIVATE_DIRECTORY_MODE } from "./private-files.ts";
import { ensureSealKey } from "./seal-key.ts";

/** What a fresh volume may hold. */
const HARMLESS = new Set(["lost+found"]);

export interface PrepareOptions {
  /** Whether the signing key is kept in it. */
  ownKey?: boolean;
  /** The key of its databases. */
  encryptionKey?: EncryptionKey | null;
}

/**
 * Makes the data directory with its signing key, unless it is there. Safe to run by several processes at
 * once: all of them end with the same directory and the same key. Without `ownKey`, the key is kept
 * elsewhere and none is made.
 * @throws {Failure} `data_directory_unusable` when it cannot be made, read or written, or is something else's.
 */
export function prepareDataDirectory(root: string, options: PrepareOptions = {}): DataDirectory {
  const { ownKey = true, encryptionKey = null } = options;
  const directory = dataDirectory(root, encryptionKey);
  try {
    const made = makePrivateDirectory(root);
    if (!made) refuseForeign(directory);
    refuseUnfinished(directory);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
    tighten(root);
    for (const path of [directory.workspaces, directory.seals, directory.keys, directory.tls]) {
      makePrivateDirectory(path);
      tighten(path);
    }
    if (ownKey) ensureSealKey(directory);
  } catch (error) {
    if (error instanceof Failure || systemCode(error) === undefined) throw error;
    throw new Failure(
      "data_directory_unusable",
      `Cannot use the data directory ${root}: ${systemReason(error)}. It must be writable by the user that runs governd.`,
      { cause: error },
    );
  }
  return directory;
}

/**
 * The paths of a data directory that must be there already.
 * @throws {Failure} `data_directory_unusable` when there is none.
 */
export function existingDataDirectory(root: string, key: EncryptionKey | null = null): DataDirectory {
  const directory = dataDirectory(root, key);
  refuseUnfinished(directory);
  try {
    statSync(directory.control);
  } catch (error) {
    throw new Failure(
      "data_directory_unusable",
      `There is no governd data directory at ${root} (${basename(directory.control)}: ${systemReason(error)}). ` +
        "Name it with --data-dir, or make one: governd workspace create --name NAME",
      { cause: error },
    );
  }
  return directory;
}

/** What a restore that was cut off leaves behind is not verified, and may lack anything. */
function refuseUnfinished(directory: DataDirectory): void {
  if (!existsSync(directory.unfinished)) return;
  throw new Failure(
    "data_directory_unusable",
    `A restore into ${directory.root} was not finished, so what is there is not to be used: remove all of it and run \`governd restore\` again.`,
  );
}

/** Whether there is nothing at a path but what a fresh volume may hold. */
export function isEmptyDirectory(path: string): boolean {
  return !existsSync(path) || readdirSync(path).every((name) => HARMLESS.has(name));
}

/** A typing error must not turn somebody's home directory into a data directory. */
function refuseForeign(directory: DataDirectory): void {
  const paths = Object.values(directory).filter((value) => typeof value === "string");
  const ours = new Set(paths.map((path) => basename(path)));
  const present = readdirSync(directory.root).filter((name) => !HARMLESS.has(name));
  if (present.length === 0 || present.some((name) => ours.has(name))) return;
  throw new Failure(
    "data_directory_unusable",
    `${directory.root} has files in it and is not a governd data directory: choose an empty or a new one.`,
  );
}

function tighten(path: string): void {
  const { mode, uid } = statSync(path);
  if ((mode & 0o077) === 0) return;
  // A volume that belongs to another user is that user's to close.
  if (process.getuid?.() !== uid) return;
  chmodSync(path, PRIVATE_DIRECTORY_MODE);
}
