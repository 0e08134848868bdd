/** Installs packages beside the project's own: exactly those of a lock file, from the registry or Bun's cache. */

/**
 * Installs what `package.json` and `bun.lock` of a directory name, without running the packages' scripts.
 * @param options further words for `bun install`
 * @throws {Error} with Bun's words when it fails, for example because there is no network
 */
export function installLocked(directory: string, ...options: string[]): void {
  const command = ["install", "--frozen-lockfile", "--ignore-scripts", ...options];
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...command], {
    cwd: directory,
    // Otherwise a Bun that runs as a package script takes this for the project's install.
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdout: "ignore",
    stderr: "pipe",
  });
  if (exitCode !== 0) throw new Error(`cannot install the packages of ${directory}:\n${stderr.toString()}`);
}
