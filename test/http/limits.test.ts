/** How many requests are let through: for each key, and from an address with keys that are not valid. */
import { describe, expect, test } from "bun:test";
import { Networks } from "../../src/networks.ts";
import { assertMatchesOpenApi } from "./support/openapi.ts";
import { exchangeRaw } from "./support/raw.ts";
import { serveTls, TestServer } from "./support/serve.ts";

const path = "/v1/config/a";

describe("every answer says where its key stands", () => {
  const standing = (headers: Headers) => [headers.get("ratelimit-policy"), headers.get("ratelimit")];

  test("with a limit", async () => {
    let nowMs = 5_000;
    await using limited = await serveTls({ requestsPerSecond: 3, monotonicMs: () => nowMs });
    const seen = [];
    for (let count = 0; count < 4; count++) seen.push(await limited.send({ path }));
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(seen.map(({ headers }) => headers.get("ratelimit"))).toEqual(
      [2, 1, 0, 0].map((remaining) => `"key";r=${remaining};t=1`),
    );
    for (const { headers } of seen) expect(headers.get("ratelimit-policy")).toBe('"key";q=3;w=1');
    expect(seen[3]?.headers.get("retry-after")).toBe("1");
    nowMs += 400;
    // A problem counts like any other answer.
    const problem = await limited.send({ path: "/v1/nothing" });
    expect([problem.status, problem.headers.get("ratelimit")]).toEqual([404, '"key";r=0;t=1']);
    nowMs += 700;
    const later = await limited.send({ path, method: "PUT", body: "{" });
    expect([later.status, later.headers.get("ratelimit")]).toEqual([400, '"key";r=1;t=1']);
    expect(standing((await limited.send({ path, key: "agent-key" })).headers)).toEqual([
      '"key";q=3;w=1',
      '"key";r=2;t=1',
    ]);
  });

  test("without one, or without a key, it says nothing", async () => {
    await using open = await serveTls();
    await using limited = await serveTls({ requestsPerSecond: 3 });
    expect(standing((await open.send({ path })).headers)).toEqual([null, null]);
    expect(standing((await limited.send({ path, key: "no" })).headers)).toEqual([null, null]);
    expect(standing((await limited.send({ path: "/healthz", key: null })).headers)).toEqual([null, null]);
  });
});

test("requests are limited by address, whatever they ask for, except from this machine", async () => {
  let nowMs = 0;
  const options = { trustedProxies: new Networks(["127.0.0.1"]), monotonicMs: () => nowMs };
  await using behind = new TestServer(null, { ...options, addressRequestsPerSecond: 3 });
  const from = async (address: string, to = path, key: string | null = "full-key") => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-for": address };
    return (await behind.send({ path: to, key, headers })).status;
  };
  const asked = [
    await from("192.0.2.1"),
    await from("192.0.2.1", "/healthz", null),
    await from("192.0.2.1", path, "no"),
  ];
  expect(asked).toEqual([200, 200, 401]);
  for (const to of [path, "/healthz", "/v1/docs", "/account/status", "/nothing"]) {
    expect([to, await from("192.0.2.1", to)]).toEqual([to, 429]);
    expect([to, await from("192.0.2.1", to, null)]).toEqual([to, 429]);
  }
  expect(await from("192.0.2.2")).toBe(200);
  for (let count = 0; count < 3; count++) expect(await from(`2001:db8::${count}`)).toBe(200);
  expect(await from("2001:db8::f")).toBe(429);
  for (let count = 0; count < 20; count++) {
    expect([await from("127.0.0.1"), await from("::1"), await from("")]).toEqual([200, 200, 200]);
  }
  nowMs += 334;
  expect([await from("192.0.2.1"), await from("192.0.2.1")]).toEqual([200, 429]);
});

describe("keys that are not valid", () => {
  test("are limited by address, and do not delay valid keys", async () => {
    let nowMs = 0;
    await using server = await serveTls({ wrongKeysPerMinute: 5, monotonicMs: () => nowMs });
    const wrong = async (key: string | null) => await server.send({ path, key });
    for (let count = 0; count < 5; count++) expect((await wrong(`wrong-${count}`)).status).toBe(401);
    const refused = await wrong("another");
    expect([refused.status, refused.json.code, refused.headers.get("retry-after")]).toEqual([
      429,
      "rate_limited",
      "12",
    ]);
    assertMatchesOpenApi("GET", path, 429, refused.json);
    for (let count = 0; count < 20; count++) expect((await wrong("full-key")).status).toBe(200);
    // Who sends no key at all guesses none.
    expect((await wrong(null)).status).toBe(401);
    expect((await wrong("another")).status).toBe(429);
    nowMs += 12_000;
    expect([(await wrong("another")).status, (await wrong("another")).status]).toEqual([401, 429]);
    expect(server.logged.at(-1)).toMatchObject({ status: 429, problem: "rate_limited", actor: null });
  });

  test("count in either header; another scheme is no key", async () => {
    await using server = await serveTls({ wrongKeysPerMinute: 2 });
    const status = async (key: string | null, authorization: string) =>
      (await server.send({ path, key, headers: { authorization } })).status;
    for (let count = 0; count < 5; count++) expect(await status(null, "Basic wrong")).toBe(401);
    expect(await status(null, "Bearer wrong")).toBe(401);
    expect(await status("agent-key", "Bearer full-key")).toBe(401);
    expect(await status(null, "Bearer wrong")).toBe(429);
    expect(await status(null, "Bearer full-key")).toBe(200);
  });

  test("count for the client behind a proxy, an IPv6 network as one", async () => {
    const trustedProxies = new Networks(["127.0.0.1"]);
    await using behind = new TestServer(null, { trustedProxies, wrongKeysPerMinute: 2 });
    const from = async (address: string, key = "wrong") => {
      const headers = { "x-forwarded-proto": "https", "x-forwarded-for": address };
      return (await behind.send({ path, key, headers })).status;
    };
    expect([await from("192.0.2.1"), await from("192.0.2.1"), await from("192.0.2.1")]).toEqual([401, 401, 429]);
    // What a client says of itself does not count: the last address is what the proxy saw.
    expect(await from("10.9.9.9, 192.0.2.1")).toBe(429);
    expect(await from("10.9.9.9, 192.0.2.1:40112")).toBe(429);
    expect(await from("192.0.2.2")).toBe(401);
    expect([await from("2001:db8::1"), await from("2001:db8::2"), await from("2001:db8:0:0:f::3")]).toEqual([
      401, 401, 429,
    ]);
    expect(await from("2001:db8:0:1::1")).toBe(401);
    expect(await from("192.0.2.1", "full-key")).toBe(200);
  });

  test("count for the client that the last of several lines names", async () => {
    await using behind = new TestServer(null, { trustedProxies: new Networks(["127.0.0.1"]), wrongKeysPerMinute: 1 });
    const from = async (...lines: string[]) => {
      const forwarded = lines.map((line) => `X-Forwarded-For: ${line}\r\n`).join("");
      const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: wrong\r\nX-Forwarded-Proto: https\r\n`;
      return (await exchangeRaw(behind.running.port, `${head}${forwarded}\r\n`, { tls: false })).slice(9, 12);
    };
    expect(await from("192.0.2.5", "192.0.2.1")).toBe("401");
    expect(await from("192.0.2.6", "192.0.2.7,192.0.2.1")).toBe("429");
    expect(await from("192.0.2.1", "192.0.2.8 , 127.0.0.1\t", "127.0.0.1")).toBe("401");
  });

  test("without a limit are 401 for ever", async () => {
    await using server = await serveTls();
    for (let count = 0; count < 50; count++) expect((await server.send({ path, key: "wrong" })).status).toBe(401);
  });
});
