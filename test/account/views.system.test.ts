/** What people look at in the dashboard: recorded once, as what it is, and no activity of an agent. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestDaemon } from "../support/daemon.ts";
import type { WorkspaceView } from "../support/workspace-view.ts";
import { invited, type Person, signUp, tokenOf } from "./browser.ts";
import { inSession } from "./stated.ts";

let daemon: TestDaemon;
let owner: Person;
let view: WorkspaceView;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
  view = daemon.viewOf(owner.workspaceId);
  const client = daemon.client(owner.apiKey as string);
  await client.configure("bot", {});
  await client.write("bot", "secret-name", "v");
  await client.write("bot", "b", "v");
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Asks as a person. Returns the ids of the events that the answers name. */
async function look({ browser }: Person, ...paths: string[]): Promise<(string | null)[]> {
  const ids: (string | null)[] = [];
  for (const path of paths) {
    const { status, headers } = await browser.get(path, { "x-workspace-id": owner.workspaceId });
    expect([path, status]).toEqual([path, path.includes("missing") ? 404 : 200]);
    ids.push(headers.get("x-audit-id"));
  }
  return ids;
}

/** The positions of all writes. */
const writes = (): number[] =>
  view.eventsAfter(-1).flatMap(({ operation }, seq) => (operation === "data.write" ? [seq] : []));

const ABOUT = ["/v1/agents/bot", "/v1/config/bot", "/v1/config/bot/versions", "/v1/data/list?agent_id=bot"];
const TRAIL = "/v1/audit?agent_id=bot";

test("many requests about one agent are one event, which is none of the agent's", async () => {
  const before = view.head;
  const chain = view.eventsAfter(-1).filter(({ agentId }) => agentId === "bot").length;
  const ids = await look(owner, ...ABOUT, TRAIL, ...ABOUT);
  expect(new Set(ids).size).toBe(1);
  const [event, ...more] = view.eventsAfter(before);
  expect(more).toEqual([]);
  expect(event).toMatchObject({ id: ids[0], operation: "dashboard.view", agentId: null, result: "ok" });
  expect(event?.details).toEqual({ agent_id: "bot", operation: "agent.read", ...inSession() });
  const all = view.eventsAfter(-1);
  expect(all.filter(({ agentId }) => agentId === "bot")).toHaveLength(chain);
});

test("each value that is shown has an event, which does not hold its key", async () => {
  const value = "/v1/data/read-full?agent_id=bot&key=secret-name";
  const ids = await look(owner, value, value, "/v1/data/read-full?agent_id=bot&key=b");
  expect(ids[0]).toBe(ids[1] as string);
  expect(ids[2]).not.toBe(ids[0] as string);
  const [written] = view.eventsAfter(-1).filter(({ operation }) => operation === "data.write");
  const shown = view.eventsAfter(-1).find(({ id }) => id === ids[0]);
  expect(shown?.details).toEqual({
    ...{ agent_id: "bot", operation: "data.read_full", entry: written?.id, returned: writes().slice(0, 1) },
    ...inSession(),
  });
});

test("lists and searches that show other versions have an event of their own, which names them", async () => {
  const inWorkspace = { "x-workspace-id": owner.workspaceId };
  const search = () => owner.browser.post("/v1/data/search", { agent_id: "bot", query: "v" }, inWorkspace);
  const [first, again] = [await search(), await search()].map(({ headers }) => headers.get("x-audit-id"));
  expect(again).toBe(first as string);
  const client = daemon.client(owner.apiKey as string);
  await client.write("bot", "b", "another v");
  const other = (await search()).headers.get("x-audit-id");
  expect(other).not.toBe(first as string);
  const [list] = await look(owner, "/v1/data/list?agent_id=bot&include_values=true");
  const { json } = await client.post("/v1/checkpoints", { agent_id: "bot" });
  await client.write("bot", "b", "v");
  const [checkpoint, compared] = await look(owner, `/v1/checkpoints/${json.id}`, `/v1/checkpoints/${json.id}/changes`);
  const [secret, old, newer, newest] = writes();
  const returned = (id: string | null | undefined) =>
    view.eventsAfter(-1).find((event) => event.id === id)?.details?.returned;
  expect([first, other, list, checkpoint, compared].map(returned)).toEqual([
    [secret, old],
    [secret, newer],
    [secret, newer],
    [secret, newer],
    [newer, newest],
  ]);
  expect((await view.verify()).problems).toEqual([]);
});

test("a look at an earlier moment is another event, which names it", async () => {
  const client = daemon.client(owner.apiKey as string);
  const { json } = await client.write("bot", "past", "old");
  const seq = view.head;
  await client.write("bot", "past", "new");
  const path = "/v1/data/read?agent_id=bot&key=past";
  const [then, again, now] = await look(owner, `${path}&as_of=seq:${seq}`, `${path}&as_of=${json.audit_id}`, path);
  expect(again).toBe(then as string);
  expect(now).not.toBe(then as string);
  const { details } = view.eventsAfter(-1).find(({ id }) => id === then) ?? {};
  expect(details).toMatchObject({ operation: "data.read", entry: json.audit_id, returned: [seq], as_of: { seq } });
  expect((await view.verify()).problems).toEqual([]);
});

test("another person's look is another event, and so is what is not there", async () => {
  const auditor = await invited(owner, "auditor");
  const [theirs] = await look(auditor, "/v1/agents/bot");
  const [own, missing] = await look(owner, "/v1/agents/bot", "/v1/agents/missing");
  expect(theirs).not.toBe(own as string);
  const event = view.eventsAfter(-1).find(({ id }) => id === missing);
  expect(event).toMatchObject({ operation: "dashboard.view", result: "not_found", agentId: null });
});

test("the lineage of a write is a view, too, and other events have none", async () => {
  const inWorkspace = { "x-workspace-id": owner.workspaceId };
  const written = await owner.browser.post("/v1/data/write", { agent_id: "kin", key: "a", value: "v" }, inWorkspace);
  const { audit_id: id } = written.json;
  const [looked] = await look(owner, `/v1/lineage/${id}?direction=effects`);
  const event = view.eventsAfter(-1).find((each) => each.id === looked);
  expect(event).toMatchObject({ operation: "dashboard.view", result: "ok", agentId: null });
  expect(event?.details).toMatchObject({ agent_id: "kin", operation: "lineage.read" });
  const refused = await owner.browser.get(`/v1/lineage/${looked}?direction=effects`, inWorkspace);
  expect(refused.status).toBe(409);
  expect(view.eventsAfter(-1).at(-1)).toMatchObject({ operation: "lineage.read", result: "conflict" });
});

test("what a person does is recorded as what it is", async () => {
  const before = view.head;
  const inWorkspace = { "x-workspace-id": owner.workspaceId };
  await owner.browser.post("/v1/data/write", { agent_id: "bot", key: "c", value: "v" }, inWorkspace);
  await owner.browser.post("/v1/audit/verify", { scope: "workspace" }, inWorkspace);
  expect(view.eventsAfter(before).map(({ operation }) => operation)).toEqual(["data.write", "audit.verify"]);
});
