/** Batches: what each operation answers, which events it leaves, and what is applied when one of them is refused. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { governd } from "../cli/governd.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scenario, type Scene, scenarios } from "../support/scenario.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const EMAIL = "jane.roe@acme.io";
const AUDIT_ID = expect.stringMatching(/^aud_[0-9a-z]{26}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const STORED = { allowed: true, audit_id: AUDIT_ID, message: "Stored." };
const SKIPPED = { skipped: true };
const OTHER = "aud_01jz8v6s3yf0abm5q2x9k7n4tc";

const put = (key: string, value = `value of ${key}`, rest: object = {}) => ({ op: "write", key, value, ...rest });
const end = (key: string, rest: object = {}) => ({ op: "delete", key, ...rest });
const get = (key: string) => ({ op: "read", key });
const batch =
  (operations: readonly object[], rest: object = {}) =>
  ({ agent }: Scene) => ({ path: "/v1/data/batch", body: { agent_id: agent, operations, ...rest } });
const LOOSE = { atomic: false };

const entries =
  (...keys: string[]) =>
  async ({ client, agent }: Scene) => {
    for (const key of keys) await client.write(agent, key, `value of ${key}`, { of: key });
  };
const guarded =
  (...keys: string[]) =>
  async (scene: Scene) => {
    await scene.client.configure(scene.agent, { policies: { block_pii: true } });
    await entries(...keys)(scene);
  };
const blocked = {
  allowed: false,
  blocked_by: "policy:block_pii",
  message: expect.any(String),
  findings: [
    { policy: "block_pii", detector: "email", tier: 1, field: "value", start: 0, end: EMAIL.length, mode: "block" },
  ],
};
const found = (key: string) => ({
  found: true,
  key,
  value: `value of ${key}`,
  metadata: { of: key },
  audit_id: AUDIT_ID,
  created_at: TIME,
  updated_at: TIME,
  expires_at: null,
});
const readsAs =
  (key: string, value: string | null): NonNullable<Scenario["check"]> =>
  async ({ client, agent }) => {
    const { status, json } = await client.read(agent, key);
    expect(status === 200 ? json.value : null).toBe(value);
  };

describe("carried out", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "operations run in order, and later ones see the effects of earlier ones",
        given: entries("k2"),
        request: batch([put("k", "v", { metadata: { a: 1 } }), get("k"), end("k"), get("k"), end("k2"), end("k2")]),
        status: 200,
        appends: [
          "agent data.write allowed",
          "agent data.read ok",
          "agent data.delete ok",
          "agent data.read not_found",
          "agent data.delete ok",
          "agent data.delete not_found",
        ],
        changes: ["agents", "entries"],
        check: async ({ workspace: { view } }, { json }) => {
          const [write, , remove, , last, none] = view.eventsAfter(-1).slice(-6);
          expect(structuredClone(json)).toEqual({
            applied: true,
            results: [
              { ...STORED, audit_id: write?.id },
              { ...found("k"), value: "v", metadata: { a: 1 }, audit_id: write?.id },
              { deleted: 1, audit_id: remove?.id },
              { found: false, key: "k" },
              { deleted: 1, audit_id: last?.id },
              { deleted: 0, audit_id: none?.id },
            ],
          });
          expect(remove?.details).toEqual({ key: "k" });
        },
      },
      {
        name: "a key may be written several times; the last one stays",
        request: batch([put("k", "1"), put("k", "2"), put("k", "3")]),
        status: 200,
        appends: ["agent data.write allowed", "agent data.write allowed", "agent data.write allowed"],
        changes: ["agents", "entries"],
        check: readsAs("k", "3"),
      },
      {
        name: "reads alone change nothing",
        given: entries("k"),
        request: batch([get("k"), get("none")]),
        status: 200,
        appends: ["agent data.read ok", "agent data.read not_found"],
        body: { applied: true, results: [found("k"), { found: false, key: "none" }] },
        details: { key: "none" },
      },
      {
        name: "of an agent that never began, nothing is found",
        request: batch([get("k"), end("k")]),
        status: 200,
        appends: ["- data.read not_found", "- data.delete not_found"],
        body: {
          applied: true,
          results: [
            { found: false, key: "k" },
            { deleted: 0, audit_id: AUDIT_ID },
          ],
        },
      },
      {
        name: "not atomic: each is decided on its own",
        given: guarded("k"),
        request: batch([put("a"), put("b", EMAIL), put("k", "w", { if_version: null }), get("a")], LOOSE),
        status: 200,
        appends: [
          "agent data.write allowed",
          "agent data.write blocked",
          "agent data.write conflict",
          "agent data.read ok",
        ],
        changes: ["agents", "entries"],
        body: {
          applied: true,
          results: [STORED, blocked, { conflict: true, current_version: AUDIT_ID }, { found: true, key: "a" }],
        },
        check: readsAs("k", "value of k"),
      },
    ],
  );
});

describe("atomic and refused", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "a blocked write: nothing is applied, the others are skipped",
        given: guarded("k"),
        request: batch([put("a"), end("k"), put("b", EMAIL), get("a")]),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { applied: false, results: [SKIPPED, SKIPPED, blocked, SKIPPED] },
        details: { key: "b", findings: blocked.findings },
        check: async (scene, answered) => {
          await readsAs("k", "value of k")(scene, answered);
          await readsAs("a", null)(scene, answered);
        },
      },
      {
        name: "every refused operation reports its reason, with the effects of those before it",
        given: guarded("k"),
        request: batch([
          put("a", EMAIL),
          end("k"),
          put("k", "w", { if_version: null }),
          put("k", "w", { if_version: null }),
          end("k", { if_version: OTHER }),
          put("b", `${EMAIL} `),
        ]),
        status: 200,
        appends: [
          "agent data.write blocked",
          "agent data.write conflict",
          "agent data.delete conflict",
          "agent data.write blocked",
        ],
        body: {
          applied: false,
          results: [
            blocked,
            SKIPPED,
            SKIPPED,
            { conflict: true, current_version: AUDIT_ID },
            { conflict: true, current_version: AUDIT_ID },
            { ...blocked, findings: [expect.any(Object)] },
          ],
        },
        check: readsAs("k", "value of k"),
      },
      {
        name: "an agent that would have begun has begun only with the refusal",
        request: batch([put("a"), put("a", "w", { if_version: null })]),
        status: 200,
        appends: ["agent data.write conflict"],
        changes: ["agents"],
        body: { applied: false, results: [SKIPPED, { conflict: true }] },
        check: readsAs("a", null),
      },
    ],
  );
});

describe("refused as a whole", () => {
  const suspended = async (scene: Scene) => {
    await entries("k")(scene);
    await scene.client.post(`/v1/agents/${scene.agent}/suspend`, {});
  };
  scenarios(
    () => workspace,
    [
      ...[true, false].map(
        (atomic): Scenario => ({
          name: `a suspended agent, atomic ${atomic}: only the first operation is recorded`,
          given: suspended,
          request: batch([get("k"), put("a"), end("k")], { atomic }),
          status: 403,
          code: "agent_suspended",
          appends: ["agent data.read denied"],
        }),
      ),
      {
        name: "what is read may not be longer than an answer can be: nothing is done",
        given: ({ client, agent }) => client.write(agent, "k", "x".repeat(1024 * 1024)),
        request: batch([put("a"), ...Array.from({ length: 17 }, () => get("k"))]),
        status: 400,
        code: "invalid_request",
        appends: [],
        check: readsAs("a", null),
      },
    ],
  );
});

describe("not valid", () => {
  const refusals: [name: string, body: object, param: string][] = [
    ["no operations", { operations: [] }, "operations"],
    ["too many", { operations: Array.from({ length: 1001 }, () => get("k")) }, "operations"],
    ["not a list", { operations: { op: "read", key: "k" } }, "operations"],
    ["an operation that is none", { operations: [get("k"), "read"] }, "operations[1]"],
    ["an unknown operation", { operations: [get("k"), { op: "erase", key: "k" }] }, "operations[1].op"],
    ["a word of every object", { operations: [{ op: "constructor", key: "k" }] }, "operations[0].op"],
    ["no operation named", { operations: [{ key: "k" }] }, "operations[0].op"],
    ["no key", { operations: [get("k"), get("k"), get("k"), { op: "read" }] }, "operations[3].key"],
    ["a key that is not valid", { operations: [get("\u0000")] }, "operations[0].key"],
    ["no value", { operations: [{ op: "write", key: "k" }] }, "operations[0].value"],
    ["a value too long", { operations: [put("k", "x".repeat(1024 * 1024 + 1))] }, "operations[0].value"],
    ["metadata that are none", { operations: [put("k", "v", { metadata: [] })] }, "operations[0].metadata"],
    [
      "two ends",
      { operations: [get("k"), put("k", "v", { ttl_seconds: 1, expires_at: "2099-01-01T00:00:00Z" })] },
      "operations[1].ttl_seconds",
    ],
    [
      "an end in the past",
      { operations: [get("k"), put("k", "v", { expires_at: "2001-01-01T00:00:00Z" })] },
      "operations[1].expires_at",
    ],
    ["an unknown member", { operations: [put("k", "v", { ttl: 1 })] }, "operations[0].ttl"],
    ["a condition on a read", { operations: [{ ...get("k"), if_version: null }] }, "operations[0].if_version"],
    ["a version that is none", { operations: [end("k", { if_version: "v1" })] }, "operations[0].if_version"],
    ["an unknown member of the batch", { operations: [get("k")], dry_run: true }, "dry_run"],
    ["atomic that is no truth value", { operations: [get("k")], atomic: "yes" }, "atomic"],
  ];
  scenarios(
    () => workspace,
    refusals.map(([name, body, param]) => ({
      name,
      request: ({ agent }) => ({ path: "/v1/data/batch", body: { agent_id: agent, ...body } }),
      status: 400,
      code: "invalid_request",
      param,
      appends: [],
    })),
  );
});

test("a thousand operations, one of a megabyte, and the limit of a body", async () => {
  const { client, view } = workspace;
  const operations = Array.from({ length: 999 }, (_, i) => put(`k/${i}`));
  const large = put("large", "\u20ac".repeat(349_525));
  const { status, json } = await client.post("/v1/data/batch", {
    agent_id: "many",
    operations: [...operations, large],
  });
  expect([status, json.applied, json.results.length]).toEqual([200, true, 1000]);
  expect((await client.read("many", "large")).json.value).toBe(large.value);
  const tooLarge = { agent_id: "many", operations: Array.from({ length: 4 }, () => put("k", "x".repeat(1024 * 1024))) };
  expect((await client.post("/v1/data/batch", tooLarge)).status).toBe(413);
  expect((await view.verify()).problems).toEqual([]);
});

test("a refused batch that is sent again with its Idempotency-Key is not decided again", async () => {
  const { client, view } = workspace;
  await client.write("again", "k", "v");
  const body = { agent_id: "again", operations: [put("a"), put("k", "w", { if_version: null })] };
  const sent = { path: "/v1/data/batch", body, headers: { "idempotency-key": "batch-1" } };
  const first = await client.send(sent);
  const { head } = view;
  const second = await client.send(sent);
  expect([second.text, second.headers.get("x-audit-id")]).toEqual([first.text, first.headers.get("x-audit-id")]);
  expect(view.eventsAfter(head)).toEqual([]);
});

test("batches and single writers at the same time", async () => {
  const { client, view } = workspace;
  const counts = Array.from({ length: 8 }, async (_, n) => {
    for (let i = 0; i < 10; i++) {
      // Every other batch is refused in its middle.
      const condition = i % 2 === 0 ? {} : { if_version: OTHER };
      const operations = [put("shared", `${n}`), put(`own/${n}/${i}`, "v", condition), get("shared"), end("shared")];
      const [batched] = await Promise.all([
        client.post("/v1/data/batch", { agent_id: "busy", operations }),
        client.write("busy", `single/${n}/${i}`, "v"),
        client.read("busy", "shared"),
      ]);
      expect(batched.json.applied).toBe(i % 2 === 0);
      // Nobody else is seen in the middle of it.
      if (batched.json.applied) expect(batched.json.results[2].value).toBe(`${n}`);
    }
  });
  await Promise.all(counts);
  expect((await client.read("busy", "shared")).status).toBe(404);
  const { json } = await client.get("/v1/data/list", { agent_id: "busy", limit: 1000 });
  expect(json.data.length).toBe(8 * 10 + 8 * 5);
  expect((await view.verify()).problems).toEqual([]);
});

test.if(HAS_PYTHON)("both verifiers find the directory with all of this intact", async () => {
  await using second = new SecondVerifier();
  expect(await second.run(daemon.dataDir)).toMatchObject({ code: 0, codes: [] });
  expect(await governd(["verify", "--quiet", daemon.dataDir])).toMatchObject({ code: 0 });
});
