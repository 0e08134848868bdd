/**
 * A life of one agent against the real daemon: every answer is of the documented form, and the trail
 * holds exactly the operations that were asked for.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { PROCESS_TEST_MS } from "../patience.ts";
import { DaemonProcess } from "./support/daemon.ts";
import { assertMatchesOpenApi } from "./support/openapi.ts";
import type { Answered, Sent } from "./support/serve.ts";

let daemon: DaemonProcess;
beforeAll(async () => {
  daemon = await DaemonProcess.start();
}, PROCESS_TEST_MS);
afterAll(() => daemon[Symbol.asyncDispose]());

/** Sends, and checks status, form and the audit header. */
async function step(sent: Sent, status: number): Promise<Answered> {
  const answer = await daemon.send(sent);
  expect([answer.status, answer.status === status ? "" : answer.text], sent.path).toEqual([status, ""]);
  const method = sent.method ?? (sent.body === undefined ? "GET" : "POST");
  if (answer.json !== null) assertMatchesOpenApi(method, sent.path, status, answer.json);
  return answer;
}

/** A step that is an operation, so that an event records it. */
async function operation(sent: Sent, status = 200): Promise<Answered> {
  const answer = await step(sent, status);
  expect(answer.headers.get("x-audit-id"), sent.path).toMatch(/^aud_[0-9a-z]{26}$/);
  return answer;
}

const agent_id = "mine";
const card = "4111 1111 1111 1111";

test("every operation answers as documented, and is recorded once", async () => {
  const recorded: string[] = [];
  const run = async (name: string, sent: Sent, status = 200) => {
    recorded.push(name);
    return operation(sent, status);
  };

  await run("data.write allowed", {
    path: "/v1/data/write",
    body: { agent_id, key: "a/1", value: "one", metadata: { n: 1.5 } },
  });
  const first = await run("config.update ok", {
    method: "PUT",
    path: `/v1/config/${agent_id}`,
    body: { model: "m", x: { y: [1, null] } },
  });
  expect(first.headers.get("etag")).toBe('"v1"');
  await run("config.update ok", {
    method: "PUT",
    path: `/v1/config/${agent_id}`,
    body: { policies: { block_pii: true, retention_days: 30 } },
    headers: { "if-match": '"v1"' },
  });
  await run(
    "config.update conflict",
    { method: "PUT", path: `/v1/config/${agent_id}`, body: {}, headers: { "if-match": '"v1"' } },
    412,
  );
  await run("config.read ok", { path: `/v1/config/${agent_id}` });
  await run("config.list_versions ok", { path: `/v1/config/${agent_id}/versions?limit=1` });
  const v1 = await run("config.read_version ok", { path: `/v1/config/${agent_id}/versions/v1` });
  expect(v1.json.config).toEqual({ model: "m", x: { y: [1, null] } });
  await run("config.read_version not_found", { path: `/v1/config/${agent_id}/versions/v9` }, 404);

  const blocked = await run("data.write blocked", {
    path: "/v1/data/write",
    body: { agent_id, key: "a/2", value: `card ${card}` },
  });
  expect(blocked.json).toMatchObject({ allowed: false, blocked_by: "policy:block_pii" });
  expect(blocked.text).not.toContain(card);
  await run("data.write allowed", { path: "/v1/data/write", body: { agent_id, key: "b/1", value: "two" } });
  await run("data.read ok", { path: `/v1/data/read?agent_id=${agent_id}&key=a%2F1` });
  await run("data.read not_found", { path: `/v1/data/read?agent_id=${agent_id}&key=a%2F2` }, 404);
  await run("data.read_full ok", { path: `/v1/data/read-full?agent_id=${agent_id}&key=a%2F1` });
  const list = await run("data.list ok", { path: `/v1/data/list?agent_id=${agent_id}&limit=1&include_values=true` });
  expect(list.json).toMatchObject({ data: [{ key: "a/1", value: "one" }], has_more: true });
  const rest = await run("data.list ok", {
    path: `/v1/data/list?agent_id=${agent_id}&cursor=${list.json.next_cursor}`,
  });
  expect(rest.json).toMatchObject({ data: [{ key: "b/1" }], has_more: false, next_cursor: null });
  await run("data.search ok", { path: "/v1/data/search", body: { agent_id, query: "one" } });

  const checkpoint = await run(
    "checkpoint.create ok",
    { path: "/v1/checkpoints", body: { agent_id, label: "x", metadata: { a: 1 } } },
    201,
  );
  await run("checkpoint.list ok", { path: `/v1/checkpoints?agent_id=${agent_id}` });
  const state = await run("checkpoint.read ok", { path: `/v1/checkpoints/${checkpoint.json.id}` });
  expect(state.json.state.entries.map((entry: { key: string }) => entry.key)).toEqual(["a/1", "b/1"]);
  await run("data.delete ok", { method: "DELETE", path: `/v1/data?agent_id=${agent_id}&key=a%2F1` });
  await run("data.delete not_found", { method: "DELETE", path: `/v1/data?agent_id=${agent_id}&key=a%2F1` }, 404);
  await run("data.delete_prefix ok", { method: "DELETE", path: `/v1/data/prefix?agent_id=${agent_id}&prefix=b` });
  await run("config.rollback ok", { path: `/v1/config/${agent_id}/rollback`, body: { version: "v1" } });
  await run("config.rollback not_found", { path: `/v1/config/${agent_id}/rollback`, body: { version: "latest" } }, 404);
  const restored = await run("checkpoint.restore ok", {
    method: "POST",
    path: `/v1/checkpoints/${checkpoint.json.id}/restore`,
  });
  expect(restored.json).toMatchObject({ entries_restored: 2, config_version: "v4" });
  await run("checkpoint.delete ok", { method: "DELETE", path: `/v1/checkpoints/${checkpoint.json.id}` });

  const events = await run("audit.query ok", { path: `/v1/audit?agent_id=${agent_id}&limit=1000` });
  const trail = events.json.data.map(
    (event: { operation: string; result: string }) => `${event.operation} ${event.result}`,
  );
  expect(trail.reverse()).toEqual(recorded.slice(0, -1));
  await run("audit.read ok", { path: `/v1/audit/${events.json.data[0].id}` });
  const verified = await run("audit.verify ok", { path: "/v1/audit/verify", body: { agent_id } });
  expect(verified.json).toMatchObject({ valid: true, chain_intact: true, first_invalid: null });
  expect(verified.json.events_checked).toBe(recorded.length - 1);
  const exported = await run("audit.export ok", { path: "/v1/audit/export", body: { agent_id } });
  expect(exported.json.events.length).toBe(recorded.length - 1);
  expect(exported.headers.get("content-disposition")).toStartWith("attachment");
  const page = await run("audit.query ok", {
    path: `/v1/audit?agent_id=${agent_id}&operations=audit.export,audit.verify&result=ok&limit=1`,
  });
  expect(page.json.data[0].operation).toBe("audit.export");
  const next = await run("audit.query ok", {
    path: `/v1/audit?agent_id=${agent_id}&operations=audit.verify,audit.export&result=ok&limit=1&cursor=${page.json.next_cursor}`,
  });
  expect(next.json.data[0].operation).toBe("audit.verify");
});

test("what is not there is not found, and recorded among the workspace's own events", async () => {
  await operation({ path: "/v1/config/nobody" }, 404);
  await operation({ path: "/v1/config/no%20body" }, 404);
  await operation({ path: "/v1/checkpoints/cp_unknown" }, 404);
  await operation({ method: "POST", path: "/v1/checkpoints/cp_unknown/restore" }, 404);
  await operation({ method: "DELETE", path: "/v1/checkpoints/cp_unknown" }, 404);
  await operation({ path: "/v1/audit/aud_unknown" }, 404);
  await operation({ path: "/v1/audit/verify", body: { agent_id: "nobody" } }, 404);
  await operation({ path: "/v1/audit/export", body: { agent_id: "nobody" } }, 404);
  await operation({ path: "/v1/data/list?agent_id=nobody" });
  await operation({ path: "/v1/data/search", body: { agent_id: "nobody", query: "x" } });
  await operation({ path: "/v1/checkpoints?agent_id=nobody" });
  await operation({ path: "/v1/audit?agent_id=nobody" });
  const own = await operation({ path: "/v1/audit?scope=workspace" });
  const names = own.json.data.map((event: { operation: string }) => event.operation);
  expect(names.slice(0, 12)).toEqual([
    "audit.query",
    "checkpoint.list",
    "data.search",
    "data.list",
    "audit.export",
    "audit.verify",
    "audit.read",
    "checkpoint.delete",
    "checkpoint.restore",
    "checkpoint.read",
    "config.read",
    "config.read",
  ]);
  expect(names.at(-1)).toBe("workspace.create");
  const everything = await operation({ path: "/v1/audit/verify", body: { scope: "workspace" } });
  expect(everything.json.valid).toBe(true);
});

test("a restore that a policy refuses is 409 and changes nothing", async () => {
  const agent = "guarded";
  await operation({ path: "/v1/data/write", body: { agent_id: agent, key: "card", value: card } });
  const made = await operation({ path: "/v1/checkpoints", body: { agent_id: agent } }, 201);
  await operation({ method: "DELETE", path: `/v1/data?agent_id=${agent}&key=card` });
  await operation({ method: "PUT", path: `/v1/config/${agent}`, body: { policies: { block_pii: true } } });
  const refused = await operation({ method: "POST", path: `/v1/checkpoints/${made.json.id}/restore` }, 409);
  expect(refused.json).toMatchObject({ code: "restore_blocked", blocked_by: "policy:block_pii" });
  expect(refused.text).not.toContain(card);
  await operation({ path: `/v1/data/read?agent_id=${agent}&key=card` }, 404);
});

test("a value with every kind of character is returned unchanged", async () => {
  const key = '\u{1f600}"\\/%_*é\u2028';
  const value = `\u0000\u0001\n"\\${key}\uffff\u{10ffff}`;
  const metadata = JSON.parse('{"__proto__":{"x":1},"":[],"b":{"\\u0000":null},"n":[1e21,-0.5,1e-7,9007199254740991]}');
  await operation({ path: "/v1/data/write", body: { agent_id: "any", key, value, metadata } });
  const read = await operation({ path: `/v1/data/read-full?agent_id=any&key=${encodeURIComponent(key)}` });
  expect(read.json).toMatchObject({ key, value });
  expect(JSON.stringify(read.json.metadata, null, 1).split("\n").sort()).toEqual(
    JSON.stringify(metadata, null, 1).split("\n").sort(),
  );
  const config = { ...metadata, instructions: value };
  await operation({ method: "PUT", path: "/v1/config/any", body: config });
  const back = await operation({ path: "/v1/config/any" });
  expect(back.json.config).toEqual(config);
});

test("keys do what their scopes allow", async () => {
  const { agent, auditor, limited } = daemon.keys;
  await operation({ path: "/v1/data/write", key: limited, body: { agent_id, key: "k", value: "v" } });
  await step({ path: "/v1/data/write", key: limited, body: { agent_id: "guarded", key: "k", value: "v" } }, 403);
  await step({ path: `/v1/data/read?agent_id=${agent_id}&key=k`, key: auditor }, 403);
  await operation({ path: "/v1/audit/verify", key: auditor, body: { agent_id } });
  await step({ method: "PUT", path: `/v1/config/${agent_id}`, key: agent, body: {} }, 403);
  const other = await operation({ path: "/v1/checkpoints", body: { agent_id: "guarded" } }, 201);
  await step({ path: `/v1/checkpoints/${other.json.id}`, key: limited }, 404);
  const event = other.headers.get("x-audit-id");
  await step({ path: `/v1/audit/${event}`, key: limited }, 404);
  const data = await operation({ method: "POST", path: `/v1/checkpoints/${other.json.id}/restore`, key: agent });
  expect(data.json.config_version).toBe("v1");
});
