/** Works on descriptors of files. */
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";

/** Opens a file, runs `work` on its descriptor, and closes it. `mode`: the mode of a new file. */
export function withFile<T>(
  path: string,
  flags: "r" | "r+" | "a+" | "wx",
  work: (descriptor: number) => T,
  mode?: number,
): T {
  const descriptor = openSync(path, flags, mode);
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes all bytes at the descriptor's position. */
export function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}

/** Returns once the content of a file, or the names in a directory, are on disk. */
export const syncPath = (path: string): void => withFile(path, "r", fsyncSync);
