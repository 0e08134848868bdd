/** Limits on writes: in the order of the log, exact in each transaction, over restarts, and free where there are none. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { freshState } from "../../src/core/rows/agents.ts";
import { admit } from "../../src/core/writer/admission.ts";
import type { Reply } from "../../src/core/writer/contract.ts";
import { sweepWorkspace } from "../../src/core/writer/sweep.ts";
import type { JsonObject } from "../../src/json.ts";
import type { PartOf, PartRequest } from "../../src/operations.ts";
import { RecentWrites } from "../../src/screen/recent-writes.ts";
import { NO_WORKSPACE_POLICIES } from "../../src/screen/workspace-policies.ts";
import type { Reader } from "../../src/store/transaction.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { effort } from "../effort.ts";
import { Seeded } from "../seeded.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const BLOCKED = { allowed: false, blocked_by: "policy:limits", findings: [] };
const agentId = "a";

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;
let nowMs: number;

beforeEach(async () => {
  directory = temporaryDirectory();
  nowMs = Date.UTC(2026, 0, 1);
  workspace = await OpenWorkspace.make(directory.path, () => nowMs);
});
afterEach(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

function reopen(): void {
  workspace[Symbol.dispose]();
  workspace = new OpenWorkspace(workspace.path, () => nowMs);
}

const limit = (limits: JsonObject, more: JsonObject = {}) =>
  workspace.perform("config.update", { agentId, config: { policies: { limits, ...more } } });
const writing = (key: string, value = "v") => workspace.job("data.write", { agentId, key, value, metadata: {} });
async function write(key: string, value = "v") {
  const [reply] = await workspace.writer.perform([writing(key, value)]);
  return bodyOf(reply as Reply);
}
const allowed = async (key: string, value?: string) => (await write(key, value)).allowed;
const put = (key: string): PartRequest<PartOf<"data.batch">> => ({
  name: "data.write",
  input: { agentId, key, value: "v", metadata: {} },
});
const batch = (keys: readonly string[], atomic: boolean) =>
  workspace.perform("data.batch", { agentId, atomic, parts: keys.map(put) });
const check = async (value = "v", key = "", policies: JsonObject | null = null) =>
  bodyOf(await workspace.perform("policy.check", { agentId, policies, key, value, metadata: {} }));
const details = () =>
  JSON.parse(workspace.connection.value<string>("SELECT details FROM events ORDER BY seq DESC LIMIT 1") as string);

test("without limits, nothing is read and nothing is waited for", () => {
  const untouchable = new Proxy({}, { get: () => expect.unreachable() }) as Reader;
  const agent = freshState(agentId, 1, NO_WORKSPACE_POLICIES);
  expect(admit(untouchable, agent, { key: "k", value: "v" }, { nowMs, seesSetAside: false })).toEqual({
    agent,
    bar: null,
  });
});

test("so many writes in 60 seconds, whatever they replace", async () => {
  await limit({ writes_per_minute: 2 });
  expect([await allowed("k"), await allowed("k")]).toEqual([true, true]);
  nowMs += 20_500;
  const refused = await write("k");
  expect(refused).toMatchObject({ ...BLOCKED, retry_after_seconds: 40 });
  expect(refused.message).toContain("2 entries in 60 seconds");
  expect(details()).toEqual({ key: "k", findings: [], limit: "writes_per_minute", retry_after_seconds: 40 });
  expect(await check()).toMatchObject({ ...BLOCKED, retry_after_seconds: 40 });
  nowMs += 39_499;
  expect(await write("k")).toMatchObject({ retry_after_seconds: 1 });
  nowMs += 1;
  expect(await check()).toMatchObject({ allowed: true });
  expect([await allowed("k"), await allowed("k"), await allowed("k")]).toEqual([true, true, false]);
});

test("a restart and another process forget no write", async () => {
  await limit({ writes_per_minute: 3 });
  await write("1");
  reopen();
  await write("2");
  {
    using beside = new OpenWorkspace(workspace.path, () => nowMs);
    await beside.perform("data.write", { agentId, key: "3", value: "v", metadata: {} });
  }
  expect(await allowed("4")).toBe(false);
  nowMs += MINUTE_MS;
  reopen();
  expect(await allowed("4")).toBe(true);
});

test("writes before the limit was set count, and one that is lifted is forgotten", async () => {
  await write("1");
  await write("2");
  await limit({ writes_per_minute: 3 });
  expect([await allowed("3"), await allowed("4")]).toEqual([true, false]);
  await limit({});
  expect(await allowed("5")).toBe(true);
  await limit({ writes_per_minute: 5 });
  expect([await allowed("6"), await allowed("7")]).toEqual([true, false]);
});

test("what was undone does not count", async () => {
  await limit({ writes_per_minute: 3 });
  const { writer } = workspace;
  await writer.perform([writing("1"), workspace.failing(writing("lost"), new Error("after its effect"))]);
  expect(workspace.failures).toHaveLength(2);
  // The fourth does not fit, so none is stored.
  expect(bodyOf(await batch(["2", "3", "4"], true))).toMatchObject({
    applied: false,
    results: [{ skipped: true }, { skipped: true }, BLOCKED],
  });
  expect(bodyOf(await batch(["2", "3", "4"], false))).toMatchObject({
    applied: true,
    results: [{ allowed: true }, { allowed: true }, BLOCKED],
  });
});

test("a clock that is set back keeps nobody waiting for it", async () => {
  await limit({ writes_per_minute: 1 });
  expect([await allowed("1"), await allowed("2")]).toEqual([true, false]);
  nowMs -= DAY_MS;
  expect([await allowed("2"), await allowed("3")]).toEqual([true, false]);
  reopen();
  expect(await write("3")).toMatchObject({ retry_after_seconds: 60 });
});

test("values have so many bytes", async () => {
  await limit({ value_bytes: 4 });
  expect([await allowed("1", "1234"), await allowed("2", "éé"), await allowed("3", "éé1")]).toEqual([
    true,
    true,
    false,
  ]);
  expect(await write("4", "12345")).toEqual({
    ...BLOCKED,
    message: expect.stringContaining("4 bytes, and this one has 5"),
  });
  expect(details()).toEqual({ key: "4", findings: [], limit: "value_bytes" });
  const anyone = { agentId: null, policies: { limits: { value_bytes: 4 } }, key: "", metadata: {} };
  expect(bodyOf(await workspace.perform("policy.check", { ...anyone, value: "12345" }))).toMatchObject(BLOCKED);
});

test("so many entries, of which those that are gone count no more", async () => {
  await limit({ entries: 2 }, { retention_days: 2 });
  expect([await allowed("1"), await allowed("2"), await allowed("3")]).toEqual([true, true, false]);
  expect(details()).toEqual({ key: "3", findings: [], limit: "entries" });
  expect(await write("3")).not.toHaveProperty("retry_after_seconds");
  expect([await allowed("1"), await allowed("2")]).toEqual([true, true]);
  expect([await check("v", "1"), await check("v", "3")]).toMatchObject([{ allowed: true }, BLOCKED]);
  await workspace.perform("data.delete", { agentId, key: "1" });
  expect([await allowed("3"), await allowed("1")]).toEqual([true, false]);
  nowMs += 3 * DAY_MS;
  // No sweep has removed them yet.
  expect([await allowed("1"), await allowed("4"), await allowed("2")]).toEqual([true, true, false]);
  await sweepWorkspace(workspace.connection, workspace.writer);
  expect([await allowed("4"), await allowed("2")]).toEqual([true, false]);
});

test("a restore brings back no more, and nothing larger", async () => {
  const restore = async (checkpointId: string) =>
    (await workspace.perform("checkpoint.restore", { checkpointId, restoreConfig: false, restoreData: true })).answer;
  await write("1", "long");
  await write("2");
  const { id } = bodyOf(await workspace.perform("checkpoint.create", { agentId, label: null, metadata: {} }));
  await workspace.perform("data.delete", { agentId, key: "1" });
  const refused = { kind: "problem", code: "restore_blocked", extra: { blocked_by: "policy:limits", findings: [] } };
  await limit({ entries: 1 });
  expect(await restore(id)).toMatchObject(refused);
  await limit({ value_bytes: 3 });
  expect(await restore(id)).toMatchObject(refused);
  expect(details()).toMatchObject({ checkpoint_id: id, limit: "value_bytes" });
  await limit({ entries: 2, value_bytes: 4, writes_per_minute: 1 });
  expect(await restore(id)).toMatchObject({ kind: "json" });
  // One that does not add entries is not held up by those that there are too many of.
  await write("1", "else");
  await limit({ entries: 1 });
  expect(await restore(id)).toMatchObject({ kind: "json" });
});

test("limits come first, then a missing config, then what is found", async () => {
  const text = "write to jane.doe@gmail.com";
  const floor = (more: JsonObject) =>
    workspace.perform("policies.update", { workspacePolicies: { require_config: true, ...more } as JsonObject });
  await floor({ policies: { block_pii: true, limits: { value_bytes: 5 } } });
  const first = await write("k", text);
  expect(first).toMatchObject({ blocked_by: "policy:limits", findings: [{ detector: "email" }] });
  await floor({ policies: { block_pii: true } });
  expect((await write("k", text)).blocked_by).toBe("policy:require_config");
  await limit({});
  expect((await write("k", text)).blocked_by).toBe("policy:block_pii");
});

test("of two limits, the smaller one counts, and one that time does not resolve is named first", async () => {
  const floor = { policies: { limits: { writes_per_minute: 2, value_bytes: 8 } } };
  await workspace.perform("policies.update", { workspacePolicies: floor });
  await limit({ writes_per_minute: 1, value_bytes: 9, entries: 1 });
  expect([await allowed("1"), await allowed("1")]).toEqual([true, false]);
  expect(bodyOf(await workspace.perform("config.read_effective", { agentId }))).toMatchObject({
    policies: { limits: { writes_per_minute: 1, value_bytes: 8, entries: 1 } },
    from: { "limits.writes_per_minute": "config", "limits.value_bytes": "floor", "limits.entries": "config" },
  });
  expect(await write("1", "123456789")).not.toHaveProperty("retry_after_seconds");
  expect(await write("1")).toHaveProperty("retry_after_seconds", 60);
  expect(await write("2")).not.toHaveProperty("retry_after_seconds");
  expect(await check("v", "1", { limits: { writes_per_minute: 2 } })).toMatchObject({ allowed: true });
});

test("the times of writes agree with a plain list, also when some are undone", () => {
  for (let seed = 0; seed < effort({ usual: 20, long: 500 }); seed++) {
    const random = new Seeded(seed);
    let [recent, plain, time] = [new RecentWrites([]), [] as number[], 1_000_000];
    for (let step = 0; step < 300; step++) {
      time += random.chance(0.5) ? 0 : random.below(random.chance(0.1) ? 40_000 : 400);
      const before = [recent, [...plain]] as const;
      for (let writes = random.below(20); writes > 0; writes--) {
        recent = recent.and(time);
        plain.push(time);
      }
      if (random.chance(0.2)) [recent, plain] = [before[0], [...before[1]]];
      plain = plain.filter((each) => each > time - MINUTE_MS);
      const most = random.between(1, 60);
      const wait = plain.length < most ? 0 : (plain[plain.length - most] as number) + MINUTE_MS - time;
      expect(recent.waitMs(most, time), `seed ${seed}, step ${step}`).toBe(wait);
    }
  }
});

test("whatever an agent does, no limit is exceeded, and the workspace verifies", async () => {
  const random = new Seeded(7);
  for (let step = 0; step < effort({ usual: 150, long: 3_000 }); step++) {
    const key = `k${random.below(12)}`;
    nowMs += random.chance(0.2) ? random.below(25_000) : random.below(300);
    if (random.chance(0.05)) reopen();
    if (random.chance(0.05)) await limit({ writes_per_minute: random.between(5, 20), entries: random.between(3, 10) });
    const state = await stateOf();
    const isFull = !state.keys.has(key) && state.keys.size >= (state.limits.entries ?? Number.POSITIVE_INFINITY);
    const isFast = state.recent >= (state.limits.writes_per_minute ?? Number.POSITIVE_INFINITY);
    if (random.chance(0.15)) await workspace.perform("data.delete", { agentId, key });
    else expect(await allowed(key), `step ${step}`).toBe(!isFull && !isFast);
  }
  expect((await verifyWorkspace(workspace.connection, { scope: "workspace" })).problems).toEqual([]);

  /** What the file says, without the program's own means. */
  async function stateOf() {
    const { connection } = workspace;
    const keys = connection.all<[string]>("SELECT key FROM entries WHERE live_to IS NULL").map(([one]) => one);
    const sql = "SELECT count(*) FROM events WHERE operation = 'data.write' AND result = 'allowed' AND time > ?";
    const config = connection.value<string>("SELECT config FROM configs ORDER BY version DESC LIMIT 1") ?? "{}";
    const limits = (JSON.parse(config).policies?.limits ?? {}) as { entries?: number; writes_per_minute?: number };
    return { keys: new Set(keys), recent: connection.value<number>(sql, [nowMs - MINUTE_MS]) as number, limits };
  }
});
