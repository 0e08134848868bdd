/** The parts of the installation that need maintenance: the disk, the certificates and the backups. */
import { statfs } from "node:fs/promises";
import type { BackupStatus } from "../../backup/schedule.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { AccountDeps } from "../../ops/accounts/routes/contract.ts";
import { type DiskSpace, freeBytes } from "../../store/disk-space.ts";
import type { CertificateStatus } from "../tls/certificate.ts";

/** State that only the whole daemon knows. The daemon sets it once these parts run. */
export interface Watched {
  certificates(): readonly CertificateStatus[];
  /** Null without a schedule. */
  backups(): { readonly status: Readonly<BackupStatus> } | null;
}

/** The state before anything runs. */
export const watchedNothing = (): Watched => ({ certificates: () => [], backups: () => null });

/** Returns a function that returns the state of the installation in a data directory. */
export const upkeepFrom =
  (root: string, space: DiskSpace, watched: Watched): AccountDeps["upkeep"] =>
  async () => {
    const disk = await statfs(root);
    const backups = watched.backups();
    return {
      disk: { free_bytes: freeBytes(disk), total_bytes: disk.blocks * disk.bsize, full: space.isFull },
      certificates: watched.certificates().map(({ role, notAfter }) => ({ role, expires_at: showTime(notAfter) })),
      backups: backups && {
        last_success_at: showTimeOrNull(backups.status.lastSuccessMs),
        last_failure_at: showTimeOrNull(backups.status.lastFailureMs),
      },
    };
  };
