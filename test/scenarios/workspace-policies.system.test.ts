/** The policies of a workspace: versions, who may change them, and that they hold for every agent. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

const SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const PERSON = "Call Jane on +1 415 555 2671.";
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const KEY = expect.stringMatching(/^key_[0-9a-z]{26}$/);
const DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/);

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const put = (body: unknown, headers: Record<string, string> = {}) => ({
  method: "PUT",
  path: "/v1/policies",
  body,
  headers,
});
const setTo =
  (...bodies: object[]) =>
  async ({ client }: Scene) => {
    for (const body of bodies) expect((await client.send(put(body))).status).toBe(200);
  };
const P1 = { policies: { block_pii: true } };

describe("before the first version", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "nothing is demanded",
        request: () => ({ path: "/v1/policies" }),
        status: 200,
        appends: ["- policies.read ok"],
        body: {
          version: null,
          policies: {},
          require_config: false,
          exceptions_from_agents: false,
          created_at: null,
          created_by: null,
        },
        details: { version: null },
        check: (_scene, { headers }) => expect(headers.get("etag")).toBeNull(),
      },
      {
        name: "there are no versions",
        request: () => ({ path: "/v1/policies/versions" }),
        status: 200,
        appends: ["- policies.list_versions ok"],
        body: { data: [], has_more: false, next_cursor: null },
        details: { count: 0 },
      },
      {
        name: "a version that is none",
        request: () => ({ path: "/v1/policies/versions/p1" }),
        status: 404,
        code: "version_not_found",
        appends: ["- policies.read_version not_found"],
        details: { version: "p1" },
      },
      {
        name: "a condition on a version",
        request: () => put(P1, { "If-Match": '"p1"' }),
        status: 412,
        code: "version_conflict",
        appends: ["- policies.update conflict"],
      },
      {
        name: "a policy that does not exist",
        request: () => put({ policies: { block_all: true } }),
        status: 400,
        code: "unknown_policy",
        param: "policies.block_all",
        appends: [],
      },
      {
        name: "a pattern that is no expression",
        request: () => put({ policies: { screening: { patterns: [{ name: "a", regex: "(?=x)", mode: "block" }] } } }),
        status: 400,
        code: "invalid_request",
        param: "policies.screening.patterns[0].regex",
        appends: [],
      },
      {
        name: "the first version, on the condition that there is none",
        request: () => put(P1, { "If-None-Match": "*" }),
        status: 200,
        appends: ["- policies.update ok"],
        changes: ["configs"],
        body: {
          version: "p1",
          ...P1,
          require_config: false,
          exceptions_from_agents: false,
          created_at: TIME,
          created_by: KEY,
        },
        details: { version: "p1", config_digest: DIGEST },
        check: (_scene, { headers }) => expect(headers.get("etag")).toBe('"p1"'),
      },
    ],
  );
});

describe("with versions", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "the next one",
        given: setTo(P1),
        request: () => put({ policies: { block_secrets: true }, require_config: false }, { "If-Match": "*" }),
        status: 200,
        appends: ["- policies.update ok"],
        changes: ["configs"],
        body: { policies: { block_secrets: true } },
      },
      {
        name: "the first one stays",
        request: () => ({ path: "/v1/policies/versions/p1" }),
        status: 200,
        appends: ["- policies.read_version ok"],
        body: { version: "p1", ...P1 },
        details: { version: "p1" },
      },
      {
        name: "they are listed, newest first",
        given: setTo(P1, { policies: {} }),
        request: () => ({ path: "/v1/policies/versions?limit=1" }),
        status: 200,
        appends: ["- policies.list_versions ok"],
        details: { count: 1 },
        check: (_scene, { json }) => {
          expect(json.data).toEqual([expect.objectContaining({ policies: {} })]);
          expect(json.has_more).toBe(true);
        },
      },
    ],
  );
});

const effective = ({ agent }: Scene) => ({ path: `/v1/config/${agent}/effective` });

describe("what is in force", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "for an agent that never began: what the workspace demands",
        given: setTo(P1),
        request: effective,
        status: 200,
        appends: ["- config.read_effective ok"],
        check: ({ agent }, { json }) => {
          expect(json).toEqual({
            agent_id: agent,
            config_version: null,
            policies_version: expect.stringMatching(/^p[0-9]+$/),
            policies: { block_pii: true, history_days: 30 },
            from: { block_pii: "floor", history_days: "default" },
          });
        },
      },
      {
        name: "for an agent with a config: the stricter of each part",
        given: async (scene) => {
          await setTo({ policies: { block_pii: true, retention_days: 30 } })(scene);
          await scene.client.configure(scene.agent, { policies: { block_secrets: true, retention_days: 7 } });
        },
        request: effective,
        status: 200,
        appends: ["agent config.read_effective ok"],
        body: {
          config_version: "v1",
          policies: { block_pii: true, block_secrets: true, retention_days: 7 },
          from: { block_pii: "floor", block_secrets: "config", retention_days: "config" },
        },
      },
      {
        name: "for what no agent can be called",
        request: () => ({ path: "/v1/config/a%20b/effective" }),
        status: 404,
        code: "agent_not_found",
        appends: [],
      },
    ],
  );
});

describe("what they demand", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "holds for an agent that never began",
        given: setTo(P1),
        request: ({ agent }: Scene) => ({ path: "/v1/data/write", body: { agent_id: agent, key: "k", value: PERSON } }),
        status: 200,
        appends: ["agent data.write blocked"],
        changes: ["agents"],
        body: { allowed: false, blocked_by: "policy:block_pii" },
      },
      {
        name: "holds for an agent whose config demands less",
        given: async (scene) => {
          await setTo(P1)(scene);
          await scene.client.configure(scene.agent, { policies: { block_pii: false, block_secrets: true } });
        },
        request: ({ agent }: Scene) => ({
          path: "/v1/data/write",
          body: { agent_id: agent, key: "k", value: `${PERSON} ${SECRET}` },
        }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { allowed: false, blocked_by: "policy:block_secrets" },
      },
      {
        name: "holds for a check, also without an agent",
        given: setTo(P1),
        request: () => ({ path: "/v1/policies/check", body: { value: PERSON } }),
        status: 200,
        appends: ["- policy.check ok"],
        body: { allowed: false, blocked_by: "policy:block_pii" },
      },
    ],
  );
});

const REQUIRED = { require_config: true };
const NEEDS_CONFIG = "policy:require_config";
const batch =
  (atomic: boolean) =>
  ({ agent }: Scene) => ({
    path: "/v1/data/batch",
    body: {
      agent_id: agent,
      atomic,
      operations: [
        { op: "write", key: "k", value: "v" },
        { op: "read", key: "k" },
      ],
    },
  });

describe("a config is required", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "a write without one is blocked, and what was found is named as well",
        given: setTo({ policies: { block_pii: true }, ...REQUIRED }),
        request: ({ agent }: Scene) => ({ path: "/v1/data/write", body: { agent_id: agent, key: "k", value: PERSON } }),
        status: 200,
        appends: ["agent data.write blocked"],
        changes: ["agents"],
        check: (_scene, { json }) => {
          expect(json).toMatchObject({ allowed: false, blocked_by: NEEDS_CONFIG });
          expect(json.message).toContain("PUT /v1/config/");
          expect(json.findings).toMatchObject([{ detector: "phone", mode: "block" }]);
        },
      },
      {
        name: "also of an agent that has entries",
        given: async (scene) => {
          await setTo({})(scene);
          await scene.client.write(scene.agent, "k", "v");
          await setTo(REQUIRED)(scene);
        },
        request: ({ agent }: Scene) => ({ path: "/v1/data/write", body: { agent_id: agent, key: "k", value: "w" } }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { allowed: false, blocked_by: NEEDS_CONFIG, findings: [] },
        details: { key: "k", findings: [], policies_version: expect.stringMatching(/^p\d+$/) },
      },
      {
        name: "a write with one is not",
        given: async (scene) => {
          await setTo(REQUIRED)(scene);
          await scene.client.configure(scene.agent, {});
        },
        request: ({ agent }: Scene) => ({ path: "/v1/data/write", body: { agent_id: agent, key: "k", value: "v" } }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
        body: { allowed: true },
      },
      {
        name: "a batch is refused as a whole",
        given: setTo(REQUIRED),
        request: batch(true),
        status: 200,
        appends: ["agent data.write blocked"],
        changes: ["agents"],
        body: { applied: false, results: [{ allowed: false, blocked_by: NEEDS_CONFIG }, { skipped: true }] },
      },
      {
        name: "a batch that is not atomic still reads",
        given: setTo(REQUIRED),
        request: batch(false),
        status: 200,
        appends: ["agent data.write blocked", "agent data.read not_found"],
        changes: ["agents"],
        body: {
          applied: true,
          results: [
            { allowed: false, blocked_by: NEEDS_CONFIG },
            { found: false, key: "k" },
          ],
        },
      },
      {
        name: "a restore brings nothing back",
        given: async (scene) => {
          await setTo({})(scene);
          await scene.client.write(scene.agent, "k", "v");
          const { json } = await scene.client.checkpoint(scene.agent);
          await scene.client.write(scene.agent, "k", "w");
          await setTo(REQUIRED)(scene);
          return json.id;
        },
        request: ({ made }: Scene) => ({ path: `/v1/checkpoints/${made}/restore`, body: {} }),
        status: 409,
        code: "restore_blocked",
        appends: ["agent checkpoint.restore blocked"],
        body: { blocked_by: NEEDS_CONFIG, findings: [] },
      },
      {
        name: "a check says so",
        given: setTo(REQUIRED),
        request: ({ agent }: Scene) => ({ path: "/v1/policies/check", body: { agent_id: agent, value: "v" } }),
        status: 200,
        appends: ["- policy.check ok"],
        body: { allowed: false, blocked_by: NEEDS_CONFIG, findings: [] },
      },
      {
        name: "a check without an agent, or under policies of its own, is about no config",
        given: setTo(REQUIRED),
        request: ({ agent }: Scene) => ({
          path: "/v1/policies/check",
          body: { agent_id: agent, value: "v", policies: {} },
        }),
        status: 200,
        appends: ["- policy.check ok"],
        body: { allowed: true },
      },
    ],
  );
});

describe("limits", () => {
  const limited = setTo({ policies: { limits: { writes_per_minute: 1, value_bytes: 9 } } });
  const BEYOND = { allowed: false, blocked_by: "policy:limits", findings: [] };
  scenarios(
    () => workspace,
    [
      {
        name: "a write that comes too early",
        given: async (scene) => {
          await limited(scene);
          await scene.client.write(scene.agent, "k", "v");
        },
        request: ({ agent }: Scene) => ({ path: "/v1/data/write", body: { agent_id: agent, key: "k", value: "w" } }),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { ...BEYOND, retry_after_seconds: expect.any(Number) },
        details: {
          key: "k",
          findings: [],
          limit: "writes_per_minute",
          retry_after_seconds: expect.any(Number),
          policies_version: expect.any(String),
        },
      },
      {
        name: "a check of one",
        given: async (scene) => {
          await limited(scene);
          await scene.client.write(scene.agent, "k", "v");
        },
        request: ({ agent }: Scene) => ({ path: "/v1/policies/check", body: { agent_id: agent, value: "w" } }),
        status: 200,
        appends: ["agent policy.check ok"],
        body: { ...BEYOND, retry_after_seconds: expect.any(Number) },
      },
      {
        name: "writes of a batch count one by one",
        given: limited,
        request: ({ agent }: Scene) => ({
          path: "/v1/data/batch",
          body: {
            agent_id: agent,
            atomic: false,
            operations: ["too long a value", "1", "2"].map((value) => ({ op: "write", key: value, value })),
          },
        }),
        status: 200,
        appends: ["agent data.write blocked", "agent data.write allowed", "agent data.write blocked"],
        changes: ["agents", "entries"],
        body: { results: [BEYOND, { allowed: true }, { ...BEYOND, retry_after_seconds: 60 }] },
      },
      {
        name: "a limit that is no number",
        request: () => put({ policies: { limits: { entries: "many" } } }),
        status: 400,
        code: "invalid_request",
        param: "policies.limits.entries",
        appends: [],
      },
    ],
  );
});

test("events about agents state the version in force, also of agents that never began", async () => {
  const { client, view } = workspace;
  const { json } = await client.send(put(P1));
  const said = async (request: Parameters<typeof client.send>[0]) => {
    await client.send(request);
    const [last] = view.eventsAfter(-1).slice(-1);
    return (await client.get(`/v1/audit/${last?.id}`)).json.details.policies_version;
  };
  expect(await said({ path: "/v1/policies/check", body: { value: "v" } })).toBe(json.version);
  expect(await said({ path: "/v1/policies/check", body: { agent_id: "nobody", value: "v" } })).toBe(json.version);
  expect(await said({ path: "/v1/data/read?agent_id=nobody&key=k" })).toBe(json.version);
  expect(await said({ path: "/v1/data/write", body: { agent_id: "somebody", key: "k", value: "v" } })).toBe(
    json.version,
  );
  expect(await said({ path: "/v1/policies" })).toBeUndefined();
});

test("a read with the tag of the version in force has no body", async () => {
  const { client } = workspace;
  const tag = (await client.send(put(P1))).headers.get("etag") as string;
  const read = (headers: Record<string, string>) => client.send({ path: "/v1/policies", headers });
  expect((await read({ "If-None-Match": tag })).status).toBe(304);
  expect((await read({ "If-None-Match": '"p0"' })).status).toBe(200);
});

test("who may read and change them", async () => {
  const statusOf = async (options: object, request: object) =>
    (await (await daemon.clientWith(workspace.id, options)).send(request as never)).status;
  const read = { path: "/v1/policies" };
  expect(await statusOf({ scope: "auditor" }, read)).toBe(200);
  expect(await statusOf({ scope: "auditor" }, put(P1))).toBe(403);
  expect(await statusOf({ scope: "agent" }, read)).toBe(403);
  expect(await statusOf({ scope: "full", agents: ["mine"] }, read)).toBe(200);
  expect(await statusOf({ scope: "full", agents: ["mine"] }, put(P1))).toBe(403);
  expect(await statusOf({ scope: "full" }, put(P1))).toBe(200);
});
