/** A workspace that is full: no more data, and everything else as ever. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ENTRIES = 5;
const BYTES = 1152 * 1024;

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { quota_entries: String(ENTRIES), quota_bytes: String(BYTES) } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function fill({ client }: TestWorkspace, agents: string[]): Promise<void> {
  for (const agent of agents) expect((await client.write(agent, "k", "v")).json.allowed).toBe(true);
}

async function lastEvent({ client }: TestWorkspace, agentId: string) {
  return (await client.get("/v1/audit", { agent_id: agentId, limit: 1 })).json.data[0];
}

async function isIntact({ client }: TestWorkspace): Promise<boolean> {
  return (await client.post("/v1/audit/verify", { scope: "workspace" })).json.valid;
}

test("entries are counted over all agents, and a full workspace says so", async () => {
  const workspace = await daemon.workspace();
  const { client } = workspace;
  await fill(workspace, ["a", "b", "c", "d", "e"]);
  const refused = await client.write("a", "another", "v");
  expect(refused.status).toBe(507);
  expect(refused.headers.get("content-type")).toBe("application/problem+json");
  expect(refused.json).toMatchObject({ code: "quota_exceeded", quota: "entries", limit: ENTRIES, used: ENTRIES });
  assertMatchesOpenApi("POST", "/v1/data/write", 507, refused.json);
  const event = await lastEvent(workspace, "a");
  expect(event.id).toBe(refused.headers.get("x-audit-id"));
  expect(event).toMatchObject({
    operation: "data.write",
    result: "denied",
    details: { quota: "entries", limit: ENTRIES, used: ENTRIES, code: "quota_exceeded" },
  });
  expect((await client.read("a", "another")).status).toBe(404);
  // An agent that never began does not begin by it.
  expect((await client.write("f", "k", "v")).status).toBe(507);
  expect((await client.get("/v1/agents/f")).status).toBe(404);
  // Whoever writes over an entry adds none; reading, deleting and configuring go on.
  expect((await client.write("a", "k", "other")).json.allowed).toBe(true);
  expect((await client.read("a", "k")).json.value).toBe("other");
  expect((await client.configure("a", { policies: { block_pii: true } })).status).toBe(200);
  expect((await client.checkpoint("a")).status).toBe(201);
  expect((await client.delete("/v1/data", { agent_id: "b", key: "k" })).status).toBe(200);
  expect((await client.write("a", "another", "v")).json.allowed).toBe(true);
  expect((await client.write("a", "a third", "v")).status).toBe(507);
  expect(await isIntact(workspace)).toBe(true);
});

test("a group of writes is counted one by one, and what failed is not counted", async () => {
  const workspace = await daemon.workspace();
  const { client } = workspace;
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => client.write(`agent-${i % 3}`, `k${i}`, "v")));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBe(ENTRIES);
  expect(statuses.filter((status) => status === 507).length).toBe(40 - ENTRIES);
  await client.configure("agent-0", { policies: { block_pii: true } });
  for (let i = 0; i < 3; i++) {
    await client.delete("/v1/data/prefix", { agent_id: `agent-${i}`, prefix: "k" });
  }
  expect((await client.write("agent-0", "k", "ada@example.com")).json.allowed).toBe(false);
  for (let i = 0; i < ENTRIES; i++) expect((await client.write("agent-0", `n${i}`, "v")).json.allowed).toBe(true);
  expect((await client.write("agent-0", "n", "v")).status).toBe(507);
  expect(await isIntact(workspace)).toBe(true);
});

test("a restore that would add too many entries is refused, one that makes fewer is not", async () => {
  const workspace = await daemon.workspace();
  const { client } = workspace;
  for (const key of ["1", "2", "3", "4"]) await client.write("a", key, "v");
  const { id } = (await client.checkpoint("a")).json;
  await client.delete("/v1/data/prefix", { agent_id: "a", prefix: "" + "1" });
  await client.delete("/v1/data/prefix", { agent_id: "a", prefix: "2" });
  await fill(workspace, ["b", "c"]);
  const small = (await client.checkpoint("a")).json.id;
  const refused = await client.post(`/v1/checkpoints/${id}/restore`, {});
  expect([refused.status, refused.json.code, refused.json.used]).toEqual([507, "quota_exceeded", 4]);
  assertMatchesOpenApi("POST", `/v1/checkpoints/${id}/restore`, 507, refused.json);
  expect((await lastEvent(workspace, "a")).details).toMatchObject({ checkpoint_id: id, quota: "entries" });
  expect((await client.post(`/v1/checkpoints/${small}/restore`, {})).status).toBe(200);
  await client.delete("/v1/data", { agent_id: "b", key: "k" });
  expect((await client.post(`/v1/checkpoints/${id}/restore`, {})).status).toBe(200);
  expect(await isIntact(workspace)).toBe(true);
});

test("bytes are those of the database, and deleting makes room", async () => {
  const workspace = await daemon.workspace();
  const { client } = workspace;
  const value = "x".repeat(200_000);
  // With a history, what is deleted is kept.
  await client.configure("a", { policies: { history_days: 0 } });
  const statuses = [];
  for (let i = 0; i < ENTRIES; i++) statuses.push((await client.write("a", `k${i}`, value)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 507]);
  const refused = await client.write("a", "k", value);
  expect(refused.json).toMatchObject({ code: "quota_exceeded", quota: "bytes", limit: BYTES });
  expect(refused.json.used).toBeWithin(800_000, BYTES);
  expect((await client.write("a", "k0", "small")).json.allowed).toBe(true);
  expect((await client.write("a", "k", value)).status).toBe(200);
  expect((await client.delete("/v1/data/prefix", { agent_id: "a", prefix: "k" })).status).toBe(200);
  expect((await client.write("a", "k", value)).status).toBe(200);
  expect(await isIntact(workspace)).toBe(true);
});
