/** Which requests take preconditions in headers, and that no other request which changes something ignores one. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { PRECONDITION_HEADERS } from "../../src/api/precondition.ts";
import { apiRoutes } from "../../src/serve/http/app.ts";
import { requestOf } from "../support/route-requests.ts";
import { assertDeclaresHeaders, assertMatchesOpenApi } from "./support/openapi.ts";
import { del, put, write } from "./support/requests.ts";
import { type Sent, serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Requests with a body that change nothing. */
const READ_ONLY = [
  ...["data.search", "data.query", "policy.check", "policy.replay", "audit.verify", "audit.export"],
  "proof.create",
];
const CONDITIONAL = ["config.update", "config.rollback", "policies.update", "data.write", "data.delete"];
const VALUES: Record<string, string> = { "If-Match": '"v1"', "If-None-Match": "*" };
const DATE = "Sat, 31 Jan 2026 08:00:00 GMT";

describe("a request that changes something never ignores a precondition header", () => {
  for (const route of apiRoutes.filter(({ method, operation }) => method !== "GET" && !READ_ONLY.includes(operation))) {
    test(`${route.method} ${route.path}`, async () => {
      const { query, path, ...rest } = requestOf(route, { agent: "a", checkpoint: "cp_1", event: "aud_1" });
      const parameters = new URLSearchParams(query as Record<string, string>).toString();
      for (const name of PRECONDITION_HEADERS) {
        server.workspace.asked.length = 0;
        const headers = { [name]: VALUES[name] ?? DATE };
        const answer = await server.send({ ...rest, path: `${path}?${parameters}`, headers });
        if (CONDITIONAL.includes(route.operation) && name in VALUES) {
          expect([name, answer.status]).toEqual([name, 200]);
          const condition = name === "If-Match" ? { versions: ["v1"] } : { exists: false };
          expect(server.workspace.input).toMatchObject({ condition });
        } else {
          expect(answer.json).toMatchObject({ status: 400, code: "invalid_request", param: name });
          assertMatchesOpenApi(route.method, route.path, 400, answer.json);
          // Whatever else is wrong with the request.
          const bad = await server.send({ method: route.method, path, headers, body: { unknown: 1 } });
          expect(bad.json).toMatchObject({ status: 400, param: name });
          expect(server.workspace.asked).toEqual([]);
        }
      }
    });
  }

  test("nor does one that reads refuse it", async () => {
    for (const name of PRECONDITION_HEADERS) {
      const headers = { [name]: VALUES[name] ?? DATE };
      for (const path of ["/v1/data/list?agent_id=a", "/v1/data/read?agent_id=a&key=k"]) {
        expect((await server.send({ path, headers })).status).toBe(200);
      }
      const body = { agent_id: "a", query: "q" };
      expect((await server.send({ path: "/v1/data/search", headers, body })).status).toBe(200);
    }
  });
});

const VERSION = "aud_01h455vb4pex5vsknk084sn02q";
const OTHER = "aud_01h455vb4pex5vsknk084sn02r";
const ENTRY = "/v1/data?agent_id=a&key=k";

describe("what an entry's condition is", () => {
  const accepted: [string, Sent, unknown][] = [
    ["none", write({}), undefined],
    ["tags", write({}, { "if-match": `"${VERSION}" , "${OTHER}"` }), { versions: [VERSION, OTHER] }],
    ["weak tags, which never match", write({}, { "if-match": `W/"${VERSION}"` }), { versions: [] }],
    ["any", write({}, { "if-match": "*" }), { exists: true }],
    ["none yet", write({}, { "if-none-match": " * " }), { exists: false }],
    ["a member", write({ if_version: VERSION }), { versions: [VERSION] }],
    ["a member that is null", write({ if_version: null }), { exists: false }],
    ["both", write({ if_version: VERSION }, { "if-match": `"${VERSION}"` }), { versions: [VERSION] }],
    ["both for none yet", write({ if_version: null }, { "if-none-match": "*" }), { exists: false }],
    ["a deletion's parameter", del(`${ENTRY}&if_version=${VERSION}`), { versions: [VERSION] }],
    ["a deletion's parameter for none", del(`${ENTRY}&if_version=null`), { exists: false }],
    ["an erasure's", del(`${ENTRY}&erase=true&if_version=${VERSION}`), { versions: [VERSION] }],
    [
      "a config that does not exist",
      { ...put("/v1/config/a", {}), headers: { "if-none-match": "*" } },
      { exists: false },
    ],
  ];
  for (const [what, sent, condition] of accepted) {
    test(what, async () => {
      expect((await server.send(sent)).status).toBe(200);
      expect((server.workspace.input as { condition?: unknown }).condition).toEqual(condition);
    });
  }

  const refused: [string, Sent, string][] = [
    ["a tag without quotes", write({}, { "if-match": VERSION }), "If-Match"],
    ["an empty header", write({}, { "if-match": "" }), "If-Match"],
    ["tags of If-None-Match", write({}, { "if-none-match": `"${VERSION}"` }), "If-None-Match"],
    ["two headers", write({}, { "if-match": "*", "if-none-match": "*" }), "If-None-Match"],
    ["a date beside a tag", write({}, { "if-match": "*", "if-unmodified-since": DATE }), "If-Unmodified-Since"],
    ["another version in the header", write({ if_version: OTHER }, { "if-match": `"${VERSION}"` }), "if_version"],
    ["more versions in the header", write({ if_version: VERSION }, { "if-match": `"${VERSION}", "x"` }), "if_version"],
    ["any version in the header", write({ if_version: VERSION }, { "if-match": "*" }), "if_version"],
    ["a member against the header", write({ if_version: null }, { "if-match": "*" }), "if_version"],
    [
      "a parameter against the header",
      { ...del(`${ENTRY}&if_version=null`), headers: { "if-match": "*" } },
      "if_version",
    ],
    ["a member that is no version", write({ if_version: "v1" }), "if_version"],
    ["a number", write({ if_version: 1 }), "if_version"],
    ["an empty parameter", del(`${ENTRY}&if_version=`), "if_version"],
    ["a parameter with quotes", del(`${ENTRY}&if_version="${VERSION}"`), "if_version"],
  ];
  for (const [what, sent, param] of refused) {
    test(`refused: ${what}`, async () => {
      server.workspace.asked.length = 0;
      const answer = await server.send(sent);
      expect(answer.json).toMatchObject({ status: 400, code: "invalid_request", param });
      expect(server.workspace.asked).toEqual([]);
    });
  }
});

describe("a read with an entity tag that still holds has no body, and the document says so", () => {
  for (const route of apiRoutes.filter(({ method, response }) => method === "GET" && response.etag)) {
    test(route.path, async () => {
      const { query, path } = requestOf(route, { agent: "a", checkpoint: "cp_1", event: "aud_1" });
      const parameters = new URLSearchParams(query as Record<string, string>).toString();
      server.workspace.next = { kind: "json", status: 200, body: "{}", etag: VERSION };
      const asked = { path: `${path}?${parameters}`, headers: { "if-none-match": `"${VERSION}"` } };
      const { status, text, headers } = await server.send(asked);
      expect([status, text]).toEqual([304, ""]);
      expect(route.headers).toHaveProperty("If-None-Match");
      assertDeclaresHeaders("GET", path, 304, headers);
    });
  }
});

test("an entry that still has the tag is not sent again", async () => {
  const read = (method: string, tag: string) => {
    server.workspace.next = { kind: "json", status: 200, body: '{"value":"v"}', etag: VERSION };
    return server.send({ method, path: "/v1/data/read?agent_id=a&key=k", headers: { "if-none-match": tag } });
  };
  for (const method of ["GET", "HEAD"]) {
    const same = await read(method, `W/"x", "${VERSION}"`);
    expect([same.status, same.text, same.headers.get("etag")]).toEqual([304, "", `"${VERSION}"`]);
    expect(same.headers.get("x-audit-id")).not.toBeNull();
    expect((await read(method, `"${OTHER}"`)).status).toBe(200);
  }
});
