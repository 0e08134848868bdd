/** Directories that tests fill and leave no trace of. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryDirectory extends Disposable {
  path: string;
}

export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), "governd-test-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
