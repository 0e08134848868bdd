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
  const isOpen = () => openFiles().some((path) => path.startsWith(below));
  await eventually(`nothing below ${below} is open`, async () => {
    if (!isOpen()) return true;
    await collect();
    return !isOpen();
  });
}

/**
 * Collects garbage from two places of the event loop. The collector keeps what a stale value on the stack points to, and
 * from one place alone the same value can stay there for a minute.
 */
async function collect(): Promise<void> {
  overwriteStack(STACK_FRAMES);
  Bun.gc(true);
  await new Promise<void>((resolve) =>
    setImmediate(() => {
      overwriteStack(STACK_FRAMES);
      Bun.gc(true);
      resolve();
    }),
  );
}

/** More frames than a test needs. */
const STACK_FRAMES = 2_000;

const overwriteStack = (frames: number): number => (frames === 0 ? 0 : 1 + overwriteStack(frames - 1));

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
