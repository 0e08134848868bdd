/** Hostile JSON through the API: the daemon returns an expected status and keeps running. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../src/json.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

const RUNS = 150;

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
  client = workspace.client;
});
afterAll(() => daemon[Symbol.asyncDispose]());

const BODIES: readonly (readonly [method: string, path: string, members: readonly string[]])[] = [
  ["PUT", "/v1/config/a", ["instructions", "model", "policies", "other"]],
  ["POST", "/v1/config/a/rollback", ["version"]],
  ["POST", "/v1/checkpoints", ["agent_id", "label", "metadata"]],
  ["POST", "/v1/checkpoints/cp_01h455vb4pex5vsknk084sn02q/restore", ["restore_config", "restore_data"]],
  ["POST", "/v1/data/write", ["agent_id", "key", "value", "metadata"]],
  ["POST", "/v1/data/search", ["agent_id", "query", "limit", "prefix", "min_similarity"]],
  ["POST", "/v1/audit/verify", ["agent_id", "scope"]],
  ["POST", "/v1/audit/export", ["agent_id", "scope", "format", "start_time", "end_time"]],
];
const QUERIES: readonly (readonly [method: string, path: string, members: readonly string[]])[] = [
  ["GET", "/v1/config/a/versions", ["limit", "offset", "cursor"]],
  ["GET", "/v1/checkpoints", ["agent_id", "limit", "offset", "cursor"]],
  ["GET", "/v1/data/read", ["agent_id", "key"]],
  ["GET", "/v1/data/read-full", ["agent_id", "key"]],
  ["GET", "/v1/data/list", ["agent_id", "prefix", "include_values", "limit", "cursor"]],
  ["DELETE", "/v1/data", ["agent_id", "key"]],
  ["DELETE", "/v1/data/prefix", ["agent_id", "prefix"]],
  ["GET", "/v1/audit", ["agent_id", "scope", "operations", "result", "start_time", "end_time", "offset"]],
];

/** Texts of JSON values, hostile ones and such as make a request whole. */
const json = fc.oneof(
  fc.constantFrom(
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\u0085"',
    '""',
    '"a"',
    '"v1"',
    "1e400",
    "-1e400",
    "9007199254740993",
    "-9007199254740993",
    "1e21",
    "0.1",
    "-0",
    "5e-324",
    "00",
    "+1",
    "0x1",
    "NaN",
    "true",
    "false",
    "null",
    "[]",
    "{}",
    '{"a":1,"a":2}',
    '{"__proto__":{"x":1}}',
    '{"toString":1,"length":-1}',
    '{"constructor":{"prototype":{}}}',
    "[true,false,null]",
    '{"\\u0000":"\\u0000"}',
    `${"[".repeat(63)}${"]".repeat(63)}`,
    `${"[".repeat(5_000)}${"]".repeat(5_000)}`,
    '"workspace"',
    '"json"',
    '"2026-01-01T00:00:00Z"',
    '{"block_pii":true}',
    "undefined",
  ),
  fc.json(),
);
const text = fc.oneof(
  fc.constantFrom(
    "%00",
    "a%00b",
    "%ed%a0%80",
    "%ff",
    "%",
    "%2",
    "a",
    "",
    "true",
    "1",
    "0",
    "-1",
    "1e3",
    "%F0%9F%98%80",
    "workspace",
    "%7f",
  ),
  fc.string().map((one) => encodeURIComponent(one.toWellFormed())),
);

/** Without integers that I-JSON has no place for: those are refused. */
const interoperable = (value: unknown): JsonObject =>
  JSON.parse(JSON.stringify(value), (_name, member) =>
    Number.isInteger(member) && !Number.isSafeInteger(member) ? 0 : member,
  );

/** Statuses that hostile input may get. */
const DESERVED = new Set([200, 201, 400, 404, 412, 409]);

test(
  "bodies",
  async () => {
    const request = fc
      .constantFrom(...BODIES)
      .chain(([method, path, members]) =>
        fc.record({
          method: fc.constant(method),
          path: fc.constant(path),
          values: fc.tuple(...members.map((name) => fc.tuple(fc.constant(name), fc.option(json, { freq: 6 })))),
        }),
      );
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, values }) => {
        const members = values.filter(([, value]) => value !== null).map(([name, value]) => `"${name}":${value}`);
        const { status } = await client.send({ method, path, body: `{${members.join(",")}}` });
        expect(DESERVED).toContain(status);
      }),
      { numRuns: RUNS },
    );
  },
  PROCESS_TEST_MS,
);

test(
  "query strings and paths",
  async () => {
    const request = fc
      .constantFrom(...QUERIES)
      .chain(([method, path, members]) =>
        fc.record({
          method: fc.constant(method),
          path: fc.constant(path),
          values: fc.tuple(...members.map((name) => fc.tuple(fc.constant(name), fc.option(text, { freq: 6 })))),
        }),
      );
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, values }) => {
        const parameters = values.filter(([, value]) => value !== null).map(([name, value]) => `${name}=${value}`);
        const { status } = await client.send({ method, path: `${path}?${parameters.join("&")}` });
        expect(DESERVED).toContain(status);
      }),
      { numRuns: RUNS },
    );
    for (const id of [
      "%00",
      "a%00b",
      "%ff",
      "%",
      "%ed%a0%80",
      "%F0%9F%98%80",
      "..",
      "%2e%2e",
      "%2f",
      "a%2fb",
      "x".repeat(5_000),
    ]) {
      for (const path of [
        `/v1/config/${id}`,
        `/v1/checkpoints/${id}`,
        `/v1/audit/${id}`,
        `/v1/config/a/versions/${id}`,
      ]) {
        const { status } = await client.get(path);
        expect({ path: path.slice(0, 60), deserved: DESERVED.has(status) || status === 401 }).toMatchObject({
          deserved: true,
        });
      }
    }
  },
  PROCESS_TEST_MS,
);

test(
  "values and metadata that are allowed come back, whatever they hold",
  async () => {
    const value = fc.string({ unit: "binary", maxLength: 30 });
    const metadata = fc.dictionary(
      fc.string({ unit: "binary", maxLength: 5 }),
      fc.jsonValue({ stringUnit: "binary" }),
      { maxKeys: 4 },
    );
    await fc.assert(
      fc.asyncProperty(value, metadata.map(interoperable), async (sent, meta) => {
        expect((await client.write("back", "k", sent, meta)).json.allowed).toBe(true);
        const { json } = await client.get("/v1/data/read-full", { agent_id: "back", key: "k" });
        expect(json.value).toBe(sent);
        expect(json.metadata).toEqual(meta);
      }),
      { numRuns: 80 },
    );
  },
  PROCESS_TEST_MS,
);

test(
  "nothing failed inside, and the trail verifies",
  async () => {
    expect(await daemon.log()).not.toContain("unexpected failure");
    expect((await workspace.view.verify()).problems).toEqual([]);
  },
  PROCESS_TEST_MS,
);
