/**
 * Appends events to a file in the directory of the setting `sink_directory`, one line for each. The file is opened for
 * each delivery, so it can be rotated by renaming, and synced before the position moves.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemReason } from "../../failure.ts";
import { SinkFailed } from "./config.ts";

/** Flags with which neither a link nor a pipe without a reader is opened. */
const FLAGS =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const MODE = 0o640;

/**
 * Appends lines to a file. Resolves when it is on disk.
 * @throws {SinkFailed} when the file cannot be written, or is not in the directory
 */
export async function appendTo(directory: string | null, path: string, lines: Uint8Array): Promise<void> {
  if (directory === null) throw new SinkFailed("the setting sink_directory names no directory");
  try {
    const root = await realpath(directory);
    const place = join(root, path);
    // Checked before opening, which would create a file where a link leads.
    await refuseLinks(dirname(place));
    const file = await open(place, FLAGS, MODE);
    try {
      const { size } = await ownFile(file, place);
      // A crash may have left a partial line, which must not be joined with the next one.
      const start = size > 0 && !(await endsWithLine(file, size)) ? "\n" : "";
      await file.appendFile(Buffer.concat([Buffer.from(start), lines]));
      await file.sync();
      if (size === 0) await syncDirectory(dirname(place));
    } finally {
      await file.close();
    }
  } catch (error) {
    throw error instanceof SinkFailed ? error : new SinkFailed(`the file cannot be written: ${systemReason(error)}`);
  }
}

/** @throws {SinkFailed} when a part of the path is a link */
async function refuseLinks(path: string): Promise<void> {
  if ((await realpath(path)) !== path) throw new SinkFailed("the file is not in sink_directory: its path has a link");
}

/**
 * Returns the status of an open file.
 * @throws {SinkFailed} when it is not the file at the path, or not a regular file
 */
async function ownFile(file: FileHandle, path: string): Promise<Stats> {
  const opened = await file.stat();
  if (!opened.isFile()) throw new SinkFailed("the path names something that is not a file");
  await refuseLinks(dirname(path));
  const { dev, ino } = await lstat(path);
  if (dev !== opened.dev || ino !== opened.ino) throw new SinkFailed("the file was replaced while it was opened");
  return opened;
}

async function endsWithLine(file: FileHandle, size: number): Promise<boolean> {
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, size - 1);
  return last.toString() === "\n";
}

/** Makes the name of a new file durable. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
