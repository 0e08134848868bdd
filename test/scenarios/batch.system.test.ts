/** Batches: what each operation answers, which events it leaves, and what is applied when one of them is refused. */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scenario, type Scene, scenarios } from "../support/scenario.ts";

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
  findings: [{ policy: "block_pii", detector: "email", tier: 1, field: "value", start: 0, end: EMAIL.length }],
};
const found = (key: string) => ({
  found: true,
  key,
  value: `value of ${key}`,
  metadata: { of: key },
  audit_id: AUDIT_ID,
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
          expect(remove?.details).toEqual({ key: "k", count: 1 });
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
