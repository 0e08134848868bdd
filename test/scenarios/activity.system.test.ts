/** Which requests move the `last_activity_at` of an agent: what it does itself, not what others do about it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { apiRoutes } from "../../src/serve/http/app.ts";
import type { Sent } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { requestOf } from "../support/route-requests.ts";
import { freshAgent } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** What an agent does. */
const OWN =
  /^(data\.(write|read|read_full|versions|list|query|search|delete|delete_prefix|batch)|checkpoint\.[a-z]+|config\.(read|read_version|read_effective|list_versions)|policy\.check)$/;

/** What is done about an agent. */
const ABOUT =
  /^(agent\.(read|suspend|resume)|audit\.[a-z]+|config\.(update|rollback)|policy\.replay|data\.erase|quarantine\.[a-z]+|lineage\.read|proof\.create)$/;

/** What is about no agent, or leaves no event. */
const OTHER = /^(agent\.list|policies\.[a-z_]+|sink\.[a-z]+|tlog\.[a-z]+|audit\.(seal|key|consistency|anchors))$/;

const shown = async (agent: string) => (await workspace.client.get(`/v1/agents/${agent}`)).json.last_activity_at;

/** Waits until the clock shows another time, so that no two events of a test have the same. */
async function nextMoment(): Promise<void> {
  const now = Date.now();
  while (Date.now() === now) await Bun.sleep(1);
}

/** Sends a request. Returns the time of the last event that it appended to the agent's chain; null for none. */
async function eventTime(agent: string, sent: Sent): Promise<string | null> {
  const { head } = workspace.view;
  const response = await workspace.client.open(sent);
  if (response.headers.get("content-type") === "text/event-stream") await response.body?.cancel();
  else await response.text();
  const event = workspace.view.eventsAfter(head).findLast(({ agentId }) => agentId === agent);
  if (event === undefined) return null;
  return ((await workspace.view.event(event.id)) as { timestamp: string }).timestamp;
}

async function agentWithThings() {
  const { client } = workspace;
  const agent = freshAgent();
  await client.configure(agent, {});
  const event = (await client.write(agent, "k", "v")).json.audit_id;
  return { agent, event, checkpoint: (await client.checkpoint(agent)).json.id };
}

const REQUESTS = apiRoutes.flatMap((route) => [
  { name: route.operation as string, sent: (subject: Parameters<typeof requestOf>[1]) => requestOf(route, subject) },
]);
const ERASURE = {
  name: "data.erase",
  sent: ({ agent }: { agent: string }) => ({
    method: "DELETE",
    path: "/v1/data",
    query: { agent_id: agent, key: "k", erase: "true" },
  }),
};

test.each([...REQUESTS, ERASURE])("$name", async ({ name, sent }) => {
  expect(
    [OWN, ABOUT, OTHER].some((known) => known.test(name)),
    "is listed above",
  ).toBe(true);
  const subject = await agentWithThings();
  const before = await shown(subject.agent);
  await nextMoment();
  const time = await eventTime(subject.agent, sent(subject));
  const after = await shown(subject.agent);
  if (OWN.test(name)) expect([time === null, after]).toEqual([false, time as string]);
  else expect(after).toBe(before);
  // The list says the same.
  const { json } = await workspace.client.get("/v1/agents", { prefix: subject.agent, limit: 1 });
  expect(json.data[0].last_activity_at).toBe(after);
});

test("what is refused, blocked or not found is activity, too", async () => {
  const { agent } = await agentWithThings();
  const attempts: Sent[] = [{ path: "/v1/data/read", query: { agent_id: agent, key: "missing" } }];
  await workspace.client.configure(agent, { policies: { block_secrets: true } });
  const secret = `ghp_${"Q1w2E3r4T5y6".repeat(3)}`;
  attempts.push({ path: "/v1/data/write", body: { agent_id: agent, key: "k", value: secret } });
  for (const attempt of attempts) {
    await nextMoment();
    const time = await eventTime(agent, attempt);
    expect(await shown(agent)).toBe(time as string);
  }
  await workspace.client.post(`/v1/agents/${agent}/suspend`, {});
  await nextMoment();
  const denied = await eventTime(agent, { path: "/v1/data/list", query: { agent_id: agent } });
  expect(await shown(agent)).toBe(denied as string);
});

test("an agent that has only been configured has been active since it began", async () => {
  const agent = freshAgent();
  await workspace.client.configure(agent, {});
  await nextMoment();
  await workspace.client.configure(agent, { model: "any" });
  const { json } = await workspace.client.get(`/v1/agents/${agent}`);
  expect(json.last_activity_at).toBe(json.first_activity_at);
});
