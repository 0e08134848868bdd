/** The size of the data directory, free disk space, certificates and backups. */

import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../failure.ts";
import type { Families } from "./family.ts";

/** The sources of times for alerts, in ms since the Unix epoch. */
export interface Timed {
  /** When each certificate in use expires, with its role. Empty without TLS. */
  certificates(): readonly { role: string; notAfter: number }[];
  /**
   * When the newest complete backup was started, and the last one that failed or lacks a workspace; null without a
   * schedule.
   */
  backups(): { readonly status: { lastSuccessMs: number | null; lastFailureMs: number | null } } | null;
}

export function storageFamilies(families: Families, storage: StorageMeter, { certificates, backups }: Timed): void {
  families.gauge("governd_storage_bytes", "Bytes of the files in the data directory; up to a minute old.", async () => {
    return Object.entries(await storage.sizes()).map(([kind, value]) => ({ labels: { kind }, value }));
  });
  families.gauge(
    "governd_storage_free_bytes",
    "Free space for governd on the file system of the data directory.",
    async () => (await storage.room()).free,
  );
  families.gauge(
    "governd_storage_capacity_bytes",
    "Size of the file system of the data directory.",
    async () => (await storage.room()).total,
  );
  families.gauge(
    "governd_certificate_expiry_timestamp_seconds",
    "When the first certificate in use expires: the one that clients see (server), or an authority of client certificates (client_ca).",
    () => {
      const first = new Map<string, number>();
      for (const { role, notAfter } of certificates()) {
        first.set(role, Math.min(first.get(role) ?? Number.POSITIVE_INFINITY, notAfter));
      }
      return [...first].map(([certificate, ms]) => ({ labels: { certificate }, value: ms / 1_000 }));
    },
  );
  families.gauge(
    "governd_last_backup_timestamp_seconds",
    "When the newest complete backup was started; absent before the first one and without a schedule (backup_every).",
    () => seconds(backups()?.status.lastSuccessMs ?? null),
  );
  families.gauge(
    "governd_last_backup_failure_timestamp_seconds",
    "When the last scheduled backup that failed or left out a workspace was started; absent when there was none since the start.",
    () => seconds(backups()?.status.lastFailureMs ?? null),
  );
}

const seconds = (ms: number | null) => (ms === null ? null : ms / 1_000);

/** How long a result is reused, ms. */
const FRESH_MS = 60_000;
const FILES_AT_ONCE = 64;

/** The data directory, and the directories of workspaces and seals. */
export type StorageDirectories = Readonly<Record<"root" | "workspaces" | "seals", string>>;

/** Bytes of the workspaces' databases, and of the seal files. */
type StorageSizes = Record<"workspaces" | "seals", number>;

/**
 * Measures the size of the data directory. Thousands of workspaces are tens of thousands of files, so they are examined
 * in the background, a few at a time and at most once a minute. A scrape gets the last result.
 */
export class StorageMeter {
  #found: StorageSizes | null = null;
  #foundAtMs = Number.NEGATIVE_INFINITY;
  #measuring: Promise<StorageSizes> | null = null;

  constructor(
    private readonly directories: StorageDirectories,
    private readonly monotonicMs = () => performance.now(),
  ) {}

  /** Returns the last result. Only the first call waits. */
  async sizes(): Promise<StorageSizes> {
    if (this.monotonicMs() - this.#foundAtMs >= FRESH_MS) {
      this.#measuring ??= this.#measure().finally(() => {
        this.#measuring = null;
      });
      // A failure is reported to the next caller.
      this.#measuring.catch(() => {});
    }
    return this.#found ?? (this.#measuring as Promise<StorageSizes>);
  }

  /** Returns the space of the file system that this process may still use, and its size, bytes. */
  async room(): Promise<{ free: number; total: number }> {
    const { bavail, blocks, bsize } = await statfs(this.directories.root);
    return { free: bavail * bsize, total: blocks * bsize };
  }

  async #measure(): Promise<StorageSizes> {
    const { workspaces, seals } = this.directories;
    const found = { workspaces: await bytesIn(workspaces), seals: await bytesIn(seals) };
    this.#found = found;
    this.#foundAtMs = this.monotonicMs();
    return found;
  }
}

/** Returns the size of a database including its write-ahead log. */
export const databaseBytes = (path: string): Promise<number> => bytesOf([path, `${path}-wal`, `${path}-shm`]);

const bytesIn = async (directory: string): Promise<number> =>
  bytesOf((await readdir(directory)).map((name) => join(directory, name)));

/** Returns the total size of files. A missing file, such as a write-ahead log, counts 0. */
async function bytesOf(paths: readonly string[]): Promise<number> {
  let total = 0;
  for (let at = 0; at < paths.length; at += FILES_AT_ONCE) {
    const sizes = await Promise.all(paths.slice(at, at + FILES_AT_ONCE).map(sizeOf));
    for (const size of sizes) total += size;
  }
  return total;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return 0;
    throw error;
  }
}
