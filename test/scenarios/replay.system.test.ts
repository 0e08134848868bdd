/** What policies would decide about everything that is stored. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

const SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const PHONE = "Call Jane on +1 415 555 2671.";
const MAIL = "Write to jane.doe@acme-widgets.com.";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const replay = (body: object) => ({ path: "/v1/policies/replay", body });
const ofAgent =
  (policies: object) =>
  ({ agent }: Scene) =>
    replay({ agent_id: agent, policies });
const filled = async ({ client, agent }: Scene) => {
  await client.write(agent, "plain", "good morning");
  await client.write(agent, "phone", PHONE);
  await client.write(agent, "mail", MAIL);
  await client.write(agent, "note", SECRET);
  await client.write(agent, "gone", SECRET);
  await client.send({ method: "DELETE", path: "/v1/data", query: { agent_id: agent, key: "gone" } });
};
const MODES = { screening: { pii: { mode: "redact", detectors: { phone: "audit" } }, secrets: { mode: "block" } } };
const NOTHING = { unchanged: 0, would_block: 0, would_redact: 0, would_audit: 0, samples: [], blocked_before: {} };

scenarios(
  () => workspace,
  [
    {
      name: "replay: each entry that is there is decided about once",
      given: filled,
      request: ofAgent(MODES),
      status: 200,
      appends: ["agent policy.replay ok"],
      body: { examined: 4, unchanged: 1, would_block: 1, would_redact: 1, would_audit: 1, blocked_before: {} },
      details: { under: "request", policies: ["screening"] },
      check: async ({ client, agent }, { json, text }) => {
        expect(
          json.samples.map(({ key, findings }: Sample) => [key, findings[0]?.detector, findings[0]?.mode]),
        ).toEqual(
          expect.arrayContaining([
            ["note", "provider_token", "block"],
            ["phone", "phone", "audit"],
            ["mail", "email", "redact"],
          ]),
        );
        const sample = json.samples[0] as Sample;
        const read = await client.send({ path: "/v1/data/read-full", query: { agent_id: agent, key: sample.key } });
        expect(sample).toMatchObject({ agent_id: agent, audit_id: read.json.audit_id });
        for (const matched of [SECRET, "415 555", "jane.doe"]) expect(text).not.toContain(matched);
      },
    },
    {
      name: "replay: what was blocked before is counted by detector",
      given: async ({ client, agent }: Scene) => {
        await client.configure(agent, { policies: { block_secrets: true, block_pii: true } });
        for (const value of [SECRET, `${SECRET} ${SECRET}`, `${SECRET} ${PHONE}`])
          await client.write(agent, "k", value);
      },
      request: ofAgent({}),
      status: 200,
      appends: ["agent policy.replay ok"],
      body: { ...NOTHING, examined: 0, blocked_before: { provider_token: 3, phone: 1 } },
    },
    {
      name: "replay: a value that is too long would be refused",
      given: async ({ client, agent }: Scene) => {
        for (const value of ["short", "rather long"]) await client.write(agent, value, value);
      },
      request: ofAgent({ limits: { value_bytes: 8 } }),
      status: 200,
      appends: ["agent policy.replay ok"],
      body: { examined: 2, unchanged: 1, would_block: 1, samples: [{ key: "rather long", findings: [] }] },
    },
    {
      name: "replay: lines of progress end with the result",
      given: filled,
      request: (scene: Scene) => ({ ...ofAgent(MODES)(scene), headers: { Accept: "application/x-ndjson" } }),
      status: 200,
      appends: ["agent policy.replay ok"],
      check: (_scene, { text, headers }) => {
        expect(headers.get("content-type")).toBe("application/x-ndjson");
        const lines = text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line));
        expect(lines.at(-1)).toMatchObject({ type: "result", examined: 4, would_block: 1 });
        for (const line of lines.slice(0, -1)) expect(line).toMatchObject({ type: "progress", total: 4 });
        expect(lines.at(-2)).toEqual({ type: "progress", examined: 4, total: 4 });
      },
    },
    {
      name: "replay: an agent that never began has no entries",
      request: ofAgent({ block_pii: true }),
      status: 200,
      appends: ["- policy.replay ok"],
      body: { ...NOTHING, examined: 0 },
    },
    {
      name: "replay: policies are checked like those of a configuration",
      request: ofAgent({ screening: { patterns: [{ name: "p", regex: "(?=a)", mode: "block" }] } }),
      status: 400,
      code: "invalid_request",
      param: "policies.screening.patterns[0].regex",
      appends: [],
    },
    {
      name: "replay: without policies",
      request: ({ agent }: Scene) => replay({ agent_id: agent }),
      status: 400,
      code: "invalid_request",
      param: "policies",
      appends: [],
    },
  ],
);

interface Sample {
  agent_id: string;
  key: string;
  audit_id: string;
  findings: { detector: string; mode: string }[];
}

test("without an agent, the entries of all agents count, and a key that is limited to agents may not ask", async () => {
  const { client, id } = await daemon.workspace();
  for (const agent of ["a", "b", "c"]) await client.write(agent, "k", agent === "b" ? SECRET : "fine");
  const { json } = await client.send(replay({ policies: { block_secrets: true } }));
  expect(json).toMatchObject({ examined: 3, unchanged: 2, would_block: 1 });
  expect(json.samples).toMatchObject([{ agent_id: "b", key: "k" }]);
  const limited = await daemon.clientWith(id, { agents: ["a"] });
  expect((await limited.send(replay({ agent_id: "a", policies: {} }))).json.examined).toBe(1);
  expect((await limited.send(replay({ agent_id: "b", policies: {} }))).json.code).toBe("forbidden");
  expect((await limited.send(replay({ policies: {} }))).json.code).toBe("forbidden");
});

test("many entries: progress comes on the way, writes go on meanwhile, and samples end at 100", async () => {
  const { client } = await daemon.workspace();
  const filler = "A note about the weather in spring, and what was planted then. ".repeat(40);
  for (let batch = 0; batch < 6; batch++) {
    const operations = Array.from({ length: 500 }, (_, i) => ({
      op: "write",
      key: `k/${batch}/${i}`,
      value: i % 10 === 0 ? `${filler}${SECRET}` : filler,
    }));
    expect((await client.send({ path: "/v1/data/batch", body: { agent_id: "many", operations } })).status).toBe(200);
  }
  const answer = client.send({
    ...replay({ agent_id: "many", policies: { block_secrets: true, block_pii: true } }),
    headers: { Accept: "application/x-ndjson" },
  });
  const writes = await Promise.all(
    Array.from({ length: 20 }, (_, i) => client.write("many", `k/0/${i}`, "changed meanwhile")),
  );
  expect(writes.map(({ status }) => status)).toEqual(writes.map(() => 200));
  const lines = (await answer).text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const { samples, ...result } = lines.at(-1);
  expect(result).toMatchObject({ type: "result", examined: 3_000 });
  expect(result.unchanged + result.would_block).toBe(3_000);
  expect(samples).toHaveLength(100);
  const steps = lines.slice(0, -1).map(({ examined }) => examined);
  expect(steps).toEqual(steps.toSorted((a: number, b: number) => a - b));
});
