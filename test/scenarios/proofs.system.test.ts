/** Proofs over HTTP: who may ask for what, what is recorded, and that the file verifies as it was sent. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { governd } from "../cli/governd.ts";
import { eventually } from "../eventually.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scenario, scenarios } from "../support/scenario.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

const directory = temporaryDirectory();
let daemon: TestDaemon;
let workspace: TestWorkspace;
let auditor: Client;
let limited: Client;

const AGENT = "kept";

beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { seal_interval: "1s" } });
  workspace = await daemon.workspace();
  auditor = await daemon.clientWith(workspace.id, { scope: "auditor" });
  limited = await daemon.clientWith(workspace.id, { scope: "full", agents: [AGENT] });
  for (const key of ["notes/1", "notes/2", "plan"]) await workspace.client.write(AGENT, key, `of ${key}`);
  await workspace.client.write("another", "theirs", "v");
  // Only now, so that the one root of the hour has all of them.
  await daemon.reload({ state_roots: "hourly" });
  await workspace.client.read(AGENT, "plan");
  await eventually("there is a state root", () =>
    workspace.view.eventsAfter(-1).some(({ operation }) => operation === "state.root"),
  );
}, PROCESS_TEST_MS);
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const now = () => new Date().toISOString();
const rootSeq = () => workspace.view.eventsAfter(-1).find(({ operation }) => operation === "state.root")?.seq as number;

const asked = (rest: object, agent_id = AGENT) => ({ path: "/v1/proofs", body: { agent_id, at: now(), ...rest } });

const proved = (name: string, rest: object, body: object, details: object): Scenario => ({
  name,
  request: () => asked(rest),
  status: 200,
  appends: [`${AGENT} proof.create ok`],
  body: { format: "governd.proof/1", agent_id: AGENT, ...body },
  details: () => ({ ...details, root_seq: rootSeq() }),
  check: async (_, { text }) => {
    const { code } = await verify(text);
    expect(code).toBe(0);
  },
});

const refused = (name: string, body: object, param: string): Scenario => ({
  name,
  request: () => ({ path: "/v1/proofs", body: { agent_id: AGENT, at: now(), ...body } }),
  status: 400,
  code: "invalid_request",
  param,
  appends: [],
});

/** Verifies a file with the key of the daemon. */
async function verify(text: string) {
  const path = directory.join(`${Bun.randomUUIDv7()}.json`);
  writeFileSync(path, text);
  return governd(["verify", path, "--public-key", `${daemon.dataDir}/keys/seal.pub`], { released: false });
}

describe("a proof", () => {
  scenarios(
    () => workspace,
    [
      proved(
        "of an entry, without its value",
        { key: "plan" },
        { claim: "held", entries: [{ key: "plan" }] },
        { key: "plan", claim: "held", count: 1 },
      ),
      proved(
        "of a key that is absent",
        { key: "other" },
        { claim: "absent", entries: [], before: { key: "notes/2" }, after: { key: "plan" } },
        { key: "other", claim: "absent", count: 0 },
      ),
      proved(
        "of a prefix that is absent",
        { prefix: "zz/" },
        { claim: "absent", before: { key: "plan" }, after: null },
        { prefix: "zz/", claim: "absent", count: 0 },
      ),
      proved(
        "of all entries under a prefix",
        { prefix: "notes/" },
        { claim: "complete", entries: [{ key: "notes/1" }, { key: "notes/2" }] },
        { prefix: "notes/", claim: "complete", count: 2 },
      ),
      proved(
        "of all entries of an agent",
        { complete: true },
        { claim: "complete", before: { agent_id: "another", key: "theirs" }, after: null },
        { claim: "complete", count: 3 },
      ),
      {
        name: "with a value, whose version the event names",
        request: () => asked({ key: "plan", with_values: true }),
        status: 200,
        appends: [`${AGENT} proof.create ok`],
        body: { claim: "held", entries: [{ key: "plan", value: "of plan", metadata: {} }] },
        details: (_, { json }) => ({
          ...{ key: "plan", claim: "held", count: 1, root_seq: rootSeq(), with_values: true },
          ...{ returned: [json.entries[0].version], read_seq: json.root.details.seq },
        }),
      },
      {
        name: "of an agent that never began is in the workspace's own chain",
        request: ({ agent }) => asked({ complete: true }, agent),
        status: 200,
        appends: ["- proof.create ok"],
        body: { claim: "complete", entries: [] },
        details: ({ agent }) => ({ agent_id: agent, claim: "complete", count: 0, root_seq: rootSeq() }),
      },
      {
        name: "of a moment before every root is gone",
        request: () => ({ path: "/v1/proofs", body: { agent_id: AGENT, at: "2020-01-01T00:00:00Z", key: "plan" } }),
        status: 410,
        code: "moment_gone",
        appends: [`${AGENT} proof.create not_found`],
        body: { kept_since: expect.stringMatching(/Z$/) },
        details: { key: "plan", code: "moment_gone" },
      },
      refused("in the future", { at: "2999-01-01T00:00:00Z", key: "plan" }, "at"),
      refused("of no time", { at: "yesterday", key: "plan" }, "at"),
      refused("of nothing", {}, "key"),
      refused("of a key and a prefix", { key: "plan", prefix: "notes/" }, "prefix"),
      refused("of a key, and complete", { key: "plan", complete: true }, "complete"),
      refused("that is not complete", { complete: false }, "complete"),
      refused("of an empty prefix", { prefix: "" }, "prefix"),
      refused("of an unknown member", { key: "plan", values: true }, "values"),
    ],
  );
});

test("an auditor gets a proof without values, and none with them", async () => {
  expect((await auditor.post("/v1/proofs", asked({ key: "plan" }).body)).json).toMatchObject({ claim: "held" });
  const { status, json } = await auditor.post("/v1/proofs", asked({ key: "plan", with_values: true }).body);
  expect([status, json.code, json.detail]).toEqual([403, "forbidden", expect.stringContaining("with_values")]);
});

test("a key of another scope, or for other agents, gets none", async () => {
  const agents = await daemon.clientWith(workspace.id, { scope: "agent" });
  expect((await agents.post("/v1/proofs", asked({ key: "plan" }).body)).status).toBe(403);
  expect((await limited.post("/v1/proofs", asked({ key: "plan" }).body)).status).toBe(200);
  expect((await limited.post("/v1/proofs", asked({ key: "plan" }, "another").body)).status).toBe(403);
  // The entry before would be another agent's.
  const { status, json } = await limited.post("/v1/proofs", asked({ complete: true }).body);
  expect([status, json.code]).toEqual([403, "forbidden"]);
});

test("the answer is the file, and a change of it is refused", async () => {
  const { text } = await workspace.client.post("/v1/proofs", asked({ key: "plan" }).body);
  expect((await verify(text)).out).toContain("held: kept had an entry");
  expect((await verify(text.replace('"plan"', '"plam"'))).code).toBe(1);
});
