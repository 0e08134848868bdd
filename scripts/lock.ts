/** A lock that processes on one machine share: a file that exists while one of them holds it. */
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const POLL_MS = 100;

export interface Lock {
  release(): void;
}

/**
 * Waits for the lock at `path` and takes it. A lock whose holder died is taken over.
 * @throws whatever the file system throws, other than that the file exists
 */
export async function takeLock(path: string): Promise<Lock> {
  while (!tryLock(path)) await Bun.sleep(POLL_MS);
  return { release: () => rmSync(path, { force: true }) };
}

/** Creates the file with this process's id atomically, so that no process reads it empty. */
function tryLock(path: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${process.pid}`);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
    if (!isHolderAlive(path)) rmSync(path, { force: true });
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

function isHolderAlive(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, "utf8")), 0);
    return true;
  } catch (error) {
    // EPERM: it runs as another user. ENOENT: it was released just now.
    return (error as { code?: unknown }).code === "EPERM";
  }
}
