/**
 * What the data directory occupies. With thousands of workspaces that is tens of thousands of files, so
 * they are gone through in the background, a few at a time, and not more than once a minute; a scrape
 * gets what was found last.
 */
import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../failure.ts";

/** How long what was found is good enough. */
const FRESH_MS = 60_000;
/** Files that are looked at at once. */
const FILES_AT_ONCE = 64;

export interface StorageSizes {
  /** Bytes of the control database, of the workspaces' databases, of the files of seals. */
  control: number;
  workspaces: number;
  seals: number;
}

export interface StorageDirectories {
  root: string;
  /** The control database's file. */
  control: string;
  workspaces: string;
  seals: string;
}

/** Room on the file system of the data directory, bytes. */
export interface StorageRoom {
  /** For this process. */
  free: number;
  total: number;
}

export class StorageMeter {
  readonly #directories: StorageDirectories;
  readonly #monotonicMs: () => number;
  #found: StorageSizes | null = null;
  #foundAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<StorageSizes> | null = null;

  constructor(directories: StorageDirectories, monotonicMs: () => number) {
    this.#directories = directories;
    this.#monotonicMs = monotonicMs;
  }

  /** What was found last; only the first one who asks waits. */
  async sizes(): Promise<StorageSizes> {
    if (this.#monotonicMs() - this.#foundAtMs >= FRESH_MS) {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
      // The next one who asks is told.
      this.#looking.catch(() => {});
    }
    return this.#found ?? (this.#looking as Promise<StorageSizes>);
  }

  async room(): Promise<StorageRoom> {
    const { bavail, blocks, bsize } = await statfs(this.#directories.root);
    return { free: bavail * bsize, total: blocks * bsize };
  }

  async #look(): Promise<StorageSizes> {
    const { control, workspaces, seals } = this.#directories;
    const found = {
      control: await databaseBytes(control),
      workspaces: await bytesIn(workspaces),
      seals: await bytesIn(seals),
    };
    this.#found = found;
    this.#foundAtMs = this.#monotonicMs();
    return found;
  }
}

/** What a database occupies, with what is not yet written back into it. */
export const databaseBytes = (path: string): Promise<number> => bytesOf([path, `${path}-wal`, `${path}-shm`]);

async function bytesIn(directory: string): Promise<number> {
  return bytesOf((await readdir(directory)).map((name) => join(directory, name)));
}

/** The sizes of files together. One that is gone by then, as a write-ahead log may be, has none. */
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
