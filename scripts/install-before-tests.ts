/** Preloaded by `bun test`, so that it works on a fresh clone: installs the dependencies when there are none. */
import { existsSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
if (!existsSync(join(root, "node_modules"))) {
  const { exitCode } = Bun.spawnSync([process.execPath, "install", "--frozen-lockfile"], {
    cwd: root,
    stdout: "ignore",
    stderr: "inherit",
  });
  if (exitCode !== 0) throw new Error("the dependencies could not be installed: run bun install");
}
