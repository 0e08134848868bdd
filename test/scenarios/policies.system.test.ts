/** What policies decide about a text that is not stored. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

const SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const PERSON = "Call Jane on +1 415 555 2671.";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const check = (body: object) => ({ path: "/v1/policies/check", body });
const ofAgent =
  (body: object) =>
  ({ agent }: Scene) =>
    check({ agent_id: agent, ...body });
const secretsBlocked = ({ client, agent }: Scene) => client.configure(agent, { policies: { block_secrets: true } });
const finding = {
  policy: "block_secrets",
  detector: expect.any(String),
  field: "value",
  start: 0,
  end: 40,
  mode: "block",
};
const blocked = { allowed: false, blocked_by: "policy:block_secrets" };
const allowed = { allowed: true, message: "Nothing objects. Nothing was stored." };

scenarios(
  () => workspace,
  [
    {
      name: "a text that the agent's policies block, as a write answers",
      given: secretsBlocked,
      request: ofAgent({ key: "k", value: SECRET, metadata: { a: 1 } }),
      status: 200,
      appends: ["agent policy.check ok"],
      details: { ...blocked, findings: [finding], under: "agent" },
      check: async ({ client, agent }, { json }) =>
        expect((await client.write(agent, "k", SECRET)).json).toEqual(structuredClone(json)),
    },
    {
      name: "a text that they allow",
      given: secretsBlocked,
      request: ofAgent({ value: PERSON }),
      status: 200,
      appends: ["agent policy.check ok"],
      body: allowed,
      details: { allowed: true, under: "agent" },
    },
    {
      name: "under other policies than the agent's",
      given: secretsBlocked,
      request: ofAgent({ value: PERSON, policies: { block_pii: true } }),
      status: 200,
      appends: ["agent policy.check ok"],
      body: { allowed: false, blocked_by: "policy:block_pii" },
      check: (_scene, { json }) => expect(json.findings[0]).toMatchObject({ detector: "phone", field: "value" }),
    },
    {
      name: "of an agent that never began",
      request: ofAgent({ value: SECRET }),
      status: 200,
      appends: ["- policy.check ok"],
      body: allowed,
      details: ({ agent }: Scene) => ({ agent_id: agent, allowed: true, under: "agent" }),
    },
    {
      name: "of no agent",
      request: () => check({ value: SECRET, policies: { block_secrets: true } }),
      status: 200,
      appends: ["- policy.check ok"],
      body: blocked,
      details: { ...blocked, findings: [finding], under: "request" },
    },
    {
      name: "a large text, which another thread screens",
      given: secretsBlocked,
      request: ofAgent({ value: `${"word ".repeat(4_000)}${SECRET}` }),
      status: 200,
      appends: ["agent policy.check ok"],
      body: blocked,
    },
    {
      name: "an unknown policy",
      request: ofAgent({ value: "v", policies: { block_all: true } }),
      status: 400,
      code: "unknown_policy",
      param: "policies.block_all",
      appends: [],
    },
    {
      name: "without a text",
      request: ofAgent({ key: "k" }),
      status: 400,
      code: "invalid_request",
      param: "value",
      appends: [],
    },
  ],
);

test("a key that is limited to agents checks only for them", async () => {
  const limited = await daemon.clientWith(workspace.id, { agents: ["mine"] });
  const send = (body: object) => limited.send(check({ value: "v", ...body }));
  expect((await send({ agent_id: "mine" })).status).toBe(200);
  expect((await send({ agent_id: "other" })).json.code).toBe("forbidden");
  expect((await send({})).json.code).toBe("forbidden");
});

test("checks do not count against a quota of entries", async () => {
  const full = await TestDaemon.start({ flags: { quota_entries: "1" } });
  await using _ = full;
  const { client } = await full.workspace();
  await client.write("a", "k", "v");
  expect((await client.write("a", "other", "v")).status).toBe(507);
  expect((await client.send(check({ agent_id: "a", value: "v" }))).json).toEqual(allowed);
});
