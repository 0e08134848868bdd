/** The daemon's scheduled work: backups, compaction and new sealing keys, as the settings say. */
import type { BackupSchedule } from "../../backup/schedule.ts";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { isInterrupted } from "../../core/datadir/seal-key.ts";
import type { Clock } from "../../ids.ts";
import type { Settings } from "../../settings/definitions.ts";
import type { Reread } from "../../settings/reread.ts";
import { ScheduledCompaction } from "./compaction.ts";
import type { Logger } from "./logger.ts";
import { type Applies, Replaceable } from "./reload.ts";

export class Schedules implements Applies, AsyncDisposable {
  private constructor(
    private readonly ofBackups: Replaceable<BackupSchedule>,
    private readonly others: readonly Replaceable<AsyncDisposable>[],
  ) {}

  static async of(settings: Settings, directory: DataDirectory, clock: Clock, logger: Logger): Promise<Schedules> {
    // Parts are imported only when the settings need them.
    const backups = await Replaceable.of(["backup_dir", "backup_every", "backup_keep"], settings, async (now) =>
      now.backup_dir === null ? null : (await import("./scheduled-backups.ts")).scheduledBackups(now, clock, logger),
    );
    const compaction = await Replaceable.of(["compact_every"], settings, async (now) =>
      now.compact_every === null ? null : new ScheduledCompaction(now, now.compact_every, logger),
    );
    const rotation = await Replaceable.of(["seal_key_lifetime"], settings, async (now) => {
      const isWanted = now.seal_key_lifetime !== null || isInterrupted(directory);
      if (now.seal_key !== null || !isWanted) return null;
      return new (await import("./seal-key-rotation.ts")).SealKeyRotation(now, directory, logger);
    });
    return new Schedules(backups, [compaction, rotation]);
  }

  /** The schedule of backups; null without one. */
  get backups(): BackupSchedule | null {
    return this.ofBackups.current;
  }

  async apply(reread: Reread): Promise<void> {
    for (const part of [this.ofBackups, ...this.others]) await part.apply(reread);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.ofBackups, ...this.others].map((part) => part[Symbol.asyncDispose]()));
  }
}
