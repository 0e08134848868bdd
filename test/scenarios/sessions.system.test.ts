/** Sessions: what requests name as theirs, in the record, and as a filter of the trail, of live streams and of exports. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { governd } from "../cli/governd.ts";
import type { Sent } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scenario, type Scene, scenarios } from "../support/scenario.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACE = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const LONGEST = "~".repeat(128);

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { log_level: "debug" } });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const read =
  (headers: Record<string, string>) =>
  ({ agent }: Scene): Sent => ({ path: "/v1/data/read", query: { agent_id: agent, key: "k" }, headers });

const reading = (name: string, headers: Record<string, string>, recorded: object): Scenario => ({
  name,
  given: ({ client, agent }) => client.write(agent, "k", "v"),
  request: read(headers),
  status: 200,
  appends: ["agent data.read ok"],
  details: { key: "k", returned: [expect.any(Number)], ...recorded },
});

const refusing = (name: string, session: string): Scenario => ({
  name: `${name} is refused`,
  request: read({ "Governd-Session": session }),
  status: 400,
  code: "invalid_request",
  param: "Governd-Session",
  appends: [],
});

scenarios(
  () => workspace,
  [
    reading("a session is recorded", { "Governd-Session": "chat/42" }, { session: "chat/42" }),
    reading("the longest one, too", { "Governd-Session": LONGEST }, { session: LONGEST }),
    reading("a trace is a session", { traceparent: TRACE }, { trace: TRACE, session: TRACE_ID }),
    reading(
      "the header comes before the trace",
      { "Governd-Session": "chat/42", traceparent: TRACE },
      { trace: TRACE, session: "chat/42" },
    ),
    reading("outside MCP, its header is nothing", { "Mcp-Session-Id": "chat/42" }, {}),
    refusing("a longer one", `${LONGEST}~`),
    refusing("one with a space", "chat 42"),
    refusing("an empty one", ""),
    refusing("one with a letter beyond ASCII", "ä"),
    {
      name: "each part of a batch has it",
      request: ({ agent }) => ({
        path: "/v1/data/batch",
        body: {
          agent_id: agent,
          operations: [
            { op: "write", key: "k", value: "v" },
            { op: "read", key: "k" },
          ],
        },
        headers: { "Governd-Session": "chat/42" },
      }),
      status: 200,
      appends: ["agent data.write allowed", "agent data.read ok"],
      changes: ["agents", "entries"],
      details: { key: "k", returned: [expect.any(Number)], session: "chat/42" },
    },
  ],
);

describe("a session in which a policy finds something", () => {
  const SECRET = "jane.doe@gmail.com";
  const policies = { block_pii: true };

  test("is left out in the agent's chain, under its policies or the workspace's", async () => {
    const { client, view } = await daemon.workspace();
    await client.send({ method: "PUT", path: "/v1/config/strict", body: { policies } });
    const written = async (agent_id: string, session: string) => {
      const body = { agent_id, key: "k", value: "v" };
      await client.send({ path: "/v1/data/write", body, headers: { "Governd-Session": session } });
      return view.eventsAfter(-1).at(-1)?.details?.session;
    };
    expect(await written("strict", SECRET)).toBeUndefined();
    expect(await written("strict", "chat/42")).toBe("chat/42");
    expect(await written("free", SECRET)).toBe(SECRET);
    expect((await client.send({ method: "PUT", path: "/v1/policies", body: { policies } })).status).toBe(200);
    expect(await written("free", SECRET)).toBeUndefined();
    const headers = { "Governd-Session": SECRET };
    await client.send({ path: "/v1/agents", headers });
    expect(view.eventsAfter(-1).at(-1)).toMatchObject({ operation: "agent.list", agentId: null });
    expect(view.eventsAfter(-1).at(-1)?.details).not.toHaveProperty("session");
    // A filter's words are recorded under the same condition.
    await client.send({ path: "/v1/audit", query: { scope: "all", session: `a,${SECRET}` } });
    expect(view.eventsAfter(-1).at(-1)?.details).toMatchObject({ scope: "all", filtered_by: ["sessions"] });
    expect(await daemon.log()).not.toContain(SECRET);
  });
});

test("the trail, live streams and exports are filtered by it, and verifiers know it", async () => {
  const { client, view, id } = await daemon.workspace();
  const write = (session: string, key: string) =>
    client.send({
      path: "/v1/data/write",
      body: { agent_id: "a", key, value: "v" },
      headers: { "Governd-Session": session },
    });
  const stream = await client.open({ path: "/v1/audit/stream", query: { scope: "all", session: "one" } });
  for (const [session, key] of [
    ["one", "k1"],
    ["two", "k2"],
    ["one", "k3"],
    ["three", "k4"],
  ] as const) {
    await write(session, key);
  }
  const keys = async (query: Record<string, string>) => {
    const { json } = await client.send({ path: "/v1/audit", query });
    return json.data.map(({ details }: { details: { key: string } }) => details.key);
  };
  expect(await keys({ agent_id: "a", session: "one" })).toEqual(["k3", "k1"]);
  expect(await keys({ scope: "all", session: "one,three" })).toEqual(["k4", "k3", "k1"]);
  expect(await keys({ scope: "all", session: "on" })).toEqual([]);
  expect(view.eventsAfter(-1).at(-1)?.details).toMatchObject({ sessions: ["on"] });
  const streamed = await firstMessages(stream, 2);
  expect(streamed.map(({ details }) => details.key)).toEqual(["k1", "k3"]);

  const exported = async (body: object) =>
    (
      await client.send({
        path: "/v1/audit/export",
        body: { scope: "workspace", ...body },
        headers: { "Governd-Session": "audit" },
      })
    ).text;
  const events = await exported({ format: "cloudevents", session: ["two"] });
  expect(events.match(/"type":"governd.audit.data.write"/g)).toHaveLength(1);
  expect((await view.verify()).problems).toEqual([]);
  using directory = temporaryDirectory();
  const file = join(directory.path, "export.ndjson");
  await Bun.write(file, await exported({ format: "ndjson" }));
  for (const path of [file, join(daemon.dataDir, "workspaces", `${id}.db`)]) {
    expect((await governd(["verify", path])).out).toContain("Verified");
    if (!HAS_PYTHON) continue;
    await using second = new SecondVerifier();
    expect((await second.run(path)).codes).toEqual([]);
  }
});

/** Returns the events of the first messages of a live stream, and ends it. */
async function firstMessages({ body }: Response, count: number): Promise<{ details: { key: string } }[]> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body as ReadableStream<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    const found = [...text.matchAll(/^data: (.+)\n\n/gm)].map(([, json = ""]) => JSON.parse(json));
    if (found.length >= count) return found;
  }
  throw new Error("the stream has ended");
}
