/** The daemon's own backups: `governd backup` as a process of its own, and what the log says of it. */
import { setPriority, tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import type { BackupResult } from "../backup/result.ts";
import { type BackupOutcome, BackupSchedule } from "../backup/schedule.ts";
import { messageOf } from "../failure.ts";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/schema.ts";
import type { Logger } from "./logger.ts";

/** Requests come first. */
const PRIORITY = 10;
/** This program: the binary itself, or the source run by the same runtime. */
const PROGRAM = import.meta.path.endsWith(".ts")
  ? [process.execPath, fileURLToPath(new URL("../main.ts", import.meta.url))]
  : [process.execPath];

/** The schedule that the settings ask for; null without one. */
export function scheduledBackups(settings: Settings, clock: Clock, logger: Logger): BackupSchedule | null {
  const { backup_dir: destination, backup_every: everyMs, backup_keep: keep, data_dir: dataDir } = settings;
  if (destination === null || everyMs === null) return null;
  const key = settings.encryption_key_file;
  const words = [
    "backup",
    destination,
    ...(key === null ? [] : ["--encryption-key-file", key]),
    "--keep",
    `${keep}`,
    "--data-dir",
    dataDir,
    "--json",
  ];
  return new BackupSchedule({
    destination,
    everyMs,
    clock,
    make: (signal) => runBackup(words, signal),
    onOutcome: (outcome, tookMs) => logOutcome(logger, outcome, tookMs),
  });
}

/** Runs one backup as a process of its own. */
export async function runBackup(words: readonly string[], signal: AbortSignal): Promise<BackupOutcome> {
  let child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  try {
    child = Bun.spawn([...PROGRAM, ...words], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // What it needs is in its words; settings that only make sense together are not its concern.
      env: { TMPDIR: tmpdir(), GOVERND_CONFIG: "/dev/null" },
      signal,
    });
  } catch (error) {
    return { kind: "failed", reason: `the process could not be started: ${messageOf(error)}` };
  }
  beNice(child.pid);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (out === "") return { kind: "failed", reason: reasonOf(err) ?? `it ended with exit code ${code}` };
  const { path, workspaces, bytes, left_out: leftOut } = JSON.parse(out) as BackupResult;
  return { kind: "made", path, workspaces, bytes, leftOut: leftOut.map(({ workspace_id: id }) => id) };
}

function beNice(pid: number): void {
  try {
    setPriority(pid, PRIORITY);
  } catch {
    // It has ended already; what became of it is told by its exit code.
  }
}

/** The message of `--json` failures; null when there is none. */
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
    logger.error("no backup could be made", { reason: outcome.reason });
    return;
  }
  const { path, workspaces, bytes, leftOut } = outcome;
  const fields = { path, workspaces, bytes, took_ms: tookMs };
  if (leftOut.length === 0) logger.info("a backup was made", fields);
  else logger.error("a backup lacks damaged workspaces", { ...fields, left_out: leftOut.join(", ") });
}
