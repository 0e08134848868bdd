import { type RestoreRequest, restoreBackup } from "../../src/backup/restore.ts";
import { systemClock } from "../../src/ids.ts";

/** Restores a backup with all rights of the copy, with the signing key that it holds. */
export const restoreWhole = (backup: string, dataDir: string, rest: Partial<RestoreRequest> = {}) =>
  restoreBackup({
    ...{ backup, dataDir, sealKey: null, partial: false, clock: systemClock },
    rights: { later: [], otherwise: "kept" },
    ...rest,
  });
