/** Directories that tests fill and leave no trace of. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryDirectory extends Disposable {
  path: string;
}

/** In memory where the system has such a place, for tests of many files that no disk need keep. */
export const inMemory = (): string => (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());

export function temporaryDirectory(parent = tmpdir()): TemporaryDirectory {
  const path = mkdtempSync(join(parent, "governd-test-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
