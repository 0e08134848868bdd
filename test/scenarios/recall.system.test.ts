/** What reads returned: the versions that their events name, by each way to read, and where nothing is returned. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { eventHash } from "../../src/log/hash.ts";
import { CompactRange } from "../../src/log/merkle.ts";
import type { Answered, Sent } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Sends a request. Returns its answer, and the details of its event. */
async function asked(sent: Sent): Promise<Answered & { details: JsonObject }> {
  const answer = await workspace.client.send(sent);
  return { ...answer, details: workspace.view.eventsAfter(-1).at(-1)?.details as JsonObject };
}

/** Writes entries. Returns the position of each write. */
async function written<E extends [key: string, value: string][]>(agent: string, ...entries: E) {
  const seqs: number[] = [];
  for (const [key, value] of entries) {
    await workspace.client.write(agent, key, value, { of: key });
    seqs.push(workspace.view.head);
  }
  return seqs as { [N in keyof E]: number };
}

const SOME: [A: [string, string], B: [string, string], C: [string, string]] = [
  ["a", "the first apple"],
  ["b", "the second pear"],
  ["c", "the third plum"],
];

describe("an event names the versions that were returned", () => {
  test("by reads of one entry, also in a batch and over MCP", async () => {
    const agent = freshAgent();
    const [, seq] = await written(agent, ["k", "old"], ["k", "new"]);
    const query = { agent_id: agent, key: "k" };
    expect((await asked({ path: "/v1/data/read", query })).details).toEqual({ key: "k", returned: [seq] });
    expect((await asked({ path: "/v1/data/read-full", query })).details).toEqual({ key: "k", returned: [seq] });
    const operations = [
      { op: "write", key: "k", value: "newer" },
      { op: "read", key: "k" },
    ];
    const batch = await asked({ path: "/v1/data/batch", body: { agent_id: agent, operations } });
    expect(batch.details).toEqual({ key: "k", returned: [workspace.view.head - 1] });
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "memory_read", arguments: query } };
    const { details } = await asked({ path: "/v1/mcp", body: message });
    expect(details.returned).toEqual([workspace.view.head - 2]);
    const missed = await asked({ path: "/v1/data/read", query: { agent_id: agent, key: "none" } });
    expect(missed.details).toEqual({ key: "none" });
  });

  test("by lists with values, queries and searches, ascending", async () => {
    const agent = freshAgent();
    const [c, a, b] = await written(agent, SOME[2], SOME[0], SOME[1]);
    const list = (more: object) =>
      asked({ path: "/v1/data/list", query: { agent_id: agent, include_values: true, ...more } });
    expect((await list({})).details).toEqual({ prefix: "", count: 3, returned: [c, a, b] });
    expect((await list({ limit: 1 })).details.returned).toEqual([a]);
    expect((await list({ sort: "updated_at", order: "desc", limit: 2 })).details.returned).toEqual([a, b]);
    expect((await list({ prefix: "none" })).details.returned).toEqual([]);
    const query = (more: object) => asked({ path: "/v1/data/query", body: { agent_id: agent, filter: {}, ...more } });
    expect((await query({ filter: { of: "b" }, include_values: true })).details.returned).toEqual([b]);
    expect((await query({ include_values: false })).details).not.toHaveProperty("returned");
    const search = await asked({ path: "/v1/data/search", body: { agent_id: agent, query: "the apple", limit: 2 } });
    const shown = search.json.data.map(({ key }: { key: string }) => ({ a, b, c })[key]);
    expect(search.details.returned).toEqual(shown.sort((one: number, other: number) => one - other));
    expect(shown).toHaveLength(2);
    const none = await asked({ path: "/v1/data/search", body: { agent_id: freshAgent(), query: "apple" } });
    expect(none.details).toMatchObject({ count: 0, returned: [] });
  });

  test("by checkpoints, as they were, page by page, and by comparisons", async () => {
    const agent = freshAgent();
    const [a, b, c] = await written(agent, ...SOME);
    const { json: checkpoint } = await asked({ path: "/v1/checkpoints", body: { agent_id: agent } });
    const [newer] = await written(agent, ["a", "another apple"]);
    await workspace.client.delete("/v1/data", { agent_id: agent, key: "b" });
    const at = `/v1/checkpoints/${checkpoint.id}`;
    const whole = await asked({ path: at });
    expect(whole.details).toEqual({ checkpoint_id: checkpoint.id, returned: [a, b, c] });
    expect((await asked({ path: at, query: { limit: 2 } })).details.returned).toEqual([a, b]);
    const compared = await asked({ path: `${at}/changes` });
    expect(compared.details).toEqual({ checkpoint_id: checkpoint.id, count: 2, returned: [a, b, newer] });
    const { json: later } = await asked({ path: "/v1/checkpoints", body: { agent_id: agent } });
    const both = await asked({ path: `${at}/changes`, query: { to: later.id, limit: 1 } });
    expect(both.details).toEqual({ checkpoint_id: checkpoint.id, to: later.id, count: 1, returned: [a, newer] });
    await asked({ path: `${at}/restore`, body: {} });
    const restored = await asked({ path: "/v1/data/read", query: { agent_id: agent, key: "b" } });
    expect(restored.details).toEqual({ key: "b", returned: [b] });
  });

  test("beyond a thousand, by their number and the root of a tree over them", async () => {
    const agent = freshAgent();
    const before = workspace.view.head;
    const operations = Array.from({ length: 600 }, (_, at) => ({ op: "write", key: `k${at}`, value: "v" }));
    for (const prefix of ["a/", "b/"]) {
      const under = operations.map((one) => ({ ...one, key: prefix + one.key }));
      await asked({ path: "/v1/data/batch", body: { agent_id: agent, operations: under } });
    }
    const { json } = await asked({ path: "/v1/checkpoints", body: { agent_id: agent } });
    const { details } = await asked({ path: `/v1/checkpoints/${json.id}` });
    const tree = new CompactRange();
    for (let seq = before + 1; seq <= before + 1_200; seq++) {
      const leaf = Buffer.alloc(8);
      leaf.writeUInt32BE(seq, 4);
      tree.append(Uint8Array.fromHex(eventHash(leaf)));
    }
    const root = tree.root().toHex();
    expect(details).toEqual({ checkpoint_id: json.id, returned_count: 1_200, returned_root: root });
  });
});

test("what goes out without content names nothing: HEAD, 304, and keys alone", async () => {
  const agent = freshAgent();
  const [seq] = await written(agent, ["k", "v"]);
  const query = { agent_id: agent, key: "k" };
  for (const path of ["/v1/data/read", "/v1/data/read-full"]) {
    expect((await asked({ method: "HEAD", path, query })).details).toEqual({ key: "k" });
    const { headers } = await asked({ path, query });
    const unless = async (tag: string) => {
      const { status, details } = await asked({ path, query, headers: { "if-none-match": tag } });
      return [status, details.returned];
    };
    expect(await unless(headers.get("etag") as string)).toEqual([304, undefined]);
    expect(await unless("*")).toEqual([304, undefined]);
    expect(await unless('"another"')).toEqual([200, [seq]]);
  }
  const list = { path: "/v1/data/list", query: { agent_id: agent, include_values: true } };
  expect((await asked({ ...list, method: "HEAD" })).details).toEqual({ prefix: "", count: 1 });
  // A list has no tag, so every condition is ignored.
  expect((await asked({ ...list, headers: { "if-none-match": "*" } })).details.returned).toEqual([seq]);
  expect((await asked({ ...list, query: { agent_id: agent } })).details).toEqual({ prefix: "", count: 1 });
  const { json } = await asked({ path: "/v1/checkpoints", body: { agent_id: agent } });
  const head = await asked({ method: "HEAD", path: `/v1/checkpoints/${json.id}` });
  expect(head.details).toEqual({ checkpoint_id: json.id });
});

test("results of a search with nearly the same text become one", async () => {
  const agent = freshAgent();
  const long =
    "The customer from Hamburg wants every delivery before nine in the morning, never on Fridays, by the gate";
  const [a, b, c, d, e] = await written(
    agent,
    ["a", "The customer likes tea."],
    ["b", "the customer likes   TEA"],
    ["c", "The customer likes coffee."],
    ["d", long],
    ["e", `${long} please`],
  );
  const search = (more: object) =>
    asked({ path: "/v1/data/search", body: { agent_id: agent, query: "customer likes tea", ...more } });
  const plain = await search({});
  expect(plain.json.data).toHaveLength(5);
  expect(plain.json.data[0]).not.toHaveProperty("similar");
  const { json, details } = await search({ collapse: true });
  const shown = json.data.map(({ key, similar }: { key: string; similar: string[] }) =>
    [key, ...similar].sort().join(),
  );
  expect(shown.sort()).toEqual(["a,b", "c", "d,e"]);
  expect(details).toMatchObject({ collapse: true, count: 3 });
  const of: Record<string, number | undefined> = { a, b, c, d, e };
  const best = json.data.map(({ key }: { key: string }) => of[key] as number);
  expect(details.returned).toEqual(best.sort((one: number, other: number) => one - other));
  expect((await search({ collapse: true, limit: 1 })).json.data).toHaveLength(1);
  expect((await search({ collapse: "yes" })).json).toMatchObject({ code: "invalid_request", param: "collapse" });
});

test("a read of another thread names the state that it read, while others write", async () => {
  const agent = freshAgent();
  const keys = Array.from({ length: 40 }, (_, at) => `k${at % 10}`);
  const write = (key: string, at: number) => workspace.client.write(agent, key, `text ${at}`, { at });
  const reads = () => [
    workspace.client.send({ path: "/v1/data/query", body: { agent_id: agent, filter: {}, include_values: true } }),
    workspace.client.send({ path: "/v1/data/search", body: { agent_id: agent, query: "text" } }),
  ];
  await write("k", 0);
  await Promise.all(keys.flatMap((key, at) => [write(key, at), ...reads()]));
  expect((await workspace.view.verify()).problems).toEqual([]);
});
