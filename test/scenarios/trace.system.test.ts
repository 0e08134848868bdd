/** `traceparent`: in the record of a request and in its exports, and no verifier minds. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { governd } from "../cli/governd.ts";
import { ocsfProblems } from "../log/ocsf.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scenario, type Scene, scenarios } from "../support/scenario.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACE = `00-${TRACE_ID}-b7ad6b7169203331-01`;

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { log_level: "debug" } });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const read =
  (traceparent: string) =>
  ({ agent }: Scene) => ({ path: "/v1/data/read", query: { agent_id: agent, key: "k" }, headers: { traceparent } });

const reading = (name: string, sent: string, recorded: string | null): Scenario => ({
  name,
  given: ({ client, agent }) => client.write(agent, "k", "v"),
  request: read(sent),
  status: 200,
  appends: ["agent data.read ok"],
  details: {
    key: "k",
    returned: [expect.any(Number)],
    ...(recorded === null ? {} : { trace: recorded, session: TRACE_ID }),
  },
});

scenarios(
  () => workspace,
  [
    reading("a trace is recorded", TRACE, TRACE),
    reading("of a later version, the known fields", `cc-${TRACE.slice(3)}-what-comes`, `cc-${TRACE.slice(3)}`),
    ...[
      ["an unknown field in version 00", `${TRACE}-00`],
      ["an invalid version", `ff-${TRACE.slice(3)}`],
      ["a trace of zeros", TRACE.replace(TRACE_ID, "0".repeat(32))],
      ["a parent of zeros", TRACE.replace("b7ad6b7169203331", "0".repeat(16))],
      ["upper case", TRACE.toUpperCase()],
      ["two of them", `${TRACE}, ${TRACE}`],
      ["no trace", "x"],
    ].map(([what, sent]) => reading(`${what} is ignored`, sent as string, null)),
    {
      name: "a refused operation has it too",
      request: read(TRACE),
      status: 404,
      code: "entry_not_found",
      appends: ["- data.read not_found"],
      details: ({ agent }) => ({ agent_id: agent, key: "k", trace: TRACE, session: TRACE_ID }),
    },
  ],
);

test("the log of requests, exports and verifiers have or know it", async () => {
  const { client, view } = workspace;
  const headers = { traceparent: TRACE };
  const body = { agent_id: "traced", key: "k", value: "v" };
  await client.send({ path: "/v1/data/write", body, headers });
  await client.send({ path: "/v1/data/write", body: { ...body, key: "gone" }, headers });
  await client.write("traced", "plain", "v");
  await client.send({ method: "DELETE", path: "/v1/data", query: { agent_id: "traced", key: "gone" }, headers });
  await client.send({ method: "POST", path: "/v1/checkpoints", body: { agent_id: "traced" }, headers });
  expect(view.eventsAfter(-1).at(-1)?.details).toMatchObject({ trace: TRACE, entry_count: 2 });
  expect(await daemon.log()).toContain(`"trace":"${TRACE}"`);
  await client.send({ path: "/v1/data/search", body: { agent_id: "traced", query: "v" }, headers });
  expect(view.eventsAfter(-1).at(-1)?.details).toMatchObject({ trace: TRACE });

  const exported = async (format: string) =>
    (await client.send({ path: "/v1/audit/export", body: { scope: "workspace", format }, headers })).text;
  const [cloudEvent] = (await exported("cloudevents")).split("\n").filter((line) => line.includes('"gone"'));
  expect(JSON.parse(cloudEvent as string)).toMatchObject({ traceparent: TRACE, type: "governd.audit.data.write" });
  const [ocsf] = (await exported("ocsf")).split("\n").filter((line) => line.includes('"gone"'));
  expect(JSON.parse(ocsf as string).metadata.correlation_uid).toBe(TRACE_ID);
  expect(ocsfProblems(JSON.parse(ocsf as string))).toEqual([]);

  expect((await view.verify()).problems).toEqual([]);
  using directory = temporaryDirectory();
  const file = join(directory.path, "export.ndjson");
  await Bun.write(file, await exported("ndjson"));
  const log = join(daemon.dataDir, "workspaces", `${workspace.id}.db`);
  for (const path of [file, log]) {
    expect((await governd(["verify", path])).out).toContain("Verified");
    if (!HAS_PYTHON) continue;
    await using second = new SecondVerifier();
    expect((await second.run(path)).codes).toEqual([]);
  }
  const erased = await client.delete("/v1/data", { agent_id: "traced", key: "gone", erase: true });
  expect([erased.status, view.eventsAfter(-1).at(-1)?.details?.events]).toEqual([200, 2]);
});
