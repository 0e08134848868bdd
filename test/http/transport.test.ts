/** Connections, bodies of unknown length, and what becomes of an operation's reply. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { NotCommitted, Unreachable } from "../../src/core/writer/storage-failure.ts";
import { Networks } from "../../src/networks.ts";
import { createApp } from "../../src/serve/http/app.ts";
import { eventually } from "../eventually.ts";
import { AUDIT_ID } from "./support/memory-workspace.ts";
import { assertMatchesOpenApi } from "./support/openapi.ts";
import { exchangeRaw } from "./support/raw.ts";
import { serveTls, TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.workspace.asked.length = 0;
  server.logged.length = 0;
});

const raw = (text: string, answers = 1) => exchangeRaw(server.running.port, text, { tls: true, answers });
const HEAD = "Host: localhost\r\nX-API-Key: full-key\r\n";
const BODY = '{"agent_id":"a","key":"k","value":"v"}';

describe("connections", () => {
  test("plain HTTP on the TLS port fails", async () => {
    const answer = await exchangeRaw(server.running.port, `GET /healthz HTTP/1.1\r\n${HEAD}\r\n`, {
      tls: false,
      answers: 0,
    });
    expect(answer).not.toContain("200");
    expect(answer).not.toContain("status");
    expect(server.logged).toEqual([]);
  });

  test("a second server on the port fails", () => {
    const { port } = server.running;
    expect(() => Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response() })).toThrow("in use");
  });

  test("short and odd Host headers reach the same route", async () => {
    for (const host of ["a", "ab", "a:1", "localhost", "[::1]:8443", "xn--a.example"]) {
      const answer = await raw(`GET /v1/config/a HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: full-key\r\n\r\n`);
      expect(answer, host).toStartWith("HTTP/1.1 200");
    }
    expect(server.workspace.asked.length).toBe(6);
  });

  test("no Host header leads around authentication", async () => {
    for (const host of ["a", "x/healthz?", "x/v1/docs#", "healthz", "/healthz", "a/b/c/d/healthz"]) {
      for (const path of ["/v1/config/a", "/v1/configs/healthz", "/v1/aaaaaaaa/healthz"]) {
        const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        expect(answer, `${host} ${path}`).toMatch(/^HTTP\/1.1 40[01]/);
      }
    }
    expect(server.workspace.asked).toEqual([]);
  });
});

describe("bodies of unknown length", () => {
  const chunked = (chunks: string[], end = "0\r\n\r\n") =>
    raw(
      `POST /v1/data/write HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
        chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("") +
        end,
    );

  test("are read to their end", async () => {
    expect(await chunked([BODY.slice(0, 5), BODY.slice(5)])).toStartWith("HTTP/1.1 200");
    expect(server.workspace.input).toMatchObject({ agentId: "a", value: "v" });
  });

  test("are refused past the limit, before they end", async () => {
    const answer = await chunked(Array(65).fill("x".repeat(64 * 1024)), "");
    expect(answer).toStartWith("HTTP/1.1 413");
    expect(answer).toContain("payload_too_large");
    expect(server.workspace.asked).toEqual([]);
  });

  test("may be left out of a restore", async () => {
    const answer = await raw(
      `POST /v1/checkpoints/cp_x/restore HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    );
    expect(answer).toStartWith("HTTP/1.1 200");
    const without = await raw(`POST /v1/checkpoints/cp_x/restore HTTP/1.1\r\n${HEAD}Content-Length: 0\r\n\r\n`);
    expect(without).toStartWith("HTTP/1.1 200");
  });

  test("that the client leaves unfinished are no internal error", async () => {
    const answer = await raw(
      `POST /v1/data/write HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
      0,
    );
    expect(answer).toBe("");
    await eventually("it is logged", () => server.logged.length > 0);
    expect(server.logged.map(({ problem }) => problem)).toEqual(["invalid_request"]);
    expect(server.internalErrors).toEqual([]);
  });

  test("a client that asks whether to send a body gets the refusal without sending it", async () => {
    for (const connection of ["", "Connection: close\r\n"]) {
      const head = `${HEAD}${connection}Content-Type: application/json\r\nExpect: 100-continue\r\n`;
      const answer = await raw(`POST /v1/data/write HTTP/1.1\r\n${head}Content-Length: 5000000\r\n\r\n`, 2);
      // The runtime says 100 before anything of governd runs.
      expect(answer).toStartWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 ");
      expect(answer).toContain('"payload_too_large"');
    }
  });

  test("what is not read of a body is not taken for the next request", async () => {
    const next = `GET /v1/config/next HTTP/1.1\r\n${HEAD}\r\n`;
    const smuggled = `GET /v1/config/smuggled HTTP/1.1\r\n${HEAD}\r\n`;
    const length = `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
    for (const head of ["Host: a\r\n", `${HEAD}Content-Type: text/plain\r\n`]) {
      await raw(`POST /v1/data/write HTTP/1.1\r\n${head}${length}${next}`, 2);
    }
    const both = `${HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`;
    await raw(`POST /v1/data/write HTTP/1.1\r\n${both}Content-Length: 5\r\n\r\n0\r\n\r\n${smuggled}`);
    const asked = server.workspace.asked.map(({ input }) => input);
    expect(asked).toEqual([{ agentId: "next" }, { agentId: "next" }]);
  });

  test("that are compressed are refused as such", async () => {
    const answer = await server.send({
      path: "/v1/data/write",
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
      body: Bun.gzipSync(new TextEncoder().encode(BODY)),
    });
    expect([answer.status, answer.json.param]).toEqual([415, "Content-Encoding"]);
  });

  test("an announced length past the limit is refused at once", async () => {
    const answer = await raw(
      `POST /v1/data/write HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{`,
    );
    expect(answer).toStartWith("HTTP/1.1 413");
    expect(answer).toContain("payload_too_large");
  });
});

describe("replies", () => {
  const request = { path: "/v1/config/a" };

  test("carry the ids, the entity tag, and nothing to cache", async () => {
    server.workspace.next = { kind: "json", status: 201, body: '{"a":1}', etag: "v3" };
    const answer = await server.send({ ...request, headers: { "x-request-id": "mine-1" } });
    expect([answer.status, answer.text]).toEqual([201, '{"a":1}']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "application/json",
      "x-request-id": "mine-1",
      "x-audit-id": AUDIT_ID,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      etag: '"v3"',
    });
  });

  test("304 when the entity tag still holds", async () => {
    const reply = { kind: "json", status: 200, body: "{}", etag: "v3" } as const;
    server.workspace.next = reply;
    const same = await server.send({ ...request, headers: { "if-none-match": 'W/"v3"' } });
    expect([same.status, same.text, same.headers.get("x-audit-id")]).toEqual([304, "", AUDIT_ID]);
    server.workspace.next = reply;
    const other = await server.send({ ...request, headers: { "if-none-match": '"v2"' } });
    expect([other.status, other.text]).toEqual([200, "{}"]);
  });

  test("a problem of an operation is a problem document with its audit id", async () => {
    server.workspace.next = {
      kind: "problem",
      code: "restore_blocked",
      detail: "No.",
      extra: {
        blocked_by: "policy:block_pii",
        findings: [{ policy: "block_pii", detector: "email", field: "value", start: 0, end: 5, mode: "block" }],
      },
    };
    const path = "/v1/checkpoints/cp_x/restore";
    const answer = await server.send({ method: "POST", path });
    expect(answer.status).toBe(409);
    expect(answer.headers.get("x-audit-id")).toBe(AUDIT_ID);
    expect(answer.json).toMatchObject({ code: "restore_blocked", blocked_by: "policy:block_pii", detail: "No." });
    assertMatchesOpenApi("POST", path, 409, answer.json);
  });

  test("overload says when to come again", async () => {
    server.workspace.next = { kind: "problem", code: "unavailable", detail: "Busy." };
    server.workspace.auditId = null;
    const answer = await server.send(request);
    server.workspace.auditId = AUDIT_ID;
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("x-audit-id")]).toEqual([
      503,
      "1",
      null,
    ]);
  });

  test("an unexpected failure says nothing of its cause", async () => {
    const cause = new Error("SQLITE_CORRUPT: the secret is x");
    server.workspace.next = cause;
    const answer = await server.send(request);
    expect(answer.status).toBe(500);
    expect(answer.json).toMatchObject({ code: "internal", request_id: answer.headers.get("x-request-id") });
    expect(answer.text).not.toMatch(/SQLITE|secret|\.ts/);
    expect(server.internalErrors).toEqual([cause]);
    assertMatchesOpenApi("GET", request.path, 500, answer.json);
  });

  test.each([
    ["unavailable", new Unreachable("the libSQL server does not answer")],
    ["unavailable", new NotCommitted("stale")],
    ["outcome_unknown", new NotCommitted("unknown")],
  ] as const)("what a libSQL server does not do is no failure of the daemon, but %s", async (code, error) => {
    const failures = server.internalErrors.length;
    server.workspace.next = error;
    const answer = await server.send(request);
    expect([answer.status, answer.json.code, answer.headers.get("retry-after")]).toEqual([503, code, "1"]);
    expect(answer.json.detail).not.toContain("disk");
    expect(server.internalErrors).toHaveLength(failures);
  });

  test("streams are passed on as they come", async () => {
    const parts = ['{"events":', "[]", "}"];
    server.workspace.next = {
      kind: "stream",
      contentType: "application/json",
      filename: "audit-a.json",
      body: new ReadableStream<Uint8Array>({
        pull(controller) {
          const part = parts.shift();
          if (part === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(part));
        },
      }),
    };
    const answer = await server.send({ path: "/v1/audit/export", body: { agent_id: "a" } });
    expect(answer.text).toBe('{"events":[]}');
    expect(answer.headers.get("content-disposition")).toBe('attachment; filename="audit-a.json"');
    expect(answer.headers.get("x-audit-id")).toBe(AUDIT_ID);
  });
});

describe("HEAD and OPTIONS", () => {
  test("HEAD is GET without the body", async () => {
    for (const path of ["/v1/config/a", "/v1/data/read?agent_id=a&key=k", "/healthz"]) {
      const full = await server.send({ path });
      const head = await server.send({ path, method: "HEAD" });
      expect([head.status, head.text]).toEqual([full.status, ""]);
      expect(head.headers.get("content-length")).toBe(String(full.text.length));
      expect(head.headers.get("content-type")).toBe("application/json");
    }
    const missing = await server.send({ path: "/v1/nothing", method: "HEAD" });
    expect([missing.status, missing.text]).toEqual([404, ""]);
    const wrong = await server.send({ path: "/v1/data/write", method: "HEAD" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "OPTIONS, POST"]);
  });

  test("OPTIONS returns the methods of a path", async () => {
    const expected: Record<string, string> = {
      "/v1/config/a": "GET, HEAD, OPTIONS, PUT",
      "/v1/checkpoints": "GET, HEAD, OPTIONS, POST",
      "/v1/checkpoints/x": "DELETE, GET, HEAD, OPTIONS",
      "/v1/audit/verify": "OPTIONS, POST",
      "/v1/data": "DELETE, OPTIONS",
      "/healthz": "GET, HEAD, OPTIONS",
    };
    for (const [path, allow] of Object.entries(expected)) {
      const answer = await server.send({ path, method: "OPTIONS" });
      expect([answer.status, answer.headers.get("allow"), answer.text]).toEqual([204, allow, ""]);
    }
    expect(server.workspace.asked).toEqual([]);
  });
});

test("readiness is the storage's", async () => {
  expect((await server.send({ path: "/readyz", key: null })).text).toBe('{"status":"ready"}');
  server.ready = false;
  const answer = await server.send({ path: "/readyz", key: null });
  server.ready = true;
  expect([answer.status, answer.json.code]).toEqual([503, "unavailable"]);
  expect(answer.headers.get("retry-after")).not.toBeNull();
  assertMatchesOpenApi("GET", "/readyz", 503, answer.json);
});

test("every request is logged with what is known of it, and no more", async () => {
  await server.send({ path: "/v1/data/read?agent_id=bot-1&key=hidden", headers: { "x-request-id": "r1" } });
  await server.send({ path: "/v1/config/hidden", key: null });
  await server.send({ path: "/v1/hidden" });
  await server.send({ path: "/v1/config/bot-2", method: "PUT", body: "{" });
  await server.send({ path: "/v1/config/hi%2Cdden", method: "GET" });
  const nothing = {
    route: null,
    workspace_id: null,
    agent_id: null,
    actor: null,
    operation: null,
    decision: null,
    blocked_by: null,
    audit_id: null,
    problem: null,
    reason: null,
    trace: null,
  };
  const known = { workspace_id: expect.any(String), actor: "key_full" };
  expect(server.logged.map(({ duration_ms: _, request_id: __, ...entry }) => entry)).toEqual([
    {
      ...nothing,
      ...known,
      method: "GET",
      route: "/v1/data/read",
      status: 200,
      agent_id: "bot-1",
      operation: "data.read",
      audit_id: AUDIT_ID,
    },
    { ...nothing, method: "GET", status: 401, problem: "unauthenticated" },
    { ...nothing, ...known, method: "GET", status: 404, problem: "not_found" },
    {
      ...nothing,
      ...known,
      method: "PUT",
      route: "/v1/config/:agent_id",
      status: 400,
      agent_id: "bot-2",
      operation: "config.update",
      problem: "invalid_request",
    },
    {
      ...nothing,
      ...known,
      method: "GET",
      route: "/v1/config/:agent_id",
      status: 200,
      operation: "config.read",
      audit_id: AUDIT_ID,
    },
  ]);
  expect(server.logged[0]?.request_id).toBe("r1");
  for (const { duration_ms } of server.logged) expect(duration_ms).toBeGreaterThan(0);
  expect(JSON.stringify(server.logged)).not.toContain("dden");
});

test("a key over its rate gets a time to retry; others are not delayed", async () => {
  let nowMs = 1_000_000;
  await using limited = await serveTls({ requestsPerSecond: 10, monotonicMs: () => nowMs });
  const send = async (key: string) => (await limited.send({ path: "/v1/config/a", key })).status;
  const burst = [];
  for (let count = 0; count < 11; count++) burst.push(await send("full-key"));
  expect(burst).toEqual([...Array(10).fill(200), 429]);
  expect(await send("agent-key")).toBe(200);
  const refused = await limited.send({ path: "/v1/config/a" });
  expect([refused.json.code, refused.headers.get("retry-after")]).toEqual(["rate_limited", "1"]);
  assertMatchesOpenApi("GET", "/v1/config/a", 429, refused.json);
  expect(limited.workspace.asked.length).toBe(11);
  nowMs += 100;
  expect([await send("full-key"), await send("full-key")]).toEqual([200, 429]);
  nowMs += 1000;
  expect(await send("full-key")).toBe(200);
});

describe("behind a TLS proxy", () => {
  const proxied = (proxies: string[]) => new TestServer(null, { trustedProxies: new Networks(proxies) });

  test("a trusted proxy that speaks for HTTPS is served", async () => {
    await using behind = proxied(["127.0.0.0/8"]);
    const headers = { "x-forwarded-proto": "https" };
    expect((await behind.send({ path: "/v1/config/a", headers })).status).toBe(200);
    expect((await behind.send({ path: "/healthz", key: null, headers })).status).toBe(200);
    expect((await behind.send({ path: "/v1/config/a", key: null, headers })).status).toBe(401);
    const shortHost =
      "GET /v1/config/a HTTP/1.1\r\nHost: gov\r\nX-API-Key: full-key\r\nX-Forwarded-Proto: https\r\n\r\n";
    expect(await exchangeRaw(behind.running.port, shortHost, { tls: false })).toStartWith("HTTP/1.1 200");
  });

  test("anything else is 403, before anything else", async () => {
    await using behind = proxied(["127.0.0.1"]);
    await using stranger = proxied(["10.0.0.0/8", "::1"]);
    const https = { "x-forwarded-proto": "https" };
    const attempts: [TestServer, Record<string, string>][] = [
      [behind, {}],
      [behind, { "x-forwarded-proto": "http" }],
      [behind, { "x-forwarded-proto": "https, http" }],
      [behind, { forwarded: "proto=https" }],
      [stranger, https],
      [stranger, { ...https, "x-forwarded-for": "10.0.0.1" }],
    ];
    for (const [target, headers] of attempts) {
      for (const path of ["/v1/config/a", "/v1/nothing", "/healthz", "/v1/docs"]) {
        const answer = await target.send({ path, headers });
        expect([answer.status, answer.json.code]).toEqual([403, "https_required"]);
      }
      expect(target.workspace.asked).toEqual([]);
    }
  });

  test("without proxies the server does not start", async () => {
    expect(() => new TestServer(null)).toThrow("trustedProxies");
  });
});

test("Elysia prepares nothing that the pipeline does itself", () => {
  const { app } = createApp({ randomBytes: (length: number) => new Uint8Array(length), monotonicMs: () => 0 } as never);
  const generated = [app.fetch.toString(), ...app.routes.map((route) => route.compile().toString())].join("\n");
  expect(generated).not.toMatch(
    /parseCookie|parseQueryFromURL|headers\.toJSON|async function map|request\.(json|text)\(/,
  );
});
