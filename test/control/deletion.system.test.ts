/** Deleting a workspace, and what is left when the process dies between the steps. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { sealFile, workspaceFile } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import { parseSeal } from "../../src/log/seal.ts";
import type { FoundingParts } from "../../src/ops/directory/administration.ts";
import { deleteWorkspace } from "../../src/ops/directory/deletion.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { fileJournal, type WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import { openConnection } from "../../src/store/connection.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { governd } from "../cli/governd.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { filesReleased } from "../released.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let from: FilledDirectory;
let id: string;
/** What the daemon answered to the key of each workspace. */
let statuses: number[] = [];
const DELETION = "installation.delete_workspace";

beforeEach(async () => {
  from = await FilledDirectory.make(2);
  [id] = from.ids as [string];
  await from.write(id, 2);
});
afterEach(() => from[Symbol.dispose]());

const command = (...words: string[]) => governd(["workspace", ...words, "--data-dir", from.data.root, "--json"]);

/** The exit codes of both programs for the directory. */
async function exits(): Promise<number[]> {
  await filesReleased(from.data.root);
  await using second = new SecondVerifier();
  const ours = (await governd(["verify", from.data.root])).code;
  return HAS_PYTHON ? [ours, (await second.run(from.data.root)).code] : [ours, ours];
}

/** Deletes the workspace with the journal as `change` makes it, and returns the parts. */
async function deleting(change: (journal: WorkspaceJournal) => WorkspaceJournal): Promise<void> {
  using installation = await Installation.open(from.data);
  const random = new RandomPool();
  const parts: FoundingParts = {
    ...{ installation, clock: systemClock, random, ids: new IdSource(systemClock, random) },
    journal: change(fileJournal(from.data)),
  };
  await deleteWorkspace(parts, from.data, sealKeySource(from.data, null), id);
}

/** Starts a daemon, which finishes what was cut off, and stops it. */
async function started(): Promise<void> {
  await using daemon = await startGovernd(from.data.root);
  const asked = await Promise.all(from.keys.map((apiKey) => daemon.ask("/v1/agents", { apiKey })));
  statuses = asked.map(({ status }) => status);
  await daemon.stop();
}

const isThere = () => [workspaceFile(from.data, id), sealFile(from.data, id)].map(existsSync);

function deletionsRecorded(): number {
  using log = openConnection(workspaceFile(from.data, from.installation), { readOnly: true });
  return log.value<number>("SELECT count(*) FROM events WHERE operation = ?", [DELETION]) as number;
}

test("without --yes nothing is changed, and what would be lost is said", async () => {
  const { code, json } = await command("delete", "--workspace", id);
  expect([code, json()]).toEqual([
    0,
    expect.objectContaining({ workspace_id: id, deleted: false, agents: 1, entries: 2, events: 4 }),
  ]);
  expect(await exits()).toEqual([0, 0]);
  expect([isThere(), deletionsRecorded()]).toEqual([[true, true], 0]);
});

test("a deleted workspace is gone, its end is recorded, and its keys do not work", async () => {
  const { code, json } = await command("delete", "--workspace", id, "--yes");
  const said = json<{ size: number; head: string; seal: string }>();
  expect([code, said.size, parseSeal(said.seal).size]).toEqual([0, 4, 4]);
  expect(isThere()).toEqual([false, false]);
  expect(await exits()).toEqual([0, 0]);
  using log = openConnection(workspaceFile(from.data, from.installation), { readOnly: true });
  const recorded = log.value<string>("SELECT details FROM events WHERE operation = ?", [DELETION]) as string;
  const { size, head, seal } = said;
  expect(JSON.parse(recorded)).toEqual({ for_workspace_id: id, size, head, seal });
  expect(log.all<[string]>("SELECT workspace_id FROM heads").flat()).toEqual([from.ids[1] as string]);
  const listed = (await command("list")).json<{ data: { workspace_id: string }[] }>();
  expect(listed.data.map((one) => one.workspace_id)).toEqual([from.ids[1] as string]);
  expect((await command("delete", "--workspace", id, "--yes")).code).not.toBe(0);
  await using daemon = await startGovernd(from.data.root);
  const asked = (apiKey: string | undefined) => daemon.ask("/v1/agents", apiKey === undefined ? {} : { apiKey });
  expect((await asked(from.keys[0])).status).toBe(401);
  expect((await asked(from.keys[1])).status).toBe(200);
  // Beside a daemon, which may have the files open, nothing is deleted.
  const beside = await command("delete", "--workspace", from.ids[1] as string, "--yes");
  expect([beside.code, beside.err]).toEqual([expect.any(Number), expect.stringContaining("in use by another running")]);
  expect((await asked(from.keys[1])).status).toBe(200);
});

test("the log of the installation cannot be deleted", async () => {
  expect((await command("delete", "--workspace", from.installation, "--yes")).err).toContain("no such workspace");
});

test("a process that dies before the event leaves the workspace as it was", async () => {
  const dies = (journal: WorkspaceJournal): WorkspaceJournal => ({
    ...journal,
    record: () => Promise.reject(new Error("killed")),
  });
  await expect(deleting(dies)).rejects.toThrow();
  expect(await exits()).toEqual([0, 0]);
  await started();
  expect([statuses, isThere(), deletionsRecorded()]).toEqual([[200, 200], [true, true], 0]);
  expect(await exits()).toEqual([0, 0]);
  expect((await command("delete", "--workspace", id, "--yes")).code).toBe(0);
});

test("a process that dies after the event has deleted the workspace: the next start finishes that", async () => {
  const dies = (journal: WorkspaceJournal): WorkspaceJournal => ({
    ...journal,
    async record(workspaceId, event) {
      await journal.record(workspaceId, event);
      throw new Error("killed");
    },
  });
  await expect(deleting(dies)).rejects.toThrow();
  expect([isThere(), deletionsRecorded()]).toEqual([[true, true], 1]);
  expect(await exits()).toEqual([0, 0]);
  await started();
  expect([statuses, isThere(), deletionsRecorded()]).toEqual([[401, 200], [false, false], 1]);
  expect(await exits()).toEqual([0, 0]);
});

test("a process that dies before the new heads, or before the files are removed, has deleted the workspace", async () => {
  let records = 0;
  const dies = (journal: WorkspaceJournal): WorkspaceJournal => ({
    ...journal,
    async record(workspaceId, event) {
      if (++records === 2) throw new Error("killed");
      return await journal.record(workspaceId, event);
    },
    headsLate(reason) {
      throw new Error(reason);
    },
  });
  await expect(deleting(dies)).rejects.toThrow("killed");
  expect([isThere(), deletionsRecorded()]).toEqual([[true, true], 1]);
  expect(await exits()).toEqual([0, 0]);
  const listed = (await command("list")).json<{ data: { workspace_id: string }[] }>();
  expect(listed.data.map((one) => one.workspace_id)).toEqual([from.ids[1] as string]);
  await started();
  expect([statuses, isThere()]).toEqual([
    [401, 200],
    [false, false],
  ]);
  expect(await exits()).toEqual([0, 0]);
});

test("a process that dies while it removes the files has deleted the workspace: the next start removes what is left", async () => {
  const kept = [workspaceFile(from.data, id), sealFile(from.data, id)].map(
    (path) => [path, readFileSync(path)] as const,
  );
  expect((await command("delete", "--workspace", id, "--yes")).code).toBe(0);
  for (const [path, bytes] of kept) {
    // Only one of the two files is left.
    writeFileSync(path, bytes);
    expect(await exits()).toEqual([0, 0]);
    await started();
    expect([statuses, isThere()]).toEqual([
      [401, 200],
      [false, false],
    ]);
  }
});
