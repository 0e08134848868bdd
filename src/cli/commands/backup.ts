/** `governd backup`: a verified copy of everything, beside a running daemon or without one. */
import type { Command } from "commander";
import { type MadeBackup, makeBackup } from "../../backup/make.ts";
import type { BackupResult } from "../../backup/result.ts";
import { EXIT, Failure } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { loadSettings } from "../../settings/load.ts";
import { BACKUP_KEEP_MAX } from "../../settings/schema.ts";
import { directoryOf } from "../administer.ts";
import { count, mebibytes } from "../check/findings.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";
import { Progress } from "../verify/progress.ts";

interface BackupOptions {
  keep?: string;
  json?: boolean;
}

const DESCRIPTION = `make a verified backup of everything, while the daemon runs

Each backup is a directory of its own in DEST, named by its time: the control database, every workspace,
seals, keys and certificates, and a manifest. What did not change since the backup before takes no space
again. It holds secrets: keep it as you keep the data directory.`;

const EXIT_HELP = `
Exit codes: 0 made and verified, 1 made, but workspaces that are damaged are left out, 2 not made.`;

export function addBackup(program: Command, session: Session): void {
  const backup = program
    .command("backup")
    .summary("make a verified backup, while the daemon runs")
    .description(DESCRIPTION)
    .argument("[dest]", "directory that backups are in, made when absent (default: the setting backup_dir)")
    .option("--keep <n>", "remove all but the newest backups after it is made")
    .option("--json", "print JSON")
    .addHelpText("after", EXIT_HELP)
    .action((destination: string | undefined, options: BackupOptions) =>
      runBackup(session, destination, options),
    );
  addSettingOptions(backup, ["data_dir", "encryption_key_file"]);
}

async function runBackup(
  session: Session,
  destination: string | undefined,
  options: BackupOptions,
): Promise<void> {
  const { terminal } = session;
  const keep = options.keep === undefined ? null : countOf(options.keep);
  const { settings } = loadSettings(settingFlags({ ...options }));
  const into = destination ?? settings.backup_dir;
  if (into === null) throw new Failure("usage", "Name the directory for backups, or set backup_dir.");
  const source = directoryOf(settings);
  const progress = new Progress(terminal, !options.json);
  let made: MadeBackup;
  try {
    made = await makeBackup({
      source,
      destination: into,
      keep,
      clock: systemClock,
      onProgress: (done, total) => progress.step(done, total, "bytes"),
    });
  } finally {
    await progress.clear();
  }
  if (made.manifest.left_out.length > 0) session.exitCode = EXIT.no;
  await printResult(terminal, options.json ?? false, resultOf(made), linesOf(made));
}

function countOf(text: string): number {
  const count = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= BACKUP_KEEP_MAX) return count;
  throw new Failure("usage", `--keep must be a whole number from 1 to ${BACKUP_KEEP_MAX}.`);
}

function resultOf({ path, manifest, linked, removed }: MadeBackup): BackupResult {
  return {
    path,
    created_at: manifest.created_at,
    completed_at: manifest.completed_at,
    workspaces: manifest.workspaces.length,
    left_out: manifest.left_out,
    files: manifest.files.length,
    files_unchanged: linked,
    bytes: manifest.files.reduce((sum, { size }) => sum + size, 0),
    has_seal_key: manifest.has_seal_key,
    removed,
  };
}

function linesOf(made: MadeBackup): string[] {
  const {
    path,
    workspaces,
    left_out: leftOut,
    files,
    files_unchanged: linked,
    bytes,
    removed,
  } = resultOf(made);
  const lines = [
    `Backup ${path}`,
    `  ${count(workspaces, "workspace")}, ${files} files, ${mebibytes(bytes)}, verified; ${linked} files unchanged since the backup before`,
  ];
  if (!made.manifest.has_seal_key)
    lines.push("  The key that signs seals is kept elsewhere (seal_key) and is not in it.");
  if (removed.length > 0) lines.push(`  Removed ${removed.length} older: ${removed.join(", ")}`);
  if (leftOut.length > 0) {
    lines.push("NOT WHOLE. These workspaces are damaged and left out (older whole backups are kept):");
    for (const { workspace_id: id, reason } of leftOut) lines.push(`  ${id}: ${reason}`);
  }
  return lines;
}
