/**
 * Bundles the dashboard into src/web/assets/, unless the bundle there is up to date:
 * `bun run build:web [--force]`.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packagesOf } from "./build/packages.ts";

const ROOT = join(import.meta.dir, "..");
const SOURCE = join(ROOT, "src/web");
const ASSETS = join(SOURCE, "assets");
const STAMP = join(ASSETS, "inputs.txt");
/** The second script is loaded by the page that needs it. */
const BUNDLED = ["dashboard.js", "qr-code.js", "dashboard.css"] as const;
/** The packages whose code is in the bundle, a line each. */
const PACKAGES = "packages.txt";

/** Returns one digest of all inputs of the bundle, cheap enough to compute at every start. */
function inputsDigest(): string {
  const hash = createHash("sha256");
  // Its own files, and those that it shares with the daemon.
  const sources = ["*.ts", "screen/**/*.ts", "web/**/*.{ts,tsx,css,json}"]
    .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(join(ROOT, "src"))])
    .filter((path) => !path.startsWith("web/assets/"))
    .sort();
  if (!sources.includes("web/main.tsx")) throw new Error("the patterns of the dashboard's sources find nothing");
  for (const path of [...sources.map((source) => `src/${source}`), "scripts/build-web.ts", "bun.lock"]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(ROOT, path)))
      .update("\0");
  }
  return hash.update(Bun.version).digest("hex");
}

async function bundle(): Promise<void> {
  const result = await Bun.build({
    entrypoints: [join(SOURCE, "main.tsx")],
    target: "browser",
    format: "esm",
    minify: true,
    splitting: true,
    metafile: true,
    jsx: { runtime: "automatic", importSource: "preact" },
    define: { "process.env.NODE_ENV": '"production"' },
    naming: { entry: "dashboard.[ext]", chunk: "[name].[ext]", asset: "[name].[ext]" },
  });
  for (const message of result.logs) console.warn(String(message));
  if (!result.success) throw new Error("the dashboard could not be bundled");
  if (result.metafile === undefined) throw new Error("the bundler does not say what it has read");
  // The daemon serves these and no others.
  if (result.outputs.length !== BUNDLED.length) {
    throw new Error(`the bundle has other files: ${result.outputs.map(({ path }) => path).join(", ")}`);
  }
  for (const name of BUNDLED) {
    const made = result.outputs.find((output) => output.path.endsWith(name));
    if (made === undefined) throw new Error(`the bundle has no ${name}`);
    put(name, new Uint8Array(await made.arrayBuffer()));
  }
  put(PACKAGES, `${packagesOf(Object.keys(result.metafile.inputs)).join("\n")}\n`);
}

/** Renames the file into place, since a daemon may be starting from the same directory. */
function put(name: string, content: string | Uint8Array): void {
  const aside = join(ASSETS, `${name}.${process.pid}`);
  writeFileSync(aside, content);
  renameSync(aside, join(ASSETS, name));
}

const digest = inputsDigest();
const current =
  existsSync(STAMP) &&
  readFileSync(STAMP, "utf8") === digest &&
  [...BUNDLED, PACKAGES].every((name) => existsSync(join(ASSETS, name)));
if (!current || process.argv.includes("--force")) {
  mkdirSync(ASSETS, { recursive: true });
  await bundle();
  put("inputs.txt", digest);
}
