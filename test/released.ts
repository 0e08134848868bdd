/** Files of closed databases. */
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { releaseClosed, releaseKept } from "../src/store/closing.ts";
import { eventually } from "./eventually.ts";

/** Where Linux lists the files that this process has open. */
const OPEN_FILES = "/proc/self/fd";

/**
 * Has this process let go of the files of the databases that it closed, which the driver leaves to the garbage
 * collector, and with `below` resolves when it has none open below that directory. Until then this process may be
 * the last that has a database open: it would bring the write-ahead log into the database, and remove it, at any
 * moment, even after the daemon that wrote it was killed.
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
