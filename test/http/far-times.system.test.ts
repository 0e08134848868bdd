/** Times at both ends of the years that a time can name: what means "for ever" or "from the beginning" in many languages. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { FIRST_MOMENT_MS, LAST_MOMENT_MS, showTime } from "../../src/ids.ts";
import { governd } from "../cli/governd.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

/** After every event. */
const FOR_EVER = [
  "9999-12-31T23:59:59Z",
  "9999-12-31T23:59:59.9999999Z",
  "9999-12-31t23:59:59.999999999z",
  "9999-12-31T23:59:59.999999-00:00",
  "9999-12-31T00:00:00-23:59",
  "9999-12-31T23:59:59.999-08:00",
];
/** Before every event. */
const EVER_SINCE = [
  "0000-01-01T00:00:00+23:59",
  "0001-01-01T00:00:00+01:00",
  "0001-01-01T00:00:00Z",
  "1969-12-31T23:59:59.9999999Z",
];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const WRITES = 3;

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  for (let i = 0; i < WRITES; i++) await workspace.client.write("a", `k${i}`, "v");
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
});
const second = new SecondVerifier();

/** Whether a window has the events, by its limits. */
const WINDOWS: readonly ({ has: boolean } & Record<string, string | boolean>)[] = [
  ...FOR_EVER.map((time) => ({ end_time: time, has: true })),
  ...FOR_EVER.map((time) => ({ start_time: time, has: false })),
  ...EVER_SINCE.map((time) => ({ end_time: time, has: false })),
  ...EVER_SINCE.map((time) => ({ start_time: time, has: true })),
  { start_time: "0000-01-01T00:00:00Z", end_time: "9999-12-31T23:59:59.999Z", has: true },
];

describe.each(WINDOWS)("%j", ({ has, ...window }) => {
  test("the trail, of an agent and of all, in both orders", async () => {
    for (const scope of [{ agent_id: "a" }, { scope: "all" }]) {
      for (const order of ["asc", "desc"]) {
        const query = { ...scope, order, operations: "data.write", ...window };
        const { status, json } = await workspace.client.get("/v1/audit", query);
        expect([status, json.data.length]).toEqual([200, has ? WRITES : 0]);
      }
    }
    const asked = workspace.view.eventsAfter(0).at(-1)?.details as { start_time?: string; end_time?: string };
    for (const time of [asked.start_time, asked.end_time]) if (time !== undefined) expect(time).toMatch(TIME);
  });

  test("an export, which verifies", async () => {
    using files = temporaryDirectory();
    const body = { agent_id: "a", format: "json", ...window };
    const { status, json, text } = await workspace.client.post("/v1/audit/export", body);
    expect(status).toBe(200);
    if (has) expect(json.event_count).toBeGreaterThanOrEqual(WRITES);
    else expect(json.event_count).toBe(0);
    for (const time of [json.start_time, json.end_time]) if (time !== null) expect(time).toMatch(TIME);
    await Bun.write(files.join("export.json"), text);
    const path = files.join("export.json");
    expect((await governd(["verify", path])).code).toBe(0);
    if (HAS_PYTHON) expect((await second.run(path)).code).toBe(0);
  });
});

test("a chart until for ever ends now, and none leaves the years that times have", async () => {
  const chart = (query: Record<string, string>) =>
    workspace.client.get("/v1/audit/activity", { agent_id: "a", interval: "day", ...query });
  const now = await chart({});
  for (const time of FOR_EVER) {
    const { status, json } = await chart({ end_time: time });
    const isLast = showTime(LAST_MOMENT_MS) === json.end_time;
    expect([status, json.start_time, isLast]).toEqual([200, now.json.start_time, false]);
  }
  for (const query of [
    { end_time: "9999-12-31T00:00:00Z" },
    { end_time: "0000-01-01T00:00:00+23:59" },
    { end_time: "0000-01-02T00:00:00Z" },
  ]) {
    const { status, json } = await chart(query);
    expect(status).toBe(200);
    for (const time of [json.start_time, json.end_time]) expect(time).toMatch(TIME);
    expect(json.data.every(({ events }: { events: number }) => events === 0)).toBe(true);
  }
});

test.each(FOR_EVER)("an entry that ends at %s is kept, and its workspace verifies", async (time) => {
  const { client, id } = await daemon.workspace();
  const written = await client.post("/v1/data/write", { agent_id: "a", key: "k", value: "v", expires_at: time });
  expect(written.json.allowed).toBe(true);
  const { json: entry } = await client.get("/v1/data/read-full", { agent_id: "a", key: "k" });
  expect(entry.expires_at).toMatch(TIME);
  const made = await client.checkpoint("a");
  await client.delete("/v1/data", { agent_id: "a", key: "k" });
  await client.send({ method: "POST", path: `/v1/checkpoints/${made.json.id}/restore` });
  const { json: restored } = await client.get("/v1/data/read-full", { agent_id: "a", key: "k" });
  expect(restored.expires_at).toBe(entry.expires_at);
  expect((await client.post("/v1/audit/verify", { scope: "workspace" })).json.valid).toBe(true);
  const path = join(daemon.dataDir, "workspaces", `${id}.db`);
  expect((await governd(["verify", path])).code).toBe(0);
  if (HAS_PYTHON) expect((await second.run(path)).code).toBe(0);
});

test("an exception until for ever applies", async () => {
  const { client } = await daemon.workspace();
  for (const expires_at of FOR_EVER) {
    const screening = { exceptions: [{ detector: "email", ends_with: "@example.org", reason: "ours", expires_at }] };
    const { status } = await client.configure("a", { policies: { block_pii: true, screening } });
    expect([expires_at, status]).toEqual([expires_at, 200]);
    expect((await client.write("a", "k", "jane.doe@example.org")).json.allowed).toBe(true);
  }
});

test("the limits themselves are times of four digits", () => {
  expect([FIRST_MOMENT_MS, LAST_MOMENT_MS].map(showTime)).toEqual([
    "0000-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
  ]);
});
