/** Creates a data directory, or checks an existing one: the first step of every command that uses one. */
import { accessSync, chmodSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import { asFailure, Failure, systemCode, systemReason } from "../../failure.ts";
import type { Settings } from "../../settings/definitions.ts";
import { type ServerOptions, serverOptions } from "../../settings/server-options.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { ifSupported } from "../../store/sync.ts";
import { readEncryptionKey } from "./encryption-key.ts";
import { type DataDirectory, dataDirectory, foldersOf } from "./layout.ts";
import { CREATION_LOCK, makePrivateDirectory, PRIVATE_DIRECTORY_MODE } from "./private-files.ts";
import { ensureSealKey } from "./seal-key.ts";

/** What a new volume may contain. */
const HARMLESS = new Set(["lost+found", CREATION_LOCK]);

const WRITABLE = " It must be writable by the user that runs governd.";

interface EnsureOptions {
  ownKey?: boolean;
  encryptionKey?: EncryptionKey | null;
  server?: ServerOptions | null;
}

/**
 * Creates the data directory and its signing key, unless they exist. Several processes may call this at the same time:
 * all get the same directory and the same key. Without `ownKey` the signing key is kept outside, and none is created.
 * `encryptionKey` encrypts the databases.
 * @throws {Failure} `data_directory_unusable` when the directory cannot be created, read or written, or is not a data
 *   directory
 */
export function ensureDataDirectory(
  root: string,
  { ownKey = true, encryptionKey = null, server = null }: EnsureOptions = {},
): DataDirectory {
  const directory = dataDirectory(root, encryptionKey, server);
  try {
    const made = makePrivateDirectory(root);
    if (!made) refuseForeign(directory);
    refuseUnfinished(directory);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
    tighten(root);
    for (const path of foldersOf(directory)) {
      makePrivateDirectory(path);
      tighten(path);
    }
    if (ownKey) ensureSealKey(directory);
  } catch (error) {
    throw asFailure(
      error,
      "data_directory_unusable",
      (reason) => `Cannot use the data directory ${root}: ${reason}.${systemCode(error) === "EACCES" ? WRITABLE : ""}`,
    );
  }
  return directory;
}

/** Creates or checks the data directory that the settings name. @throws {Failure} */
export function openDataDirectory(
  settings: Pick<Settings, "data_dir" | "seal_key" | "encryption_key_file"> & Parameters<typeof serverOptions>[0],
): DataDirectory {
  return ensureDataDirectory(settings.data_dir, {
    ownKey: settings.seal_key === null,
    encryptionKey: readEncryptionKey(settings.encryption_key_file),
    server: serverOptions(settings),
  });
}

/**
 * Returns the paths of an existing data directory.
 * @throws {Failure} `data_directory_unusable` when it does not exist
 */
export function existingDataDirectory(
  root: string,
  key: EncryptionKey | null = null,
  server: ServerOptions | null = null,
): DataDirectory {
  const directory = dataDirectory(root, key, server);
  refuseUnfinished(directory);
  try {
    statSync(directory.pointer);
  } catch (error) {
    const found = `There is no governd data directory at ${root} (${basename(directory.pointer)}: ${systemReason(error)}).`;
    const advice = "Name another one with --data-dir, or create one: governd workspace create --name NAME";
    throw new Failure("data_directory_unusable", `${found} ${advice}`, { cause: error });
  }
  return directory;
}

/** Refuses the directory of an interrupted restore: its content is not verified and may be incomplete. */
function refuseUnfinished(directory: DataDirectory): void {
  if (!existsSync(directory.unfinished)) return;
  const message = `A restore into ${directory.root} was interrupted, so its content cannot be used.`;
  throw new Failure("data_directory_unusable", `${message} Remove all of it and run \`governd restore\` again.`);
}

/** Reports whether a path does not exist, or is a directory as empty as a new volume. */
export const isEmptyDirectory = (path: string): boolean =>
  !existsSync(path) || readdirSync(path).every((name) => HARMLESS.has(name));

/** Refuses a directory with foreign files: a typing error must not turn a home directory into a data directory. */
function refuseForeign(directory: DataDirectory): void {
  const paths = Object.values(directory).filter((value) => typeof value === "string");
  const ours = new Set(paths.map((path) => basename(path)));
  const present = readdirSync(directory.root).filter((name) => !HARMLESS.has(name));
  if (present.length === 0 || present.some((name) => ours.has(name))) return;
  const message = `${directory.root} contains files and is not a governd data directory.`;
  throw new Failure("data_directory_unusable", `${message} Choose an empty or a new directory.`);
}

function tighten(path: string): void {
  const { mode, uid } = statSync(path);
  if ((mode & 0o077) === 0) return;
  // Only the owner of a volume can change its mode.
  if (process.getuid?.() !== uid) return;
  ifSupported(() => chmodSync(path, PRIVATE_DIRECTORY_MODE));
}
