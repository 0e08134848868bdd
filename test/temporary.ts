/** A directory for one test, removed when the test is over. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryDirectory extends Disposable {
  path: string;
  join(...names: string[]): string;
}

/** In memory where the system has such a place, for tests of many files that no disk need keep. */
export const inMemory = (): string => (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());

export function temporaryDirectory(parent = tmpdir()): TemporaryDirectory {
  const path = mkdtempSync(join(parent, "governd-test-"));
  return {
    path,
    join: (...names) => join(path, ...names),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** For tests that start processes, which takes its time on a busy machine: `setDefaultTimeout(PROCESS_TEST_MS)`. */
export const PROCESS_TEST_MS = 60_000;
