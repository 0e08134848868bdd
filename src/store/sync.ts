/** Makes a file or the names in a directory durable. */
import { closeSync, fsyncSync, openSync } from "node:fs";

/** Returns once the content of a file, or the names in a directory, are on disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
