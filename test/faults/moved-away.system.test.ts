/** The directory of the files is renamed and comes back while the workspace is written: nothing is lost, and nothing has to be done. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readHead } from "../../src/core/writer/head.ts";
import { MissingWorkspace, ReplacedWorkspace } from "../../src/core/writer/storage-failure.ts";
import { makeWorkspace } from "../cli/governd.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS * effort({ usual: 2, long: 20 }));

const entry = (key: string) => ({ agentId: "a", key, value: "v", metadata: {} });

/** A workspace in a directory that can be renamed. */
async function placed() {
  const directory = temporaryDirectory();
  const place = directory.join("place");
  const away = directory.join("away");
  mkdirSync(place);
  const workspace = await OpenWorkspace.make(place);
  await workspace.perform("data.write", entry("k"));
  return { directory, place, away, workspace };
}

test("a file that is not there is missing and not replaced, and goes on when it is back", async () => {
  const { directory, place, away, workspace } = await placed();
  using _ = directory;
  using _open = workspace;
  const { own } = workspace.connection;
  const before = readHead(workspace.connection);
  for (let i = 0; i < 3; i++) {
    renameSync(place, away);
    await workspace.perform("data.write", entry("lost")).catch(() => {});
    expect(workspace.writer.failure).toBeInstanceOf(MissingWorkspace);
    expect([own?.isGone(), own?.isReplaced(), own?.isDisowned]).toEqual([true, false, false]);
    renameSync(away, place);
    expect([own?.isGone(), own?.isReplaced()]).toEqual([false, false]);
    expect((await workspace.perform("data.write", entry(`k${i}`))).answer.kind).toBe("json");
  }
  expect(readHead(workspace.connection).seq).toBe(before.seq + 3);
});

test("what is committed while the directory is away is there when it is back", async () => {
  const { directory, place, away, workspace } = await placed();
  using _ = directory;
  const job = workspace.job("data.write", entry("meanwhile"));
  const run: typeof job.run = (...given) => {
    renameSync(place, away);
    return job.run(...given);
  };
  const [done] = await workspace.writer.perform([{ ...job, run }]);
  const head = readHead(workspace.connection);
  renameSync(away, place);
  expect(done?.answer.kind).toBe("json");
  await workspace.perform("data.write", entry("after"));
  workspace[Symbol.dispose]();
  using again = new OpenWorkspace(workspace.path);
  expect(readHead(again.connection).seq).toBe(head.seq + 1);
  const sql = "SELECT lower(hex(hash)) FROM events WHERE seq = ?";
  expect(again.connection.value<string>(sql, [head.seq])).toBe(head.hash);
});

test("a log that is taken away from its database is still a replaced file", async () => {
  const { directory, workspace } = await placed();
  using _ = directory;
  rmSync(`${workspace.path}-wal`);
  await workspace.perform("data.write", entry("k")).catch(() => {});
  expect(workspace.writer.failure).toBeInstanceOf(ReplacedWorkspace);
  expect(workspace.connection.own?.isDisowned).toBe(true);
  workspace[Symbol.dispose]();
});

const RENAMES = effort({ usual: 25, long: 500 });
const CLIENTS = 6;

test(`a data directory that is renamed ${RENAMES} times under load is used again each time, with every acknowledged event`, async () => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  const away = directory.join("away");
  const { api_key: apiKey, workspace_id: id } = await makeWorkspace(data, "w");
  await filesReleased(data);
  await using daemon = await startGovernd(data);
  const random = new Seeded(SEED);
  const acknowledged: string[] = [];
  let isOver = false;
  const write = async (key: string): Promise<boolean> => {
    const body = JSON.stringify({ agent_id: "a", key, value: "v" });
    const answer = await daemon.ask("/v1/data/write", { method: "POST", body, apiKey });
    const { audit_id: event } = (await answer.json()) as { audit_id?: string };
    if (answer.status === 200) acknowledged.push(event as string);
    return answer.status === 200;
  };
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = 0; !isOver; i++) if (!(await write(`${client}/${i}`))) await Bun.sleep(5);
  });
  for (let i = 0; i < RENAMES; i++) {
    const before = acknowledged.length;
    await eventually("it is written again", () => acknowledged.length > before + CLIENTS);
    renameSync(data, away);
    await Bun.sleep(random.below(20));
    renameSync(away, data);
  }
  await eventually("it is written at last", () => write("last"));
  isOver = true;
  await Promise.all(clients);
  using view = new WorkspaceView(join(data, "workspaces", `${id}.db`));
  const stored = new Set(view.eventsAfter(-1).map((event) => event.id));
  expect(acknowledged.filter((event) => !stored.has(event))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(RENAMES * CLIENTS);
});
