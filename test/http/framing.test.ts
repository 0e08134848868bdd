/**
 * Where a request ends and which host it names (RFC 9112 sections 3.2, 6 and 7): what another server in front of the
 * daemon could understand otherwise is refused. Most of this is the runtime's, and a newer one could lose it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { exchangeRaw } from "./support/raw.ts";
import { serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.workspace.asked.length = 0;
});

const send = async (text: string) => {
  const answer = await exchangeRaw(server.running.port, Buffer.from(text, "latin1"), { tls: true });
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), answer };
};

describe("Host", () => {
  const ask = (hosts: readonly string[], path = "/v1/config/a") =>
    send(
      `GET ${path} HTTP/1.1\r\n${hosts.map((host) => `Host:${host}\r\n`).join("")}X-API-Key: full-key\r\nConnection: close\r\n\r\n`,
    );

  test.each([
    " localhost",
    " LOCALHOST:8443",
    " localhost:",
    " governd",
    " my_service:8443",
    " xn--gro-7ka.example",
    " agents.example.",
    " 192.0.2.7:443",
    " [::1]",
    " [2001:db8::7]:8443",
    " [::ffff:192.0.2.7]",
    " a%2Db",
    "localhost",
    "\tlocalhost \t",
  ])("%p is served", async (host) => {
    expect((await ask([host])).status).toBe(200);
  });

  test.each([
    "",
    " ",
    " two words",
    " host/path",
    " host?query",
    " host#fragment",
    " somebody@host",
    " https://host",
    " host:port",
    " host:80:80",
    " host:-1",
    " ::1",
    " [::1",
    " [::1]x",
    " [host]",
    " [1.2.3.4]",
    " [::12345]",
    " one,two",
    " back\\slash",
    " <host>",
    ' "host"',
    " {host}",
    " a|b",
    " a^b",
    " a`b",
    " a%2",
    " a%zz",
    " h\xe4user",
  ])("%p is refused, whatever is asked for", async (host) => {
    for (const path of ["/v1/config/a", "/v1/mcp", "/account/status", "/healthz", "/", "/nothing"]) {
      const { status, answer } = await ask([host], path);
      expect({ path, status }).toEqual({ path, status: 400 });
      expect(answer).toContain('"param":"Host"');
    }
    expect(server.workspace.asked).toEqual([]);
  });

  test("none, and more than one, are refused", async () => {
    for (const hosts of [[], [" localhost", " localhost"], [" localhost", " other.example"], ["", " localhost"]]) {
      for (const path of ["/v1/config/a", "/account/status", "/healthz", "/nothing"]) {
        expect((await ask(hosts, path)).status).toBe(400);
      }
    }
    expect(server.workspace.asked).toEqual([]);
  });

  test("HTTP/1.0 needs none", async () => {
    expect((await send("GET /v1/config/a HTTP/1.0\r\nX-API-Key: full-key\r\n\r\n")).status).toBe(200);
  });
});

describe("the end of a body", () => {
  const BODY = '{"agent_id":"a","key":"k","value":"v"}';
  const LENGTH = BODY.length;
  const SIZE = LENGTH.toString(16);
  const CHUNKED = "Transfer-Encoding: chunked\r\n";
  const LAST = "0\r\n\r\n";
  const write = (headers: string, body: string) =>
    send(
      `POST /v1/data/write HTTP/1.1\r\nHost: localhost\r\nX-API-Key: full-key\r\nContent-Type: application/json\r\n${headers}\r\n${body}`,
    );

  test.each([
    ["a length", `Content-Length: ${LENGTH}\r\n`, BODY],
    ["the same length twice", `Content-Length: ${LENGTH}\r\nContent-Length: ${LENGTH}\r\n`, BODY],
    ["chunks", CHUNKED, `${SIZE}\r\n${BODY}\r\n${LAST}`],
    [
      "a size in capitals with zeros",
      "transfer-encoding: CHUNKED\r\n",
      `00${SIZE.toUpperCase()}\r\n${BODY}\r\n${LAST}`,
    ],
    ["extensions of chunks", CHUNKED, `${SIZE};name="a;b"\r\n${BODY}\r\n0;x\r\n\r\n`],
  ])("%s is accepted", async (_, headers, body) => {
    expect((await write(headers, body)).status).toBe(200);
    expect(server.workspace.input).toMatchObject({ agentId: "a", value: "v" });
  });

  test.each([
    ["both a length and chunks", `Content-Length: ${LENGTH}\r\n${CHUNKED}`, `${SIZE}\r\n${BODY}\r\n${LAST}`],
    ["chunks and a length", `${CHUNKED}Content-Length: ${LENGTH}\r\n`, BODY],
    ["two lengths", `Content-Length: ${LENGTH}\r\nContent-Length: ${LENGTH + 1}\r\n`, BODY],
    ["a list of lengths", `Content-Length: ${LENGTH}, ${LENGTH}\r\n`, BODY],
    ["an empty length", "Content-Length:\r\n", BODY],
    ["a signed length", `Content-Length: +${LENGTH}\r\n`, BODY],
    ["a negative length", "Content-Length: -1\r\n", BODY],
    ["a length in hex", `Content-Length: 0x${SIZE}\r\n`, BODY],
    ["a space before the colon", `Content-Length : ${LENGTH}\r\n`, BODY],
    ["another coding", "Transfer-Encoding: gzip\r\n", BODY],
    ["another coding before chunks", "Transfer-Encoding: gzip, chunked\r\n", `${SIZE}\r\n${BODY}\r\n${LAST}`],
    ["another coding after chunks", "Transfer-Encoding: chunked, identity\r\n", `${SIZE}\r\n${BODY}\r\n${LAST}`],
    ["chunks twice", CHUNKED + CHUNKED, `${SIZE}\r\n${BODY}\r\n${LAST}`],
    ["an empty coding", "Transfer-Encoding:\r\n", `${SIZE}\r\n${BODY}\r\n${LAST}`],
    ["a folded header", "Transfer-Encoding:\r\n chunked\r\n", `${SIZE}\r\n${BODY}\r\n${LAST}`],
    ["a line that ends with LF alone", `X-One: 1\nContent-Length: ${LENGTH}\r\n`, BODY],
    ["a line that ends with CR alone", `X-One: 1\rContent-Length: ${LENGTH}\r\n`, BODY],
    ["NUL in a header", `X-One: \0\r\nContent-Length: ${LENGTH}\r\n`, BODY],
    ["chunks with LF alone", CHUNKED, `${SIZE}\n${BODY}\n0\n\n`],
    ["a size with a prefix", CHUNKED, `0x${SIZE}\r\n${BODY}\r\n${LAST}`],
    ["a size with a space", CHUNKED, `${SIZE} \r\n${BODY}\r\n${LAST}`],
    ["a size beyond 64 bits", CHUNKED, `ffffffffffffffff1\r\n${BODY}\r\n${LAST}`],
    ["no line end after a chunk", CHUNKED, `${SIZE}\r\n${BODY}${LAST}`],
  ])("%s is refused, and nothing is carried out", async (_, headers, body) => {
    expect((await write(headers, body)).status).toBe(400);
    expect(server.workspace.asked).toEqual([]);
  });

  test("trailers that are announced are refused before anything is carried out", async () => {
    for (const end of ["X-Sum: 1\r\n\r\n", "\r\n"]) {
      const { status } = await write(`${CHUNKED}Trailer: X-Sum\r\n`, `${SIZE}\r\n${BODY}\r\n0\r\n${end}`);
      expect(status).toBe(400);
    }
    expect(server.workspace.asked).toEqual([]);
  });
});
