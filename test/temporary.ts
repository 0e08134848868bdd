/** A directory for one test, removed when the test is over. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryDirectory extends Disposable {
  path: string;
  join(...names: string[]): string;
}

export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), "governd-test-"));
  return {
    path,
    join: (...names) => join(path, ...names),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** For tests that start processes, which takes its time on a busy machine: `setDefaultTimeout(PROCESS_TEST_MS)`. */
export const PROCESS_TEST_MS = 60_000;
