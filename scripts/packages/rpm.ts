/** The package for Fedora, RHEL, SUSE and their relatives, made by rpmbuild. */
import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execute, layOut, PACKAGE_VERSION, packageScript, SETTINGS, SUMMARY } from "./tree.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };
const RELEASE = 1;

/** What tells an installation from an upgrade: the number of versions that are installed then. */
const ACTION = 'if [ "$1" -gt 1 ]; then action=upgrade; else action=install; fi';
const UNLESS_UPGRADE = 'if [ "$1" -gt 0 ]; then exit 0; fi';

/**
 * Makes `governd-<version>-1.<architecture>.rpm`.
 * @param cpu a processor as the targets of the build name it
 * @param scratch an empty directory
 * @throws {Error} when rpmbuild is missing or fails
 */
export function makeRpm(program: string, cpu: string, scratch: string, out: string): void {
  const tree = join(scratch, "rpm");
  const { glibc } = layOut(program, tree, "site-functions");
  const spec = join(scratch, "governd.spec");
  writeFileSync(spec, specFile(tree, glibc));
  const architecture = ARCHITECTURES[cpu] as string;
  const made = join(scratch, "rpms");
  execute(["rpmbuild", "-bb", "--target", `${architecture}-linux`, ...definitions(scratch, made), spec], "rpm");
  const name = `governd-${PACKAGE_VERSION}-${RELEASE}.${architecture}.rpm`;
  if (!readdirSync(join(made, architecture)).includes(name)) throw new Error(`rpmbuild has not made ${name}`);
  copyFileSync(join(made, architecture, name), join(out, name));
}

function definitions(scratch: string, made: string): string[] {
  const macros = {
    _topdir: scratch,
    _rpmdir: made,
    _buildhost: "localhost",
    // The files are ready: nothing is stripped, and dependencies are stated below.
    __os_install_post: "%{nil}",
    _build_id_links: "none",
    _binary_payload: "w1.gzdio",
    use_source_date_epoch_as_buildtime: "1",
    clamp_mtime_to_source_date_epoch: "1",
  };
  return Object.entries(macros).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
}

function specFile(tree: string, glibc: string): string {
  const files = [...new Bun.Glob("**/*").scanSync({ cwd: tree, dot: true })].sort().map((path) => `/${path}`);
  return `
Name: governd
Version: ${PACKAGE_VERSION}
Release: ${RELEASE}
Summary: ${SUMMARY}
License: Apache-2.0
AutoReqProv: no
Requires: glibc >= ${glibc}
Requires(post): shadow-utils

%description
governd keeps the configuration and the data of software agents, enforces
policies on every write, and records every operation in an audit log that
can be verified offline.

%install
cp -a ${tree}/. %{buildroot}

%post
${packageScript("after-install", ACTION)}
%preun
${packageScript("before-remove", UNLESS_UPGRADE)}
%postun
${packageScript("after-remove", UNLESS_UPGRADE)}
%files
%defattr(-,root,root)
%dir /etc/governd
%dir /usr/share/doc/governd
${files.map((file) => (file === SETTINGS ? `%config(noreplace) %attr(640,root,root) ${file}` : file)).join("\n")}
`.trimStart();
}
