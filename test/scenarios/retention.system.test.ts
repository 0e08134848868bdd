/** Retention: expired entries disappear from every operation at once; a sweep removes them with one event. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { WITH_HEADS } from "../../src/core/rows/agents.ts";
import { eventually } from "../eventually.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

const DAY_MS = 86_400_000;

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;
/** Made before time moves. */
let checkpoint: string;
let safety: string;

/** One agent's data before and after its retention of two days; the other's have none. */
beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
  client = workspace.client;
  for (const agent of ["a", "keeper"]) {
    await client.write(agent, "old", "ancient words");
    await client.write(agent, "past", "ancient history");
    checkpoint = (await client.checkpoint(agent)).json.id;
    if (agent === "a") safety = checkpoint;
    await client.write(agent, "past", "younger history");
  }
  checkpoint = safety;
  await client.configure("a", { policies: { retention_days: 2 } });
  await client.configure("keeper", { policies: { checkpoint_every_hours: 24 } });
  await moveTo(DAY_MS);
  await client.write("a", "young", "fresh words");
  await moveTo(2 * DAY_MS + 60_000);
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function moveTo(offsetMs: number): Promise<void> {
  await daemon.restart(offsetMs);
  client = daemon.client(client.apiKey);
}

const keys = (json: { data: { key: string }[] }) => json.data.map(({ key }) => key);

test("is hidden at once from reads, lists, searches and checkpoints", async () => {
  expect((await client.read("a", "old")).json.code).toBe("entry_not_found");
  expect((await client.get("/v1/data/read-full", { agent_id: "a", key: "old" })).status).toBe(404);
  expect(keys((await client.get("/v1/data/list", { agent_id: "a" })).json)).toEqual(["young"]);
  const search = await client.post("/v1/data/search", { agent_id: "a", query: "ancient words", limit: 10 });
  expect(keys(search.json)).toEqual(["young"]);
  const { json } = await client.get(`/v1/checkpoints/${checkpoint}`);
  expect(json).toMatchObject({ entry_count: 2, state: { entries: [] } });
  expect((await client.delete("/v1/data", { agent_id: "a", key: "old" })).status).toBe(404);
  expect((await client.delete("/v1/data/prefix", { agent_id: "a", prefix: "o" })).json.deleted).toBe(0);
  expect((await client.checkpoint("a")).json.entry_count).toBe(1);
});

test("is not brought back by a restore, whose counts leave it out", async () => {
  const { json } = await client.post(`/v1/checkpoints/${checkpoint}/restore`, {});
  expect(json).toMatchObject({ entries_restored: 0, entries_removed: 1, entries_unchanged: 0 });
  const undone = await client.post(`/v1/checkpoints/${json.safety_checkpoint_id}/restore`, {});
  expect(undone.json).toMatchObject({ entries_restored: 1, entries_removed: 0 });
  expect(keys((await client.get("/v1/data/list", { agent_id: "a" })).json)).toEqual(["young"]);
});

test("a write under the same key begins a new entry", async () => {
  await client.write("a", "old", "new words");
  const { json } = await client.get("/v1/data/read-full", { agent_id: "a", key: "old" });
  expect(json.created_at).toBe(json.updated_at);
  await client.delete("/v1/data", { agent_id: "a", key: "old" });
});

test("is removed by a sweep, from history too, with one event", async () => {
  const { view } = workspace;
  const swept = () => view.eventsAfter(-1).filter((event) => event.operation === "data.expire");
  await eventually("the sweep removes it", () => swept().length > 0);
  const stored = view.connection
    .all<[string]>("SELECT value FROM entries WHERE agent = (SELECT first_seq FROM agents WHERE agent_id = 'a')")
    .map(([value]) => JSON.parse(value));
  // What was deleted young is history.
  expect(new Set(stored)).toEqual(new Set(["fresh words", "new words"]));
  expect(swept().map(({ line }) => line)).toEqual(["a data.expire ok"]);
  const { json } = await client.get(`/v1/audit/${swept()[0]?.id}`);
  expect(json).toMatchObject({ actor: "system", agent_id: "a" });
  expect(Object.keys(json.details)).toEqual(["count", "through"]);
  expect(json.details.count).toBeGreaterThanOrEqual(2);
});

test("makes the checkpoint of an agent that is due, as the daemon", async () => {
  const made = () => workspace.view.eventsAfter(-1).filter(({ line }) => line === "keeper checkpoint.create ok");
  await eventually("the sweep makes it", async () => made().length === 2);
  const { json } = await client.get("/v1/checkpoints", { agent_id: "keeper" });
  expect(json.data[0]).toMatchObject({ created_by: "system", label: null, entry_count: 2, config_version: "v1" });
});

test("agents without retention keep everything", async () => {
  expect(keys((await client.get("/v1/data/list", { agent_id: "keeper" })).json)).toEqual(["old", "past"]);
});

test("the trail verifies, and counts agree", async () => {
  expect(await workspace.view.verify()).toMatchObject({ valid: true });
  const counts = workspace.view.connection.all<[number, number]>(
    `SELECT h.entries, (SELECT count(*) FROM entries WHERE agent = a.first_seq AND live_to IS NULL) FROM ${WITH_HEADS}`,
  );
  for (const [counted, actual] of counts) expect(counted).toBe(actual);
});
