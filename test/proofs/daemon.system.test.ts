/** State roots of a real daemon: which it records, over restarts and kills, and that its log proves each. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { governd } from "../cli/governd.ts";
import { type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const HOUR_MS = 3_600_000;
const FLAGS = { seal_interval: "1s", state_roots: "hourly" } as const;

const rootsOf = ({ view }: Pick<TestWorkspace, "view">) =>
  view.eventsAfter(-1).filter(({ operation }) => operation === "state.root");

/** Waits until all events so far are sealed. */
async function sealed({ view }: TestWorkspace, client: Client): Promise<void> {
  const events = view.head + 1;
  const size = async () => Number((await client.get("/v1/audit/seal")).text.split("\n")[1]);
  await eventually("all events are sealed", async () => (await size()) >= events);
}

const opened: TestDaemon[] = [];
afterAll(async () => {
  for (const daemon of opened) await daemon[Symbol.asyncDispose]();
});

async function daemonWith(flags: Record<string, string> = FLAGS): Promise<TestDaemon> {
  const daemon = await TestDaemon.start({ flags });
  opened.push(daemon);
  return daemon;
}

test("a workspace gets a root with its first seal of an hour, also an empty one, and verifies", async () => {
  const daemon = await daemonWith();
  const [empty, full] = [await daemon.workspace("empty"), await daemon.workspace("full")];
  await empty.client.send({ path: "/v1/data/list", query: { agent_id: "a" } });
  await full.client.write("a", "k", "v");
  await eventually("both have a root", () => rootsOf(empty).length > 0 && rootsOf(full).length > 0);
  expect(rootsOf(empty)[0]?.details).toMatchObject({ count: 0 });
  expect(rootsOf(full)[0]?.details).toMatchObject({ count: 1 });
  // Further seals of the hour add none.
  await full.client.write("a", "k2", "v");
  await sealed(full, full.client);
  expect(rootsOf(full)).toHaveLength(1);
  // Nor does a restart, whose first seal finds the root in the log.
  const after = async (ms: number) => {
    await daemon.restart(ms);
    return daemon.client(full.client.apiKey);
  };
  const again = await after(0);
  await again.write("a", "k3", "v");
  await sealed(full, again);
  expect(rootsOf(full)).toHaveLength(1);
  // In the next hour there is another one, of the state of then.
  await (await after(HOUR_MS)).write("a", "k4", "v");
  await eventually("there is another root", () => rootsOf(full).length === 2);
  expect(rootsOf(full)[1]?.details).toMatchObject({ count: 4 });
  // A seal of the hour after that adds none, when only reads came since.
  const reader = await after(2 * HOUR_MS);
  await reader.send({ path: "/v1/data/read", query: { agent_id: "a", key: "k" } });
  await sealed(full, reader);
  expect(rootsOf(full)).toHaveLength(2);
  const { json } = await reader.post("/v1/audit/verify", { scope: "workspace" });
  expect(json).toMatchObject({ valid: true, problem_count: 0 });
});

test("off records none, and the log of the installation never has one", async () => {
  const daemon = await daemonWith({ seal_interval: "1s", state_roots: "off" });
  const workspace = await daemon.workspace();
  await workspace.client.write("a", "k", "v");
  await sealed(workspace, workspace.client);
  expect(rootsOf(workspace)).toEqual([]);
  await daemon.reload({ state_roots: "hourly" });
  await workspace.client.write("a", "k", "v2");
  await eventually("there is a root", () => rootsOf(workspace).length === 1);
  expect(rootsOf({ view: daemon.viewOf(daemon.installationId) })).toEqual([]);
});

test("a daemon that is killed around its seals records one root of the day, and its log verifies", async () => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  const created = await governd(["workspace", "create", "--name", "killed", "--data-dir", data, "--json"]);
  const { api_key: apiKey } = created.json<{ api_key: string }>();
  const start = () => startGovernd(data, ["--seal-interval", "1s", "--state-roots", "daily"]);
  const write = (daemon: RunningDaemon, key: string) =>
    daemon.ask("/v1/data/write", {
      ...{ apiKey, method: "POST" },
      body: JSON.stringify({ agent_id: "a", key, value: "v" }),
    });
  const roots = async (daemon: RunningDaemon) => {
    const answer = await daemon.ask("/v1/audit?scope=workspace", { apiKey });
    const { data: events } = (await answer.json()) as { data: { operation: string; timestamp: string }[] };
    return events.filter(({ operation }) => operation === "state.root");
  };
  let daemon = await start();
  for (let kills = 0; kills < 3; kills++) {
    expect((await write(daemon, `k${kills}`)).status).toBe(200);
    // At several moments of the second after which it is sealed, and of what follows.
    await Bun.sleep(950 + 60 * kills);
    await daemon.stop("SIGKILL");
    daemon = await start();
  }
  await write(daemon, "last");
  await eventually("there is a root", async () => (await roots(daemon)).length > 0);
  const days = (await roots(daemon)).map(({ timestamp }) => timestamp.slice(0, 10));
  expect(days).toEqual([...new Set(days)]);
  await daemon.stop();
  const { code, out } = await governd(["verify", data]);
  expect([code, out]).toEqual([0, expect.stringMatching(/state roots: \d computed again\n/)]);
});
