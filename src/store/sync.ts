/** Works on descriptors of files, and on what a file system may not support. */
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { systemCode } from "../failure.ts";

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

/** Returns once the content of a file is on disk. */
export const syncFile = (path: string): void => withFile(path, "r", fsyncSync);

/** The error codes of what a file system does not support. */
const UNSUPPORTED: ReadonlySet<string | undefined> = new Set(["EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Reports whether an operation failed on a file of this process because the file system does not support it. */
export const isUnsupported = (error: unknown): boolean => UNSUPPORTED.has(systemCode(error));

/** Does what not every file system can, and some need not do. */
export function ifSupported(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isUnsupported(error)) throw error;
  }
}

/**
 * Returns once the names in a directory are on disk. Some file systems (SMB) cannot do this, and write names in their
 * own time.
 */
export const syncDirectory = (path: string): void => withFile(path, "r", (file) => ifSupported(() => fsyncSync(file)));
