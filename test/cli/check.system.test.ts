/** `governd check`: what it finds, and that it changes nothing. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { checkDatabases } from "../../src/cli/check/databases.ts";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { newSealKey } from "../../src/core/datadir/seal-key.ts";
import { WORKSPACE_SCHEMA } from "../../src/core/writer/file.ts";
import { issueServerCertificate, makeAuthority } from "../../src/serve/tls/issue.ts";
import { openConnection } from "../../src/store/connection.ts";
import { IssuerByHand } from "../account/issuer-by-hand.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { filesReleased } from "../released.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd } from "./governd.ts";
import { GOVERND, governdProcess, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const DAY_MS = 86_400_000;

interface Checked {
  code: number;
  result: string;
  findings: { check: string; severity: string; message: string; path?: string }[];
}

async function check(root: string, ...words: string[]): Promise<Checked> {
  const { code, json } = await governd(["check", "--data-dir", root, ...words, "--json"]);
  return { code, ...json<Omit<Checked, "code">>() };
}

/** The failed checks, in short. */
const found = ({ findings }: Checked) =>
  findings.filter(({ severity }) => severity !== "ok").map(({ check: name, severity }) => `${severity} ${name}`);

/** Returns every file with its mode, size, time of change and digest. */
function snapshot(root: string): string[] {
  return (readdirSync(root, { recursive: true }) as string[]).sort().map((name) => {
    const stats = statSync(join(root, name));
    const digest = stats.isFile()
      ? createHash("sha256")
          .update(readFileSync(join(root, name)))
          .digest("hex")
      : "";
    return `${name} ${stats.mode} ${stats.size} ${stats.mtimeMs} ${digest}`;
  });
}

test("a directory without problems", async () => {
  using from = await FilledDirectory.make(2);
  const { root } = from.data;
  const before = snapshot(root);
  const checked = await check(root);
  expect([checked.code, checked.result, found(checked)]).toEqual([0, "ok", []]);
  expect(checked.findings.map((one) => one.check)).toEqual(
    expect.arrayContaining(["daemon", "database", "upgrade", "seal_key", "certificate", "disk", "permissions"]),
  );
  expect(snapshot(root)).toEqual(before);
  const { out, code } = await governd(["check", "--data-dir", root]);
  expect([code, out]).toEqual([0, expect.stringMatching(/No problems found\.\n$/)]);
});

test("beside a running daemon, and what one that was killed left behind, to the byte", async () => {
  using from = await FilledDirectory.make(1);
  await using daemon = await startGovernd(from.data.root);
  const body = JSON.stringify({ agent_id: "alpha", key: "k", value: "v" });
  await daemon.ask("/v1/data/write", { method: "POST", body, apiKey: from.keys[0] as string });
  const beside = await check(from.data.root);
  expect([beside.code, beside.findings[0]?.message]).toEqual([0, "a daemon runs on this directory"]);
  await daemon.stop("SIGKILL");
  await filesReleased(from.data.root);
  const left = snapshot(from.data.root);
  const after = await check(from.data.root);
  expect([after.code, after.findings[0]?.message]).toEqual([0, "no daemon runs on this directory"]);
  expect(snapshot(from.data.root)).toEqual(left);
});

describe("finds", () => {
  test.skipIf(process.platform !== "linux")(
    "a limit of open files that is too low, here and of a daemon that runs",
    async () => {
      using from = await FilledDirectory.make(1);
      const program = (limit: number) => ["/bin/sh", "-c", `ulimit -n ${limit}; exec "$@"`, "sh", ...GOVERND];
      const words = ["check", "--data-dir", from.data.root, "--json", "--threads", "1", "--max-connections", "1000"];
      const descriptors = async (limit: number) => {
        const { json, code } = await governdProcess(words, { program: program(limit) });
        expect(code).toBe(0);
        return json<Checked>().findings.find((one) => one.check === "descriptors");
      };
      expect(await descriptors(8_000)).toMatchObject({ severity: "ok" });
      const low = {
        severity: "warning",
        message: expect.stringMatching(/may open 1000 files, and may need \d+: raise/),
      };
      expect(await descriptors(1_000)).toMatchObject(low);
      await using _ = await startGovernd(from.data.root, [], { program: program(1_000) });
      expect(await descriptors(8_000)).toMatchObject({
        ...low,
        message: expect.stringMatching(/^the daemon may open 1000/),
      });
    },
  );

  test("a damaged workspace, a missing one, and one that the installation does not name", async () => {
    using from = await FilledDirectory.make(3);
    const [damaged, gone, there] = from.ids as [string, string, string];
    const bytes = readFileSync(workspaceFile(from.data, damaged));
    bytes.fill(0xff, 8192, 12288);
    writeFileSync(workspaceFile(from.data, damaged), bytes);
    rmSync(workspaceFile(from.data, gone));
    const unnamed = there.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    cpSync(workspaceFile(from.data, there), workspaceFile(from.data, unnamed));
    const checked = await check(from.data.root);
    expect([checked.code, checked.result]).toEqual([1, "problem"]);
    const messages = checked.findings.filter(({ severity }) => severity !== "ok").map(({ message }) => message);
    expect(messages).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/damaged/),
        expect.stringMatching(/its file is missing/),
        expect.stringMatching(/holds another workspace/),
      ]),
    );
  });

  test("databases of a newer governd, and of a build before 0.1.0", async () => {
    using from = await FilledDirectory.make(2);
    const [former, newer] = from.ids as [string, string];
    for (const [id, version] of [
      [former, 5],
      [newer, 99],
    ] as const) {
      using connection = openConnection(workspaceFile(from.data, id));
      connection.exec(`PRAGMA user_version = ${version}; PRAGMA wal_checkpoint(TRUNCATE)`);
    }
    const checked = await check(from.data.root);
    expect(found(checked)).toEqual(["problem database", "problem database"]);
    const messages = checked.findings.filter(({ severity }) => severity === "problem").map(({ message }) => message);
    expect(messages.sort()).toEqual([
      expect.stringMatching(/^it was written by a build of governd from before 0\.1\.0 \(schema 5\)/),
      expect.stringMatching(/^it was written by a newer governd \(schema 99, this one knows \d+\)/),
    ]);
  });

  test("what an upgrade to a later version would do", async () => {
    using from = await FilledDirectory.make(2);
    const { findings, bytesForCopies } = await checkDatabases(
      from.data,
      Date.now(),
      async () => {},
      WORKSPACE_SCHEMA + 1,
    );
    expect(bytesForCopies).toBeGreaterThan(0);
    expect(findings.map(({ severity }) => severity)).not.toContain("problem");
    expect(findings.find((one) => one.check === "upgrade")?.message).toMatch(
      new RegExp(
        `would migrate 3 workspaces to schema ${WORKSPACE_SCHEMA + 1}, each when it is first used; it first makes copies, which need \\d+\\.\\d MiB`,
      ),
    );
  });

  test("permissions that are too wide", async () => {
    using from = await FilledDirectory.make(1);
    chmodSync(from.data.sealKey, 0o644);
    const checked = await check(from.data.root);
    expect([checked.code, found(checked)]).toEqual([1, ["problem permissions"]]);
    expect(checked.findings.find((one) => one.check === "permissions")?.path).toBe(from.data.sealKey);
  });

  test("a sealing key that is wrong or unreadable", async () => {
    using from = await FilledDirectory.make(1);
    writeFileSync(from.data.sealKey, newSealKey());
    expect(found(await check(from.data.root))).toEqual(["problem seal_key"]);
    writeFileSync(from.data.sealKey, "no key");
    expect(found(await check(from.data.root))).toEqual(["problem seal_key"]);
  });

  test("certificates that end soon, have ended, or do not belong together", async () => {
    using from = await FilledDirectory.make(1);
    using directory = temporaryDirectory();
    const [cert, key] = [directory.join("c.pem"), directory.join("k.pem")];
    const files = ["--tls", "files", "--tls-cert", cert, "--tls-key", key];
    const authority = await makeAuthority(Date.now() - 500 * DAY_MS);
    // A server's certificate is valid for 397 days.
    for (const [made, expected] of [
      [30, []],
      [390, ["warning certificate"]],
      [398, ["problem certificate"]],
      [-2, ["problem certificate"]],
    ] as const) {
      const issued = await issueServerCertificate(authority, ["localhost"], Date.now() - made * DAY_MS);
      writeFileSync(cert, issued.cert);
      writeFileSync(key, issued.key, { mode: 0o600 });
      expect([made, found(await check(from.data.root, ...files))]).toEqual([made, [...expected]]);
    }
    writeFileSync(key, authority.key);
    expect(found(await check(from.data.root, ...files))).toEqual(["problem certificate"]);
  });

  test("what interrupted runs and old upgrades left behind", async () => {
    using from = await FilledDirectory.make(1);
    const old = new Date(Date.now() - 40 * DAY_MS);
    for (const name of [`${from.data.sealKey}.x.tmp`, `${workspaceFile(from.data, from.installation)}.before-v2`]) {
      writeFileSync(name, "", { mode: 0o600 });
      utimesSync(name, old, old);
    }
    const checked = await check(from.data.root);
    expect([checked.code, found(checked)]).toEqual([0, ["warning leftovers", "warning leftovers"]]);
  });

  test("scheduled backups that are late", async () => {
    using from = await FilledDirectory.make(1);
    const words = ["--backup-dir", from.destination, "--backup-every", "1d"];
    expect(found(await check(from.data.root, ...words))).toEqual(["warning backups"]);
    expect((await governd(["backup", from.destination, "--data-dir", from.data.root])).code).toBe(0);
    expect(found(await check(from.data.root, ...words))).toEqual([]);
    const [name] = readdirSync(from.destination).filter((one) => one.startsWith("2")) as [string];
    cpSync(join(from.destination, name), join(from.destination, "2026-01-02T030405.678Z"), { recursive: true });
    rmSync(join(from.destination, name), { recursive: true });
    expect(found(await check(from.data.root, ...words))).toEqual(["warning backups"]);
  });

  test("what was stored while the clock was ahead", async () => {
    using from = await FilledDirectory.make(2);
    expect((await governd(["backup", from.destination, "--data-dir", from.data.root])).code).toBe(0);
    const [name] = readdirSync(from.destination).filter((one) => one.startsWith("2")) as [string];
    const ahead = join(from.destination, "2999-01-02T030405.678Z");
    cpSync(join(from.destination, name), ahead, { recursive: true });
    const words = ["--backup-dir", from.destination, "--backup-every", "1d"];
    // The manifest of a backup that was made since says when that was.
    expect(found(await check(from.data.root, ...words))).toEqual([]);
    const manifest = join(ahead, "manifest.json");
    writeFileSync(manifest, readFileSync(manifest, "utf8").replaceAll(/"(20\d\d)(-\d\d-\d\dT)/g, '"2999$2'));
    const future = new Date(Date.now() + 40 * DAY_MS);
    await from.write(from.ids[0] as string, 1, "ahead", () => future.getTime());
    const checked = await check(from.data.root, ...words);
    expect([checked.code, found(checked)]).toEqual([0, ["warning database", "warning backups"]]);
    expect(checked.findings.find(({ severity }) => severity === "warning")?.message).toContain(
      future.toISOString().slice(0, 10),
    );
  });
});

test("asks the issuer of the settings whether people can sign in by it", async () => {
  using from = await FilledDirectory.make(1);
  const { root } = from.data;
  using files = temporaryDirectory();
  await using issuer = await IssuerByHand.start();
  const settings = Object.entries(issuer.settings(files.path));
  const words = settings.flatMap(([name, value]) => [`--${name.replaceAll("_", "-")}`, value]);
  const said = async (...more: string[]) => {
    const { findings } = await check(root, ...words, ...more);
    return findings.filter(({ check: name }) => name === "issuer").map(({ severity, message }) => [severity, message]);
  };
  expect(await said()).toEqual([["ok", `${issuer.url} answers, and its metadata fit the settings`]]);
  issuer.metadata = { token_endpoint_auth_methods_supported: ["private_key_jwt"] };
  const announced = "it announces private_key_jwt for its token endpoint, and governd can use client_secret_basic";
  expect(await said()).toEqual([["warning", expect.stringContaining(announced)]]);
  issuer.isDown = true;
  expect(await said()).toEqual([
    ["warning", expect.stringContaining("it answers 503 (unavailable, see docs/sign-in.md)")],
  ]);
  const missing = join(files.path, "no-such-file");
  expect(await said("--oidc-client-secret-file", missing)).toEqual([["problem", expect.stringContaining(missing)]]);
});

test("without a data directory, or with mistakes in the settings, it cannot tell", async () => {
  using directory = temporaryDirectory();
  expect((await governd(["check", "--data-dir", directory.join("none")])).code).toBe(2);
  mkdirSync(directory.join("data"));
  const { code, err } = await governd(["check", "--data-dir", directory.join("data"), "--threads", "0"]);
  expect([code, err]).toEqual([2, expect.stringMatching(/There is a mistake in the settings/)]);
  expect(dataDirectory(directory.join("data")).root).toBe(directory.join("data"));
});
