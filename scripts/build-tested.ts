/**
 * Builds the binary that the processes of `npm test` and `npm run test:all` run, in `.cache/`, unless the one there is of the same sources.
 * It starts in half the time that the source takes. If `npm test` has no list yet of how long files take, also copies a
 * coarse one into its place, so that the longest start first on a fresh clone.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const DIRECTORY = join(ROOT, ".cache/tested");
const BINARY = join(DIRECTORY, "governd");
const STAMP = join(DIRECTORY, "inputs.txt");
/** All that the binary is made of. */
const INPUTS = ["src/**/*", "sql/**/*", "scripts/build.ts", "scripts/build/*", "package.json", "bun.lock"];

function inputsDigest(): string {
  const hash = new Bun.CryptoHasher("sha256");
  const paths = INPUTS.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)]).sort();
  for (const path of paths)
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(ROOT, path)))
      .update("\0");
  return hash.update(Bun.version).digest("hex");
}

const TIMINGS = join(ROOT, ".cache/test-timings.json");
mkdirSync(DIRECTORY, { recursive: true });
if (!existsSync(TIMINGS)) copyFileSync(join(ROOT, "test/timings.json"), TIMINGS);
const digest = inputsDigest();
if (!existsSync(BINARY) || !existsSync(STAMP) || readFileSync(STAMP, "utf8") !== digest) {
  rmSync(STAMP, { force: true });
  const { exitCode } = Bun.spawnSync([process.execPath, "scripts/build.ts", "--outfile", BINARY], {
    cwd: ROOT,
    stdout: "ignore",
    stderr: "inherit",
  });
  if (exitCode !== 0) throw new Error("the binary could not be built; the lines above say why");
  writeFileSync(STAMP, digest);
}
