/**
 * Preloaded by `bun test`, so that it works on a fresh clone: installs missing dependencies and bundles the dashboard,
 * unless `with-bun.mjs` has already done so. Also draws the seed of the tests' random
 * choices, unless it is given, and renames `GOVERND_TEST_…` to `TEST_…`: commands that tests start refuse variables
 * named `GOVERND_…` that are no settings.
 */
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

for (const [name, value] of Object.entries(process.env).filter(([given]) => given.startsWith("GOVERND_TEST_"))) {
  process.env[name.replace("GOVERND_", "")] = value;
  delete process.env[name];
}
// with-bun.mjs sets it for this process alone. Commands that tests start use their own value.
delete process.env.MIMALLOC_PURGE_DELAY;
if (process.env.TEST_SEED === undefined) {
  const [seed] = crypto.getRandomValues(new Uint32Array(1));
  process.env.TEST_SEED = String(seed);
  console.error(`GOVERND_TEST_SEED=${seed} repeats the random choices of these tests`);
}

if (process.env.TESTS_PREPARED !== "1") {
  const { exitCode } = Bun.spawnSync([process.execPath, "scripts/with-bun.mjs"], { cwd: ROOT, stdout: 2, stderr: 2 });
  if (exitCode !== 0) throw new Error("the tests could not be made ready; the lines above say why");
}
