/**
 * `governd rekey`: encrypts the databases of a data directory, gives them another key, or decrypts them.
 * Each file is written anew and replaced at once. Interrupted and run again, it goes on where it stopped.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { readEncryptionKey } from "../../datadir/encryption-key.ts";
import type { DataDirectory } from "../../datadir/layout.ts";
import { lockDataDirectory } from "../../datadir/lock.ts";
import { existingDataDirectory } from "../../datadir/prepare.ts";
import { EXIT, Failure } from "../../failure.ts";
import { loadSettings } from "../../settings/load.ts";
import { type EncryptionKey, EncryptionMismatch } from "../../store/encryption.ts";
import { FileInUse, rekeyFile } from "../../store/rekey.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";

interface RekeyOptions {
  newKey?: string;
  decrypt?: boolean;
  json?: boolean;
}

const DESCRIPTION = `encrypt the databases of a data directory, or give them another key

Stop the daemon first. With --new-key all databases get that key, whether they are encrypted by now (with
encryption_key_file) or not; with --decrypt they are in plain afterwards. Every file is written anew beside
the old one, checked, and put in its place. Interrupted, run it again. Then set encryption_key_file.`;

export function addRekey(program: Command, session: Session): void {
  const rekey = program
    .command("rekey")
    .summary("encrypt the databases, give them another key, or decrypt them")
    .description(DESCRIPTION)
    .option("--new-key <file>", "file with the key that they are to have (make one: openssl rand -hex 32)")
    .option("--decrypt", "they are to have none")
    .option("--json", "print JSON")
    .action((options: RekeyOptions) => rekeyAll(session, options));
  addSettingOptions(rekey, ["data_dir", "encryption_key_file"]);
}

async function rekeyAll(session: Session, options: RekeyOptions): Promise<void> {
  if ((options.newKey === undefined) === (options.decrypt !== true)) {
    throw new Failure("usage", "Say what is wanted: either --new-key FILE or --decrypt.");
  }
  const { settings } = loadSettings(settingFlags({ ...options }));
  const directory = existingDataDirectory(settings.data_dir);
  const present = readEncryptionKey(settings.encryption_key_file);
  const wanted = readEncryptionKey(options.newKey ?? null);
  using _lock = lockDataDirectory(directory);
  const { rewritten, already, failed } = rekeyDatabases(directory, present === null ? [] : [present], wanted);
  if (failed.length > 0) session.exitCode = EXIT.trouble;
  const state = wanted === null ? "decrypted" : "encrypted with the new key";
  await printResult(session.terminal, options.json ?? false, { rewritten, already, failed }, [
    `${rewritten} databases are ${state} now${already > 0 ? `; ${already} were so already` : ""}.`,
    ...failed.map(({ path, message }) => `Left as it is: ${path}: ${message}`),
    ...(wanted === null
      ? ["Remove encryption_key_file from the settings."]
      : [
          `Set encryption_key_file = ${JSON.stringify(options.newKey)}, and keep a copy of that file elsewhere.`,
        ]),
  ]);
}

interface Outcome {
  rewritten: number;
  already: number;
  failed: { path: string; message: string }[];
}

function rekeyDatabases(
  directory: DataDirectory,
  known: readonly EncryptionKey[],
  wanted: EncryptionKey | null,
): Outcome {
  const files = readdirSync(directory.workspaces).filter((name) => name.endsWith(".db"));
  const outcome: Outcome = { rewritten: 0, already: 0, failed: [] };
  for (const path of [directory.control, ...files.map((name) => join(directory.workspaces, name))]) {
    try {
      if (rekeyFile(path, known, wanted)) outcome.rewritten += 1;
      else outcome.already += 1;
    } catch (error) {
      // A damaged workspace keeps nobody from encrypting the others.
      outcome.failed.push({ path, message: reasonOf(error) });
    }
  }
  return outcome;
}

function reasonOf(error: unknown): string {
  if (error instanceof EncryptionMismatch) return error.advice;
  if (error instanceof FileInUse) return "another process has it open: stop that first";
  return "it cannot be read or written: see `governd verify`, and whether the disk has space";
}
