/** The compose file and the units agree with the programs that they start. */
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE_MS } from "../../src/engine-libsql/requirements.ts";
import { governdProcess, startGovernd } from "../cli/governd-process.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { temporaryDirectory } from "../temporary.ts";
import { block } from "./scaling-page.ts";

const DEPLOY = join(import.meta.dir, "../../deploy");

interface Service {
  command?: string[];
  environment?: Record<string, string>;
  networks: string[];
  ports?: string[];
}

const COMPOSE = Bun.YAML.parse(readFileSync(join(DEPLOY, "compose.yaml"), "utf8")) as {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
};
const UNIT = readFileSync(join(DEPLOY, "systemd/sqld.service"), "utf8");

test.skipIf(LIBSQL_SERVER === null)("the flags of the server are flags that it has", () => {
  const { stdout } = Bun.spawnSync([LIBSQL_SERVER as string, "--help"]);
  const known = new Set(stdout.toString().match(/--[a-z-]+/g));
  const start = /^ExecStart=(.*)$/m.exec(UNIT.replaceAll("\\\n", " "))?.[1] ?? "";
  const words = [...(COMPOSE.services.server?.command ?? []), ...start.split(/\s+/)];
  const used = words.map((word) => /^--[a-z-]+/.exec(word)?.[0]).filter((flag) => flag !== undefined);
  expect(used.length).toBeGreaterThan(12);
  expect(used.filter((flag) => !known.has(flag))).toEqual([]);
});

test("the settings of each node are settings that governd has, and each node is reached by its own name", async () => {
  for (const name of ["node1", "node2", "node3"]) {
    const environment = COMPOSE.services[name]?.environment ?? {};
    const { code, out, err } = await governdProcess(["serve", "--print-settings", "--json"], { env: environment });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const settings = JSON.parse(out) as Record<string, { value: unknown; origin: string }>;
    expect(Object.values(settings).filter(({ origin }) => origin.startsWith("GOVERND_"))).toHaveLength(
      Object.keys(environment).filter((name) => name.startsWith("GOVERND_")).length,
    );
    expect(String(settings.node_url?.value)).toContain(name);
  }
});

test("a service gives up on settings that are wrong, and never on a libSQL server that does not answer yet", () => {
  const { stdout } = Bun.spawnSync(["sh", join(DEPLOY, "../install.sh"), "--print", "unit"]);
  const unit = stdout.toString();
  const seconds = (name: string) => Number(new RegExp(`^${name}=(\\d+)$`, "m").exec(unit)?.[1]);
  const starts = seconds("StartLimitBurst");
  expect(seconds("StartLimitIntervalSec")).toBeGreaterThan(starts * (seconds("RestartSec") + 1));
  expect(seconds("StartLimitIntervalSec")).toBeLessThan(starts * (seconds("RestartSec") + PATIENCE_MS / 1_000));
  expect(UNIT).toMatch(/^StartLimitIntervalSec=0$/m);
});

test("only nodes reach the server, and the only open port is that of the address", () => {
  const { server, address, ...nodes } = COMPOSE.services;
  expect(server?.networks).toEqual(["inside"]);
  expect(Object.values(nodes).map(({ networks, ports }) => [networks, ports])).toEqual(
    Array.from({ length: 3 }, () => [["inside"], undefined]),
  );
  expect(address?.ports).toEqual(["8443:8443"]);
});

test("the secrets are those that docs/scaling.md makes, and a daemon reads them", async () => {
  using directory = temporaryDirectory();
  const script = block("sh", "jwt.key") + block("sh", "seal.key");
  const made = Bun.spawnSync(["sh", "-ec", script], { cwd: directory.path });
  expect({ code: made.exitCode, err: made.exitCode === 0 ? "" : made.stderr.toString() }).toEqual({ code: 0, err: "" });
  const secrets = Object.values(COMPOSE.secrets).map(({ file }) => file.replace("secrets/", ""));
  const modes = secrets.map((name) => [name, statSync(directory.join(name)).mode & 0o777]);
  expect(modes).toEqual(secrets.map((name) => [name, 0o644]));
  expect(statSync(directory.path).mode & 0o777).toBe(0o700);
  const files = ["--tls-cert", directory.join("tls.crt"), "--tls-key", directory.join("tls.key")];
  const words = ["--tls", "files", ...files, "--seal-key", directory.join("seal.key")];
  await using daemon = await startGovernd(directory.join("data"), words);
  expect(daemon.ready.ca_file).toBeNull();
});
