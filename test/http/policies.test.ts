/** Policies in requests, whichever operation takes them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { apiRoutes } from "../../src/serve/http/app.ts";
import { requestOf } from "../support/route-requests.ts";
import { serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

const TAKING = apiRoutes.filter(({ body }) => body !== null && "policies" in body.schema.properties);
const pattern = (regex: string) => ({ screening: { patterns: [{ name: "p", regex, mode: "block" }] } });

test("several operations take policies", () => {
  expect(TAKING.length).toBeGreaterThan(2);
});

test.each(TAKING.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "%s refuses what the schema of policies cannot say, and names it",
  async (_, route) => {
    const { body, ...request } = requestOf(route, { agent: "a", checkpoint: "cp_1", event: "aud_1" });
    const send = (policies: object) => server.send({ ...request, body: { ...(body as object), policies } });
    for (const [policies, param] of [
      [pattern("(?=a)"), "policies.screening.patterns[0].regex"],
      [
        { screening: { exceptions: [{ detector: "none", equals: "x", reason: "r" }] } },
        "policies.screening.exceptions[0].detector",
      ],
    ] as const) {
      server.workspace.asked.length = 0;
      const { status, json } = await send(policies);
      expect({ status, param: json.param, asked: server.workspace.asked }).toEqual({ status: 400, param, asked: [] });
    }
  },
);
