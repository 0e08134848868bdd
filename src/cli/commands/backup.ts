/** `governd backup` and `governd restore`. */
import type { Command } from "commander";
import { type BackupResult, backupResult, makeBackup } from "../../backup/make.ts";
import { type Restored, restoreBackup } from "../../backup/restore.ts";
import { readEncryptionKey } from "../../core/datadir/encryption-key.ts";
import { type DataDirectory, workspaceFile } from "../../core/datadir/layout.ts";
import { readPointer } from "../../core/datadir/pointer.ts";
import { ServerEngine } from "../../engine-libsql/server-engine.ts";
import { EXIT, Failure } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { Installation } from "../../ops/directory/installation.ts";
import { listLogIds } from "../../ops/directory/workspaces.ts";
import { BACKUP_KEEP_MAX } from "../../settings/definitions.ts";
import { dataDirectoryOf } from "../data-directory.ts";
import { addCommonOptions, type Session, STORED, settingsOf } from "../session.ts";
import { count, mebibytes } from "../terminal.ts";

const BACKUP_DESCRIPTION = `make a verified backup of everything, while the daemon runs

Each backup is a directory in DEST, named by its time: every workspace, seals, keys and
certificates, and a manifest. Files that did not change since the last backup take no extra space. A backup holds
secrets: protect it like the data directory.`;

const BACKUP_EXIT_HELP = `
Exit codes: 0 made and verified, 1 made, but damaged workspaces are left out, 2 not made.`;

const RESTORE_DESCRIPTION = `restore a backup into an empty data directory

Compares every file with the backup's manifest and verifies every log before it reports success. Each workspace's
log then says that it was restored, and from which backup: a new epoch, which auditors see. Its seals have a new
origin, which witnesses have to learn. With --seals, the log also names the seals over events that are lost, so that
auditors who kept one find it explained. All sessions and unused one-time links end.

A copy from last week has last week's keys and members. So say what is to happen to them: with --later, what
ended after the backup ends again, in each workspace of which a later log is at hand; with --end-rights, all keys and
memberships end, and \`governd account link\` lets an owner in again; with --keep-rights, all are as they were. Without
one of these, nothing is restored, and what the backup would give back is listed.`;

const SEALS_HELP =
  "the lost data directory, or seals that were kept elsewhere: a file, or a directory of them (several times)";

const LATER_HELP = "a later file or export of a workspace, or the directory that is replaced (several times)";

interface RestoreOptions {
  partial?: boolean;
  seals?: string[];
  later?: string[];
  endRights?: boolean;
  keepRights?: boolean;
}

export function addBackup(program: Command, session: Session): void {
  const backup = program
    .command("backup")
    .summary("make a verified backup, while the daemon runs")
    .description(BACKUP_DESCRIPTION)
    .argument("[dest]", "directory for backups, created if missing (default: the setting backup_dir)")
    .option("--keep <n>", "keep only this many backups, and remove older ones afterwards")
    .addHelpText("after", BACKUP_EXIT_HELP)
    .action((dest: string | undefined, options: { keep?: string }) => runBackup(session, dest, options));
  addCommonOptions(backup, STORED);
}

export function addRestore(program: Command, session: Session): void {
  const restore = program
    .command("restore")
    .summary("restore a backup into an empty data directory")
    .description(RESTORE_DESCRIPTION)
    .argument("<backup>", "one backup: a directory with a manifest.json")
    .option("--partial", "also restore a backup that lacks workspaces, which were damaged when it was made")
    .option("--seals <path>", SEALS_HELP, (path: string, before: string[] = []) => [...before, path])
    .option("--later <path>", LATER_HELP, (path: string, before: string[] = []) => [...before, path])
    .option("--end-rights", "end the keys and memberships of the copy that no later log settles")
    .option("--keep-rights", "keep them as they were")
    .action((backup: string, options: RestoreOptions) => runRestore(session, backup, options));
  addCommonOptions(restore, ["data_dir", "encryption_key_file", "seal_key"]);
}

async function runBackup(session: Session, dest: string | undefined, options: { keep?: string }): Promise<void> {
  const keep = options.keep === undefined ? null : keepCount(options.keep);
  const destination = dest ?? settingsOf(options).backup_dir;
  if (destination === null) throw new Failure("usage", "Name the directory for backups, or set backup_dir.");
  const { directory: source } = dataDirectoryOf(options);
  await bringUpToDate(session, source);
  const made = await session.withProgress((progress) =>
    makeBackup({
      source,
      destination,
      keep,
      clock: systemClock,
      onProgress: (done, total) => progress.step(done, total, "bytes"),
    }),
  );
  if (made.manifest.left_out.length > 0) session.exitCode = EXIT.no;
  const result = backupResult(made);
  await session.print(result, backupLines(result));
}

/**
 * Brings a node's copies up to date with the libSQL server: some may be behind, or missing.
 * @throws {Failure} `invalid_settings` for copies whose server the settings do not name; {ServerUnavailable}
 */
async function bringUpToDate({ terminal }: Session, directory: DataDirectory): Promise<void> {
  const warn = (warning: string) => void terminal.err(`${warning}\n`);
  const { server, encryptionKey } = directory;
  if (server === null) return requireNoCopy(directory);
  using installation = await Installation.open(directory, warn);
  const engine = new ServerEngine(server, warn);
  const ids = await installation.read(listLogIds, []);
  for (const id of ids) {
    const { connection } = await engine.open(id, workspaceFile(directory, id), encryptionKey);
    connection.close();
  }
}

function requireNoCopy(directory: DataDirectory): void {
  if (readPointer(directory)?.engine !== "libsql-server") return;
  throw new Failure(
    "invalid_settings",
    'The data directory is a copy of what is on a libSQL server, and may be behind it. Name the server, so that the backup has what it has: engine = "libsql-server" and engine_url.',
  );
}

function keepCount(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= BACKUP_KEEP_MAX) return number;
  throw new Failure("usage", `--keep must be a whole number from 1 to ${BACKUP_KEEP_MAX}.`);
}

function backupLines(result: BackupResult): string[] {
  const { path, workspaces, left_out, files, files_unchanged, bytes, removed, has_seal_key } = result;
  const lines = [
    `Backup ${path}`,
    `  ${count(workspaces, "workspace")}, ${files} files, ${mebibytes(bytes)}, verified; ${files_unchanged} files unchanged since the last backup`,
  ];
  if (!has_seal_key)
    lines.push("  The key that signs seals is kept outside the data directory (seal_key) and is not included.");
  if (removed.length > 0) lines.push(`  Removed ${removed.length} older: ${removed.join(", ")}`);
  if (left_out.length > 0) {
    lines.push("INCOMPLETE. These workspaces are damaged and left out (older complete backups are kept):");
    for (const { workspace_id: id, reason } of left_out) lines.push(`  ${id}: ${reason}`);
  }
  return lines;
}

async function runRestore(session: Session, backup: string, options: RestoreOptions): Promise<void> {
  const settings = settingsOf(options);
  const { later = [], endRights = false, keepRights = false } = options;
  if (endRights && keepRights) throw new Failure("usage", "Give either --end-rights or --keep-rights.");
  const restored = await session.withProgress((progress) =>
    restoreBackup({
      rights: { later, otherwise: endRights ? "ended" : keepRights ? "kept" : null },
      backup,
      dataDir: settings.data_dir,
      sealKey: settings.seal_key,
      encryptionKey: readEncryptionKey(settings.encryption_key_file),
      partial: options.partial ?? false,
      seals: options.seals ?? [],
      clock: systemClock,
      onProgress: (done, total) => progress.step(done, total, "bytes"),
    }),
  );
  await session.print({ ...restored }, restoreLines(restored));
}

const RIGHTS = {
  later: "those of the backup, without what the later log says was lost since",
  ended: "all ended; `governd account link` lets an owner in again",
  kept: "as they were when the backup was made",
} as const;

function accountLines({ accounts, accounts_with_second_factor, account_ids, ...restored }: Restored): string[] {
  if (accounts === 0) return [];
  const whose = `${count(accounts, "account")} (${accounts_with_second_factor} with a second factor)`;
  return [
    `  The passwords, second factors and recovery codes of ${whose} are those of ${restored.backup_created_at}: what was changed or ended later is valid again`,
    ...account_ids.map(({ id, second_factor }) => `    ${id}${second_factor ? " (with a second factor)" : ""}`),
  ];
}

function restoreLines(restored: Restored): string[] {
  const { workspaces, data_dir, backup_created_at, left_out, ended_sessions, ended_links } = restored;
  return [
    `Restored and verified ${count(workspaces, "workspace")} in ${data_dir}, as of ${backup_created_at}.`,
    "  Each log records the restore (log.restore). What was recorded after the backup is gone, and auditors will see that.",
    `  Ended ${count(ended_sessions, "session")} and ${count(ended_links, "unused link")}.`,
    ...restored.rights.map(({ workspace_id: id, rights }) => `  Keys and members of ${id}: ${RIGHTS[rights]}`),
    ...accountLines(restored),
    ...restored.epochs.map(({ verifier_key, lost_through: lost }) => {
      return `  Sealed from now on as ${verifier_key}${lost === null ? "" : `; events through ${lost} are known to be lost`}`;
    }),
    ...restored.seals_cut_off.map((path) => {
      return `  ${path} ends inside a seal, which was left out: a crash cut it off, or somebody did. If you have a whole copy, restore again with it`;
    }),
    ...left_out.map(({ workspace_id: id, reason }) => `  Not in the backup: ${id} (${reason})`),
    ...restored.unsealed.map(
      ({ workspace_id: id, reason }) => `  Not sealed yet, the daemon will retry: ${id} (${reason})`,
    ),
  ];
}
