/** Removes a database that nobody has open, with its write-ahead log. */
import { rmSync } from "node:fs";

export function removeDatabase(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
}
