/** Making a workspace, and what is left when the process dies between the steps; and files that do not fit each other. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dataDirectory, presentWorkspaces, sealFile, workspaceFile } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { recordingJob } from "../../src/core/writer/job.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import { createWorkspace, type FoundingParts } from "../../src/ops/directory/administration.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { fileJournal, type WorkspaceJournal, withWriter } from "../../src/ops/directory/journal.ts";
import { openConnection } from "../../src/store/connection.ts";
import { openMigrated } from "../../src/store/migrate.ts";
import { removeDatabase } from "../../src/store/remove.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { governd } from "../cli/governd.ts";
import { GOVERND, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { exampleDetails } from "../support/event-examples.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const KILLS = effort({ usual: 3, long: 60 });

let from: FilledDirectory;
let installation: string;
beforeEach(async () => {
  from = await FilledDirectory.make(1);
  installation = from.installation;
});
afterEach(() => from[Symbol.dispose]());

const command = (...words: string[]) => governd([...words, "--data-dir", from.data.root, "--json"]);
const listed = async () =>
  (await command("workspace", "list")).json<{ data: { workspace_id: string }[] }>().data.map((one) => one.workspace_id);

/** The exit codes of both programs for the directory. */
async function exits(): Promise<number[]> {
  await filesReleased(from.data.root);
  await using second = new SecondVerifier();
  const ours = (await governd(["verify", from.data.root])).code;
  return HAS_PYTHON ? [ours, (await second.run(from.data.root)).code] : [ours, ours];
}

/** Starts a daemon and stops it. Returns the workspaces that it says nobody made. */
async function unknownAtStart(): Promise<string[]> {
  await using daemon = await startGovernd(from.data.root);
  const [apiKey] = from.keys as [string];
  expect((await daemon.ask("/v1/agents", { apiKey })).status).toBe(200);
  await daemon.stop();
  const lines = daemon
    .said()
    .split("\n")
    .filter((line) => line.includes("nobody made this workspace here"));
  return lines.flatMap((line) => /ws_[0-9a-z]{26}/.exec(line)?.[0] ?? []);
}

const killed = () => Promise.reject(new Error("killed"));

/** What dies does not clean up. */
async function withParts<T>(
  change: (journal: WorkspaceJournal) => Partial<WorkspaceJournal>,
  work: (parts: FoundingParts) => Promise<T>,
): Promise<T> {
  using installation = await Installation.open(from.data);
  const random = new RandomPool();
  const journal = fileJournal(from.data);
  return await work({
    ...{ installation, clock: systemClock, random, ids: new IdSource(systemClock, random) },
    journal: { ...journal, discard: killed, ...change(journal) },
  });
}

/** Makes a file that the log of the installation does not have. Returns the id. */
async function unadded(name = "cut off"): Promise<string> {
  const before = new Set(presentWorkspaces(from.data));
  const dies = (journal: WorkspaceJournal): Partial<WorkspaceJournal> => ({
    create: async (workspace, event) => {
      await journal.create(workspace, event);
      return await killed();
    },
  });
  await expect(withParts(dies, (parts) => createWorkspace(parts, "cli", name))).rejects.toThrow("killed");
  await filesReleased(from.data.root);
  return presentWorkspaces(from.data).find((id) => !before.has(id)) as string;
}

const CUT_OFF: Record<string, (path: string) => void> = {
  "before the file has anything": (path) => {
    removeDatabase(path);
    writeFileSync(path, "");
  },
  "before the first event": (path) => {
    removeDatabase(path);
    openMigrated(path, WORKSPACE_MIGRATIONS).close();
  },
  "behind its first event": (path) => {
    using connection = openConnection(path);
    connection.exec("DELETE FROM events WHERE seq = 1; UPDATE head SET seq = 0");
    connection.truncateLog();
  },
  "behind its first key": () => {},
};

test.each(Object.entries(CUT_OFF))(
  "a process that dies %s leaves a file that the next start removes, and no workspace",
  async (_, cut) => {
    const id = await unadded();
    cut(workspaceFile(from.data, id));
    await filesReleased(from.data.root);
    expect(await listed()).toEqual(from.ids);
    expect(await unknownAtStart()).toEqual([]);
    expect([workspaceFile(from.data, id), sealFile(from.data, id)].map(existsSync)).toEqual([false, false]);
    expect(await listed()).toEqual(from.ids);
    expect(await exits()).toEqual([0, 0]);
  },
);

test("a process that dies behind the event that adds it, or before its head is recorded, has made the workspace", async () => {
  const dies = (journal: WorkspaceJournal): Partial<WorkspaceJournal> => ({
    async record(workspaceId, event) {
      await journal.record(workspaceId, event);
      return await killed();
    },
  });
  await expect(withParts(dies, (parts) => createWorkspace(parts, "cli", "made"))).rejects.toThrow("killed");
  const ids = presentWorkspaces(from.data).filter((id) => id !== installation);
  expect((await listed()).length).toBe(2);
  expect(await exits()).toEqual([0, 0]);
  expect(await unknownAtStart()).toEqual([]);
  expect((await listed()).sort()).toEqual(ids.sort());
  expect(await exits()).toEqual([0, 0]);
});

test("a workspace whose making fails leaves no file", async () => {
  const fails = ({ discard }: WorkspaceJournal): Partial<WorkspaceJournal> => ({ discard, record: killed });
  const before = presentWorkspaces(from.data);
  await expect(withParts(fails, (parts) => createWorkspace(parts, "cli", "fails"))).rejects.toThrow("killed");
  expect(presentWorkspaces(from.data)).toEqual(before);
});

test("a file that is not added yet is no sign of tampering", async () => {
  await unadded();
  expect(await exits()).toEqual([2, 2]);
});

test("a command that is killed at any moment has made a workspace, or nothing", async () => {
  const random = new Seeded(SEED);
  for (let round = 0; round < KILLS; round++) {
    const words = ["workspace", "create", "--name", `killed ${round}`, "--data-dir", from.data.root];
    const child = Bun.spawn([...GOVERND, ...words], { env: {}, stdout: "ignore", stderr: "ignore" });
    await Bun.sleep(random.below(400));
    child.kill("SIGKILL");
    await child.exited;
    const made = await listed();
    expect(await unknownAtStart()).toEqual([]);
    expect(await listed()).toEqual(made);
    expect(presentWorkspaces(from.data).sort()).toEqual([...made, installation].sort());
    from.ids.splice(0, from.ids.length, ...made);
    expect(await exits()).toEqual([0, 0]);
  }
});

test("a file that has events of its own is never removed, and is reported at each start", async () => {
  const used = await unadded("used");
  await from.write(used, 1);
  // So is one with another key than its first.
  const shared = await unadded("shared");
  await withWriter(from.data, sealKeySource(from.data, null), shared, async (writer) => {
    await writer.perform([
      recordingJob(shared, { operation: "key.create", actor: "cli", details: exampleDetails("key.create") }),
    ]);
  });
  await filesReleased(from.data.root);
  for (const _ of [1, 2]) {
    expect((await unknownAtStart()).sort()).toEqual([used, shared].sort());
    expect([used, shared].map((id) => existsSync(workspaceFile(from.data, id)))).toEqual([true, true]);
  }
  expect(await exits()).toEqual([1, 1]);
});

test("nor is a new workspace, when the file of the installation was replaced by an older one", async () => {
  const file = workspaceFile(from.data, installation);
  const older = from.join("older.db");
  copyFileSync(file, older);
  const { workspace_id: id } = (await command("workspace", "create", "--name", "new")).json<{ workspace_id: string }>();
  await filesReleased(from.data.root);
  removeDatabase(file);
  copyFileSync(older, file);
  expect(await unknownAtStart()).toEqual([id]);
  expect(existsSync(workspaceFile(from.data, id))).toBe(true);
});

const EVERYTHING = [
  ["serve"],
  ["workspace", "list"],
  ["workspace", "create", "--name", "x"],
  ["account", "list"],
  ["account", "link"],
];

/** Runs commands on the directory. Each is refused, and says this. */
async function expectRefused(saying: RegExp, all = EVERYTHING): Promise<void> {
  for (const words of all) {
    const { code, err } = await governd([...words, "--data-dir", from.data.root]);
    expect([words, code, err]).toEqual([words, 2, expect.stringMatching(saying)]);
  }
}

test("without the file of the installation nothing is done, and every command says which file is missing", async () => {
  const file = workspaceFile(from.data, installation);
  const kept = from.join("kept.db");
  renameSync(file, kept);
  const present = presentWorkspaces(from.data);
  await expectRefused(/ws_[0-9a-z]{26}\.db is missing/);
  expect(presentWorkspaces(from.data)).toEqual(present);
  expect(await exits()).toEqual([1, 1]);
  renameSync(kept, file);
  expect(await unknownAtStart()).toEqual([]);
  expect(await exits()).toEqual([0, 0]);
});

test("without installation.json nothing is done, and nobody can sign up", async () => {
  const fresh = dataDirectory(from.join("fresh"));
  expect((await governd(["workspace", "list", "--data-dir", fresh.root])).code).toBe(2);
  const kept = from.join("kept.json");
  renameSync(from.data.pointer, kept);
  const saying = /installation\.json(: no such file| is missing, although there are workspaces)/;
  await expectRefused(saying, [...EVERYTHING, ["backup", from.destination]]);
  // It is no evidence: what the logs say is verified without it.
  expect(await exits()).toEqual([0, 0]);
  writeFileSync(from.data.pointer, readFileSync(kept, "utf8").slice(0, 50));
  await expectRefused(/installation\.json is damaged/, [...EVERYTHING, ["backup", from.destination]]);
  expect(await exits()).toEqual([0, 0]);
  renameSync(kept, from.data.pointer);
  expect(await unknownAtStart()).toEqual([]);
});

test("a first start that dies before installation.json names the log of the installation makes another", async () => {
  using other = await FilledDirectory.make(0);
  {
    using installation = await Installation.open(other.data);
    const journal = fileJournal(other.data);
    const dying: typeof journal = {
      ...journal,
      create: async (...given) => {
        await journal.create(...given);
        return killed();
      },
    };
    await expect(installation.ensure({ journal: dying, ids: new IdSource() })).rejects.toThrow("killed");
  }
  const [left] = presentWorkspaces(other.data) as [string];
  await filesReleased(other.data.root);
  await using daemon = await startGovernd(other.data.root);
  expect(daemon.said()).not.toContain("nobody made this workspace here");
  await daemon.stop();
  const present = presentWorkspaces(other.data);
  expect([present.length, present.includes(left)]).toEqual([1, false]);
  expect((await governd(["verify", other.data.root])).code).toBe(0);
});
