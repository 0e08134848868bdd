/** install.sh as root, in a bare Debian without a network. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { hostTarget } from "../../scripts/build/targets.ts";
import type { Ended } from "../ended.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";
import { BINARY, boot, canBoot, hasDebian, makeDebian, makeRelease, runIn, startDaemon } from "./root.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** systemd's own rating of a unit's hardening, times ten: 0 is locked in, 100 is not hardened at all. */
const EXPOSURE_AT_MOST = 15;
const RELEASE = "/mnt/release";
const SETTINGS = "/etc/governd/governd.toml";

describe.skipIf(!hasDebian)("install.sh in a bare Debian", () => {
  const temporary = temporaryDirectory();
  const release = temporary.join("release");

  beforeAll(() => {
    makeDebian(temporary.join("debian"));
    makeRelease(BINARY as string, temporary, "--no-packages");
  }, PROCESS_TEST_MS);
  afterAll(() => temporary[Symbol.dispose]());

  /** Runs lines of shell, the first failing one of which ends them. */
  function inDebian(...lines: string[]): Promise<Ended> {
    const system = { root: temporary.join("debian"), scratch: temporary.path, shows: { [RELEASE]: release } };
    const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    return runIn(system, ["/usr/bin/env", "-i", `PATH=${path}`, "/bin/sh", "-euc", lines.join("\n")]);
  }

  /** Lines of shell that start the service's command as its user, and wait until it is healthy. */
  const START = [
    ...startDaemon(`runuser -u governd -- governd serve --config ${SETTINGS}`, `governd health --config ${SETTINGS}`),
    `governd health --config ${SETTINGS}`,
  ];

  test("makes a service that serves as its own user, and is the same when it is run again", async () => {
    const { code, out, err } = await inDebian(
      `sh ${RELEASE}/install.sh --service`,
      "echo --- again",
      `sh ${RELEASE}/install.sh --service`,
      "echo --- places",
      `stat -c '%U:%G %a %n' /usr/local/bin/governd /var/lib/governd ${SETTINGS} /etc/systemd/system/governd.service`,
      "getent passwd governd | cut -d : -f 6,7",
      "readlink /etc/systemd/system/multi-user.target.wants/governd.service",
      "echo --- running",
      ...START,
      "stat -c '%U %a' /var/lib/governd/keys/seal.key",
      `runuser -u governd -- governd workspace create --name first --config ${SETTINGS} >/tmp/made`,
      `runuser -u governd -- governd account link --config ${SETTINGS} | head -n 1 | cut -d '#' -f 1`,
      "kill -TERM $(pidof governd)",
      "wait $daemon && echo stopped well",
    );
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("systemd is not running here, so it was not started");
    const part = (name: string) => out.split(`--- ${name}\n`)[1]?.split("---")[0];
    expect(part("again")).toContain("is installed already");
    expect(part("places")).toBe(
      [
        "root:root 755 /usr/local/bin/governd",
        "governd:governd 700 /var/lib/governd",
        `root:governd 640 ${SETTINGS}`,
        "root:root 644 /etc/systemd/system/governd.service",
        "/var/lib/governd:/usr/sbin/nologin",
        "/etc/systemd/system/governd.service",
        "",
      ].join("\n"),
    );
    expect(part("running")).toBe(
      [
        "healthy: https://127.0.0.1:8443 accepts requests",
        "governd 600",
        "https://127.0.0.1:8443/sign-up",
        "stopped well",
        "",
      ].join("\n"),
    );
  });

  test("writes a unit that systemd takes, and calls well hardened", async () => {
    const { code, out, err } = await inDebian(
      `sh ${RELEASE}/install.sh --service >/dev/null`,
      // The manual page is there; the program that shows it is not, on a bare Debian.
      "systemd-analyze verify --man=no /etc/systemd/system/governd.service",
      `systemd-analyze security --offline=true --threshold=${EXPOSURE_AT_MOST} --no-pager governd.service | tail -n 1`,
      `systemd-analyze security --offline=true --threshold=${EXPOSURE_AT_MOST} governd.service >/dev/null`,
    );
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("Overall exposure level for governd.service");
  });

  test("upgrades, rolls back and removes, and leaves settings and data alone", async () => {
    const { code, out, err } = await inDebian(
      `sh ${RELEASE}/install.sh --service >/dev/null`,
      `echo 'log_level = "warn"' >>${SETTINGS}`,
      "runuser -u governd -- governd workspace create --name kept --data-dir /var/lib/governd >/dev/null",
      `printf '#!/bin/sh\\nexec ${RELEASE}/governd-${hostTarget()} "$@"\\n' >/tmp/next`,
      `sh ${RELEASE}/install.sh --service --binary /tmp/next >/dev/null`,
      `cmp /usr/local/bin/governd.old ${RELEASE}/governd-${hostTarget()} && cmp /usr/local/bin/governd /tmp/next && echo upgraded`,
      `sh ${RELEASE}/install.sh --rollback >/dev/null`,
      `cmp /usr/local/bin/governd ${RELEASE}/governd-${hostTarget()} && echo rolled back`,
      ...START.slice(0, 2),
      "kill -TERM $(pidof governd); wait $daemon",
      `sh ${RELEASE}/install.sh --uninstall`,
      "find /usr/local /etc/systemd/system -name '*governd*'",
      `grep log_level ${SETTINGS}`,
      "ls /var/lib/governd/workspaces/*.db | wc -l",
    );
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(
      [
        "upgraded",
        "rolled back",
        "Removed the service and /usr/local/bin/governd.",
        "The data are kept: /var/lib/governd",
        "The settings are kept: /etc/governd",
        "The user governd is kept: it owns the data.",
        'log_level = "warn"',
        // The workspace's file, and that of the installation.
        "2",
        "",
      ].join("\n"),
    );
  });

  test("downloads with what a bare Debian has, and refuses what was changed on the way", async () => {
    const { code, out, err } = await inDebian(
      `mkdir /tmp/site && cp ${RELEASE}/* /tmp/site`,
      "busybox httpd -p 127.0.0.1:8000 -h /tmp/site",
      `sh ${RELEASE}/install.sh --download --url http://127.0.0.1:8000/`,
      `sh ${RELEASE}/install.sh --uninstall >/dev/null`,
      `echo >>/tmp/site/governd-${hostTarget()}`,
      `sh ${RELEASE}/install.sh --download --url http://127.0.0.1:8000 2>&1 || echo refused`,
      "ls /usr/local/bin",
    );
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("is installed: /usr/local/bin/governd\n");
    expect(out).toEndWith(
      `install.sh: governd-${hostTarget()} is not the file that was released (its SHA-256 differs); nothing was changed\nrefused\n`,
    );
  });

  test("starts, reloads, upgrades and stops under systemd, with everything that its unit forbids it", async () => {
    const root = temporary.join("booted");
    Bun.spawnSync(["cp", "-a", temporary.join("debian"), root]);
    if (!canBoot(root)) return console.warn("skipped: no systemd can be started here");
    Bun.spawnSync(["cp", "-a", release, join(root, "release")]);
    const key = '"api_key":"\\([^"]*\\)"';
    const said = await boot(root, [
      "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "busybox ip link set lo up",
      "sh /release/install.sh --service",
      "echo --- running",
      "status=/proc/$(systemctl show -P MainPID governd)/status",
      "grep -E '^(CapEff|NoNewPrivs|Seccomp):' $status",
      `made=$(runuser -u governd -- governd workspace create --name one --json --config ${SETTINGS})`,
      `key=$(echo "$made" | sed 's/.*${key}.*/\\1/')`,
      'ask() { wget -q -O - --no-check-certificate --header "X-API-Key: $key" --header \'Content-Type: application/json\' --post-data "$2" https://127.0.0.1:8443/v1$1; echo; }',
      `ask /data/write '{"agent_id":"a","key":"k","value":"hello"}'`,
      `ask /data/search '{"agent_id":"a","query":"hello"}'`,
      "systemctl reload governd && sleep 1 && systemctl is-active governd",
      "echo --- upgraded",
      `mv /release/governd-${hostTarget()} /usr/local/lib/governd-next`,
      `printf '#!/bin/sh\\nexec /usr/local/lib/governd-next "$@"\\n' >/tmp/next`,
      "sh /release/install.sh --binary /tmp/next",
      "sh /release/install.sh --rollback",
      "echo --- mistaken",
      `echo 'tls = "nonsense"' >>${SETTINGS}`,
      "systemctl restart governd",
      "sh /release/install.sh --service --binary /usr/local/bin/governd || echo failed with $?",
      "echo --- removed",
      "systemctl reset-failed governd",
      "sh /release/install.sh --uninstall",
      "systemctl is-enabled governd 2>&1 || true",
      'journalctl -u governd --no-pager -o cat | grep -c \'"message":"stopped"\'',
      "echo --- end",
    ]);
    const part = (name: string) => said.split(`--- ${name}\n`)[1]?.split("---")[0] as string;
    expect(said).toMatch(/There is no account yet\.[^\n]*\n {2}https:\/\/127\.0\.0\.1:8443\/sign-up#token=\S+\n/);
    expect(part("running")).toMatch(/^CapEff:\s+0{16}\nNoNewPrivs:\s+1\nSeccomp:\s+2\n/);
    expect(part("running")).toContain('"allowed":true');
    expect(part("running")).toContain('{"data":[{"key":"k","value":"hello"');
    expect(part("running")).toEndWith("\nactive\n");
    expect(part("upgraded").match(/The service was restarted\./g)).toHaveLength(2);
    expect(part("mistaken")).toContain("tls (/etc/governd/governd.toml)");
    expect(part("mistaken")).toEndWith("failed with 1\n");
    expect(part("removed")).toContain("Removed the service and /usr/local/bin/governd.");
    expect(part("removed")).toContain("The data are kept: /var/lib/governd");
    expect(said).toEndWith("--- end\n");
  });
});
