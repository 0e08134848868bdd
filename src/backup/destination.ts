/**
 * The directory that holds the backups, each in a subdirectory named by its time (UTC). An unfinished backup has
 * another name until it is complete and verified, so it cannot be mistaken for a backup.
 */
import { existsSync, readdirSync, realpathSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { holdLock } from "../core/datadir/file-lock.ts";
import { makePrivateDirectory } from "../core/datadir/private-files.ts";
import { asFailure, Failure } from "../failure.ts";
import { CLOCK_LEEWAY_MS, isFromFuture } from "../ids.ts";
import { syncDirectory } from "../store/sync.ts";
import { MANIFEST_FILE, readManifestIfGood } from "./manifest.ts";

const LOCK_FILE = ".backup.lock";
/** `2026-01-02T030405.678Z`. Such names sort by time, and are valid on every file system. */
const NAME = /^(\d{4}-\d\d-\d\d)T(\d\d)(\d\d)(\d\d\.\d{3}Z)$/;
/** The names of backups that are being made or removed. */
const UNFINISHED = /^\.\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z\.(?:partial|removed)$/;

/** Returns the name of a backup that starts at this time, ms since the Unix epoch. */
export const backupName = (ms: number): string => new Date(ms).toISOString().replaceAll(":", "");

/** Returns when the backup of this name started, ms since the Unix epoch; null for any other name. */
function timeOfBackup(name: string): number | null {
  const match = NAME.exec(name);
  if (match === null) return null;
  const ms = Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}`);
  return Number.isNaN(ms) ? null : ms;
}

/** Returns the names of the complete backups in a directory, oldest first. */
export function listBackups(destination: string): string[] {
  if (!existsSync(destination)) return [];
  return readdirSync(destination)
    .filter((name) => timeOfBackup(name) !== null && existsSync(join(destination, name, MANIFEST_FILE)))
    .sort();
}

/**
 * Returns when the newest backup was started, ms since the Unix epoch; null when there is none, or when that time has
 * not come: then `isAhead`. The name of a backup is later than all others, so behind one from a clock that was ahead only
 * the manifest has the right time.
 */
export function newestStart(destination: string, nowMs: number): { startMs: number | null; isAhead: boolean } {
  const name = listBackups(destination).at(-1);
  if (name === undefined) return { startMs: null, isAhead: false };
  const namedMs = timeOfBackup(name) as number;
  if (!isFromFuture(namedMs, nowMs)) return { startMs: namedMs, isAhead: false };
  const startMs = Date.parse(readManifestIfGood(join(destination, name))?.created_at ?? "");
  return startMs <= nowMs + CLOCK_LEEWAY_MS ? { startMs, isAhead: false } : { startMs: null, isAhead: true };
}

/** A directory for backups that this process has locked. */
export class Destination implements Disposable {
  private constructor(
    readonly path: string,
    private readonly lock: Disposable,
  ) {}

  /**
   * Creates the directory if it is missing, locks it, and removes what interrupted runs left there.
   * @throws {Failure} `destination_unusable` when it cannot be used, is inside `dataDir`, or another backup is running
   */
  static open(path: string, dataDir: string): Destination {
    const destination = resolve(path);
    refuseWithin(destination, dataDir);
    try {
      makePrivateDirectory(destination);
      const lock = holdLock(join(destination, LOCK_FILE), (cause) => {
        const message = `Another backup into ${destination} is running. Wait until it ends, or choose another directory.`;
        return new Failure("destination_unusable", message, { cause });
      });
      const held = new Destination(destination, lock);
      held.#removeUnfinished();
      return held;
    } catch (error) {
      const isFile = statSync(destination, { throwIfNoEntry: false })?.isDirectory() === false;
      throw asFailure(
        error,
        "destination_unusable",
        (reason) => `Cannot make backups in ${destination}: ${isFile ? "it is not a directory" : reason}.`,
      );
    }
  }

  /** Returns the names of the complete backups, oldest first. */
  list(): string[] {
    return listBackups(this.path);
  }

  /** Returns the name for a backup that starts now. It sorts after all existing ones. */
  newName(nowMs: number): string {
    return backupName(Math.max(nowMs, (timeOfBackup(this.list().at(-1) ?? "") ?? 0) + 1));
  }

  /** Returns the path of an unfinished backup. */
  draft(name: string): string {
    return join(this.path, `.${name}.partial`);
  }

  /** Gives a finished draft its name, durably. Returns its path. */
  publish(name: string): string {
    const path = join(this.path, name);
    renameSync(this.draft(name), path);
    syncDirectory(this.path);
    return path;
  }

  /**
   * Removes old backups and returns their names. Keeps the newest `count` backups, and the newest `count` that lack no
   * workspace, since older backups have the last good copy of a workspace that is now left out as damaged.
   */
  keepNewest(count: number): string[] {
    const all = this.list();
    const whole = all.filter((name) => readManifestIfGood(join(this.path, name))?.left_out.length === 0);
    const kept = new Set([...all.slice(-count), ...whole.slice(-count)]);
    const old = all.filter((name) => !kept.has(name));
    for (const name of old) {
      const aside = join(this.path, `.${name}.removed`);
      renameSync(join(this.path, name), aside);
      rmSync(aside, { recursive: true, force: true });
    }
    if (old.length > 0) syncDirectory(this.path);
    return old;
  }

  /** @throws {Failure} `destination_unusable` when there is less free space than `bytes` */
  requireRoom(bytes: number): void {
    const { bavail, bsize } = statfsSync(this.path);
    if (bavail * bsize >= bytes) return;
    throw noRoom(this.path, `${mebibytes(bytes)} are needed, ${mebibytes(bavail * bsize)} are free`);
  }

  [Symbol.dispose](): void {
    this.lock[Symbol.dispose]();
  }

  #removeUnfinished(): void {
    for (const name of readdirSync(this.path)) {
      if (UNFINISHED.test(name)) rmSync(join(this.path, name), { recursive: true, force: true });
    }
  }
}

/** Returns the failure for a full disk. */
export function noRoom(path: string, detail: string): Failure {
  const advice = "Free some space (--keep removes old backups), or choose another directory.";
  return new Failure(
    "destination_unusable",
    `Not enough space in ${path}: ${detail}. Nothing was left behind. ${advice}`,
  );
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2).toLocaleString("en")} MiB`;

/** Refuses a destination inside the data directory, with which the backup would be lost. */
function refuseWithin(destination: string, dataDir: string): void {
  const root = realpathSync(dataDir);
  let place = destination;
  while (!existsSync(place)) place = dirname(place);
  const real = realpathSync(place);
  if (real !== root && !real.startsWith(`${root}${sep}`)) return;
  const message = `${destination} is inside the data directory ${dataDir}, so the backup would be lost with it.`;
  throw new Failure("destination_unusable", `${message} Choose a directory on another disk.`);
}
