/** Governed data: writing, reading, deleting and searching, and what each request leaves in the trail. */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scenario, type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const EMAIL = "jane.roe@acme.io";
const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const KEY = expect.stringMatching(/^key_[0-9a-z]{26}$/);
const AUDIT_ID = expect.stringMatching(/^aud_[0-9a-z]{26}$/);
const SEQ = expect.any(Number);
const DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/);

const write =
  (rest: object, path = "/v1/data/write") =>
  ({ agent }: Scene) => ({ path, body: { agent_id: agent, ...rest } });
const read =
  (path: string, query: object = {}) =>
  ({ agent }: Scene) => ({ path, query: { agent_id: agent, ...query } });
const remove =
  (path: string, query: object = {}) =>
  (scene: Scene) => ({ method: "DELETE", ...read(path, query)(scene) });
const policies =
  (...names: string[]) =>
  ({ client, agent }: Scene) =>
    client.configure(agent, { policies: Object.fromEntries(names.map((name) => [name, true])) });
const entries =
  (...keys: string[]) =>
  async ({ client, agent }: Scene) => {
    for (const key of keys) await client.write(agent, key, `value of ${key}`, { of: key });
  };
const configured = ({ client, agent }: Scene) => client.configure(agent, {});

describe("writing", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "the first write begins the agent",
        request: write({ key: "k", value: "v" }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
        details: { key: "k", value_digest: DIGEST },
        check: async ({ client, agent, workspace: { view } }, { json }) => {
          expect(json).toEqual({ allowed: true, audit_id: view.eventsAfter(-1).at(-1)?.id, message: "Stored." });
          expect((await client.get("/v1/data/read-full", { agent_id: agent, key: "k" })).json.metadata).toEqual({});
        },
      },
      {
        name: "an overwrite leaves the count of entries as it is",
        given: entries("k"),
        request: write({ key: "k", value: "w", metadata: { a: 1 } }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["entries"],
        check: async ({ client, agent }) => {
          const { json } = await client.get("/v1/data/read-full", { agent_id: agent, key: "k" });
          expect(json).toMatchObject({ value: "w", metadata: { a: 1 } });
          expect(json.updated_at >= json.created_at).toBe(true);
        },
      },
      ...[
        ["the empty string", ""],
        ["U+0000", "a\u0000b\u0000"],
        ["astral characters", "\u{1F600}\u{10FFFF}"],
        ["control characters and quotes", '\u0001\u2028"\\\n\u007f'],
        ["a megabyte", "x".repeat(1024 * 1024)],
        ["a megabyte of three-byte characters", "\u20ac".repeat(349_525)],
      ].map(
        ([what, value]): Scenario => ({
          name: `a value comes back as it was: ${what}`,
          request: write({ key: "k", value }),
          status: 200,
          appends: ["agent data.write allowed"],
          changes: ["agents", "entries"],
          check: async ({ client, agent }) => expect((await client.read(agent, "k")).json.value === value).toBe(true),
        }),
      ),
      ...[
        { "": { "": [] } },
        { __proto__x: 1, constructor: { prototype: null } },
        JSON.parse('{"__proto__":{"polluted":true}}'),
        { "a\u0000b": "\u0000", "\u00e9": 1, "e\u0301": 2 },
        { n: [0.1, 1e300, -0, 9007199254740991, 5e-324] },
        { deep: JSON.parse("[".repeat(60) + "]".repeat(60)) },
      ].map(
        (metadata): Scenario => ({
          name: `metadata comes back value for value: ${JSON.stringify(metadata).slice(0, 40)}`,
          request: write({ key: "k", value: "v", metadata }),
          status: 200,
          appends: ["agent data.write allowed"],
          changes: ["agents", "entries"],
          check: async ({ client, agent }) => {
            const { text } = await client.get("/v1/data/read-full", { agent_id: agent, key: "k" });
            expect(JSON.parse(text).metadata).toEqual(JSON.parse(JSON.stringify(metadata)));
            expect(Object.keys(JSON.parse(text).metadata).sort()).toEqual(Object.keys(metadata).sort());
          },
        }),
      ),
      {
        name: "the longest key, of astral characters",
        request: write({ key: "\u{1F600}".repeat(512), value: "v" }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
        check: async ({ client, agent }) =>
          expect((await client.read(agent, "\u{1F600}".repeat(512))).json.value).toBe("v"),
      },
      {
        name: "without policies personal data are stored",
        given: configured,
        request: write({ key: EMAIL, value: TOKEN }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
      },
      {
        name: "blocked: personal data in the value",
        given: policies("block_pii"),
        request: write({ key: "k", value: `mail me: ${EMAIL} now` }),
        status: 200,
        appends: ["agent data.write blocked"],
        details: {
          key: "k",
          findings: [
            { policy: "block_pii", detector: "email", tier: 1, field: "value", start: 9, end: 25, mode: "block" },
          ],
        },
        body: {
          allowed: false,
          blocked_by: "policy:block_pii",
          findings: [{ policy: "block_pii", detector: "email", field: "value", start: 9, end: 25 }],
        },
        check: async ({ client, agent, workspace: { view } }, { text, headers }) => {
          expect(text).not.toContain(EMAIL);
          const { json } = await client.get(`/v1/audit/${headers.get("x-audit-id")}`);
          expect(json).toMatchObject({ result: "blocked", blocked_by: "policy:block_pii", config_version: "v1" });
          expect(JSON.stringify(json)).not.toContain(EMAIL);
          expect(JSON.stringify(view.eventsAfter(view.head - 2))).not.toContain(EMAIL);
          expect((await client.read(agent, "k")).status).toBe(404);
        },
      },
      {
        name: "blocked: offsets are UTF-16 code units",
        given: policies("block_pii"),
        request: write({ key: "k", value: `\u{1F600}\u{1F600} ${EMAIL}` }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { findings: [{ start: 5, end: 5 + EMAIL.length }] },
      },
      {
        name: "blocked: the key, without the key in the trail",
        given: policies("block_pii"),
        request: write({ key: EMAIL, value: "v" }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { findings: [{ field: "key" }] },
        check: ({ workspace: { view } }) => {
          const last = view.eventsAfter(-1).at(-1);
          expect(Object.keys(last?.details ?? {})).toEqual(["findings"]);
        },
      },
      {
        name: "blocked: a metadata name, shown as *",
        given: policies("block_pii"),
        request: write({ key: "k", value: "v", metadata: { a: { [EMAIL]: { b: EMAIL } } } }),
        status: 200,
        appends: ["agent data.write blocked"],
        check: (_scene, { json, text }) => {
          expect(json.findings.map(({ field }: { field: string }) => field)).toEqual([
            "metadata.a.*",
            "metadata.a.*.b",
          ]);
          expect(text).not.toContain(EMAIL);
        },
      },
      {
        name: "both policies match: secrets are named, findings name both",
        given: policies("block_pii", "block_secrets"),
        request: write({ key: "k", value: `${EMAIL} ${TOKEN}` }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { blocked_by: "policy:block_secrets" },
        check: (_scene, { json }) =>
          expect(new Set(json.findings.map(({ policy }: { policy: string }) => policy))).toEqual(
            new Set(["block_pii", "block_secrets"]),
          ),
      },
      {
        name: "a blocked write leaves the entry that was there",
        given: async (scene) => {
          await entries("k")(scene);
          await policies("block_secrets")(scene);
        },
        request: write({ key: "k", value: TOKEN }),
        status: 200,
        appends: ["agent data.write blocked"],
        check: async ({ client, agent }) => expect((await client.read(agent, "k")).json.value).toBe("value of k"),
      },
      ...(
        [
          [{ key: "k", value: "v", more: 1 }, "more"],
          [{ key: "k" }, "value"],
          [{ value: "v" }, "key"],
          [{ key: "", value: "v" }, "key"],
          [{ key: "x".repeat(513), value: "v" }, "key"],
          [{ key: "a\u0000", value: "v" }, "key"],
          [{ key: "a\u0085", value: "v" }, "key"],
          [{ key: 1, value: "v" }, "key"],
          [{ key: "k", value: 1 }, "value"],
          [{ key: "k", value: null }, "value"],
          [{ key: "k", value: "x".repeat(1024 * 1024 + 1) }, "value"],
          [{ key: "k", value: "v", metadata: [] }, "metadata"],
          [{ key: "k", value: "v", metadata: { a: "x".repeat(64 * 1024) } }, "metadata"],
          [{ agent_id: "a b", key: "k", value: "v" }, "agent_id"],
          [{ agent_id: "x".repeat(129), key: "k", value: "v" }, "agent_id"],
          [{ agent_id: "", key: "k", value: "v" }, "agent_id"],
        ] as const
      ).map(
        ([body, param]): Scenario => ({
          name: `refused: ${JSON.stringify(body).slice(0, 60)}`,
          request: write(body),
          status: 400,
          code: "invalid_request",
          param,
          appends: [],
        }),
      ),
    ],
  );
});

describe("reading", () => {
  scenarios(
    () => workspace,
    [
      ...(["read", "read-full"] as const).flatMap((path): Scenario[] => {
        const operation = path === "read" ? "data.read" : "data.read_full";
        return [
          {
            name: `${path}: an agent that never began`,
            request: read(`/v1/data/${path}`, { key: "k" }),
            status: 404,
            code: "entry_not_found",
            appends: [`- ${operation} not_found`],
            details: ({ agent }: Scene) => ({ agent_id: agent, key: "k" }),
          },
          {
            name: `${path}: a key that is not there`,
            given: entries("other"),
            request: read(`/v1/data/${path}`, { key: "k" }),
            status: 404,
            code: "entry_not_found",
            appends: [`agent ${operation} not_found`],
            details: { key: "k" },
          },
          {
            name: `${path}: without a key`,
            request: read(`/v1/data/${path}`),
            status: 400,
            code: "invalid_request",
            param: "key",
            appends: [],
          },
          {
            name: `${path}: a repeated parameter`,
            request: ({ agent }) => ({ path: `/v1/data/${path}?agent_id=${agent}&key=a&key=b` }),
            status: 400,
            code: "invalid_request",
            param: "key",
            appends: [],
          },
        ];
      }),
      {
        name: "read: the value",
        given: entries("k"),
        request: read("/v1/data/read", { key: "k" }),
        status: 200,
        appends: ["agent data.read ok"],
        details: { key: "k", returned: [SEQ] },
        check: ({ agent }, { json }) => expect(json).toEqual({ agent_id: agent, key: "k", value: "value of k" }),
      },
      {
        name: "read-full: everything about the entry",
        given: async ({ client, agent }) => {
          await client.configure(agent, { policies: { retention_days: 2 } });
          const { json } = await client.write(agent, "k", "v", { a: [1] });
          await client.configure(agent, { policies: { retention_days: 3 } });
          return json.audit_id;
        },
        request: read("/v1/data/read-full", { key: "k" }),
        status: 200,
        appends: ["agent data.read_full ok"],
        details: { key: "k", returned: [SEQ] },
        check: ({ agent, made }, { json }) => {
          expect(Date.parse(json.expires_at) - Date.parse(json.updated_at)).toBe(3 * 86_400_000);
          expect(structuredClone(json)).toEqual({
            agent_id: agent,
            key: "k",
            value: "v",
            metadata: { a: [1] },
            created_at: TIME,
            updated_at: TIME,
            audit_id: made,
            config_version: "v1",
            written_by: KEY,
            expires_at: TIME,
          });
        },
      },
      {
        name: "list: an agent that never began is empty",
        request: read("/v1/data/list"),
        status: 200,
        appends: ["- data.list ok"],
        details: ({ agent }: Scene) => ({ agent_id: agent, prefix: "", count: 0 }),
        body: { data: [], has_more: false, next_cursor: null },
      },
      {
        name: "list: without values",
        given: entries("b", "a"),
        request: read("/v1/data/list"),
        status: 200,
        appends: ["agent data.list ok"],
        details: { prefix: "", count: 2 },
        check: (_scene, { json }) =>
          expect(structuredClone(json)).toEqual({
            data: ["a", "b"].map((key) => ({
              key,
              size: 10,
              metadata: { of: key },
              created_at: TIME,
              updated_at: TIME,
              audit_id: AUDIT_ID,
              expires_at: null,
            })),
            has_more: false,
            next_cursor: null,
          }),
      },
      {
        name: "list: with values, by prefix",
        given: entries("a/1", "a/2", "b"),
        request: read("/v1/data/list", { prefix: "a/", include_values: true }),
        status: 200,
        appends: ["agent data.list ok"],
        details: { prefix: "a/", count: 2, returned: [SEQ, SEQ] },
        body: { data: [{ key: "a/1", value: "value of a/1" }, { key: "a/2" }] },
      },
      {
        name: "search: an agent that never began is empty",
        request: write({ query: "anything" }, "/v1/data/search"),
        status: 200,
        appends: ["- data.search ok"],
        body: { data: [] },
      },
      {
        name: "search: a write is found as soon as it is answered, and only its own agent's",
        given: async ({ client, agent }) => {
          await client.write(`${agent}-other`, "theirs", "the quick brown fox");
          await client.write(agent, "ours", "the quick brown fox", { m: 1 });
          await client.write(agent, "far", "nothing of the kind");
        },
        request: write({ query: "quick fox", limit: 1 }, "/v1/data/search"),
        status: 200,
        appends: ["agent data.search ok"],
        check: (_scene, { json }) => {
          expect(json.data).toHaveLength(1);
          expect(json.data[0]).toMatchObject({ key: "ours", value: "the quick brown fox", metadata: { m: 1 } });
          expect(json.data[0].similarity).toBeGreaterThanOrEqual(0);
          expect(json.data[0].similarity).toBeLessThanOrEqual(1);
          expect(typeof json.model).toBe("string");
        },
      },
      {
        name: "search: neither the query nor anything found is in the trail",
        given: entries("k"),
        request: write({ query: "sesame value" }, "/v1/data/search"),
        status: 200,
        appends: ["agent data.search ok"],
        check: ({ workspace: { view } }) =>
          expect(JSON.stringify(view.eventsAfter(-1).at(-1))).not.toMatch(/sesame|value of/),
      },
      ...['"', "a OR", "NEAR(", "*", "-", "\u0301", "\u{1F600}", "a\u0000b", "((", "key:x", "col : y"].map(
        (query): Scenario => ({
          name: `search: ${JSON.stringify(query)} is words, not syntax`,
          given: entries("k"),
          request: write({ query }, "/v1/data/search"),
          status: 200,
          appends: ["agent data.search ok"],
        }),
      ),
      ...(
        [
          [{}, "query"],
          [{ query: "" }, "query"],
          [{ query: "q", limit: 0 }, "limit"],
          [{ query: "q", limit: 101 }, "limit"],
          [{ query: "q", limit: "5" }, "limit"],
          [{ query: "q", min_similarity: 1.1 }, "min_similarity"],
          [{ query: "q", prefix: "\n" }, "prefix"],
        ] as const
      ).map(
        ([body, param]): Scenario => ({
          name: `search refused: ${JSON.stringify(body)}`,
          request: write(body, "/v1/data/search"),
          status: 400,
          code: "invalid_request",
          param,
          appends: [],
        }),
      ),
    ],
  );
});

describe("deleting", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "a key",
        given: entries("k", "l"),
        request: remove("/v1/data", { key: "k" }),
        status: 200,
        appends: ["agent data.delete ok"],
        changes: ["agents", "entries"],
        details: { key: "k" },
        check: async ({ client, agent }, { json, headers }) => {
          expect(json).toEqual({ deleted: 1, audit_id: headers.get("x-audit-id") });
          expect((await client.read(agent, "k")).status).toBe(404);
          expect((await client.read(agent, "l")).status).toBe(200);
        },
      },
      {
        name: "a key that is not there",
        given: entries("l"),
        request: remove("/v1/data", { key: "k" }),
        status: 404,
        code: "entry_not_found",
        appends: ["agent data.delete not_found"],
        details: { key: "k" },
      },
      {
        name: "of an agent that never began",
        request: remove("/v1/data", { key: "k" }),
        status: 404,
        code: "entry_not_found",
        appends: ["- data.delete not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent, key: "k" }),
      },
      {
        name: "by prefix, which is literal",
        given: entries("a%b", "a%c", "axb", "a_", "A%"),
        request: remove("/v1/data/prefix", { prefix: "a%" }),
        status: 200,
        appends: ["agent data.delete_prefix ok"],
        changes: ["agents", "entries"],
        details: { prefix: "a%", count: 2 },
        check: async ({ client, agent }, { json, headers }) => {
          expect(json).toEqual({ deleted: 2, audit_id: headers.get("x-audit-id") });
          const left = await client.get("/v1/data/list", { agent_id: agent });
          expect(left.json.data.map(({ key }: { key: string }) => key)).toEqual(["A%", "a_", "axb"]);
        },
      },
      {
        name: "by prefix, of as many entries as are confirmed",
        given: entries("a/1", "a/2", "b"),
        request: remove("/v1/data/prefix", { prefix: "a/", confirm_count: 2 }),
        status: 200,
        appends: ["agent data.delete_prefix ok"],
        changes: ["agents", "entries"],
        details: { prefix: "a/", count: 2 },
      },
      {
        name: "by prefix, of more entries than are confirmed",
        given: entries("a/1", "a/2", "b"),
        request: remove("/v1/data/prefix", { prefix: "a/", confirm_count: 1 }),
        status: 409,
        code: "count_mismatch",
        param: "confirm_count",
        appends: ["agent data.delete_prefix conflict"],
        body: { count: 2 },
        details: { prefix: "a/", entries: 2, code: "count_mismatch" },
      },
      {
        name: "by a prefix that nothing has any more, whatever is confirmed",
        given: entries("b"),
        request: remove("/v1/data/prefix", { prefix: "a/", confirm_count: 1 }),
        status: 200,
        appends: ["agent data.delete_prefix not_found"],
        details: { prefix: "a/" },
      },
      {
        name: "by a prefix that nothing has",
        given: entries("a"),
        request: remove("/v1/data/prefix", { prefix: "b" }),
        status: 200,
        appends: ["agent data.delete_prefix not_found"],
        details: { prefix: "b" },
        body: { deleted: 0 },
      },
      {
        name: "by prefix, of an agent that never began",
        request: remove("/v1/data/prefix", { prefix: "b" }),
        status: 200,
        appends: ["- data.delete_prefix not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent, prefix: "b" }),
        body: { deleted: 0 },
      },
      {
        name: "everything by an empty prefix is refused",
        given: entries("a"),
        request: remove("/v1/data/prefix", { prefix: "" }),
        status: 400,
        code: "invalid_request",
        param: "prefix",
        appends: [],
      },
      {
        name: "what is deleted is found no more",
        given: async (scene) => {
          await entries("k")(scene);
          await scene.client.delete("/v1/data", { agent_id: scene.agent, key: "k" });
        },
        request: write({ query: "value" }, "/v1/data/search"),
        status: 200,
        appends: ["agent data.search ok"],
        body: { data: [] },
      },
    ],
  );
});
