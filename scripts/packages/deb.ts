/** The package for Debian and its relatives, made by dpkg-deb. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execute, layOut, PACKAGE_VERSION, packageScript, SETTINGS, SUMMARY } from "./tree.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const SCRIPT_MODE = 0o755;

/** The scripts by dpkg's names (Debian Policy, chapter 6), and what tells an installation from an upgrade. */
const SCRIPTS = {
  postinst: [
    "after-install",
    'case $1 in configure) ;; *) exit 0 ;; esac\nif [ -n "$2" ]; then action=upgrade; else action=install; fi',
  ],
  prerm: ["before-remove", "case $1 in remove) ;; *) exit 0 ;; esac"],
  postrm: ["after-remove", "case $1 in remove | purge) ;; *) exit 0 ;; esac"],
} as const;

/**
 * Makes `governd_<version>_<architecture>.deb`.
 * @param cpu a processor as the targets of the build name it
 * @param scratch an empty directory
 * @throws {Error} when dpkg-deb is missing or fails
 */
export function makeDeb(program: string, cpu: string, scratch: string, out: string): void {
  const tree = join(scratch, "deb");
  const { glibc } = layOut(program, tree, "vendor-completions");
  const architecture = ARCHITECTURES[cpu];
  const control = join(tree, "DEBIAN");
  mkdirSync(control);
  writeFileSync(join(control, "control"), controlFile(architecture as string, glibc));
  writeFileSync(join(control, "conffiles"), `${SETTINGS}\n`);
  for (const [name, [script, start]] of Object.entries(SCRIPTS)) {
    writeFileSync(join(control, name), packageScript(script, start), { mode: SCRIPT_MODE });
  }
  // Every release of dpkg reads gzip, and it takes a tenth of xz's time for 120 % of its size.
  const file = join(out, `governd_${PACKAGE_VERSION}_${architecture}.deb`);
  execute(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, file], "dpkg");
}

function controlFile(architecture: string, glibc: string): string {
  return [
    "Package: governd",
    `Version: ${PACKAGE_VERSION}`,
    `Architecture: ${architecture}`,
    "Maintainer: the governd authors <governd@localhost>",
    "Section: admin",
    "Priority: optional",
    `Depends: libc6 (>= ${glibc}), passwd`,
    "Recommends: systemd",
    `Description: ${SUMMARY}`,
    " governd keeps the configuration and the data of software agents, enforces",
    " policies on every write, and records every operation in an audit log that",
    " can be verified offline.",
    "",
  ].join("\n");
}
