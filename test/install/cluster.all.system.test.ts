/**
 * docs/scaling.md, followed as an operator follows it, in a bare Debian under systemd: the server's unit, the keys, the
 * first node by install.sh, a second node, a crash of the server, and an upgrade of one node after another.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { hostTarget } from "../../scripts/build/targets.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { temporaryDirectory } from "../temporary.ts";
import { BINARY, boot, canBoot, hasDebian, makeDebian, makeRelease } from "./root.ts";
import { block } from "./scaling-page.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");

/** The server, its keys and its unit. */
const SERVER = [
  "mkdir /root/keys && cd /root/keys",
  block("sh", "jwt.key"),
  "useradd --system --shell /usr/sbin/nologin sqld",
  "mkdir /etc/sqld && cp jwt.pub /etc/sqld",
  "(umask 077; echo LIBSQL_ADMIN_AUTH_KEY=$(cat admin.token) >/etc/sqld/sqld.env)",
  "systemctl daemon-reload && systemctl enable --now sqld",
  "echo --- server",
  "systemctl is-active sqld",
  "systemd-analyze security --offline=true --no-pager sqld.service | tail -n 1",
];

/** Shell functions for a node by its name: the file of its settings, and waiting until it is healthy. */
const NODES = [
  "settings() { [ $1 = first ] && echo /etc/governd/governd.toml || echo /etc/governd/$1.toml; }",
  "healthy() { for i in $(seq 1800); do governd health --config $(settings $1) >/dev/null 2>&1 && break; sleep 0.1; done; governd health --config $(settings $1); }",
];

const FIRST_NODE = [
  ...NODES,
  "sh /release/install.sh --service --no-start >/dev/null",
  block("sh", "install "),
  `cat >>/etc/governd/governd.toml <<'END'\n${block("toml", "engine_url")}END`,
  'sed -i \'s/^listen = .*/listen = "10.0.0.11:8443"\\nnode_listen = "10.0.0.11:8444"/\' /etc/governd/governd.toml',
  "echo --- nodes",
  "systemctl restart governd",
  "healthy first",
];

/** A second node on the same machine: its own unit, settings and data. */
const SECOND_NODE = [
  "sed 's/10.0.0.11/10.0.0.12/; s/^data_dir.*/data_dir = \"\\/var\\/lib\\/second\"/' /etc/governd/governd.toml >/etc/governd/second.toml",
  "chown root:governd /etc/governd/second.toml && chmod 640 /etc/governd/second.toml",
  "sed 's/governd.toml/second.toml/; s/StateDirectory=governd/StateDirectory=second/' /etc/systemd/system/governd.service >/etc/systemd/system/second.service",
  "install -d -o governd -g governd -m 700 /var/lib/second /var/lib/second/keys /var/lib/second/tls",
  "cp -p /var/lib/governd/keys/seal.key /var/lib/second/keys",
  "cp -p /var/lib/governd/tls/ca.crt /var/lib/governd/tls/ca.key /var/lib/second/tls",
  "systemctl daemon-reload && systemctl enable --now second",
  "healthy second",
];

const REQUESTS = [
  "made=$(runuser -u governd -- governd workspace create --name one --json --config $(settings first))",
  `key=$(echo "$made" | sed 's/.*"api_key":"\\([^"]*\\)".*/\\1/')`,
  `ask() { wget -nv -O - --ca-certificate /var/lib/governd/tls/ca.crt --header "X-API-Key: $key" --header 'Content-Type: application/json' --post-data "$3" https://10.0.0.$1:8443/v1$2 && echo; }`,
  // With a server that is just back, the first answer may be 503.
  `write() { for i in $(seq 120); do ask $1 /data/write '{"agent_id":"a","key":"k","value":"'$2'"}' && break; sleep 1; done; }`,
  "write 11 0",
  "write 12 1",
];

/** One node after another, while the other serves. */
const UPGRADE = [
  `mv /release/governd-${hostTarget()} /usr/local/lib/governd-next`,
  `printf '#!/bin/sh\\nexec /usr/local/lib/governd-next "$@"\\n' >/tmp/next`,
  "systemctl stop governd",
  "write 12 4",
  "sh /release/install.sh --service --binary /tmp/next",
  "systemctl restart second",
  "healthy first",
  "healthy second",
];

describe.skipIf(!hasDebian || LIBSQL_SERVER === null)("two nodes and a server under systemd", () => {
  const temporary = temporaryDirectory();
  const root = temporary.join("debian");

  beforeAll(() => {
    makeDebian(root, "ca-certificates");
    makeRelease(BINARY as string, temporary, "--no-packages");
  });
  afterAll(() => temporary[Symbol.dispose]());

  test("are set up as the page says, survive a crash of the server, and are upgraded one after another", async () => {
    if (!canBoot(root)) return console.warn("skipped: no systemd can be started here");
    Bun.spawnSync(["cp", "-a", temporary.join("release"), join(root, "release")]);
    mkdirSync(join(root, "usr/local/bin"), { recursive: true });
    copyFileSync(LIBSQL_SERVER as string, join(root, "usr/local/bin/sqld"));
    chmodSync(join(root, "usr/local/bin/sqld"), 0o755);
    copyFileSync(join(ROOT, "deploy/systemd/sqld.service"), join(root, "etc/systemd/system/sqld.service"));
    const said = await boot(root, [
      "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "busybox ip link set lo up",
      "for host in 10 11 12; do busybox ip addr add 10.0.0.$host/32 dev lo; done",
      ...SERVER,
      ...FIRST_NODE,
      ...SECOND_NODE,
      ...REQUESTS,
      "echo --- crash",
      "systemctl kill --signal SIGKILL sqld",
      "until systemctl is-active --quiet sqld; do sleep 0.1; done",
      "write 12 2",
      "write 11 3",
      "echo --- upgrade",
      ...UPGRADE,
      "echo --- without the server",
      "systemctl stop sqld",
      "ask 12 /data/write '{}' 2>&1 | grep -o 'ERROR 503'",
      "systemctl restart governd",
      "systemctl start sqld",
      "healthy first",
      "write 11 5",
      "echo --- verified",
      "governd verify http://10.0.0.10:8080 --config $(settings first)",
      "echo --- end",
    ]);
    const part = (name: string) => said.split(`--- ${name}\n`)[1]?.split("---")[0] as string;
    const stored = (name: string) => part(name).match(/"allowed":true/g)?.length;
    expect(part("server")).toMatch(/^active\n.*sqld\.service: \S+ OK/);
    for (const host of [11, 12])
      expect(part("nodes")).toContain(`healthy: https://10.0.0.${host}:8443 accepts requests\n`);
    expect([stored("nodes"), stored("crash"), stored("upgrade")]).toEqual([2, 2, 1]);
    expect(part("upgrade")).toContain("the one before it is /usr/local/bin/governd.old");
    expect(part("without the server")).toContain("ERROR 503");
    expect(stored("without the server")).toBe(1);
    expect(part("verified")).toContain("  a: 6 events, intact");
    expect(part("verified")).toContain("Verified: ");
    expect(said).toEndWith("--- end\n");
  });
});
