/** What the commands about workspaces and keys have in common: the data directory, opened and closed again. */
import { Administration } from "../control/administration.ts";
import { ControlDatabase } from "../control/database.ts";
import { workspaceRecorder } from "../daemon/recorder.ts";
import { readEncryptionKey } from "../datadir/encryption-key.ts";
import type { DataDirectory } from "../datadir/layout.ts";
import { existingDataDirectory, prepareDataDirectory } from "../datadir/prepare.ts";
import { sealKeySource } from "../datadir/seal-key.ts";
import { IdSource, RandomPool, systemClock } from "../ids.ts";
import { loadSettings } from "../settings/load.ts";
import type { Settings } from "../settings/schema.ts";
import { settingFlags } from "./options.ts";

/** Who the audit log says it was. */
export const ACTOR = "cli";

/**
 * Does something that changes the control database. The data directory must be there, unless `first` says
 * that this can be the first command of all.
 */
export async function administer<T>(
  options: Readonly<Record<string, unknown>>,
  work: (administration: Administration) => Promise<T>,
  { first = false } = {},
): Promise<T> {
  const { settings } = loadSettings(settingFlags(options));
  if (!first) existingDataDirectory(settings.data_dir);
  const directory = prepareDataDirectory(settings.data_dir, {
    ownKey: settings.seal_key === null,
    encryptionKey: readEncryptionKey(settings.encryption_key_file),
  });
  using control = ControlDatabase.open(directory);
  const random = new RandomPool();
  const administration = new Administration({
    control,
    recorder: workspaceRecorder(directory, {
      key: sealKeySource(directory, settings.seal_key),
      hostnames: settings.hostnames,
      onUnsealed: (reason) => process.stderr.write(`governd: recorded, but not sealed: ${reason}\n`),
    }),
    clock: systemClock,
    ids: new IdSource(systemClock, random),
    random,
    actor: ACTOR,
  });
  return await work(administration);
}

/** Looks something up in the control database of a data directory that is there. */
export function consult<T>(
  options: Readonly<Record<string, unknown>>,
  look: (control: ControlDatabase) => T,
): T {
  const { settings } = loadSettings(settingFlags(options));
  using control = ControlDatabase.open(directoryOf(settings));
  return look(control);
}

/** The data directory that the settings name, which must be there. */
export function directoryOf(settings: Pick<Settings, "data_dir" | "encryption_key_file">): DataDirectory {
  const { data_dir, encryption_key_file } = settings;
  return existingDataDirectory(data_dir, readEncryptionKey(encryption_key_file));
}

/** A moment as the API writes it, or null. */
export function moment(ms: number): string;
export function moment(ms: number | null): string | null;
export function moment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
