/** Files of closed databases. */
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { releaseClosed, releaseKept } from "../src/store/closing.ts";
import { eventually } from "./eventually.ts";

/** Where Linux lists the files that this process has open. */
const OPEN_FILES = "/proc/self/fd";

/**
 * Closes the files of databases that this process has closed, which the driver leaves to the garbage collector. With
 * `below`, resolves when this process has no file open below that directory. Until then it may be the last process that
 * has a database open. At any moment it would copy the write-ahead log into the database and remove it, even after the
 * daemon that wrote it was killed.
 */
export async function filesReleased(below?: string): Promise<void> {
  releaseKept();
  if (releaseClosed()) await new Promise((resolve) => setImmediate(resolve));
  if (below === undefined || !existsSync(OPEN_FILES)) return;
  await eventually(`nothing below ${below} is open`, () => {
    if (!openFiles().some((path) => path.startsWith(below))) return true;
    Bun.gc(true);
    return false;
  });
}

function openFiles(): string[] {
  return readdirSync(OPEN_FILES).flatMap((name) => {
    try {
      return [readlinkSync(`${OPEN_FILES}/${name}`)];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}
