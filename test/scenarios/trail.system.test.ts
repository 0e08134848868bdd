/** One trail for the workspace: filters of queries, of live streams and of exports find the same events. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  client = workspace.client;
  const pii = { mode: "audit", detectors: { email: "redact" } };
  await client.configure("one-bot", { policies: { block_secrets: true, screening: { pii } } });
  await client.write("one-bot", "a", "plain");
  await client.write("one-bot", "a", "Ask jane@example.com.");
  await client.write("one-bot", "b", `token ${TOKEN}`);
  await client.write("two-bot", "a", "plain");
  await client.read("three", "missing");
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Event {
  id: string;
  seq: number;
  agent_id: string | null;
  operation: string;
  result: string;
}

/** Follows a query to its end. */
async function found(query: Record<string, string | number>): Promise<Event[]> {
  const events: Event[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { status, json } = await client.get("/v1/audit", { ...query, ...(cursor === "" ? {} : { cursor }) });
    expect(status).toBe(200);
    events.push(...json.data);
    cursor = json.next_cursor;
  }
  return events;
}

const shown = (events: readonly Event[]) =>
  events.map(({ agent_id, operation, result }) => `${agent_id} ${operation} ${result}`);

/** Filters, and the events that they find among those of the beginning. */
const FILTERS: readonly (readonly [filter: Record<string, string>, events: readonly string[]])[] = [
  [{ key: "a" }, ["two-bot data.write allowed", "one-bot data.write allowed", "one-bot data.write allowed"]],
  [{ key: "a", text: "TWO" }, ["two-bot data.write allowed"]],
  [{ detector: "email" }, ["one-bot data.write allowed"]],
  [{ detector: "email,github_token", mode: "redact" }, ["one-bot data.write allowed"]],
  [{ mode: "block" }, ["one-bot data.write blocked"]],
  [{ policy: "block_secrets" }, ["one-bot data.write blocked"]],
  [{ policy: "block_pii" }, []],
  [{ result: "blocked,denied" }, ["one-bot data.write blocked"]],
  [{ result: "blocked", key: "b" }, ["one-bot data.write blocked"]],
  [{ result: "blocked", key: "a" }, []],
  [{ result: "denied" }, []],
  [{ actor: "cli" }, ["null key.create ok", "null workspace.create ok"]],
  [{ actor: "key_nobody" }, []],
  [{ operations: "data.write", key: "b" }, ["one-bot data.write blocked"]],
];

test.each(FILTERS)("scope=all with %j", async (filter, events) => {
  expect(shown(await found({ scope: "all", ...filter }))).toEqual([...events]);
  const oldestFirst = await found({ scope: "all", ...filter, order: "asc", limit: 1 });
  expect(shown(oldestFirst)).toEqual(events.toReversed());
});

test("scope=all has every event once, newest first, on pages of any size", async () => {
  const all = await found({ scope: "all", limit: 3 });
  // Each page is an event, and no page shows the one of its own query.
  const seqs = all.map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, at) => seqs.length - 1 - at));
  const skipped = await client.get("/v1/audit", { scope: "all", limit: 2, offset: 3, operations: "data.write" });
  expect(shown(skipped.json.data)).toEqual(["one-bot data.write allowed"]);
});

test("several agents, and one with filters", async () => {
  const writes = { operations: "data.write", limit: 2 };
  const both = await found({ agent_id: "two-bot,one-bot", ...writes });
  expect(shown(both)).toEqual([
    "two-bot data.write allowed",
    "one-bot data.write blocked",
    "one-bot data.write allowed",
    "one-bot data.write allowed",
  ]);
  expect(await found({ agent_id: "two-bot,one-bot", ...writes, order: "asc" })).toEqual(both.toReversed());
  expect(shown(await found({ agent_id: "one-bot,two-bot", result: "blocked" }))).toEqual([
    "one-bot data.write blocked",
  ]);
  expect(shown(await found({ agent_id: "one-bot", detector: "email", limit: 1 }))).toEqual([
    "one-bot data.write allowed",
  ]);
});

test("a window of time is one of the whole log, too", async () => {
  const writes = await found({ scope: "all", operations: "data.write" });
  const { json } = await client.get(`/v1/audit/${writes[1]?.id}`);
  const since = await found({ scope: "all", operations: "data.write", start_time: json.timestamp });
  const until = await found({ scope: "all", operations: "data.write", end_time: json.timestamp });
  expect([...since, ...until].map(({ id }) => id)).toEqual(writes.map(({ id }) => id));
  expect(since.length).toBeGreaterThanOrEqual(2);
  const turned = await found({ scope: "all", operations: "data.write", start_time: json.timestamp, order: "asc" });
  expect(turned).toEqual(since.toReversed());
});

test("the event of a query says what was asked for, but neither key nor text", async () => {
  const { headers } = await client.get("/v1/audit", { scope: "all", key: "private", text: "bot", actor: "cli" });
  const event = (await workspace.view.event(headers.get("x-audit-id") as string)) as { details: object };
  expect(event.details).toMatchObject({ scope: "all", actors: ["cli"], filtered_by: ["key", "text"] });
  expect(JSON.stringify(event)).not.toContain("private");
});

test("an export with filters has the events of the query, oldest first, and only views have filters", async () => {
  const filter = { scope: "all", operations: ["data.write"], key: "a" };
  const answered = await client.post("/v1/audit/export", { ...filter, format: "cloudevents" });
  const lines = answered.text.trim().split("\n");
  const ids = lines.map((line) => JSON.parse(line).id as string);
  const queried = await found({ scope: "all", operations: "data.write", key: "a" });
  expect(ids.toReversed()).toEqual(queried.map(({ id }) => id));
  const refused = await client.post("/v1/audit/export", { ...filter, format: "ndjson" });
  expect([refused.status, refused.json.param]).toEqual([400, "format"]);
  const csv = await client.post("/v1/audit/export", { agent_id: ["one-bot", "two-bot"], format: "csv" });
  expect(csv.text.split("\r\n").filter((line) => line.includes(",data.write,"))).toHaveLength(4);
});

test("a live stream has only the events that fit its filter", async () => {
  const answered = await client.open({
    path: "/v1/audit/stream",
    query: { scope: "all", key: "live", result: "allowed" },
  });
  await client.write("one-bot", "other", "v");
  await client.write("two-bot", "live", "v");
  let text = "";
  for await (const piece of answered.body as ReadableStream<Uint8Array>) {
    text += new TextDecoder().decode(piece);
    if (text.includes("\n\n", text.indexOf("data:")) && text.includes("data:")) break;
  }
  const [message] = text.split("\n").filter((line) => line.startsWith("data:"));
  expect(JSON.parse(message?.slice(5) ?? "{}")).toMatchObject({ agent_id: "two-bot", details: { key: "live" } });
});
