/** Makes a file, or the names in a directory, durable. */
import { closeSync, fsyncSync, openSync } from "node:fs";

/** Returns when what was written to the file, or what was named, renamed or removed in the directory, is on disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
