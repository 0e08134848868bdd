/** Files, the room for them, and what keeps them safe: certificate and backups. */
import type { Families } from "./family.ts";
import type { StorageMeter } from "./storage-sizes.ts";

/** Moments that somebody should be warned about; ms since the epoch, null when there is none. */
export interface Moments {
  /** When the certificates in use end, each with what it is used for; none without TLS. */
  certificates(): readonly { role: string; notAfter: number }[];
  /** When the newest whole backup was begun, with a schedule for them. */
  lastBackupMs(): number | null;
  /** When the last scheduled backup that failed was begun, or that lacks a workspace; since the start. */
  lastBackupFailureMs(): number | null;
}

export function storageFamilies(families: Families, storage: StorageMeter, moments: Moments): void {
  families.gauge({
    name: "governd_storage_bytes",
    help: "Bytes of the files in the data directory; up to a minute old.",
    samples: async () => {
      const { control, workspaces, seals } = await storage.sizes();
      return Object.entries({ control, workspaces, seals }).map(([kind, value]) => ({
        labels: { kind },
        value,
      }));
    },
  });
  families.gauge({
    name: "governd_storage_free_bytes",
    help: "Room that is left for governd on the file system of the data directory.",
    samples: async () => [{ value: (await storage.room()).free }],
  });
  families.gauge({
    name: "governd_storage_capacity_bytes",
    help: "Size of the file system of the data directory.",
    samples: async () => [{ value: (await storage.room()).total }],
  });
  families.gauge({
    name: "governd_certificate_expiry_timestamp_seconds",
    help: "When the first of the certificates in use ends: what clients are shown (server), what theirs are by (client_ca).",
    samples: () => {
      const first = new Map<string, number>();
      for (const { role, notAfter } of moments.certificates()) {
        first.set(role, Math.min(first.get(role) ?? Number.POSITIVE_INFINITY, notAfter));
      }
      return [...first].map(([certificate, ms]) => ({ labels: { certificate }, value: ms / 1_000 }));
    },
  });
  families.gauge({
    name: "governd_last_backup_timestamp_seconds",
    help: "When the newest whole backup was begun; absent before the first, and without a schedule (backup_every).",
    samples: () => moment(moments.lastBackupMs()),
  });
  families.gauge({
    name: "governd_last_backup_failure_timestamp_seconds",
    help: "When the last scheduled backup that failed, or had to leave a workspace out, was begun; absent when none did since the start.",
    samples: () => moment(moments.lastBackupFailureMs()),
  });
}

const moment = (ms: number | null) => (ms === null ? [] : [{ value: ms / 1_000 }]);
