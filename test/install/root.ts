/**
 * Throw-away systems: a directory as the root of processes that have their own mounts, their own process
 * ids and no network but the loopback. Nothing of them is left when the script ends, and nothing of the
 * machine that runs the tests is changed.
 */
import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hostTarget } from "../../scripts/build/targets.ts";
import { type Ended, ended } from "../ended.ts";
import type { TemporaryDirectory } from "../temporary.ts";

const ROOT = join(import.meta.dir, "../..");

/** The built binary that these tests install; without it they are left out. */
export const BINARY = process.env.TEST_BINARY;
const NEEDED = ["unshare", "chroot", "busybox"];

/** Whether throw-away systems can be made here, and there is something to put into them. */
export const canInstall =
  BINARY !== undefined &&
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  NEEDED.every((name) => Bun.which(name) !== null);

export const hasDebian = canInstall && Bun.which("mmdebstrap") !== null;

const SUITE = "bookworm";
/** What a bare Debian server has besides its essential packages, as far as it matters here. */
const PACKAGES = ["systemd", "passwd", "openssl", "wget", "busybox"];
const DEVICES = ["null", "zero", "random", "urandom"];

/** Makes a bare Debian in a directory, with further packages; takes about ten seconds and a mirror. */
export function makeDebian(directory: string, ...more: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(
    [
      "mmdebstrap",
      "--mode=root",
      "--variant=essential",
      `--include=${[...PACKAGES, ...more].join(",")}`,
      SUITE,
      directory,
    ],
    { stdout: "ignore", stderr: "pipe" },
  );
  if (exitCode !== 0) throw new Error(`no Debian could be made:\n${stderr.toString()}`);
}

/** Makes a release of a binary in `release`, signed by a new key that is written to the file `release.pem`. */
export function makeRelease(binary: string, temporary: TemporaryDirectory, ...words: string[]): void {
  const [release, key, built] = ["release", "release.pem", "built"].map((name) => temporary.join(name)) as [
    string,
    string,
    string,
  ];
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }));
  mkdirSync(built);
  for (const end of ["", ".cdx.json"]) copyFileSync(`${binary}${end}`, join(built, `governd${end}`));
  const asked = ["--key", key, "--target", hostTarget(), "--from", built, "--out", release, ...words];
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "scripts/release.ts", ...asked], {
    cwd: ROOT,
    stdout: "ignore",
    stderr: "pipe",
  });
  if (exitCode !== 0) throw new Error(stderr.toString());
}

export interface System {
  /** A directory that is the root; it is not written to. */
  root: string;
  /** Where changes go. */
  scratch: string;
  /** Directories of this machine by where they are seen, read-only. */
  shows?: Readonly<Record<string, string>>;
  /** Directories of this machine by where they are seen, to be written to. */
  lends?: Readonly<Record<string, string>>;
  /** The root cannot be written to, but for `lends` and a /tmp in memory. */
  readOnly?: boolean;
}

/** Runs a command in a fresh copy of the system, with nothing in its environment but what is given. */
export async function runIn(
  system: System,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const base = mkdtempSync(join(system.scratch, "system-"));
  for (const name of ["upper", "work", "root"]) mkdirSync(join(base, name));
  const start = join(base, "start.sh");
  writeFileSync(start, mounting(system, base));
  const child = Bun.spawn(
    ["unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", start, ...command],
    { env: { PATH: process.env.PATH ?? "", ...environment }, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  return ended(child);
}

/**
 * Lines of shell that start a daemon, whose id is then `$daemon`, and wait until it is healthy, for some
 * minutes at most. When it has ended or is never healthy, what it said is the reason.
 * @param box what lends a shell without programs its `sleep` and `cat`.
 */
export function startDaemon(serve: string, health: string, box = ""): string[] {
  return [
    `${serve} >/tmp/out 2>/tmp/err & daemon=$!; tries=0`,
    `until ${health} >/dev/null 2>&1; do kill -0 $daemon && [ $((tries += 1)) -lt 1800 ] || { ${box}cat /tmp/out /tmp/err >&2; exit 1; }; ${box}sleep 0.1; done`,
  ];
}

function mounting({ root, shows = {}, lends = {}, readOnly = false }: System, base: string): string {
  const inside = join(base, "root");
  const lines = [
    "set -e",
    "busybox ip link set lo up",
    `mount -t overlay overlay -o lowerdir=${root},upperdir=${base}/upper,workdir=${base}/work ${inside}`,
    `mkdir -p ${inside}/proc ${inside}/dev ${inside}/tmp`,
    `mount -t proc proc ${inside}/proc`,
    `mount -t tmpfs -o mode=755 tmpfs ${inside}/dev`,
    ...DEVICES.flatMap((name) => [`touch ${inside}/dev/${name}`, `mount --bind /dev/${name} ${inside}/dev/${name}`]),
    `ln -s /proc/self/fd ${inside}/dev/fd`,
    `mount -t tmpfs -o mode=1777 tmpfs ${inside}/tmp`,
    ...Object.entries({ ...shows, ...lends }).flatMap(([place, directory]) => [
      `mkdir -p ${inside}${place}`,
      `mount --bind ${directory} ${inside}${place}`,
    ]),
    ...Object.keys(shows).map((place) => `mount -o remount,bind,ro ${inside}${place}`),
    ...(readOnly ? [`mount -o remount,ro ${inside}`] : []),
    `exec chroot ${readOnly ? "--userspec=65532:65532 " : ""}${inside} "$@"`,
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * Whether a systemd can be started in a system of its own here. Not in most containers.
 * @param root a Debian with systemd.
 */
export function canBoot(root: string): boolean {
  if (Bun.which("systemd-nspawn") === null) return false;
  return Bun.spawnSync(nspawn(root, "/bin/true"), { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
}

/**
 * Starts the system with systemd as its first process, runs lines of shell as its last service, and answers
 * what they printed to both streams. The system is changed.
 */
export async function boot(root: string, lines: readonly string[]): Promise<string> {
  const units = join(root, "etc/systemd/system");
  writeFileSync(join(root, "script"), `exec >/said 2>&1\n${lines.join("\n")}\n`);
  writeFileSync(
    join(units, "last.service"),
    `[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\nExecStart=/bin/sh -eu /script\nExecStopPost=systemctl poweroff --force\n`,
  );
  mkdirSync(join(units, "multi-user.target.wants"), { recursive: true });
  symlinkSync("../last.service", join(units, "multi-user.target.wants/last.service"));
  symlinkSync("/lib/systemd/system/multi-user.target", join(units, "default.target"));
  await Bun.spawn(nspawn(root, "--boot"), { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exited;
  return readFileSync(join(root, "said"), "utf8");
}

/** A container that this machine's own systemd, if it has one, is told nothing of. */
function nspawn(root: string, ...words: string[]): string[] {
  const options = ["--register=no", "--keep-unit", "--private-network", "--link-journal=no", "--quiet"];
  const command = ["systemd-nspawn", "--directory", root, ...options, ...words].map((word) => `'${word}'`);
  // What it leaves in /run is left in a /run of its own.
  const start = `mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd && exec ${command.join(" ")}`;
  return ["unshare", "--mount", "sh", "-c", start];
}

/** The files that the binary needs of a system, found as the loader finds them, with what they need. */
export function librariesOf(binary: string): string[] {
  const { stdout } = Bun.spawnSync(["ldd", binary]);
  const named = [...stdout.toString().matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path]) => path as string);
  // libSQL's native part is loaded later, and needs these as well.
  const beside = named.flatMap((path) => ["libgcc_s.so.1", "librt.so.1"].map((name) => join(path, "..", name)));
  return [...new Set([...named, ...beside])].filter((path) => existsSync(path));
}
