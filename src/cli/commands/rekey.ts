/**
 * `governd rekey`: encrypts the databases of a data directory, changes their key, or decrypts them. Each file is
 * rewritten and replaced atomically. An interrupted run continues when the command is run again.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { readEncryptionKey } from "../../core/datadir/encryption-key.ts";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { ownDataDirectory } from "../../core/datadir/lock.ts";
import { existingDataDirectory } from "../../core/datadir/open.ts";
import { EXIT, Failure } from "../../failure.ts";
import { type EncryptionKey, EncryptionMismatch } from "../../store/encryption.ts";
import { FileInUse, rekeyFile } from "../../store/rekey.ts";
import { addCommonOptions, type Session, settingsOf } from "../session.ts";

type RekeyOptions = { newKey?: string; decrypt?: boolean };

const DESCRIPTION = `encrypt the databases of a data directory, or change their key

Stop the daemon first. With --new-key all databases get that key, whether they are already encrypted (with
encryption_key_file) or not. With --decrypt they are decrypted. Every file is rewritten beside the old one, checked,
and then replaces it. If the command is interrupted, run it again. Then set encryption_key_file.`;

export function addRekey(program: Command, session: Session): void {
  const rekey = program
    .command("rekey")
    .summary("encrypt the databases, change their key, or decrypt them")
    .description(DESCRIPTION)
    .option("--new-key <file>", "file with the new key (create one: openssl rand -hex 32)")
    .option("--decrypt", "remove the encryption")
    .action((options: RekeyOptions) => rekeyAll(session, options));
  addCommonOptions(rekey, ["data_dir", "encryption_key_file"]);
}

async function rekeyAll(session: Session, options: RekeyOptions): Promise<void> {
  if ((options.newKey === undefined) === (options.decrypt !== true)) {
    throw new Failure("usage", "Give either --new-key FILE or --decrypt.");
  }
  const settings = settingsOf(options);
  const directory = existingDataDirectory(settings.data_dir);
  const present = readEncryptionKey(settings.encryption_key_file);
  const wanted = readEncryptionKey(options.newKey ?? null);
  using _lock = ownDataDirectory(directory);
  const { rewritten, already, failed } = rekeyDatabases(directory, present === null ? [] : [present], wanted);
  if (failed.length > 0) session.exitCode = EXIT.trouble;
  const state = wanted === null ? "decrypted" : "encrypted with the new key";
  await session.print({ rewritten, already, failed }, [
    `${rewritten} databases are now ${state}${already > 0 ? `; ${already} already were` : ""}.`,
    ...failed.map(({ path, message }) => `Not changed: ${path}: ${message}`),
    ...(wanted === null
      ? ["Remove encryption_key_file from the settings."]
      : [`Set encryption_key_file = ${JSON.stringify(options.newKey)}, and keep a copy of that file elsewhere.`]),
  ]);
}

function rekeyDatabases(directory: DataDirectory, known: readonly EncryptionKey[], wanted: EncryptionKey | null) {
  const files = readdirSync(directory.workspaces).filter((name) => name.endsWith(".db"));
  const result = { rewritten: 0, already: 0, failed: [] as { path: string; message: string }[] };
  for (const path of files.map((name) => join(directory.workspaces, name))) {
    try {
      if (rekeyFile(path, known, wanted)) result.rewritten += 1;
      else result.already += 1;
    } catch (error) {
      // One damaged workspace must not stop the others from being encrypted.
      result.failed.push({ path, message: reasonOf(error) });
    }
  }
  return result;
}

function reasonOf(error: unknown): string {
  if (error instanceof EncryptionMismatch) return error.advice;
  if (error instanceof FileInUse) return "another process has it open: stop that process first";
  return "it cannot be read or written: run `governd verify`, and check that the disk has space";
}
