/** The files of governd's packages for Linux distributions, laid out as they are installed. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import manifest from "../../package.json" with { type: "json" };

export const ROOT = join(import.meta.dir, "../..");
export const SETTINGS = "/etc/governd/governd.toml";
export const SUMMARY = "Governance daemon for software agents";
/** The time of all files, in seconds since 1970, so that the same input gives the same package. */
export const BUILT_AT = Number(process.env.SOURCE_DATE_EPOCH ?? lastCommitTime());

const PROGRAM_MODE = 0o755;
const FILE_MODE = 0o644;
const LONGEST_MANUAL_BYTES = 16 * 1024 * 1024;

/** A release as packages name it: `~` sorts before the end, as a version before its release does. */
export const PACKAGE_VERSION = manifest.version.replace("-", "~");

/** What a package is made of. */
export interface Contents {
  /** The directory that stands for `/`. */
  tree: string;
  /** The lowest version of glibc that the program runs with. */
  glibc: string;
}

/** Where shells look for the completions that packages install, where distributions differ. */
export type ZshDirectory = "vendor-completions" | "site-functions";

/** Lays out the files of a program below a directory. */
export function layOut(program: string, directory: string, zsh: ZshDirectory): Contents {
  put(directory, "usr/bin/governd", readFileSync(program), PROGRAM_MODE);
  put(
    directory,
    "usr/lib/systemd/system/governd.service",
    printed("sh", "install.sh", "--prefix", "/usr", "--print", "unit"),
  );
  put(directory, SETTINGS.slice(1), printed("sh", "install.sh", "--print", "settings"));
  put(directory, "usr/share/man/man1/governd.1.gz", compressed(governd("man")));
  put(directory, "usr/share/bash-completion/completions/governd", governd("completions", "bash"));
  put(directory, `usr/share/zsh/${zsh}/_governd`, governd("completions", "zsh"));
  put(directory, "usr/share/fish/vendor_completions.d/governd.fish", governd("completions", "fish"));
  put(directory, "usr/share/doc/governd/changelog.gz", compressed(readFileSync(join(ROOT, "CHANGELOG.md"))));
  put(
    directory,
    "usr/share/doc/governd/copyright",
    Buffer.concat(["NOTICE", "LICENSE"].map((name) => readFileSync(join(ROOT, name)))),
  );
  put(directory, "usr/share/doc/governd/governd.cdx.json", readFileSync(`${program}.cdx.json`));
  return { tree: directory, glibc: neededGlibc(readFileSync(program)) };
}

/** Returns the script for one of a package's steps. @param start lines that set `$action`, or end the script */
export function packageScript(name: "after-install" | "before-remove" | "after-remove", start: string): string {
  return `#!/bin/sh\nset -e\n${start}\n${readFileSync(join(import.meta.dir, `${name}.sh`), "utf8")}`;
}

/** Runs a command of the system. @throws {Error} with what it printed, when it fails or is missing */
export function execute(command: readonly string[], needs: string): void {
  if (Bun.which(command[0] as string) === null) throw new Error(`${command[0]} is needed: install ${needs}`);
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, SOURCE_DATE_EPOCH: `${BUILT_AT}` },
  });
  if (exitCode !== 0) throw new Error(`${command[0]} failed:\n${stdout}${stderr}`);
}

function put(directory: string, path: string, content: Uint8Array, mode = FILE_MODE): void {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
}

/** Runs the program from its source: a program for another platform does not run here. */
const governd = (...words: string[]) => printed(process.execPath, "src/main.ts", ...words);

function printed(...command: string[]): Uint8Array {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
    cwd: ROOT,
    maxBuffer: LONGEST_MANUAL_BYTES,
    stderr: "pipe",
  });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${stderr}`);
  return stdout;
}

/** Returns the content compressed without a time, as distributions require. */
const compressed = (content: Uint8Array): Uint8Array => gzipSync(content, { level: 9 });

/** Returns the newest version of glibc whose symbols the program's machine code names. */
function neededGlibc(program: Buffer): string {
  const versions = program.toString("latin1").matchAll(/\bGLIBC_2\.(\d+)/g);
  const newest = Math.max(...[...versions].map(([, minor]) => Number(minor)));
  if (!Number.isFinite(newest)) throw new Error("the program names no version of glibc: is it for Linux with glibc?");
  return `2.${newest}`;
}

/** Returns the time of the last commit, s; 0 without git, or outside of a repository. */
function lastCommitTime(): string {
  if (Bun.which("git") === null) return "0";
  const { stdout } = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: ROOT, stderr: "ignore" });
  return stdout.toString().trim() || "0";
}
