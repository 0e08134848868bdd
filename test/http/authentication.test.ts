import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { isDeepStrictEqual } from "node:util";
import type { Route } from "../../src/api/route.ts";
import type { OperationName } from "../../src/operations.ts";
import { routes } from "../../src/serve/http/app.ts";
import { requestOf } from "../support/route-requests.ts";
import { KEYS, WORKSPACE_ID } from "./support/memory-workspace.ts";
import { assertMatchesOpenApi } from "./support/openapi.ts";
import { serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  server.workspace.asked.length = 0;
});

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const PATHS = [
  ...new Set(routes.map((route) => route.path.replace(/:[a-z_]+/g, "x"))),
  "/v1",
  "/v1/",
  "/v1/nothing",
  "/v1/data/",
  "/v1/docs/",
  "/v1/docs/other.js",
  "/v1/openapi.json/",
  "/v1/%64ocs",
  "/v1/config/%zz",
  "/v1//docs",
  "/v1/data/read?agent_id=%ff",
];

describe("without a valid key everything under /v1 is 401", () => {
  for (const path of PATHS) {
    for (const method of METHODS) {
      test(`${method} ${path}`, async () => {
        for (const key of [null, "unknown", "full-key,full-key", "FULL-KEY", "constructor"]) {
          const answer = await server.send({ method, path, key });
          expect(answer.status).toBe(401);
          if (method !== "HEAD") expect(answer.json.code).toBe("unauthenticated");
          expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="governd", ApiKey realm="governd"');
        }
        expect(server.workspace.asked).toEqual([]);
      });
    }
  }

  for (const body of ["", "{", "x".repeat(5 * 1024 * 1024), '{"agent_id":"a","key":"k","value":"v"}']) {
    test(`whatever the body: ${body.length} bytes`, async () => {
      for (const type of ["application/json", "text/plain"]) {
        const headers = { "content-type": type };
        const answer = await server.send({ path: "/v1/data/write", key: null, method: "POST", headers, body });
        expect(answer.status).toBe(401);
        assertMatchesOpenApi("POST", "/v1/data/write", 401, answer.json);
      }
    });
  }
});

test("a key in the query string or in another header is ignored", async () => {
  const attempts = [
    { path: "/v1/config/a?api_key=full-key" },
    { path: "/v1/config/a", headers: { "proxy-authorization": "Bearer full-key" } },
    { path: "/v1/config/a", headers: { cookie: "x-api-key=full-key" } },
  ];
  for (const attempt of attempts) expect((await server.send({ ...attempt, key: null })).status).toBe(401);
});

describe("a key as a bearer token", () => {
  const asked = (authorization: string, key: string | null = null) =>
    server.send({ path: "/v1/config/a", key, headers: { authorization } });

  test("is as good as one in X-API-Key", async () => {
    for (const authorization of ["Bearer agent-key", "bearer agent-key", "BEARER   agent-key"]) {
      expect((await asked(authorization)).status).toBe(200);
      expect(server.workspace.asked.at(-1)?.principal).toEqual(KEYS["agent-key"] as never);
    }
    expect((await asked("Bearer agent-key", "agent-key")).status).toBe(200);
  });

  test("is refused when X-API-Key has another one, be both valid", async () => {
    for (const [bearer, key] of [
      ["agent-key", "full-key"],
      ["agent-key", "no"],
      ["no", "full-key"],
      ["", "full-key"],
    ]) {
      const answer = await asked(`Bearer ${bearer}`, key);
      expect([answer.status, answer.json.code]).toEqual([401, "unauthenticated"]);
      expect(answer.json.detail).toContain("different API keys");
    }
  });

  test("needs its scheme", async () => {
    for (const authorization of ["agent-key", "Basic agent-key", "ApiKey agent-key", "Bearers agent-key", "Digest"]) {
      const answer = await asked(authorization);
      expect([answer.status, answer.json.code]).toEqual([401, "unauthenticated"]);
      expect(answer.json.detail).toContain("another scheme than Bearer");
      // A proxy in front may have its own use for the header.
      expect((await asked(authorization, "full-key")).status).toBe(200);
    }
    for (const authorization of ["Bearer", "Bearer no", "Bearer agent-key, Bearer agent-key", "Bearer agent-key x"]) {
      expect((await asked(authorization)).json.detail).toStartWith("Send a valid API key");
    }
  });
});

test("X-Workspace-Id must be the key's", async () => {
  const path = "/v1/config/a";
  const right = await server.send({ path, headers: { "x-workspace-id": WORKSPACE_ID } });
  expect(right.status).toBe(200);
  for (const other of ["ws_01h455vb4pex5vsknk084sn02r", "nonsense", WORKSPACE_ID.toUpperCase()]) {
    const wrong = await server.send({ path, headers: { "x-workspace-id": other } });
    expect(wrong.status).toBe(403);
    expect(wrong.json).toMatchObject({ code: "workspace_mismatch", param: "X-Workspace-Id" });
    assertMatchesOpenApi("GET", path, 403, wrong.json);
  }
  const unknownKey = await server.send({ path, key: "no", headers: { "x-workspace-id": "nonsense" } });
  expect(unknownKey.status).toBe(401);
});

test("public paths need no key", async () => {
  for (const path of ["/healthz", "/readyz", "/v1/docs", "/v1/openapi.json"]) {
    expect((await server.send({ path, key: null })).status).toBe(200);
    expect((await server.send({ path, key: "unknown" })).status).toBe(200);
    const wrongMethod = await server.send({ path, key: null, method: "POST" });
    expect(wrongMethod.status).toBe(405);
  }
});

/** A request to a route that it accepts, about an agent. */
function requestAbout(agent: string, route: Route): { method: string; path: string; body?: object } {
  const { method, path, query, body } = requestOf(route, { agent, checkpoint: "cp_1", event: "aud_1" });
  const parameters = new URLSearchParams(query as Record<string, string>).toString();
  const whole = parameters === "" ? path : `${path}?${parameters}`;
  return { method, path: whole, ...(body === undefined ? {} : { body: body as object }) };
}

const CONFIG_READS: OperationName[] = [
  "config.read",
  "config.list_versions",
  "config.read_version",
  "config.read_effective",
];

const WORKSPACE_POLICIES_READS: OperationName[] = ["policies.read", "policies.list_versions", "policies.read_version"];

const ALLOWED: Record<string, (operation: OperationName) => boolean> = {
  "full-key": () => true,
  "limited-key": (operation) =>
    !operation.startsWith("sink.") && !["agent.list", "tlog.entries", "policies.update"].includes(operation),
  "agent-key": (operation) =>
    (/^(data|checkpoint|policy)\./.test(operation) && operation !== "data.erase") || CONFIG_READS.includes(operation),
  "auditor-key": (operation) =>
    operation.startsWith("audit.") ||
    operation.startsWith("tlog.") ||
    ["lineage.read", "proof.create"].includes(operation) ||
    ["checkpoint.list", "agent.list", "agent.read", "sink.list", "sink.read"].includes(operation) ||
    CONFIG_READS.includes(operation) ||
    WORKSPACE_POLICIES_READS.includes(operation),
};

describe("scopes", () => {
  for (const route of routes) {
    test(route.operation, async () => {
      for (const [key, allows] of Object.entries(ALLOWED)) {
        server.workspace.asked.length = 0;
        const answer = await server.send({ ...requestAbout("mine", route), key });
        if (allows(route.operation)) {
          expect(answer.status).toBe(200);
          expect(server.workspace.asked).toMatchObject([{ name: route.operation, principal: KEYS[key] }]);
        } else {
          expect(answer.status).toBe(403);
          expect(answer.json.code).toBe("forbidden");
          expect(server.workspace.asked).toEqual([]);
        }
      }
    });
  }

  test("are decided before the body is parsed", async () => {
    const answer = await server.send({ path: "/v1/config/mine", method: "PUT", key: "agent-key", body: "{" });
    expect(answer.status).toBe(403);
  });

  test("a key limited to agents touches no other agent", async () => {
    for (const route of routes) {
      const asked = requestAbout("other", route);
      const { path, ...rest } = asked;
      // Checkpoints and events are found by the operation, which knows whose they are.
      if (isDeepStrictEqual(asked, requestAbout("mine", route))) continue;
      // The only variant of a deletion is an erasure.
      for (const form of route.method !== "DELETE" || route.variant === undefined
        ? [path]
        : [path, `${path}&erase=true`]) {
        const answer = await server.send({ path: form, ...rest, key: "limited-key" });
        expect(answer.status, route.operation).toBe(403);
      }
    }
    expect(server.workspace.asked).toEqual([]);
  });

  test("a key limited to agents sees nothing of the whole workspace", async () => {
    const attempts = [
      { path: "/v1/audit?scope=workspace" },
      { path: "/v1/audit/verify", body: { scope: "workspace" } },
      { path: "/v1/audit/export", body: { scope: "workspace" } },
    ];
    for (const attempt of attempts) {
      expect((await server.send({ ...attempt, key: "limited-key" })).status).toBe(403);
      expect((await server.send(attempt)).status).toBe(200);
    }
  });

  test("a restore with a key of scope agent restores data only", async () => {
    const path = "/v1/checkpoints/cp_1/restore";
    await server.send({ path, method: "POST", key: "agent-key" });
    expect(server.workspace.input).toMatchObject({ restoreConfig: false, restoreData: true });
    await server.send({ path, method: "POST" });
    expect(server.workspace.input).toMatchObject({ restoreConfig: true, restoreData: true });
    const nothing = await server.send({ path, key: "agent-key", body: { restore_data: false } });
    expect(nothing.status).toBe(403);
  });
});
