/** What is confirmed by a person, where the client can ask one. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Confirmations } from "../../src/serve/http/mcp/confirmations.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent } from "../support/scenario.ts";
import { type Connecting, olderClient, statelessClient } from "./clients.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const YES = { action: "accept", content: { confirm: true } } as const;

/** An agent with three entries below a prefix, and a client that answers questions. */
async function scene(answer: NonNullable<Connecting["answer"]>) {
  const agent = freshAgent();
  for (const key of ["p/1", "p/2", "p/3", "q"]) await workspace.client.write(agent, key, "v");
  const asked: string[] = [];
  const client = await statelessClient(workspace.client, {
    path: `/v1/mcp/agents/${agent}`,
    answer: (message) => {
      asked.push(message);
      return answer(message);
    },
  });
  return { agent, client, asked };
}

test("a deletion by prefix says how many entries it deletes, and deletes them when a person agrees", async () => {
  const { agent, client, asked } = await scene(() => YES);
  const head = workspace.view.head;
  const { structuredContent } = await client.call("memory_delete", { prefix: "p/" });
  expect(structuredContent).toMatchObject({ deleted: 3 });
  expect(asked).toEqual(['Delete 3 entries whose keys begin with "p/"?']);
  expect(workspace.view.eventsAfter(head).map(({ line }) => line)).toEqual([
    `${agent} data.delete_prefix conflict`,
    `${agent} data.delete_prefix ok`,
  ]);
  expect((await client.call("memory_delete", { prefix: "p/" })).structuredContent).toMatchObject({ deleted: 0 });
  expect(asked).toHaveLength(1);
});

test("a person who does not agree keeps everything", async () => {
  const no = [{ action: "decline" }, { action: "cancel" }, { action: "accept", content: { confirm: false } }] as const;
  for (const answer of no) {
    const { client, asked } = await scene(() => answer);
    const result = await client.call("memory_delete", { prefix: "p/", confirm_count: 3 });
    expect(result).toMatchObject({ isError: true, structuredContent: { code: "not_confirmed" } });
    expect((await client.call("memory_list")).structuredContent.data).toHaveLength(4);
    expect(asked).toHaveLength(1);
  }
});

describe("before a restore", () => {
  const on = (time: string) => `on ${time.slice(0, 10)} at ${time.slice(11, 19)} UTC`;
  const KEPT = "The present state is kept in a new checkpoint.";

  test("a person sees the agent, the checkpoint and what would change, and no value", async () => {
    const { agent, client, asked } = await scene(() => YES);
    await workspace.client.configure(agent, { model: "old" });
    const made = (await client.call("checkpoint_create", { label: 'before "v2"' })).structuredContent;
    await workspace.client.configure(agent, { model: "new" });
    for (const key of ["p/1", "p/2"]) await client.call("memory_delete", { key });
    await client.call("memory_write", { key: "p/3", value: "another value" });
    for (const key of ["r/1", "r/2", "r/3"]) await client.call("memory_write", { key, value: "another value" });
    const head = workspace.view.head;
    const restored = (await client.call("checkpoint_restore", { id: made.id })).structuredContent;
    expect(restored).toMatchObject({ entries_restored: 3, entries_removed: 3, config_version: "v3" });
    const effects =
      "2 entries come back, 1 entry changes back, 3 entries are removed, the configuration v2 is replaced by the content of v1.";
    expect(asked).toEqual([
      `Restore the agent "${agent}" to the checkpoint "before \\"v2\\"" (${made.id}), made ${on(made.created_at)}? ${effects} ${KEPT}`,
    ]);
    expect(workspace.view.eventsAfter(head).map(({ line }) => line)).toEqual([
      `${agent} checkpoint.compare ok`,
      `${agent} checkpoint.restore ok`,
    ]);
  });

  test("a checkpoint of an earlier restore is called so, and nothing is said of a configuration that the key cannot restore", async () => {
    const { agent } = await scene(() => YES);
    const ofAgent = await daemon.clientWith(workspace.id, { scope: "agent" });
    const asked: string[] = [];
    const client = await statelessClient(ofAgent, {
      answer: (message) => {
        asked.push(message);
        return YES;
      },
    });
    const call = async (name: string, args: object) =>
      (await client.call(name, { agent_id: agent, ...args })).structuredContent;
    await workspace.client.configure(agent, { model: "old" });
    const { id } = await call("checkpoint_create", {});
    await workspace.client.configure(agent, { model: "new" });
    await call("memory_delete", { key: "q" });
    const { safety_checkpoint_id: safety } = await call("checkpoint_restore", { id });
    const { created_at: at } = (await workspace.client.get(`/v1/checkpoints/${safety}`)).json;
    await call("memory_write", { key: "q", value: "v" });
    await call("checkpoint_restore", { id: safety });
    expect(asked[0]).toContain(`to the checkpoint ${id}, made on 2`);
    expect(asked[0]).toContain(`? 1 entry comes back. ${KEPT}`);
    expect(asked[1]).toContain(`to the checkpoint ${safety}, made by a restore ${on(at)}? 1 entry is removed. ${KEPT}`);
    const list = (await call("checkpoint_list", {})).data as { before_restore: boolean }[];
    expect(list.map(({ before_restore: isOfRestore }) => isOfRestore)).toEqual([true, true, false]);
  });

  test("nobody is asked about a checkpoint that there is not, and one that is like the present says so", async () => {
    const { client, asked } = await scene(() => YES);
    const { id } = (await client.call("checkpoint_create")).structuredContent;
    await client.call("checkpoint_restore", { id });
    expect(asked[0]).toContain("? Nothing differs now.");
    const missing = await client.call("checkpoint_restore", {
      id: `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`,
    });
    expect(missing).toMatchObject({ isError: true, structuredContent: { code: "checkpoint_not_found" } });
    expect(asked).toHaveLength(1);
  });
});

test("a client of an older version needs the number, also when it could ask", async () => {
  const agent = freshAgent();
  await workspace.client.write(agent, "p/1", "v");
  const client = await olderClient(workspace.client, {
    answer: () => {
      throw new Error("nobody is asked");
    },
  });
  const call = (rest: object) => client.call("memory_delete", { agent_id: agent, prefix: "p/", ...rest });
  expect((await call({})).structuredContent).toMatchObject({ code: "count_mismatch", count: 1 });
  expect((await call({ confirm_count: 1 })).structuredContent).toMatchObject({ deleted: 1 });
});

/** Calls `memory_delete` of `p/` in the generation of questions. */
async function call(agent: string, more: object = {}, args: object = { prefix: "p/" }, key?: string) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  };
  const params = { name: "memory_delete", arguments: args, _meta: meta, ...more };
  const { json } = await workspace.client.send({
    path: `/v1/mcp/agents/${agent}`,
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "memory_delete" },
    ...(key === undefined ? {} : { key }),
  });
  return json.result;
}

test("an answer is bound to key, arguments and count, and is accepted once", async () => {
  const agent = freshAgent();
  for (const name of ["p/1", "p/2"]) await workspace.client.write(agent, name, "v");
  const asked = await call(agent);
  expect(asked.resultType).toBe("input_required");
  expect(asked.inputRequests.confirm).toMatchObject({
    method: "elicitation/create",
    params: { mode: "form", message: 'Delete 2 entries whose keys begin with "p/"?' },
  });
  const { requestState } = asked;
  const yes = { inputResponses: { confirm: YES }, requestState };
  const refused = { isError: true, structuredContent: { code: "invalid_request", param: "requestState" } };
  const other = await daemon.clientWith(workspace.id, {});
  expect(await call(agent, yes, { prefix: "p" })).toMatchObject(refused);
  expect(await call(agent, yes, { prefix: "p/" }, other.apiKey)).toMatchObject(refused);
  const flipped = requestState.slice(0, -1) + (requestState.endsWith("0") ? "1" : "0");
  expect(await call(agent, { ...yes, requestState: flipped })).toMatchObject(refused);
  expect(await call(agent, { ...yes, requestState: requestState.replace(".2.", ".3.") })).toMatchObject(refused);
  // There are more entries by now, so the person is asked again.
  await workspace.client.write(agent, "p/3", "v");
  const again = await call(agent, yes);
  expect(again.inputRequests.confirm.params.message).toContain("3 entries");
  expect(await call(agent, yes)).toMatchObject(refused);
  const agreed = { inputResponses: { confirm: YES }, requestState: again.requestState };
  expect((await call(agent, agreed)).structuredContent).toMatchObject({ deleted: 3 });
  expect(await call(agent, agreed)).toMatchObject(refused);
});

test("an answer expires", () => {
  let now = 0;
  const confirmations = new Confirmations(
    (length) => new Uint8Array(length).fill(7),
    () => now,
  );
  const asked = { actor: "key_a", tool: "t", args: { prefix: "p" } };
  const state = confirmations.begin(asked, 2);
  now = 10 * 60_000;
  expect(confirmations.accept(state, asked)).toBe(2);
  const later = confirmations.begin(asked, 2);
  now += 10 * 60_000 + 1;
  expect(() => confirmations.accept(later, asked)).toThrow("has expired");
});
