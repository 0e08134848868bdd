/** The policy `screening` over HTTPS: what configs may say, and what is answered, stored, recorded and found. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const EMAIL = "jane.roe@acme.io";
const screened =
  (screening: object, more: object = {}) =>
  ({ client, agent }: Scene) =>
    client.configure(agent, { policies: { ...more, screening } });
const write =
  (rest: object) =>
  ({ agent }: Scene) => ({ path: "/v1/data/write", body: { agent_id: agent, key: "k", ...rest } });

describe("what is found is", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "reported in mode audit",
        given: screened({ pii: { mode: "audit" } }),
        request: write({ value: `to ${EMAIL}` }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
        body: { allowed: true, findings: [{ detector: "email", mode: "audit", field: "value", start: 3, end: 19 }] },
        check: async ({ client, agent, workspace: { view } }, { json }) => {
          expect(json).not.toHaveProperty("redacted");
          expect(view.eventsAfter(-1).at(-1)?.details).toMatchObject({ key: "k", findings: [{ detector: "email" }] });
          expect((await client.get("/v1/data/read", { agent_id: agent, key: "k" })).json.value).toBe(`to ${EMAIL}`);
        },
      },
      {
        name: "replaced in mode redact, before it is stored, digested and searched",
        given: screened({ pii: { mode: "redact" } }),
        request: write({ value: `to ${EMAIL}`, metadata: { cc: EMAIL } }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
        body: { allowed: true, redacted: true },
        check: async ({ client, agent, workspace: { view } }, { json }) => {
          expect(json.findings.map(({ field }: { field: string }) => field)).toEqual(["value", "metadata.cc"]);
          const { details } = view.eventsAfter(-1).at(-1) ?? {};
          expect(details).toMatchObject({
            key: "k",
            redacted: true,
            findings: [{ mode: "redact" }, { mode: "redact" }],
          });
          const read = await client.get("/v1/data/read-full", { agent_id: agent, key: "k" });
          expect(read.json).toMatchObject({ value: "to [redacted:email]", metadata: { cc: "[redacted:email]" } });
          const found = await client.post("/v1/data/search", { agent_id: agent, query: "jane.roe" });
          expect(JSON.stringify(found.json)).not.toContain("jane.roe");
          expect(JSON.stringify(view.eventsAfter(-1))).not.toContain("jane.roe");
        },
      },
      {
        name: "blocked where it cannot be replaced",
        given: screened({ pii: { mode: "redact" } }),
        request: write({ key: `user/${EMAIL}`, value: "v" }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { allowed: false, blocked_by: "policy:block_pii", findings: [{ field: "key", mode: "redact" }] },
      },
      {
        name: "an exception, which the event counts",
        given: screened({ exceptions: [{ detector: "email", equals: EMAIL, reason: "public" }] }, { block_pii: true }),
        request: write({ value: EMAIL }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
        body: { allowed: true, message: "Stored." },
        check: ({ workspace: { view } }, { json }) => {
          expect(json).not.toHaveProperty("findings");
          const { details } = view.eventsAfter(-1).at(-1) ?? {};
          expect(details).toMatchObject({ excepted: { email: 1 } });
          expect(JSON.stringify(details)).not.toContain(EMAIL);
        },
      },
      {
        name: "blocked by a pattern",
        given: screened({ patterns: [{ name: "code", regex: "PRJ-[0-9]{5}", mode: "block" }] }),
        request: write({ value: "see PRJ-12345" }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { allowed: false, blocked_by: "policy:patterns", findings: [{ policy: "patterns", detector: "code" }] },
      },
      {
        name: "refused in mode redact in the label of a checkpoint",
        given: async (scene) => {
          await screened({ pii: { mode: "redact" } })(scene);
        },
        request: ({ agent }: Scene) => ({ path: "/v1/checkpoints", body: { agent_id: agent, label: `for ${EMAIL}` } }),
        status: 409,
        code: "blocked",
        appends: ["agent checkpoint.create blocked"],
        body: { blocked_by: "policy:block_pii", findings: [{ field: "label", mode: "redact" }] },
      },
    ],
  );
});

const pattern = (rest: object) => ({ patterns: [{ name: "code", regex: "x", mode: "block", ...rest }] });
const exception = (rest: object) => ({ exceptions: [{ detector: "email", equals: "a", reason: "r", ...rest }] });

test.each([
  ["an unknown mode", { pii: { mode: "warn" } }, "policies.screening.pii.mode"],
  ["an unknown kind", { personal: {} }, "policies.screening.personal"],
  ["an unknown detector", { pii: { detectors: { emails: "block" } } }, "policies.screening.pii.detectors.emails"],
  ["a detector of another kind", { pii: { detectors: { jwt: "block" } } }, "policies.screening.pii.detectors.jwt"],
  ["a pattern with look-ahead", pattern({ regex: "(?=x)" }), "policies.screening.patterns[0].regex"],
  ["a pattern with a back-reference", pattern({ regex: "(a)\\1" }), "policies.screening.patterns[0].regex"],
  ["a pattern that is too long", pattern({ regex: "x".repeat(513) }), "policies.screening.patterns[0].regex"],
  ["a pattern named like a detector", pattern({ name: "email" }), "policies.screening.patterns[0].name"],
  [
    "two patterns of one name",
    { patterns: [...pattern({}).patterns, ...pattern({}).patterns] },
    "policies.screening.patterns[1].name",
  ],
  [
    "too many patterns",
    { patterns: Array.from({ length: 33 }, (_, i) => ({ name: `p${i}`, regex: "x", mode: "off" })) },
    "policies.screening.patterns",
  ],
  ["an exception without a reason", exception({ reason: undefined }), "policies.screening.exceptions[0].reason"],
  ["an exception that equals nothing", exception({ equals: undefined }), "policies.screening.exceptions[0].equals"],
  ["an exception of both forms", exception({ ends_with: "b" }), "policies.screening.exceptions[0].equals"],
  ["an exception of an unknown detector", exception({ detector: "mail" }), "policies.screening.exceptions[0].detector"],
  [
    "an exception that ends at no time",
    exception({ expires_at: "soon" }),
    "policies.screening.exceptions[0].expires_at",
  ],
])("%s is refused, and named", async (_, screening, param) => {
  const { status, json } = await workspace.client.configure("refused", { policies: { screening } });
  expect([status, json.code, json.param], json.detail).toEqual([400, "invalid_request", param]);
  // Who misspells a name is told which there are.
  if (/\.detectors\.|\.mode$/.test(param)) expect(json.detail).toMatch(/email, phone|off, audit/);
});
