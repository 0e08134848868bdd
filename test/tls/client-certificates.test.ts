/**
 * `client_ca`: who has no certificate by one of these authorities gets no answer. The check is the runtime's,
 * and one of its versions made it only now and then: so each is tried many times, and with both versions of TLS.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect } from "node:tls";
import { readClientAuthorities } from "../../src/serve/tls/certificate.ts";
import { makeCertificate } from "../http/support/certificate.ts";
import { TestServer } from "../http/support/serve.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";
import { type Pair, TestAuthority } from "./authority.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const TRIES = 30;
const ANSWERED = "HTTP/1.1 200";
const VERSIONS = ["TLSv1.2", "TLSv1.3"] as const;

let server: TestServer;
let authority: TestAuthority;
let second: TestAuthority;
let stranger: TestAuthority;
beforeAll(async () => {
  [authority, second, stranger] = await Promise.all([
    TestAuthority.make("clients"),
    TestAuthority.make("more clients"),
    // The right name with another key.
    TestAuthority.make("clients"),
  ]);
  server = new TestServer({ ...(await makeCertificate()), clientCa: bundle() });
});
afterAll(() => server[Symbol.asyncDispose]());

const bundle = () => `${authority.cert}\n${second.cert}\n`;

/** What the server answers to a request on a connection of its own; empty when it answers nothing. */
function ask(version: (typeof VERSIONS)[number], pair: Pair | null, key = "full-key"): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({
      host: "127.0.0.1",
      port: server.running.port,
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
      ...pair,
    });
    let received = "";
    socket.on("secureConnect", () => {
      socket.write(`GET /v1/config/a HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nConnection: close\r\n\r\n`);
    });
    socket.on("data", (data) => {
      received += data.toString("latin1");
    });
    // A handshake that is broken off is what is looked for.
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
  });
}

describe.each(VERSIONS)("%s", (version) => {
  test("lets in who has a certificate by one of the authorities, with an API key", async () => {
    const pairs = [await authority.issue("a"), await second.issue("b")];
    for (const pair of pairs) {
      for (let i = 0; i < TRIES; i++) expect(await ask(version, pair)).toStartWith(ANSWERED);
      expect(await ask(version, pair, "wrong-key")).toStartWith("HTTP/1.1 401");
    }
  });

  test.each<[string, () => Promise<Pair | null>]>([
    ["none", async () => null],
    ["one by another authority", () => stranger.issue("a")],
    ["one that signed itself", async () => makeCertificate()],
    ["one that is over", () => authority.issue("a", { from: -30, to: -1 })],
    ["one that is not valid yet", () => authority.issue("a", { from: 1, to: 30 })],
    ["a server's", () => authority.issue("a", { usage: "server" })],
  ])("answers nothing to who has %s", async (_, make) => {
    const pair = await make();
    server.workspace.asked.length = 0;
    for (let i = 0; i < TRIES; i++) expect(await ask(version, pair)).toBe("");
    // Many at once, and beside somebody who is let in.
    const good = await authority.issue("good");
    const all = await Promise.all(
      Array.from({ length: 2 * TRIES }, (_unused, i) => ask(version, i % 2 === 0 ? pair : good)),
    );
    for (const [i, answer] of all.entries()) {
      if (i % 2 === 0) expect(answer).toBe("");
      else expect(answer).toStartWith(ANSWERED);
    }
    expect(server.workspace.asked.length).toBe(TRIES);
  });
});

test("what `client_ca` names must be authorities", async () => {
  using directory = temporaryDirectory();
  const file = (name: string, text: string) => {
    writeFileSync(directory.join(name), text);
    return directory.join(name);
  };
  expect(readClientAuthorities(file("two", bundle()))).toContain("CERTIFICATE");
  expect(() => readClientAuthorities(directory.join("none"))).toThrow("no such file");
  expect(() => readClientAuthorities(file("text", "text"))).toThrow("is not a certificate in PEM");
  const leaf = (await authority.issue("a")).cert;
  expect(() => readClientAuthorities(file("leaf", authority.cert + leaf))).toThrow("not an authority");
});
