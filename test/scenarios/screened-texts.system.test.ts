/** Under policies, no text of a request gets into the workspace's file, whatever the request asks for. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findSuspension } from "../../src/core/rows/suspension.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

const CARD = "4111 1111 1111 1111";
const SECRET = `ghp_${"aB3dE5fG7h".repeat(3)}aB3dE5`;
/** Texts that a policy matches, and the policy. */
const TEXTS = [
  [CARD, "policy:block_pii"],
  [SECRET, "policy:block_secrets"],
] as const;

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  await workspace.client.configure("strict", { policies: { block_pii: true, block_secrets: true } });
  await workspace.client.write("strict", "k", "v");
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Everything that is stored of the workspace, byte by byte. */
function stored(): string {
  const folder = join(daemon.dataDir, "workspaces");
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "latin1"))
    .join("");
}

const last = () => workspace.view.eventsAfter(workspace.view.head - 1)[0];

test.each(TEXTS)("a label, metadata or a reason is refused: %s", async (text, blockedBy) => {
  const requests = [
    ["/v1/checkpoints", { agent_id: "strict", label: text }, "label"],
    ["/v1/checkpoints", { agent_id: "strict", metadata: { note: { deep: [text] } } }, "metadata.note.deep.0"],
    ["/v1/checkpoints", { agent_id: "strict", metadata: { [text]: 1 } }, "metadata.*"],
    ["/v1/agents/strict/suspend", { reason: `because of ${text}` }, "reason"],
    ["/v1/agents/strict/resume", { reason: text }, "reason"],
  ] as const;
  for (const [path, body, field] of requests) {
    const { status, json } = await workspace.client.send({ path, body });
    expect([status, json.code, json.blocked_by, json.findings[0].field]).toEqual([409, "blocked", blockedBy, field]);
    expect(JSON.stringify(json)).not.toContain(text);
    expect(last()).toMatchObject({ result: "blocked", agentId: "strict" });
  }
  expect((await workspace.client.send({ path: "/v1/agents/strict" })).json.state).toBe("active");
  expect(stored()).not.toContain(text);
});

test("a reason that is refused neither suspends an agent nor resumes it, also as the file is read again", async () => {
  const { client } = workspace;
  const agent = "switched";
  await client.configure(agent, { policies: { block_pii: true } });
  const states: unknown[] = [];
  for (const [to, reason] of [
    ["suspend", CARD],
    ["suspend", "clean"],
    ["resume", CARD],
    ["resume", "clean"],
  ]) {
    const { status } = await client.post(`/v1/agents/${agent}/${to}`, { reason });
    const { json } = await client.get(`/v1/agents/${agent}`);
    const known = await client.write(agent, "k", "v");
    const suspension = await findSuspension(workspace.view.connection, agent);
    states.push([status, json.state, json.suspended_reason, known.status, suspension?.reason]);
  }
  expect(states).toEqual([
    [409, "active", null, 200, undefined],
    [200, "suspended", "clean", 403, "clean"],
    [409, "suspended", "clean", 403, "clean"],
    [200, "active", null, 200, undefined],
  ]);
});

test.each(TEXTS)("a read of a key that a policy refuses now does not record it: %s", async (text) => {
  const { client } = workspace;
  const agent = text === CARD ? "earlier-1" : "earlier-2";
  await client.write(agent, text, "v");
  await client.configure(agent, { policies: { block_pii: true, block_secrets: true } });
  const about = { agent_id: agent, key: text };
  const { agent_id: _, ...read } = { ...about, op: "read" };
  const requests = [
    { path: "/v1/data/read", query: about },
    { path: "/v1/data/read-full", query: about },
    { path: "/v1/data/batch", body: { agent_id: agent, operations: [read] } },
  ];
  for (const request of requests) {
    const { status, json } = await client.send(request);
    expect([status, (json.results?.[0] ?? json).value]).toEqual([200, "v"]);
    expect(last()?.details).toEqual({ redacted: true, returned: [expect.any(Number)] });
  }
  await client.send({ path: "/v1/data", method: "DELETE", query: { ...about, erase: true } });
});

test.each(TEXTS)("what a request names and does not find is not recorded: %s", async (text) => {
  const about = { agent_id: "strict" };
  const id = encodeURIComponent(text);
  const requests = [
    { path: "/v1/data/read", query: { ...about, key: text } },
    { path: "/v1/data/read-full", query: { ...about, key: text } },
    { path: "/v1/data/list", query: { ...about, prefix: text } },
    { path: "/v1/data/search", body: { ...about, query: text, prefix: text } },
    { path: "/v1/data", method: "DELETE", query: { ...about, key: text } },
    { path: "/v1/data/prefix", method: "DELETE", query: { ...about, prefix: text } },
    { path: "/v1/data", method: "DELETE", query: { ...about, key: text, erase: true } },
    { path: "/v1/data/prefix", method: "DELETE", query: { ...about, prefix: text, erase: true } },
    { path: `/v1/checkpoints/${id}` },
    { path: `/v1/checkpoints/${id}`, method: "DELETE" },
    { path: `/v1/checkpoints/${id}/restore`, method: "POST" },
    { path: `/v1/config/strict/versions/${id}` },
    { path: `/v1/config/strict/rollback`, body: { version: text } },
    { path: `/v1/audit/${id}` },
    { path: `/v1/audit/${id}/receipt` },
  ];
  for (const request of requests) {
    const { head } = workspace.view;
    const { status } = await workspace.client.send(request);
    expect([request.path, [200, 404].includes(status)]).toEqual([request.path, true]);
    expect(workspace.view.head - head).toBe(1);
  }
  expect(stored()).not.toContain(text);
  expect((await workspace.view.verify()).valid).toBe(true);
});

test("what is left out says so; harmless texts, and keys that are stored, are recorded", async () => {
  await workspace.client.send({ path: "/v1/data/read", query: { agent_id: "strict", key: CARD } });
  expect(last()?.details).toEqual({ redacted: true });
  await workspace.client.send({ path: "/v1/data/read", query: { agent_id: "strict", key: "absent" } });
  expect(last()?.details).toEqual({ key: "absent" });
  await workspace.client.send({ path: "/v1/data/read", query: { agent_id: "free", key: CARD } });
  expect(last()?.details).toEqual({ agent_id: "free", key: CARD });
  const unharmed = await workspace.client.send({
    path: "/v1/checkpoints",
    body: { agent_id: "strict", label: "before the release", metadata: { build: 7 } },
  });
  expect(unharmed.status).toBe(201);
});

test("what is only reported is in the answers and the events, and reads do not record it", async () => {
  const { client } = workspace;
  await client.write("audited", CARD, "v");
  await client.write("audited", "k", `card ${CARD}`);
  const { json: before } = await client.send({ path: "/v1/checkpoints", body: { agent_id: "audited" } });
  expect(before.findings).toBeUndefined();
  await client.configure("audited", { policies: { screening: { pii: { mode: "audit" } } } });
  const found = (field: string, start: number) => [
    expect.objectContaining({ detector: "credit_card", field, start, mode: "audit" }),
  ];
  const requests = [
    ["/v1/checkpoints", { agent_id: "audited", label: CARD }, found("label", 0)],
    ["/v1/agents/audited/suspend", { reason: CARD }, found("reason", 0)],
    ["/v1/agents/audited/resume", { reason: CARD }, found("reason", 0)],
  ] as const;
  for (const [path, body, findings] of requests) {
    const { json } = await client.send({ path, body });
    expect([json.findings, last()?.details?.findings]).toEqual([findings, findings]);
  }
  await client.send({ path: "/v1/data", method: "DELETE", query: { agent_id: "audited", key: "k" } });
  const { json } = await client.send({ path: `/v1/checkpoints/${before.id}/restore`, body: { restore_config: false } });
  expect([json.findings, last()?.details?.findings]).toEqual([found("value", 5), found("value", 5)]);
  await client.send({ path: "/v1/data/read", query: { agent_id: "audited", key: CARD } });
  expect(last()?.details).toEqual({ redacted: true, returned: [expect.any(Number)] });
  expect((await workspace.view.verify()).valid).toBe(true);
});

test("a part of an agent's id is recorded unless the policies of the workspace find something in it", async () => {
  const { client } = workspace;
  const listed = async (query: Record<string, string>) => {
    expect((await client.get("/v1/agents", query)).status).toBe(200);
    const { policies_version: _, ...details } = last()?.details ?? {};
    return details;
  };
  const part = { contains: "jane.roe@acme.io" };
  expect(await listed(part)).toEqual({ prefix: "", ...part, count: 0 });
  await client.send({ method: "PUT", path: "/v1/policies", body: { policies: { block_pii: true } } });
  expect(await listed(part)).toEqual({ prefix: "", redacted: true, count: 0 });
  expect(await listed({ prefix: part.contains })).toEqual({ redacted: true, count: 0 });
  expect(await listed({ prefix: "str" })).toEqual({ prefix: "str", count: 1 });
});
