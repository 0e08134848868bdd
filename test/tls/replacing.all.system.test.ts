/** Certificates are replaced while the daemon runs: no connection is cut, and no restart is needed. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { systemClock } from "../../src/ids.ts";
import { type Daemon, startDaemon } from "../../src/serve/daemon/daemon.ts";
import { Logger } from "../../src/serve/daemon/logger.ts";
import { resolveSettings } from "../../src/settings/resolve.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { administer } from "../support/administration.ts";
import { Client } from "../support/client.ts";
import { temporaryDirectory } from "../temporary.ts";
import { TestAuthority } from "./authority.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const DAY_MS = 86_400_000;

let temporary: ReturnType<typeof temporaryDirectory>;
let dataDir: string;
let logger: Logger;
let logged: string;
let aheadMs: number;

beforeEach(() => {
  temporary = temporaryDirectory();
  dataDir = temporary.join("data");
  logged = "";
  aheadMs = 0;
  const sink = {
    write: async (text: string) => {
      logged += text;
    },
  };
  logger = new Logger({ level: "info", format: "json", clock, sink });
});
afterEach(async () => {
  await logger[Symbol.asyncDispose]();
  temporary[Symbol.dispose]();
});

const clock = () => systemClock() + aheadMs;

/** A daemon that reads its certificate again, with the settings that it has. */
async function start(
  flags: Record<string, string> = {},
): Promise<Omit<Daemon, "reload"> & { reload(): Promise<void> }> {
  const resolution = resolveSettings({
    flags: { data_dir: dataDir, listen: "127.0.0.1:0", ...flags },
    environment: {},
    file: null,
    world: { cwd: temporary.path, cores: 2 },
  });
  if (!resolution.ok) throw new Error(resolution.mistakes.join("\n"));
  const daemon = await startDaemon(resolution.settings, clock, logger);
  return { ...daemon, reload: () => daemon.reload(resolution.settings) };
}

async function lines(message: string): Promise<Record<string, unknown>[]> {
  await logger.flush();
  const all = logged.split("\n").filter((line) => line !== "");
  return all.map((line) => JSON.parse(line)).filter((line) => line.message === message);
}

/** The certificate that a new connection is shown, and whether an authority's file is enough to trust it. */
function shown(daemon: Pick<Daemon, "url">, ca: string): Promise<{ leaf: X509Certificate; trusted: boolean }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(daemon.url);
    const socket = connect({ host: hostname, port: Number(port), ca, rejectUnauthorized: false }, () => {
      const leaf = new X509Certificate(socket.getPeerCertificate(true).raw);
      resolve({ leaf, trusted: socket.authorized });
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

async function clientOf(daemon: Pick<Daemon, "url">, ca: string): Promise<Client> {
  const { apiKey } = await administer(dataDir, (administration) => administration.createWorkspace("test"));
  return new Client(daemon.url, ca, apiKey);
}

const files = () => ({ tls: "files", tls_cert: temporary.join("server.crt"), tls_key: temporary.join("server.key") });

async function put(authority: TestAuthority, days: number): Promise<void> {
  const { cert, key } = await authority.issue("daemon", { to: days, usage: "server" });
  writeFileSync(temporary.join("server.crt"), cert);
  writeFileSync(temporary.join("server.key"), key);
}

const authorityFile = () => readFileSync(join(dataDir, "tls/ca.crt"), "utf8");

describe("who is connected stays so when the certificate is replaced", () => {
  test("in the middle of an export, of a live stream, and of a request", async () => {
    const authority = await TestAuthority.make("given");
    await put(authority, 30);
    await using daemon = await start(files());
    const ca = authority.cert;
    const client = await clientOf(daemon, ca);
    const value = "x".repeat(200);
    await client.writeAll(
      "a",
      Array.from({ length: 3_000 }, (_, i) => ({ key: `key-${i}`, value })),
    );
    const before = await shown(daemon, ca);

    const live = await client.open({ path: "/v1/audit/stream", query: { agent_id: "b" } });
    const events = (live.body as ReadableStream<Uint8Array>).getReader();
    const exported = await client.open({ path: "/v1/audit/export", body: { agent_id: "a", format: "ndjson" } });
    const reader = (exported.body as ReadableStream<Uint8Array>).getReader();
    const pieces = [(await reader.read()).value as Uint8Array];

    await put(authority, 60);
    await daemon.reload();
    const after = await shown(daemon, ca);
    expect(after.trusted).toBe(true);
    expect(after.leaf.validTo).not.toBe(before.leaf.validTo);
    expect(await lines("the certificate was replaced")).toHaveLength(1);

    expect((await client.write("b", "after", value)).status).toBe(200);
    let seen = "";
    while (!seen.includes('"data.write"')) seen += Buffer.from((await events.read()).value ?? []).toString();
    await events.cancel();
    for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(next.value);
    const text = Buffer.concat(pieces).toString();
    expect(text.trimEnd().split("\n").at(-1)).toContain('"type":"trailer"');
    expect(text.split("\n").filter((line) => line.includes('"type":"event"'))).toHaveLength(3_000);
  });

  test("requests go on without a failure while it happens", async () => {
    const authority = await TestAuthority.make("given");
    await put(authority, 30);
    await using daemon = await start(files());
    const client = await clientOf(daemon, authority.cert);
    const statuses: number[] = [];
    let done = false;
    const asking = Array.from({ length: 4 }, async (_, agent) => {
      while (!done) statuses.push((await client.write(`agent-${agent}`, "k", "v")).status);
    });
    for (const days of [60, 90, 120]) {
      const before = statuses.length;
      await eventually("requests go on", () => statuses.length > before + 30);
      await put(authority, days);
      await daemon.reload();
    }
    done = true;
    await Promise.all(asking);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await lines("the certificate was replaced")).toHaveLength(3);
  });
});

describe("the daemon's own certificates, over years without a restart", () => {
  test("the server's is renewed in time, and the authority's with its key", async () => {
    await using daemon = await start();
    const first = authorityFile();
    const serials = new Set<string>();
    for (let days = 0; days <= 4_000; days += 100) {
      aheadMs = days * DAY_MS;
      await daemon.reload();
      const [status] = daemon.certificates();
      expect(status).toMatchObject({ role: "server", subject: "CN=governd" });
      expect(status?.daysLeft).toBeGreaterThan(100);
      const { leaf, trusted } = await shown(daemon, first);
      // Today's clock decides in this client: what it is shown is by the key that it trusts.
      expect(leaf.verify(new X509Certificate(first).publicKey)).toBe(true);
      if (days < 100) expect(trusted).toBe(true);
      serials.add(leaf.serialNumber);
    }
    expect(serials.size).toBeWithin(12, 20);
    expect(authorityFile()).not.toBe(first);
    const [renewed, ...more] = await lines(
      "the certificate authority was renewed: distribute its new file to the clients",
    );
    expect(more).toEqual([]);
    expect(renewed).toMatchObject({
      level: "warn",
      ca_file: join(dataDir, "tls/ca.crt"),
      former_ends_at: new Date(new X509Certificate(first).validTo).toISOString(),
    });
    expect(await lines("a certificate expires soon")).toEqual([]);
  });
});

describe("given files", () => {
  test("are warned of from 21 days before their end, once a day", async () => {
    const authority = await TestAuthority.make("given");
    await put(authority, 30);
    await using daemon = await start(files());
    const warnings = () => lines("a certificate expires soon");
    expect(daemon.certificates()).toMatchObject([{ role: "server", subject: "CN=daemon", daysLeft: 29 }]);
    aheadMs = 8 * DAY_MS;
    await daemon.reload();
    expect(await warnings()).toEqual([]);
    for (const day of [9.5, 9.6, 10.4, 10.6]) {
      aheadMs = day * DAY_MS;
      await daemon.reload();
    }
    expect(await warnings()).toMatchObject([
      { level: "warn", role: "server", subject: "CN=daemon", days_left: 20 },
      { days_left: 19 },
    ]);
    aheadMs = 31 * DAY_MS;
    await daemon.reload();
    expect(await lines("a certificate has expired: clients refuse it")).toMatchObject([{ days_left: -2 }]);
    aheadMs = 0;
    await put(authority, 400);
    await daemon.reload();
    expect((await shown(daemon, authority.cert)).trusted).toBe(true);
    expect(daemon.certificates()[0]?.daysLeft).toBe(399);
  });

  test("are warned of before they are valid, and again when the clock is set back", async () => {
    const authority = await TestAuthority.make("given");
    await put(authority, 30);
    aheadMs = -10 * DAY_MS;
    await using daemon = await start(files());
    const warnings = () => lines("a certificate is not valid yet: clients refuse it until then, or the clock is wrong");
    expect(await warnings()).toMatchObject([{ level: "warn", role: "server", subject: "CN=daemon" }]);
    await daemon.reload();
    expect(await warnings()).toHaveLength(1);
    aheadMs = -20 * DAY_MS;
    await daemon.reload();
    expect(await warnings()).toHaveLength(2);
    aheadMs = 0;
    await daemon.reload();
    expect(await warnings()).toHaveLength(2);
  });

  test("`client_ca` is read again, too, and clients then need a certificate", async () => {
    const authority = await TestAuthority.make("given");
    await put(authority, 30);
    const clients = await TestAuthority.make("clients", { to: 10 });
    const others = await TestAuthority.make("others");
    writeFileSync(temporary.join("clients.crt"), others.cert);
    await using daemon = await start({ ...files(), client_ca: temporary.join("clients.crt") });
    const pair = await clients.issue("me", { to: 5 });
    const ask = (tls: object) =>
      fetch(`${daemon.url}/healthz`, { tls: { rejectUnauthorized: false, ...tls }, keepalive: false }).then(
        ({ status }) => status,
        () => "refused",
      );
    expect([await ask(pair), await ask(await others.issue("you")), await ask({})]).toEqual(["refused", 200, "refused"]);
    writeFileSync(temporary.join("clients.crt"), clients.cert);
    await daemon.reload();
    expect([await ask(pair), await ask(await others.issue("you"))]).toEqual([200, "refused"]);
    expect(daemon.certificates()).toMatchObject([
      { role: "server" },
      { role: "client_ca", subject: "CN=clients", daysLeft: 9 },
    ]);
    expect(await lines("a certificate expires soon")).toMatchObject([{ role: "client_ca", subject: "CN=clients" }]);
    // What cannot be used leaves the one that is.
    writeFileSync(temporary.join("clients.crt"), "nonsense");
    await daemon.reload();
    expect(await ask(pair)).toBe(200);
    expect(await lines("cannot replace the certificate; the old one stays in use")).toHaveLength(1);
  });
});
