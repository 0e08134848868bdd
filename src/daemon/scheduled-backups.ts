/** The daemon's scheduled backups: runs `governd backup` as a separate process and logs the outcome. */
import { setPriority, tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import type { BackupResult } from "../backup/make.ts";
import { type BackupOutcome, BackupSchedule } from "../backup/schedule.ts";
import { messageOf } from "../failure.ts";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/definitions.ts";
import type { Logger } from "./logger.ts";

/** A lower priority than that of the daemon, since requests come first. */
const PRIORITY = 10;
/** The command that runs this program: the binary itself, or the runtime with the source. */
const PROGRAM = import.meta.path.endsWith(".ts")
  ? [process.execPath, fileURLToPath(new URL("../main.ts", import.meta.url))]
  : [process.execPath];

/** Returns the schedule that the settings define, or null. */
export function scheduledBackups(settings: Settings, clock: Clock, logger: Logger): BackupSchedule | null {
  const { backup_dir: destination, backup_every: everyMs, backup_keep: keep, data_dir: dataDir } = settings;
  if (destination === null || everyMs === null) return null;
  const words = ["backup", destination, "--keep", `${keep}`, "--data-dir", dataDir, "--json"];
  if (settings.encryption_key_file !== null) words.push("--encryption-key-file", settings.encryption_key_file);
  return new BackupSchedule({
    destination,
    everyMs,
    clock,
    make: (signal) => runBackup(words, signal),
    onOutcome: (outcome, tookMs) => logOutcome(logger, outcome, tookMs),
  });
}

/** Runs one backup in a separate process. */
export async function runBackup(words: readonly string[], signal: AbortSignal): Promise<BackupOutcome> {
  let child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  try {
    child = Bun.spawn([...PROGRAM, ...words], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // Its arguments hold everything that it needs. The other settings must not affect it.
      env: { TMPDIR: tmpdir(), GOVERND_CONFIG: "/dev/null" },
      signal,
    });
  } catch (error) {
    return { kind: "failed", reason: `cannot start the process: ${messageOf(error)}` };
  }
  lowerPriority(child.pid);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (out === "") return { kind: "failed", reason: reasonOf(err) ?? `the process ended with exit code ${code}` };
  const { path, workspaces, bytes, left_out: leftOut } = JSON.parse(out) as BackupResult;
  return { kind: "made", path, workspaces, bytes, leftOut: leftOut.map(({ workspace_id: id }) => id) };
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, PRIORITY);
  } catch {
    // The process has already ended. Its exit code tells the outcome.
  }
}

/** Returns the message of a failure that `--json` printed, or null. */
function reasonOf(text: string): string | null {
  const last = text.trim().split("\n").at(-1) ?? "";
  try {
    const { error } = JSON.parse(last) as { error?: { message?: unknown } };
    return typeof error?.message === "string" ? error.message : null;
  } catch {
    return null;
  }
}

function logOutcome(logger: Logger, outcome: BackupOutcome, tookMs: number): void {
  if (outcome.kind === "failed") {
    logger.error("the backup failed", { reason: outcome.reason });
    return;
  }
  const { path, workspaces, bytes, leftOut } = outcome;
  const fields = { path, workspaces, bytes, took_ms: tookMs };
  if (leftOut.length === 0) logger.info("a backup was made", fields);
  else logger.error("a backup lacks damaged workspaces", { ...fields, left_out: leftOut.join(", ") });
}
