/** The packages of a release, in a bare Debian without a network. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Ended } from "../ended.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";
import { BINARY, hasDebian, makeDebian, makeRelease, runIn, startDaemon } from "./root.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const RELEASE = "/mnt/release";
const SETTINGS = "/etc/governd/governd.toml";
const canPack = hasDebian && Bun.which("rpmbuild") !== null && Bun.which("dpkg-deb") !== null;

/** What installs, upgrades and removes each kind of package. RPM's own dependencies are not known to a Debian. */
const KINDS = {
  deb: {
    install: `dpkg -i ${RELEASE}/*.deb`,
    upgrade: `dpkg -i ${RELEASE}/*.deb`,
    remove: "dpkg -r governd",
    verify: "dpkg --verify governd",
  },
  rpm: {
    install: `rpm --force-debian -i --nodeps ${RELEASE}/*.rpm`,
    upgrade: `rpm --force-debian -U --nodeps --replacepkgs ${RELEASE}/*.rpm`,
    remove: "rpm --force-debian -e governd",
    // The script that follows the files gives the settings to their group.
    verify: "rpm --force-debian -V --nodeps --nogroup governd",
  },
} as const;

describe.skipIf(!canPack)("a package", () => {
  const temporary = temporaryDirectory();

  beforeAll(() => {
    makeDebian(temporary.join("debian"), "rpm");
    makeRelease(BINARY as string, temporary);
  });
  afterAll(() => temporary[Symbol.dispose]());

  /** Runs lines of shell, the first failing one of which ends them. */
  function inDebian(...lines: string[]): Promise<Ended> {
    const shows = { [RELEASE]: temporary.join("release") };
    const system = { root: temporary.join("debian"), scratch: temporary.path, shows };
    const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    return runIn(system, ["/usr/bin/env", "-i", `PATH=${path}`, "/bin/sh", "-euc", lines.join("\n")]);
  }

  test.each(["deb", "rpm"] as const)(
    ".%s installs, serves, upgrades and goes, and keeps settings and data",
    async (kind) => {
      const { install, upgrade, remove, verify } = KINDS[kind];
      const { code, out, err } = await inDebian(
        install,
        "echo --- places",
        verify,
        `stat -c '%U:%G %a %n' /usr/bin/governd /var/lib/governd ${SETTINGS} /usr/lib/systemd/system/governd.service`,
        "getent passwd governd | cut -d : -f 6,7",
        "systemd-analyze verify --man=no /usr/lib/systemd/system/governd.service",
        "zcat /usr/share/man/man1/governd.1.gz | head -n 1",
        "echo --- running",
        ...startDaemon(
          `runuser -u governd -- governd serve --config ${SETTINGS}`,
          `governd health --config ${SETTINGS}`,
        ),
        `governd health --config ${SETTINGS}`,
        `runuser -u governd -- governd workspace create --name kept --config ${SETTINGS} >/dev/null`,
        "kill -TERM $(pidof governd)",
        "wait $daemon",
        `echo 'log_level = "warn"' >>${SETTINGS}`,
        "echo --- upgraded",
        upgrade,
        `grep log_level ${SETTINGS}`,
        "systemctl enable governd 2>/dev/null",
        "echo --- removed",
        remove,
        "find /usr /etc/systemd /var/lib/governd -name '*governd*' -not -path '/var/lib/governd'",
        `ls ${SETTINGS}* | head -n 1`,
        "ls /var/lib/governd/workspaces/*.db | wc -l",
      );
      expect({ code, err: err.replace(/^warning: .* saved as .*\.rpmsave\n/m, "") }).toEqual({ code: 0, err: "" });
      const part = (name: string) => out.split(`--- ${name}\n`)[1]?.split("---")[0];
      expect(out).toContain("systemctl enable --now governd\n");
      expect(part("places")).toStartWith(
        [
          "root:root 755 /usr/bin/governd",
          "governd:governd 700 /var/lib/governd",
          `root:governd 640 ${SETTINGS}`,
          "root:root 644 /usr/lib/systemd/system/governd.service",
          "/var/lib/governd:/usr/sbin/nologin",
          ".TH GOVERND 1",
        ].join("\n"),
      );
      expect(part("running")).toBe("healthy: https://127.0.0.1:8443 accepts requests\n");
      expect(part("upgraded")).toContain('log_level = "warn"\n');
      expect(part("removed")).toEndWith(
        [
          "The data are kept: /var/lib/governd (they belong to the user governd)",
          kind === "deb" ? SETTINGS : `${SETTINGS}.rpmsave`,
          // The workspace's file, and that of the installation.
          "2",
          "",
        ].join("\n"),
      );
    },
  );
});
