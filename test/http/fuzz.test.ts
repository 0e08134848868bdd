/** Whatever is sent: an answer that is documented, never a failure inside, never a half request. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { routes } from "../../src/serve/http/app.ts";
import { assertMatchesOpenApi } from "./support/openapi.ts";
import { type Sent, serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

const RUNS = 400;

const MEMBERS = [
  "agent_id",
  "key",
  "value",
  "metadata",
  "label",
  "version",
  "policies",
  "restore_data",
  "restore_config",
  "query",
  "limit",
  "offset",
  "cursor",
  "prefix",
  "min_similarity",
  "scope",
  "format",
  "start_time",
  "end_time",
  "operations",
  "result",
  "include_values",
  "__proto__",
  "constructor",
  "",
];

const text = fc.oneof(
  fc.constantFrom("a", "", "workspace", "json", "v1", "true", "1", "-1", "1e3", "2026-01-01T00:00:00Z", "*"),
  fc.string({ unit: "binary", maxLength: 40 }),
);
const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...MEMBERS) }, { weight: 1, arbitrary: text });
const value = fc.oneof(text, fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(1, 0, -1, 1.5, true, null));
const object = fc
  .array(fc.tuple(name, value), { maxLength: 6 })
  .map((members) => `{${members.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`).join(",")}}`);
const body = fc.oneof(
  { weight: 6, arbitrary: object },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
);
const query = fc
  .array(fc.tuple(name, fc.oneof(text, fc.string())), { maxLength: 4 })
  .map((pairs) => pairs.map(([key, item]) => `${encode(key)}=${encode(item)}`).join("&"));

const encode = (part: string) => encodeURIComponent(part.toWellFormed());

test("requests of every form", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...routes), text, body, query, async (route, id, sentBody, sentQuery) => {
      const path = route.path.replace(/:[a-z_]+/g, encode(id) || "x");
      const sent: Sent = { method: route.method, path: `${path}?${sentQuery}` };
      if (route.body !== null) Object.assign(sent, { body: sentBody, headers: { "content-type": "application/json" } });
      server.workspace.asked.length = 0;
      const answer = await server.send(sent);
      expect(server.internalErrors).toEqual([]);
      expect(server.workspace.asked.length).toBe(answer.status === 200 ? 1 : 0);
      if (answer.status === 200) return;
      expect([400, 404, 405]).toContain(answer.status);
      if (answer.json.code !== "not_found" && answer.status !== 405) {
        assertMatchesOpenApi(route.method, route.path.replace(/:[a-z_]+/g, "x"), answer.status, answer.json);
      }
    }),
    { numRuns: RUNS },
  );
});
