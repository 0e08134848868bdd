/** Configs: versions without gaps, If-Match, rollback, and what each request leaves in the trail. */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const V1 = { instructions: "One.", policies: { block_pii: true } };
const V2 = { instructions: "Two.", model: "m", other: { nested: [1, null, { "": "x" }] } };

const twoVersions = async ({ client, agent }: Scene) => {
  await client.configure(agent, V1);
  await client.configure(agent, V2);
};
const oneEntry = ({ client, agent }: Scene) => client.write(agent, "k", "v");
const config =
  (rest = "") =>
  ({ agent }: Scene) => ({ path: `/v1/config/${agent}${rest}` });
const put =
  (body: unknown, headers: Record<string, string> = {}) =>
  ({ agent }: Scene) => ({ method: "PUT", path: `/v1/config/${agent}`, body, headers });
const rollback =
  (body: unknown, headers: Record<string, string> = {}) =>
  ({ agent }: Scene) => ({ path: `/v1/config/${agent}/rollback`, body, headers });

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const KEY = expect.stringMatching(/^key_[0-9a-z]{26}$/);
const DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/);

describe("reading", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "an agent that never began has no config, and does not begin",
        request: config(),
        status: 404,
        code: "config_not_found",
        appends: ["- config.read not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent }),
      },
      {
        name: "an agent without a config: recorded in its own chain",
        given: oneEntry,
        request: config(),
        status: 404,
        code: "config_not_found",
        appends: ["agent config.read not_found"],
        details: {},
      },
      {
        name: "the newest version, with its entity tag",
        given: twoVersions,
        request: config(),
        status: 200,
        appends: ["agent config.read ok"],
        details: { version: "v2" },
        check: ({ agent }, { json, headers }) => {
          expect(json).toEqual({
            agent_id: agent,
            version: "v2",
            config: V2,
            created_at: TIME,
            created_by: KEY,
            rolled_back_from: null,
          });
          expect(headers.get("etag")).toBe('"v2"');
        },
      },
      {
        name: "If-None-Match with the tag in force: 304, recorded all the same",
        given: twoVersions,
        request: (scene) => ({ ...config()(scene), headers: { "if-none-match": '"v1", W/"v2"' } }),
        status: 304,
        appends: ["agent config.read ok"],
      },
      {
        name: "an earlier version as it was",
        given: twoVersions,
        request: config("/versions/v1"),
        status: 200,
        appends: ["agent config.read_version ok"],
        details: { version: "v1" },
        body: { version: "v1", config: V1 },
      },
      {
        name: "a version that is not there",
        given: twoVersions,
        request: config("/versions/v3"),
        status: 404,
        code: "version_not_found",
        appends: ["agent config.read_version not_found"],
        details: { version: "v3" },
      },
      ...["1", "v0", "v01", "v-1", "latest", "v1.0", "V1", "v99999999999999999999"].map((version) => ({
        name: `the malformed version ${version} is simply not found`,
        given: twoVersions,
        request: config(`/versions/${version}`),
        status: 404,
        code: "version_not_found",
        appends: ["agent config.read_version not_found"],
        details: {},
      })),
      {
        name: "a version of an agent that never began",
        request: config("/versions/v1"),
        status: 404,
        code: "config_not_found",
        appends: ["- config.read_version not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent, version: "v1" }),
      },
      {
        name: "the list of versions of an agent that never began is empty",
        request: config("/versions"),
        status: 200,
        appends: ["- config.list_versions ok"],
        body: { data: [], has_more: false, next_cursor: null },
        details: ({ agent }: Scene) => ({ agent_id: agent, count: 0 }),
      },
      {
        name: "versions newest first, with policies and without configs",
        given: twoVersions,
        request: config("/versions"),
        status: 200,
        appends: ["agent config.list_versions ok"],
        details: { count: 2 },
        check: ({ agent }, { json }) => {
          const common = { agent_id: agent, created_at: TIME, created_by: KEY, rolled_back_from: null };
          expect(json).toEqual({
            data: [
              { ...common, version: "v2", policies: {} },
              { ...common, version: "v1", policies: { block_pii: true } },
            ],
            has_more: false,
            next_cursor: null,
          });
        },
      },
    ],
  );
});

describe("updating", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "the first version begins the agent",
        request: put(V1),
        status: 200,
        appends: ["agent config.update ok"],
        changes: ["agents", "configs"],
        body: { version: "v1", config: V1, rolled_back_from: null },
        details: { version: "v1", config_digest: DIGEST },
      },
      {
        name: "the body replaces the config, it is no patch",
        given: twoVersions,
        request: put({ model: "n" }),
        status: 200,
        appends: ["agent config.update ok"],
        changes: ["configs"],
        body: { version: "v3", config: { model: "n" } },
        check: (_scene, { json, headers }) => {
          expect(json.config).toEqual({ model: "n" });
          expect(headers.get("etag")).toBe('"v3"');
        },
      },
      {
        name: "the empty config, and the same config again, are versions too",
        given: async (scene) => {
          await scene.client.configure(scene.agent, {});
        },
        request: put({}),
        status: 200,
        appends: ["agent config.update ok"],
        changes: ["configs"],
        body: { version: "v2", config: {} },
      },
      ...['"v2"', '"v1", "v2"', "*", '"v9" , "v2"'].map((ifMatch) => ({
        name: `If-Match ${ifMatch} matches v2`,
        given: twoVersions,
        request: put(V1, { "if-match": ifMatch }),
        status: 200,
        appends: ["agent config.update ok"],
        changes: ["configs" as const],
        body: { version: "v3" },
      })),
      ...['"v1"', 'W/"v2"', '"V2"', '"v1", W/"v2"'].map((ifMatch) => ({
        name: `If-Match ${ifMatch} does not match v2`,
        given: twoVersions,
        request: put(V1, { "if-match": ifMatch }),
        status: 412,
        code: "version_conflict",
        appends: ["agent config.update conflict"],
        details: { code: "version_conflict" },
      })),
      {
        name: "If-Match * where there is no config: a conflict, and the agent does not begin",
        request: put(V1, { "if-match": "*" }),
        status: 412,
        code: "version_conflict",
        appends: ["- config.update conflict"],
        details: ({ agent }: Scene) => ({ agent_id: agent, code: "version_conflict" }),
      },
      {
        name: "If-Match on an agent that began without a config",
        given: oneEntry,
        request: put(V1, { "if-match": '"v1"' }),
        status: 412,
        code: "version_conflict",
        appends: ["agent config.update conflict"],
      },
      {
        name: "a malformed If-Match is refused before it becomes an operation",
        request: put(V1, { "if-match": "v1" }),
        status: 400,
        code: "invalid_request",
        param: "If-Match",
        appends: [],
      },
      {
        name: "a policy that does not exist",
        request: put({ policies: { block_PII: true } }),
        status: 400,
        code: "unknown_policy",
        param: "policies.block_PII",
        appends: [],
      },
      ...[
        [{ policies: { block_pii: "true" } }, "policies.block_pii"],
        [{ policies: { retention_days: 0 } }, "policies.retention_days"],
        [{ policies: { retention_days: 36_501 } }, "policies.retention_days"],
        [{ policies: { retention_days: 1.5 } }, "policies.retention_days"],
        [{ policies: [] }, "policies"],
        [{ instructions: 1 }, "instructions"],
        [{ big: "x".repeat(256 * 1024) }, "config"],
      ].map(([body, param]) => ({
        name: `refused: ${JSON.stringify(body).slice(0, 60)}`,
        request: put(body),
        status: 400,
        code: "invalid_request",
        param: param as string,
        appends: [],
      })),
      {
        name: "no agent can have this id",
        request: () => ({ method: "PUT", path: "/v1/config/a%20b", body: V1 }),
        status: 404,
        code: "agent_not_found",
        appends: [],
      },
    ],
  );
});

describe("rolling back", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "makes a new version with the content of the old one",
        given: twoVersions,
        request: rollback({ version: "v1" }),
        status: 200,
        appends: ["agent config.rollback ok"],
        changes: ["configs"],
        body: { version: "v3", config: V1, rolled_back_from: "v1" },
        details: { version: "v3", config_digest: DIGEST, rolled_back_from: "v1" },
        check: async ({ client, agent }, { headers }) => {
          expect(headers.get("etag")).toBe('"v3"');
          const { json } = await client.write(agent, "k", "mail jane.roe@acme.io");
          expect(json).toMatchObject({ allowed: false, blocked_by: "policy:block_pii" });
        },
      },
      {
        name: "to the version in force: a new version all the same",
        given: twoVersions,
        request: rollback({ version: "v2" }, { "if-match": '"v2"' }),
        status: 200,
        appends: ["agent config.rollback ok"],
        changes: ["configs"],
        body: { version: "v3", config: V2, rolled_back_from: "v2" },
      },
      {
        name: "If-Match is honoured",
        given: twoVersions,
        request: rollback({ version: "v1" }, { "if-match": '"v1"' }),
        status: 412,
        code: "version_conflict",
        appends: ["agent config.rollback conflict"],
      },
      {
        name: "an agent without any config",
        given: oneEntry,
        request: rollback({ version: "v1" }),
        status: 404,
        code: "config_not_found",
        appends: ["agent config.rollback not_found"],
        details: { version: "v1" },
      },
      {
        name: "an agent that never began",
        request: rollback({ version: "v1" }),
        status: 404,
        code: "config_not_found",
        appends: ["- config.rollback not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent, version: "v1" }),
      },
      {
        name: "a version that is not there",
        given: twoVersions,
        request: rollback({ version: "v3" }),
        status: 404,
        code: "version_not_found",
        appends: ["agent config.rollback not_found"],
      },
      {
        name: "a malformed version is simply not found",
        given: twoVersions,
        request: rollback({ version: "two" }),
        status: 404,
        code: "version_not_found",
        appends: ["agent config.rollback not_found"],
      },
      {
        name: "without a version",
        given: twoVersions,
        request: rollback({}),
        status: 400,
        code: "invalid_request",
        param: "version",
        appends: [],
      },
    ],
  );
});
