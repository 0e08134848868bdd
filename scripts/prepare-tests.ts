/**
 * Preloaded by `bun test`, so that it works on a fresh clone: installs missing dependencies, and builds missing
 * assets of search and the dashboard. `with-bun.mjs` has done so already for all files.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

function prepare(what: string, ...words: string[]): void {
  const { exitCode } = Bun.spawnSync([process.execPath, ...words], { cwd: ROOT, stdout: 2, stderr: 2 });
  if (exitCode !== 0) throw new Error(`${what} could not be made ready; the lines above say why`);
}

if (process.env.TESTS_PREPARED !== "1") {
  if (!existsSync(join(ROOT, "node_modules"))) prepare("dependencies", "install", "--frozen-lockfile");
  prepare("the assets of search", "scripts/build-model.ts");
  prepare("the dashboard", "scripts/build-web.ts");
}
