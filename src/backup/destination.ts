/**
 * The directory that backups are in, each in one of its own named by its time (UTC). One that is being made
 * has another name until it is whole and verified, so half a backup never looks like one.
 */
import { existsSync, readdirSync, realpathSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { holdLock } from "../datadir/lock.ts";
import { makePrivateDirectory } from "../datadir/private-files.ts";
import { Failure, systemCode, systemReason } from "../failure.ts";
import { syncPath } from "../store/sync.ts";
import { MANIFEST_FILE, readManifest } from "./manifest.ts";

const LOCK_FILE = ".backup.lock";
/** `2026-01-02T030405.678Z`: sorts by time, and every file system takes it. */
const NAME = /^(\d{4}-\d\d-\d\d)T(\d\d)(\d\d)(\d\d\.\d{3}Z)$/;
/** What is being made, and what is being removed. */
const UNFINISHED = /^\.\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z\.(?:partial|removed)$/;

/** The name of a backup that begins at this moment, ms since the Unix epoch. */
export function backupName(ms: number): string {
  return new Date(ms).toISOString().replaceAll(":", "");
}

/** When a backup of this name began, ms since the Unix epoch; null when it is no such name. */
export function timeOfBackup(name: string): number | null {
  const match = NAME.exec(name);
  if (match === null) return null;
  const ms = Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}`);
  return Number.isNaN(ms) ? null : ms;
}

/** The names of the whole backups in a directory, oldest first. */
export function listBackups(destination: string): string[] {
  if (!existsSync(destination)) return [];
  return readdirSync(destination)
    .filter((name) => timeOfBackup(name) !== null && existsSync(join(destination, name, MANIFEST_FILE)))
    .sort();
}

/** A directory that backups are made in, held by this process alone. */
export class Destination implements Disposable {
  readonly path: string;
  readonly #lock: Disposable;

  private constructor(path: string, lock: Disposable) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Makes the directory when there is none, takes it, and removes what runs that were cut off left there.
   * @throws {Failure} `destination_unusable` when it cannot be used, is within `dataDir`, or another backup runs
   */
  static open(path: string, dataDir: string): Destination {
    const destination = resolve(path);
    refuseWithin(destination, dataDir);
    try {
      makePrivateDirectory(destination);
      const lock = holdLock(join(destination, LOCK_FILE), (cause) => {
        const message = `Another backup into ${destination} is under way. Wait for its end, or choose another directory.`;
        return new Failure("destination_unusable", message, { cause });
      });
      const held = new Destination(destination, lock);
      held.#removeUnfinished();
      return held;
    } catch (error) {
      throw explained(error, destination);
    }
  }

  /** The names of the whole backups, oldest first. */
  list(): string[] {
    return listBackups(this.path);
  }

  /** The name for a backup that begins now, later than all that are there. */
  newName(nowMs: number): string {
    const newest = this.list().at(-1);
    const after = newest === undefined ? 0 : (timeOfBackup(newest) as number) + 1;
    return backupName(Math.max(nowMs, after));
  }

  /** Where a backup is made. */
  draft(name: string): string {
    return join(this.path, `.${name}.partial`);
  }

  /** Gives a whole draft its name, durably; answers where it is. */
  publish(name: string): string {
    const path = join(this.path, name);
    renameSync(this.draft(name), path);
    syncPath(this.path);
    return path;
  }

  /**
   * Removes old backups; answers the names of those that went. The newest `count` stay, and the newest
   * `count` that are whole: as long as a damaged workspace is left out, older backups have the last good copy.
   */
  keepNewest(count: number): string[] {
    const all = this.list();
    const whole = all.filter((name) => isWhole(join(this.path, name)));
    const kept = new Set([...all.slice(-count), ...whole.slice(-count)]);
    const old = all.filter((name) => !kept.has(name));
    for (const name of old) {
      const aside = join(this.path, `.${name}.removed`);
      renameSync(join(this.path, name), aside);
      rmSync(aside, { recursive: true, force: true });
    }
    if (old.length > 0) syncPath(this.path);
    return old;
  }

  /** @throws {Failure} `destination_unusable` when there is less room than `bytes` */
  requireRoom(bytes: number): void {
    const { bavail, bsize } = statfsSync(this.path);
    if (bavail * bsize >= bytes) return;
    throw noRoom(this.path, `${mebibytes(bytes)} are needed, ${mebibytes(bavail * bsize)} are free`);
  }

  [Symbol.dispose](): void {
    this.#lock[Symbol.dispose]();
  }

  #removeUnfinished(): void {
    for (const name of readdirSync(this.path)) {
      if (UNFINISHED.test(name)) rmSync(join(this.path, name), { recursive: true, force: true });
    }
  }
}

/** Whether a backup has all workspaces; one with a manifest that cannot be read does not count as one. */
function isWhole(path: string): boolean {
  try {
    return readManifest(path).manifest.left_out.length === 0;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

/** The failure that says that a disk is full. */
export function noRoom(path: string, detail: string): Failure {
  return new Failure(
    "destination_unusable",
    `There is no room in ${path}: ${detail}. Nothing was left behind: make room (--keep removes old backups), or choose another directory.`,
  );
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2).toLocaleString("en")} MiB`;

/** A backup within what it is a backup of is lost with it. */
function refuseWithin(destination: string, dataDir: string): void {
  const root = realpathSync(dataDir);
  let place = destination;
  while (!existsSync(place)) place = dirname(place);
  const real = realpathSync(place);
  if (real !== root && !real.startsWith(`${root}${sep}`)) return;
  throw new Failure(
    "destination_unusable",
    `${destination} is within the data directory ${dataDir}: a backup there would be lost with it. Choose a directory on another disk.`,
  );
}

function explained(error: unknown, destination: string): unknown {
  if (error instanceof Failure || systemCode(error) === undefined) return error;
  const isFile = statSync(destination, { throwIfNoEntry: false })?.isDirectory() === false;
  const reason = isFile ? "it is no directory" : systemReason(error);
  return new Failure("destination_unusable", `Cannot make backups in ${destination}: ${reason}.`, {
    cause: error,
  });
}
