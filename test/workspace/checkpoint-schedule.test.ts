/** Checkpoints that the daemon makes by itself: when one is due, for whom, and how many stay. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { findOverview } from "../../src/core/rows/overview.ts";
import { keepSchedule } from "../../src/ops/checkpoints/schedule.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const HOUR_MS = 3_600_000;

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;
let nowMs: number;

beforeEach(async () => {
  nowMs = Date.UTC(2026, 0, 1);
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path, () => nowMs);
});
afterEach(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const agentId = "a";
const schedule = (policies: object, agent = agentId) =>
  workspace.perform("config.update", { agentId: agent, config: { policies: policies as never } });
const write = (key: string, agent = agentId) =>
  workspace.perform("data.write", { agentId: agent, key, value: "v", metadata: {} });
let turns = 0;
const giveWay = async () => void turns++;
const sweep = (room = true) => keepSchedule(workspace.connection, workspace.writer, async () => room, giveWay);
const later = (hours: number) => {
  nowMs += hours * HOUR_MS;
};

interface Shown {
  id: string;
  entry_count: number;
  created_by: string;
  label: string | null;
}

async function checkpoints(agent = agentId): Promise<Shown[]> {
  const page = { limit: 100, offset: 0 };
  return bodyOf(await workspace.perform("checkpoint.list", { agentId: agent, page })).data;
}
const made = async (agent = agentId) => (await checkpoints(agent)).filter(({ created_by }) => created_by === "system");

test("is made when something changed and the newest is old enough, as `system`", async () => {
  await schedule({ checkpoint_every_hours: 2 });
  await write("k1");
  await sweep();
  expect(await checkpoints()).toMatchObject([{ created_by: "system", entry_count: 1, label: null }]);
  await write("k2");
  later(1);
  await sweep();
  expect(await checkpoints()).toHaveLength(1);
  later(1);
  await sweep();
  expect(await checkpoints()).toMatchObject([{ entry_count: 2 }, { entry_count: 1 }]);
});

test("is not made while nothing changed, whatever is read or refused", async () => {
  await schedule({ checkpoint_every_hours: 1, block_secrets: true });
  await sweep();
  later(2);
  await workspace.perform("data.read", { agentId, key: "k" });
  await workspace.perform("data.write", { agentId, key: "k", value: `ghp_${"a1B2c3D4e5F6".repeat(3)}`, metadata: {} });
  await sweep();
  expect(await checkpoints()).toHaveLength(1);
});

test.each([
  ["a deletion", () => workspace.perform("data.delete", { agentId, key: "k" })],
  ["a new configuration", () => schedule({ checkpoint_every_hours: 1, block_pii: true })],
  ["a restore", async () => restore((await checkpoints()).at(-1)?.id as string)],
])("%s is a change", async (_, change) => {
  await schedule({ checkpoint_every_hours: 1 });
  await write("k");
  await sweep();
  await change();
  later(2);
  await sweep();
  expect(await made()).toHaveLength(2);
});

const restore = (checkpointId: string) =>
  workspace.perform("checkpoint.restore", { checkpointId, restoreConfig: true, restoreData: true });

test("one that was made while the clock was ahead does not stop those that follow, and is warned of once", async () => {
  const warnings: string[] = [];
  const warned = () =>
    keepSchedule(
      workspace.connection,
      workspace.writer,
      async () => true,
      giveWay,
      (warning) => warnings.push(warning),
    );
  await schedule({ checkpoint_every_hours: 2 });
  await write("k1");
  later(24 * 40);
  await workspace.perform("checkpoint.create", { agentId, label: "ahead", metadata: {} });
  later(-24 * 40);
  await warned();
  expect(await checkpoints()).toHaveLength(1);
  await write("k2");
  await warned();
  expect(await made()).toMatchObject([{ entry_count: 2 }]);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(workspace.writer.workspaceId);
  // From here on the schedule is as usual.
  await write("k3");
  later(1);
  await warned();
  expect(await made()).toHaveLength(1);
  later(1);
  await warned();
  expect([await made(), warnings]).toMatchObject([{ length: 2 }, { length: 1 }]);
});

test("a clock that is minutes apart changes nothing", async () => {
  await schedule({ checkpoint_every_hours: 2 });
  await write("k1");
  await workspace.perform("checkpoint.create", { agentId, label: null, metadata: {} });
  await write("k2");
  later(-0.05);
  await sweep();
  expect(await made()).toEqual([]);
});

test("one that somebody made counts as the newest", async () => {
  await schedule({ checkpoint_every_hours: 2 });
  await write("k1");
  later(3);
  await workspace.perform("checkpoint.create", { agentId, label: "by hand", metadata: {} });
  await write("k2");
  later(1);
  await sweep();
  expect(await made()).toEqual([]);
  later(1);
  await sweep();
  expect(await made()).toHaveLength(1);
});

test("the workspace's policies schedule them for all agents that hold something", async () => {
  await write("k", "b");
  await workspace.perform("data.read", { agentId: "c", key: "none" });
  const floor = { policies: { checkpoint_every_hours: 5 }, require_config: false, exceptions_from_agents: false };
  const stored = await workspace.perform("policies.update", { workspacePolicies: floor as never });
  expect(stored.answer.kind).toBe("json");
  await schedule({ checkpoint_every_hours: 1 });
  await sweep();
  expect(await made("b")).toHaveLength(1);
  expect(await made("c")).toEqual([]);
  await write("k2", "b");
  await write("k2");
  later(1);
  await sweep();
  expect([await made(), await made("b")].map(({ length }) => length)).toEqual([2, 1]);
});

test("only so many are kept, and those that people and programs made stay", async () => {
  await schedule({ checkpoint_every_hours: 1, checkpoints_kept: 2 });
  const { id } = bodyOf(await workspace.perform("checkpoint.create", { agentId, label: "by hand", metadata: {} }));
  for (let round = 0; round < 4; round++) {
    await write(`k${round}`);
    later(1);
    await sweep();
  }
  const left = await checkpoints();
  expect(left.map(({ entry_count }) => entry_count)).toEqual([4, 3, 0]);
  expect(left.at(-1)?.id).toBe(id);
  const deleted = workspace.connection.all("SELECT actor FROM events WHERE operation = 'checkpoint.delete'");
  expect(deleted).toEqual([["system"], ["system"]]);
});

test("none is made in a workspace that may not grow", async () => {
  await schedule({ checkpoint_every_hours: 1 });
  await write("k");
  await sweep(false);
  expect(await checkpoints()).toEqual([]);
});

test("other workspaces have their turn between its transactions, of which many agents share each", async () => {
  const agents = Array.from({ length: 150 }, (_, i) => `agent-${i}`);
  const floor = { policies: { checkpoint_every_hours: 1, checkpoints_kept: 1 } };
  await workspace.perform("policies.update", {
    workspacePolicies: { ...floor, require_config: false, exceptions_from_agents: false } as never,
  });
  for (const key of ["k1", "k2"]) {
    for (const agent of agents) await write(key, agent);
    later(2);
    turns = 0;
    await sweep();
  }
  // Three that make them; behind each, one that deletes, and one that finds no more to delete.
  expect(turns).toBe(9);
  for (const agent of agents) expect(await made(agent)).toHaveLength(1);
});

test("is no activity of the agent", async () => {
  const kept = { checkpoint_every_hours: 1, checkpoints_kept: 1 };
  await schedule(kept);
  later(1);
  await write("k");
  const lastActivity = async () =>
    (await findOverview(workspace.connection, agentId, { nowMs, seesSetAside: true }))?.lastActivityAt;
  const written = new Date(nowMs).toISOString();
  for (const block_pii of [true, false]) {
    later(1);
    await schedule({ ...kept, block_pii });
    await sweep();
    expect(await lastActivity()).toBe(written);
  }
  // One was made each time, and the first one deleted.
  expect(await made()).toHaveLength(1);
  expect(await lastActivity()).toBe(new Date(nowMs).toISOString());
});
