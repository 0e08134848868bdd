import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { DataDirectory } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { certificateStatus, readServerCertificate } from "../../src/serve/tls/certificate.ts";
import { ownCertificate } from "../../src/serve/tls/own-authority.ts";
import { certificateSource, storedCertificate } from "../../src/serve/tls/source.ts";
import { temporaryDirectory } from "../temporary.ts";

const DAY_MS = 86_400_000;
const NOW = Date.now();

let temporary: ReturnType<typeof temporaryDirectory>;
let directory: DataDirectory;

beforeEach(() => {
  temporary = temporaryDirectory();
  directory = ensureDataDirectory(temporary.join("data"));
});
afterEach(() => temporary[Symbol.dispose]());

async function answer(certificate: { cert: string; key: string }, host: string, ca: string): Promise<string> {
  const { cert, key } = certificate;
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", tls: { cert, key }, fetch: () => new Response("yes") });
  try {
    return await (await fetch(`https://${host}:${server.port}/`, { tls: { ca } })).text();
  } finally {
    await server.stop(true);
  }
}

/** The settings of a daemon that makes its own certificate. */
const OWN = {
  tls: "auto" as const,
  tls_cert: null,
  tls_key: null,
  client_ca: null,
  hostnames: [],
  listen: { host: "127.0.0.1", port: 8443 },
};

describe("the daemon's own authority", () => {
  test("issues a certificate that a client trusts by the authority alone, for local names and hostnames", async () => {
    const certificate = await ownCertificate(directory, ["governd.example.org", "10.1.2.3", "fd00::7"], NOW);
    const ca = readFileSync(directory.authority, "utf8");
    expect(await answer(certificate, "localhost", ca)).toBe("yes");
    expect(await answer(certificate, "127.0.0.1", ca)).toBe("yes");
    const leaf = new X509Certificate(certificate.cert);
    expect(leaf.checkHost("governd.example.org")).toBeDefined();
    for (const address of ["10.1.2.3", "fd00::7", "::1"]) expect(leaf.checkIP(address)).toBeDefined();
    expect(leaf.ca).toBe(false);
    const authority = new X509Certificate(ca);
    expect(authority.ca).toBe(true);
    expect(leaf.checkIssued(authority) && leaf.verify(authority.publicKey)).toBe(true);
  });

  test.each([
    ["10.0.0.11", "IP Address:10.0.0.11"],
    ["fd00::11", "IP Address:FD00:0:0:0:0:0:0:11"],
    ["box.local", "DNS:box.local"],
    ["0.0.0.0", null],
    ["::", null],
    ["127.0.0.1", null],
  ])("covers the one address on which it listens: %s", async (host, more) => {
    const settings = { ...OWN, listen: { host, port: 8443 } };
    const made = await certificateSource(settings, directory, () => NOW)?.load();
    const local = ["DNS:localhost", "IP Address:127.0.0.1", "IP Address:0:0:0:0:0:0:0:1"];
    const names = new X509Certificate(made?.cert as string).subjectAltName?.split(", ");
    expect(new Set(names)).toEqual(new Set(more === null ? local : [more, ...local]));
  });

  test("made while the clock was ahead, is made anew with the same key, and so is the authority", async () => {
    const early = await ownCertificate(directory, [], NOW + 40 * DAY_MS);
    const former = new X509Certificate(readFileSync(directory.authority, "utf8"));
    const [status] = certificateStatus(early, NOW);
    expect(status?.notBefore).toBe(Date.parse(new X509Certificate(early.cert).validFrom));
    const renewed = await ownCertificate(directory, [], NOW);
    const ca = readFileSync(directory.authority, "utf8");
    expect(await answer(renewed, "localhost", ca)).toBe("yes");
    expect(certificateStatus(renewed, NOW)[0]?.notBefore).toBeUndefined();
    expect(new X509Certificate(ca).publicKey.equals(former.publicKey)).toBe(true);
    expect(renewed.formerAuthorityEnds).toBe(NOW);
    expect((await ownCertificate(directory, [], NOW)).cert).toBe(renewed.cert);
  });

  test("is refused by a client that does not trust it", async () => {
    const certificate = await ownCertificate(directory, [], NOW);
    const other = ensureDataDirectory(temporary.join("other"));
    await ownCertificate(other, [], NOW);
    await expect(answer(certificate, "localhost", readFileSync(other.authority, "utf8"))).rejects.toThrow();
  });

  test("keeps its keys to itself", async () => {
    await ownCertificate(directory, [], NOW);
    for (const path of [directory.authorityKey, directory.serverKey]) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
  });

  test("stays the same from start to start", async () => {
    const first = await ownCertificate(directory, ["a.example"], NOW);
    expect(await ownCertificate(directory, ["a.example"], NOW + 100 * DAY_MS)).toEqual(first);
  });

  test.each<[string, string[], number]>([
    ["is near its end", ["a.example"], 300],
    ["has other names than the settings", ["b.example"], 0],
    ["has fewer names than the settings", ["a.example", "b.example"], 0],
    ["has more names than the settings", [], 0],
  ])("renews a certificate that %s, by the same authority", async (_, names, days) => {
    const first = await ownCertificate(directory, ["a.example"], NOW);
    const authority = readFileSync(directory.authority, "utf8");
    const second = await ownCertificate(directory, names, NOW + days * DAY_MS);
    expect(second.cert).not.toBe(first.cert);
    expect(readFileSync(directory.authority, "utf8")).toBe(authority);
    expect(second.expiresAt).toBeGreaterThan(NOW + days * DAY_MS + 300 * DAY_MS);
  });

  test("replaces a certificate that does not match its key, as a crash may leave it", async () => {
    await ownCertificate(directory, [], NOW);
    const key = readFileSync(directory.serverKey, "utf8");
    await ownCertificate(directory, ["a.example"], NOW);
    writeFileSync(directory.serverKey, key);
    const replaced = await ownCertificate(directory, ["a.example"], NOW);
    expect(await answer(replaced, "localhost", readFileSync(directory.authority, "utf8"))).toBe("yes");
  });

  test("is itself renewed before its certificates would outlive it, and the former one is still good", async () => {
    const first = await ownCertificate(directory, [], NOW);
    const before = readFileSync(directory.authority, "utf8");
    // Nine years ago, so that clients of today look at what it issued then.
    const past = ensureDataDirectory(temporary.join("past"));
    await ownCertificate(past, [], NOW - 3_300 * DAY_MS);
    const former = readFileSync(past.authority, "utf8");
    const renewed = await ownCertificate(past, [], NOW);
    const current = readFileSync(past.authority, "utf8");
    expect(current).not.toBe(former);
    expect(renewed.formerAuthorityEnds).toBe(Date.parse(new X509Certificate(former).validTo));
    expect(Date.parse(new X509Certificate(current).validTo)).toBeGreaterThan(NOW + 3_600 * DAY_MS);
    expect(await answer(renewed, "localhost", former)).toBe("yes");
    expect(await answer(renewed, "localhost", current)).toBe("yes");
    // It is told once, and another daemon's authority is untouched.
    expect((await ownCertificate(past, [], NOW)).formerAuthorityEnds).toBeUndefined();
    expect(await ownCertificate(directory, [], NOW)).toEqual(first);
    expect(readFileSync(directory.authority, "utf8")).toBe(before);
  });
});

describe("given files", () => {
  test("are read each time", async () => {
    await ownCertificate(directory, [], NOW);
    const settings = {
      tls: "files" as const,
      tls_cert: directory.serverCertificate,
      tls_key: directory.serverKey,
      client_ca: null,
      hostnames: [],
      listen: OWN.listen,
    };
    const source = certificateSource(settings, directory, () => NOW);
    const first = await source?.load();
    await ownCertificate(directory, ["a.example"], NOW);
    expect((await source?.load())?.cert).not.toBe(first?.cert);
  });

  test("reading the daemon's own creates none", async () => {
    const settings = { ...OWN, hostnames: ["x.example"] };
    expect(storedCertificate(settings, directory)).toBeNull();
    const made = await ownCertificate(directory, [], NOW);
    expect(storedCertificate(settings, directory)).toEqual(made);
    expect(storedCertificate({ ...settings, tls: "off" }, directory)).toBeNull();
    expect(certificateStatus(made, NOW)).toEqual([
      { role: "server", subject: "CN=governd", notAfter: made.expiresAt, daysLeft: 396 },
    ]);
  });

  test("that cannot be read, are no PEM, or do not fit, say so", async () => {
    await ownCertificate(directory, [], NOW);
    const { serverCertificate: cert, serverKey: key, authorityKey } = directory;
    expect(() => readServerCertificate(temporary.join("none"), key)).toThrow("no such file");
    expect(() => readServerCertificate(cert, directory.tls)).toThrow("it is a directory");
    expect(() => readServerCertificate(key, key)).toThrow("is not a certificate in PEM");
    expect(() => readServerCertificate(cert, cert)).toThrow("is not a private key in PEM");
    expect(() => readServerCertificate(cert, authorityKey)).toThrow("does not belong to the certificate");
    if (process.getuid?.() === 0) return;
    chmodSync(key, 0);
    expect(() => readServerCertificate(cert, key)).toThrow("permission denied");
  });
});
