/**
 * Runs Bun with the given arguments, on a machine that has only Node: `node scripts/with-bun.mjs test`.
 *
 * Uses the Bun version of package.json: this process itself, the one on the PATH, or the one in `.tools/`, where npm
 * installs it when it is missing (pinned, with digests, by `scripts/bun/`). Then installs what the command needs of
 * bun.lock, bundles the dashboard where it is needed, and runs. Without arguments it only prepares, for everything.
 */
import { spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const PINNED = join(ROOT, "scripts/bun");
const TOOLS = join(ROOT, ".tools/bun");
/** The time limit of a test, ms: test/patience.ts. */
const TEST_MS = 1200000;
const WANTED = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).engines.bun;

function fail(message) {
  console.error(`governd: ${message}`);
  process.exit(2);
}

/** Returns whether this program is Bun in the required version. */
function isWanted(program) {
  const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
  return status === 0 && stdout.trim() === WANTED;
}

/** Returns the Bun in `.tools/`, or undefined. npm installs only the packages for this machine. */
function installedBun() {
  const packages = join(TOOLS, "node_modules/@oven");
  if (!existsSync(packages)) return undefined;
  return readdirSync(packages)
    .map((name) => join(packages, name, "bin/bun"))
    .find((program) => existsSync(program) && isWanted(program));
}

function installBun() {
  console.error(`governd: fetching Bun ${WANTED} into .tools/ (once)`);
  mkdirSync(TOOLS, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(PINNED, file), join(TOOLS, file));
  const { status, error } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: TOOLS,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) fail(`npm could not fetch Bun ${WANTED}${error ? ` (${error.message})` : ""}: is there a network?`);
  // Bun's packages are optional dependencies: npm succeeds without those that it cannot fetch, and leaves their directory.
  const packages = join(TOOLS, "node_modules/@oven");
  if (!existsSync(packages) || readdirSync(packages).length === 0)
    fail(`npm could not fetch Bun ${WANTED} for ${process.platform} ${process.arch}: is there a network?`);
  return installedBun() ?? fail(`the Bun that npm fetched does not run on ${process.platform} ${process.arch}`);
}

function findBun() {
  if (process.versions.bun === WANTED) return process.execPath;
  if (isWanted("bun")) return "bun";
  return installedBun() ?? installBun();
}

const bun = findBun();

/** Installs what is missing of a directory's lock file, without removing what another command has installed there. */
function install(directory, ...options) {
  const { status, stderr } = spawnSync(bun, ["install", "--frozen-lockfile", ...options], {
    cwd: join(ROOT, directory),
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status !== 0) fail(`the dependencies could not be installed:\n${stderr}`);
}

const words = process.argv.slice(2);
const isCommand = words[0] === "src/main.ts";
const isDaemon = isCommand && words.includes("serve");
const isDemonstration = words[0] === "scripts/cluster.ts";
// A small part of the packages is enough to run governd. The rest is for tests, checks and builds.
install(".", ...(isCommand || isDemonstration ? ["--production", "--omit=peer"] : []));
if (!isCommand) install("scripts/libsql-server");

// Other commands of governd do without the dashboard.
const needsDashboard = !isCommand || isDaemon;
// Standard output is for the requested command.
if (needsDashboard && spawnSync(bun, ["scripts/build-web.ts"], { cwd: ROOT, stdio: ["ignore", 2, 2] }).status !== 0) {
  fail("the dashboard could not be bundled; the lines above say why");
}

// Without words, this only prepares.
if (words.length === 0) process.exit(0);

// Child processes find it by its name.
const PATH = isAbsolute(bun) ? [dirname(bun), process.env.PATH].join(delimiter) : process.env.PATH;
// The files of tests do not prepare again what was prepared above.
const env = { ...process.env, PATH, TESTS_PREPARED: "1" };
if (words[0] === "test") {
  // Tests run most code a few times only: compiling it for speed costs a tenth of their processor time more than it saves.
  env.BUN_JSC_thresholdForOptimizeAfterWarmUp ??= "20000";
  // Their processes end soon. Returning freed memory earlier took a sixth of the processor time of all tests.
  env.MIMALLOC_PURGE_DELAY ??= "-1";
}
// The files of one run have one seed, wherever they run.
if (words[0] === "test" && env.GOVERND_TEST_SEED === undefined) {
  env.TEST_SEED = String(randomInt(2 ** 32));
  console.error(`GOVERND_TEST_SEED=${env.TEST_SEED} repeats the random choices of these tests`);
}
const limited = words[0] === "test" ? ["test", "--timeout", String(TEST_MS), ...words.slice(1)] : words;
const child = spawn(bun, limited, { cwd: ROOT, stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => fail(`cannot run ${bun}: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
