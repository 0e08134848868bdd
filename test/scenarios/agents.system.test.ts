/** What is requested of an agent besides its data, configs and checkpoints. */
import { afterAll, beforeAll, expect } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const written = ({ client, agent }: Scene) => client.write(agent, "k", "v");
const turn =
  (to: string) =>
  ({ agent }: Scene) => ({ path: `/v1/agents/${agent}/${to}`, body: { reason: "why" } });
const suspended = async (scene: Scene) => {
  await written(scene);
  await scene.client.send(turn("suspend")(scene));
};

scenarios(
  () => workspace,
  [
    {
      name: "an agent is resumed",
      given: suspended,
      request: turn("resume"),
      status: 200,
      appends: ["agent agent.resume ok"],
      body: { state: "active", suspended_reason: null },
      details: { reason: "why", state_before: "suspended" },
    },
    {
      name: "an entry is erased, with the details of the events about it",
      given: written,
      request: ({ agent }) => ({
        method: "DELETE",
        path: "/v1/data",
        query: { agent_id: agent, key: "k", erase: "true" },
      }),
      status: 200,
      appends: ["agent data.erase ok"],
      changes: ["agents", "entries"],
      details: { entries: 1, versions: 1, events: 1, erased: [[5, 5]] },
      check: ({ agent, workspace: { view } }) => {
        const write = view.eventsAfter(-1).find((event) => event.line === `${agent} data.write allowed`);
        expect(write?.details).toBeNull();
      },
    },
    {
      name: "the activity of an agent",
      given: written,
      request: ({ agent }) => ({ path: "/v1/audit/activity", query: { agent_id: agent } }),
      status: 200,
      appends: ["agent audit.activity ok"],
      body: { interval: "hour" },
    },
    {
      name: "the receipt of an event",
      given: async (scene) => {
        const id = (await written(scene)).json.audit_id;
        // The first receipt seals the log.
        await scene.client.get(`/v1/audit/${id}/receipt`);
        return id;
      },
      request: ({ made }) => ({ path: `/v1/audit/${made}/receipt` }),
      status: 200,
      appends: ["agent audit.receipt ok"],
      details: ({ made }) => ({ event_id: made }),
    },
  ],
);
