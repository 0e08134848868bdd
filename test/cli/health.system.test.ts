import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import "reflect-metadata";
import { readFileSync, writeFileSync } from "node:fs";
import { X509CertificateGenerator } from "@peculiar/x509";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { askHealth } from "../../src/serve/daemon/health-probe.ts";
import { ownCertificate } from "../../src/serve/tls/own-authority.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd } from "./governd.ts";
import { startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
let data: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  data = temporary.join("data");
});
afterEach(() => temporary[Symbol.dispose]());

const health = (...words: string[]) => governd(["health", "--data-dir", data, ...words]);
const listenOf = (url: string) => ["--listen", new URL(url).host];

describe("governd health", () => {
  test("finds the daemon by its settings and trusts its authority", async () => {
    await using daemon = await startGovernd(data);
    const { code, out, err } = await health(...listenOf(daemon.url));
    expect({ code, out, err }).toEqual({ code: 0, out: `healthy: ${daemon.url} accepts requests\n`, err: "" });
    const asJson = await health(...listenOf(daemon.url), "--json");
    expect(asJson.json()).toEqual({ healthy: true, url: daemon.url, alive: true, ready: true, reason: null });
    expect((await health("--url", `${daemon.url}/`)).code).toBe(0);
  });

  test("reaches a daemon on every interface by this machine's name", async () => {
    await using daemon = await startGovernd(data, ["--listen", "0.0.0.0:0"]);
    const { port } = new URL(daemon.url);
    expect((await health("--listen", `0.0.0.0:${port}`)).code).toBe(0);
  });

  test("says that it is stopped", async () => {
    const daemon = await startGovernd(data);
    await daemon.stop();
    const { code, out } = await health(...listenOf(daemon.url));
    expect({ code, out }).toEqual({
      code: 1,
      out: `not healthy: ${daemon.url} cannot be reached: nothing is listening there.\n`,
    });
  });

  test("says that another daemon answers there", async () => {
    await using other = await startGovernd(temporary.join("other"));
    const daemon = await startGovernd(data);
    await daemon.stop();
    const { code, json } = await health(...listenOf(other.url), "--json");
    expect({ code, ...json() }).toMatchObject({ code: 1, alive: false });
    expect(json().reason).toContain("an authority that is not trusted");
  });

  test("asks a daemon with a certificate from files, whatever name that is for", async () => {
    const source = ensureDataDirectory(temporary.join("source"));
    await ownCertificate(source, ["governd.example.org"], Date.now());
    const files = ["--tls", "files", "--tls-cert", source.serverCertificate, "--tls-key", source.serverKey];
    await using daemon = await startGovernd(data, files);
    const settings = temporary.join("governd.toml");
    writeFileSync(
      settings,
      `tls = "files"\ntls_cert = "${source.serverCertificate}"\ntls_key = "${source.serverKey}"\n`,
    );
    expect((await health("--config", settings, ...listenOf(daemon.url))).code).toBe(0);
    // With `--url`, the name and the authority are checked.
    const untrusted = await health("--url", daemon.url);
    expect({ code: untrusted.code, out: untrusted.out }).toMatchObject({ code: 1 });
    expect((await health("--url", daemon.url, "--ca", source.authority)).code).toBe(0);
  });

  test("shows a certificate to a daemon that asks its clients for one", async () => {
    const source = ensureDataDirectory(temporary.join("source"));
    await ownCertificate(source, [], Date.now());
    const text = (path: string) => readFileSync(path, "utf8");
    const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ]);
    // The certificate is its own authority, so a server that trusts it accepts it.
    const client = await X509CertificateGenerator.createSelfSigned({
      keys: { privateKey, publicKey },
      name: "CN=client",
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    });
    const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", privateKey)).toString("base64");
    const [cert, key] = [temporary.join("client.crt"), temporary.join("client.key")];
    writeFileSync(cert, client.toString("pem"));
    writeFileSync(key, `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`);
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: {
        cert: text(source.serverCertificate),
        key: text(source.serverKey),
        ca: text(cert),
        requestCert: true,
        rejectUnauthorized: true,
      },
      fetch: () => Response.json({}),
    });
    const words = ["--url", `https://127.0.0.1:${server.port}`, "--ca", source.authority];
    const refused = await health(...words);
    expect({ code: refused.code, hint: refused.out.includes("--cert and --key") }).toEqual({ code: 1, hint: true });
    expect((await health(...words, "--cert", cert, "--key", key)).code).toBe(0);
  });

  test("behind a proxy it sends its request as the proxy does", async () => {
    await using daemon = await startGovernd(data, ["--tls", "off", "--trusted-proxies", "127.0.0.1"]);
    const settings = temporary.join("governd.toml");
    writeFileSync(settings, 'tls = "off"\ntrusted_proxies = ["127.0.0.1"]\n');
    expect((await health("--config", settings, ...listenOf(daemon.url))).code).toBe(0);
  });

  test("behind a proxy that is another machine, it says what to add", async () => {
    await using daemon = await startGovernd(data, ["--tls", "off", "--trusted-proxies", "192.0.2.1"]);
    const { code, out } = await health("--url", daemon.url);
    expect(code).toBe(1);
    expect(out).toContain("trusted_proxies");
  });

  test("says why it is not ready, in the daemon's words", async () => {
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) =>
        request.url.endsWith("/healthz")
          ? Response.json({ status: "ok" })
          : Response.json(
              { code: "unavailable", detail: "The storage cannot be written." },
              { status: 503, headers: { "content-type": "application/problem+json" } },
            ),
    });
    const url = `http://127.0.0.1:${server.port}`;
    const { code, json } = await health("--url", url, "--json");
    const reason = "/readyz returned 503: The storage cannot be written.";
    const expected = { healthy: false, url, alive: true, ready: false, reason };
    expect({ code, said: json() }).toEqual({ code: 1, said: expected });
  });

  test("does not wait longer than it says", async () => {
    using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Promise<Response>(() => {}) });
    const url = `http://127.0.0.1:${server.port}`;
    expect(await askHealth({ url, tls: {} }, 200)).toEqual({
      url,
      alive: false,
      ready: false,
      reason: `${url} did not respond within 0.2 seconds.`,
    });
  });

  test.each([
    [["--url", "governd.example.org"], "--url must look like"],
    [["--url", "https://governd.example.org/path"], "--url must look like"],
    [["--ca", "ca.crt"], "--ca needs --url"],
    [["--listen", "127.0.0.1:0"], "Give --url"],
    [["--url", "https://127.0.0.1:1", "--cert", "client.crt"], "Give both --cert and --key"],
    [[], "Was the daemon started with this data directory"],
    [["--url", "https://127.0.0.1:1", "--ca", "missing.crt"], "Cannot read the certificate authority missing.crt"],
  ])("refuses %p", async (words, message) => {
    const { code, out, err } = await health(...words);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });
});
