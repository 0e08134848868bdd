/** The daemon's scheduled backups: runs `governd backup` as a separate process and logs the outcome. */
import type { BackupResult } from "../../backup/make.ts";
import { type BackupOutcome, BackupSchedule } from "../../backup/schedule.ts";
import type { Clock } from "../../ids.ts";
import type { Settings } from "../../settings/definitions.ts";
import type { Logger } from "./logger.ts";
import { type OwnSettings, runOwnCommand, wordsOf } from "./own-command.ts";

/** Returns the schedule that the settings define, or null. */
export function scheduledBackups(settings: Settings, clock: Clock, logger: Logger): BackupSchedule | null {
  const { backup_dir: destination, backup_every: everyMs, backup_keep: keep } = settings;
  if (destination === null || everyMs === null) return null;
  const words = wordsOf(["backup", destination, "--keep", `${keep}`], settings);
  return new BackupSchedule({
    destination,
    everyMs,
    clock,
    make: (signal) => runBackup(words, settings, signal),
    onOutcome: (outcome, tookMs) => logOutcome(logger, outcome, tookMs),
    onAhead: () =>
      logger.warn("the newest backup has a time that has not come, since the clock was ahead: a new one is made soon", {
        path: destination,
      }),
  });
}

/** Runs one backup in a separate process. */
export async function runBackup(
  words: readonly string[],
  settings: OwnSettings,
  signal: AbortSignal,
): Promise<BackupOutcome> {
  const outcome = await runOwnCommand(words, settings, signal);
  if (outcome.kind === "failed") return outcome;
  const { path, workspaces, bytes, left_out: leftOut } = JSON.parse(outcome.out) as BackupResult;
  return { kind: "made", path, workspaces, bytes, leftOut: leftOut.map(({ workspace_id: id }) => id) };
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
