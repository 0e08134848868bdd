/** A directory for one test, removed when the test is over. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryDirectory extends Disposable {
  path: string;
  join(...names: string[]): string;
}

/** Where Linux has files in memory. Tests need no fsync, which costs nothing there. */
const MEMORY = "/dev/shm";
const MOUNTS = "/proc/self/mounts";
/** More than all tests together use. */
const ROOM_BYTES = 4 * 1024 ** 3;

/** Returns the parent of temporary directories: in memory, if there is room and programs can run from there. */
export const inMemory = (): string => PARENT;
const PARENT = hasMemory() ? MEMORY : tmpdir();

function hasMemory(): boolean {
  if (!existsSync(MEMORY) || !existsSync(MOUNTS)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  const [options] = [...readFileSync(MOUNTS, "utf8").matchAll(/^\S+ \/dev\/shm tmpfs (\S+)/gm)].at(-1)?.slice(1) ?? [];
  return options !== undefined && !options.split(",").includes("noexec") && bavail * bsize > ROOM_BYTES;
}

/** Makes a temporary directory. `parent` is `tmpdir()` for tests that need a disk. */
export function temporaryDirectory(parent = PARENT): TemporaryDirectory {
  const path = mkdtempSync(join(parent, "governd-test-"));
  return {
    path,
    join: (...names) => join(path, ...names),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export { PROCESS_TEST_MS } from "./patience.ts";
