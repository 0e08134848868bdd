/** The platforms that governd is built for, and the two files that each of them needs. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installLocked } from "./install.ts";

const ROOT = join(import.meta.dir, "../..");
/** Lists the packages of all platforms with their exact versions and digests. */
const LOCKED = join(ROOT, "scripts/targets");
const CACHE = join(ROOT, ".cache/targets");

/** One platform. */
export interface Target {
  /** Bun's name for it. */
  bun: Bun.Build.CompileTarget;
  os: "linux" | "darwin";
  cpu: "x64" | "arm64";
  /** The package of the runtime, and the one of libSQL's native file. */
  runtime: string;
  native: string;
}

/** All platforms by the name that `--target` takes. */
export const TARGETS: Readonly<Record<string, Target>> = {
  "linux-x64": {
    bun: "bun-linux-x64",
    os: "linux",
    cpu: "x64",
    runtime: "@oven/bun-linux-x64",
    native: "@libsql/linux-x64-gnu",
  },
  "linux-x64-musl": {
    bun: "bun-linux-x64-musl",
    os: "linux",
    cpu: "x64",
    runtime: "@oven/bun-linux-x64-musl",
    native: "@libsql/linux-x64-musl",
  },
  "linux-arm64": {
    bun: "bun-linux-arm64",
    os: "linux",
    cpu: "arm64",
    runtime: "@oven/bun-linux-aarch64",
    native: "@libsql/linux-arm64-gnu",
  },
  "linux-arm64-musl": {
    bun: "bun-linux-arm64-musl",
    os: "linux",
    cpu: "arm64",
    runtime: "@oven/bun-linux-aarch64-musl",
    native: "@libsql/linux-arm64-musl",
  },
  "darwin-x64": {
    bun: "bun-darwin-x64",
    os: "darwin",
    cpu: "x64",
    runtime: "@oven/bun-darwin-x64",
    native: "@libsql/darwin-x64",
  },
  "darwin-arm64": {
    bun: "bun-darwin-arm64",
    os: "darwin",
    cpu: "arm64",
    runtime: "@oven/bun-darwin-aarch64",
    native: "@libsql/darwin-arm64",
  },
};

/** Returns the name of this machine's platform. */
export function hostTarget(): string {
  const musl = process.platform === "linux" && readdirSync("/lib").some((name) => name.startsWith("ld-musl-"));
  const glibc = musl && readdirSync("/lib").some((name) => name.startsWith("libc.so.6"));
  return `${process.platform}-${process.arch}${musl && !glibc ? "-musl" : ""}`;
}

/** The files of a platform: paths of the runtime to put the program into, and of the native database. */
export interface TargetFiles {
  runtime: string;
  native: string;
}

/**
 * The two files of a platform: for this machine's, the Bun that runs this and the installed
 * dependency; for another, the packages of the lock file, installed from the registry when they are missing.
 */
export function targetFiles(target: Target): TargetFiles {
  if (target === TARGETS[hostTarget()]) {
    return { runtime: process.execPath, native: join(ROOT, "node_modules", target.native, "index.node") };
  }
  return lockedFiles(target);
}

/** Returns the two files of a platform as the lock file has them. */
export function lockedFiles({ bun, os, cpu, runtime, native }: Target): TargetFiles {
  const place = join(CACHE, bun);
  const libc = bun.endsWith("-musl") ? "musl" : "glibc";
  const files = {
    runtime: join(place, "node_modules", runtime, "bin/bun"),
    native: join(place, "node_modules", native, "index.node"),
  };
  const lock = readFileSync(join(LOCKED, "bun.lock"), "utf8");
  const stamp = join(place, "bun.lock");
  const current = existsSync(stamp) && readFileSync(stamp, "utf8") === lock;
  if (current && existsSync(files.runtime) && existsSync(files.native)) return files;
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), readFileSync(join(LOCKED, "package.json")));
  writeFileSync(stamp, lock);
  installLocked(place, "--os", os, "--cpu", cpu, "--libc", libc);
  for (const file of Object.values(files)) {
    if (!existsSync(file)) throw new Error(`${file} is not in its package; look at scripts/build/targets.ts`);
  }
  return files;
}
