/**
 * `bun run build [--target NAME]… [--outfile FILE]`: builds the binary for this machine's platform or for
 * the named ones (`--target all` for every one). Without `--outfile` this machine's is `dist/governd`, and another's
 * is `dist/governd-<target>`. Beside each binary is its bill of materials, `<binary>.cdx.json`.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { billOfMaterials } from "./build/bill-of-materials.ts";
import { libsqlPlugin } from "./build/libsql-plugin.ts";
import { packagesOf } from "./build/packages.ts";
import { hostTarget, TARGETS, type Target, targetFiles } from "./build/targets.ts";

const ROOT = join(import.meta.dir, "..");
const SOURCE = join(ROOT, "src");
/** The part of the native file that the check searches for in the result. */
const PROBE_BYTES = 1024 * 1024;

/** Returns the entry points of the program and of every kind of worker thread. */
function entryPoints(): string[] {
  const workers = [...new Bun.Glob("**/{worker,*-worker}.ts").scanSync(SOURCE)].sort();
  return [join(SOURCE, "main.ts"), ...workers.map((path) => join(SOURCE, path))];
}

/** Builds for one platform and checks that its native file is inside. */
async function build(name: string, outfile: string): Promise<void> {
  const target = TARGETS[name];
  if (!target) throw new Error(`no target ${name}: choose among ${Object.keys(TARGETS).join(", ")}, all`);
  mkdirSync(dirname(outfile), { recursive: true });
  // Built in another directory and renamed into place after the check: the file may be running, and the bundler
  // also writes source maps, which the binary already contains.
  const aside = mkdtempSync(join(dirname(outfile), ".build-"));
  try {
    const made = join(aside, "governd");
    const bill = await compile(name, target, made);
    writeFileSync(`${outfile}.cdx.json`, bill);
    renameSync(made, outfile);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  console.log(`${outfile}  ${name}  ${(Bun.file(outfile).size / 1024 / 1024).toFixed(0)} MiB`);
}

/** Writes the binary and returns its bill of materials. */
async function compile(name: string, target: Target, outfile: string): Promise<string> {
  const files = targetFiles(target);
  const { plugin, embedded } = libsqlPlugin(files.native);
  const result = await Bun.build({
    entrypoints: entryPoints(),
    root: SOURCE,
    // Halves the time to start. Only for this machine's platform: the bytecode of one platform's runtime
    // crashes another's (oven-sh/bun issue 24144).
    bytecode: name === hostTarget(),
    format: "esm",
    // Modules that threads share are in the binary and in memory once.
    splitting: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
    sourcemap: "inline",
    metafile: true,
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [plugin],
    compile: {
      target: target.bun,
      executablePath: files.runtime,
      outfile,
      // Files in the working directory must not change what the daemon does.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  for (const message of result.logs) console.warn(String(message));
  if (!result.success) throw new Error(`the build for ${name} failed`);
  const program = Buffer.from(await Bun.file(outfile).arrayBuffer());
  const native = Buffer.from(await Bun.file(files.native).slice(0, PROBE_BYTES).arrayBuffer());
  if (!embedded() || !program.includes(native)) throw new Error(`libSQL's native file is not in ${outfile}`);
  if (result.metafile === undefined) throw new Error("the bundler does not say what it has read");
  const ofDashboard = readFileSync(join(SOURCE, "web/assets/packages.txt"), "utf8").trimEnd().split("\n");
  const read = packagesOf([...Object.keys(result.metafile.inputs), ...ofDashboard]);
  return billOfMaterials(target, files, read);
}

const { values } = parseArgs({ options: { target: { type: "string", multiple: true }, outfile: { type: "string" } } });
if (Bun.version !== manifest.engines.bun) {
  throw new Error(`governd is built with Bun ${manifest.engines.bun}, and this is ${Bun.version}`);
}
const dashboard = Bun.spawnSync([process.execPath, "scripts/build-web.ts"], { cwd: ROOT, stdout: 2, stderr: 2 });
if (dashboard.exitCode !== 0) throw new Error("the dashboard could not be bundled; the lines above say why");
const host = hostTarget();
const asked = values.target ?? [host];
const names = asked.includes("all") ? Object.keys(TARGETS) : asked;
if (values.outfile && names.length > 1) throw new Error("--outfile names one file, and there are several targets");
for (const name of names) {
  const file = name === host ? "governd" : `governd-${name}`;
  await build(name, values.outfile ? resolve(values.outfile) : join(ROOT, "dist", file));
}
