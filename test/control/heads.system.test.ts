/** The daemon has the heads of the workspaces recorded that grew. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { HeadsTree, type WorkspaceHead } from "../../src/core/heads/tree.ts";
import { recordingJob } from "../../src/core/writer/job.ts";
import { IdSource, RandomPool } from "../../src/ids.ts";
import { sha256Hex } from "../../src/log/hash.ts";
import { HeadsUpkeep } from "../../src/ops/directory/heads.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { fileJournal, openLog, withWriter } from "../../src/ops/directory/journal.ts";
import { openConnection } from "../../src/store/connection.ts";
import { removeDatabase } from "../../src/store/remove.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { governd } from "../cli/governd.ts";
import { eventually } from "../eventually.ts";
import { typeId } from "../log/sample.ts";
import { TestDaemon } from "../support/daemon.ts";
import { exampleDetails } from "../support/event-examples.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const NAME = "installation.heads";

/** The heads that the log of the installation has, with the number of its events about them. */
function recorded(from: FilledDirectory) {
  using log = openConnection(workspaceFile(from.data, from.installation), { readOnly: true });
  const rows = log.all<[string, number, string]>("SELECT workspace_id, size, hash FROM heads ORDER BY workspace_id");
  const events = log.all<[string, string]>("SELECT actor, details FROM events WHERE operation = ? ORDER BY seq", [
    NAME,
  ]);
  const tree = new HeadsTree();
  const heads: WorkspaceHead[] = rows.map(([workspaceId, size, hash]) => ({ workspaceId, size, hash }));
  for (const head of heads) tree.add(head);
  expect(JSON.parse(events.at(-1)?.[1] ?? "")).toEqual({ ...tree.facts() });
  expect(new Set(events.map(([actor]) => actor))).toEqual(new Set(["system"]));
  return { sizes: new Map(heads.map((head) => [head.workspaceId, head.size])), events: events.length };
}

/** Appends events to a workspace. */
const grow = (from: FilledDirectory, id: string, events: number) =>
  withWriter(from.data, sealKeySource(from.data, null), id, async (writer) => {
    const ids = new IdSource();
    const made = Array.from({ length: events }, () => {
      const details = {
        ...exampleDetails("key.create"),
        key_id: ids.next("key"),
        key_digest: sha256Hex(ids.next("key")),
      };
      return recordingJob(id, { operation: "key.create", actor: typeId("usr", 1), details });
    });
    await writer.perform(made);
  });

test("of those that grew, once in an interval, and never of one that does not continue its head", async () => {
  using from = await FilledDirectory.make(2);
  const [id, other] = from.ids as [string, string];
  using installation = await Installation.open(from.data);
  const known = new Map<string, number>();
  const opened: string[] = [];
  const behind: string[] = [];
  const headOf = (one: string) => {
    opened.push(one);
    return fileJournal(from.data).headOf(one);
  };
  const waits: { ms: number; work: () => void }[] = [];
  await using upkeep = new HeadsUpkeep(
    {
      ...{ directory: from.data, installation },
      journal: { ...fileJournal(from.data), headOf },
      sizeOf: (one) => known.get(one) ?? null,
      onBehind: (one) => void behind.push(one),
    },
    1_000,
    {
      timer: (ms, work) => {
        waits.push({ ms, work });
        return () => {};
      },
      random: new RandomPool(),
    },
  );
  /** Lets the interval end. */
  const next = async () => {
    const count = waits.length;
    const { ms, work } = waits.at(-1) as (typeof waits)[number];
    work();
    await eventually("it waits again", () => waits.length > count);
    return ms;
  };
  const sizes = (one: number, two: number) => new Map([id, other].sort().map((ws) => [ws, ws === id ? one : two]));
  expect(recorded(from)).toEqual({ sizes: sizes(2, 2), events: 3 });
  expect(await next()).toBe(1_000);
  expect([recorded(from).events, opened]).toEqual([3, []]);

  const older = from.join("older.db");
  copyFileSync(workspaceFile(from.data, id), older);
  await grow(from, id, 3);
  known.set(id, 5).set(other, 2);
  await next();
  expect([recorded(from), opened]).toEqual([{ sizes: sizes(5, 2), events: 4 }, [id]]);
  await next();
  expect(recorded(from).events).toBe(4);

  removeDatabase(workspaceFile(from.data, id));
  copyFileSync(older, workspaceFile(from.data, id));
  await grow(from, other, 3);
  known.set(id, 2).set(other, 5);
  await next();
  await next();
  expect([recorded(from).sizes, behind]).toEqual([sizes(5, 5), [id]]);
  upkeep.useInterval(500);
  expect(waits.at(-1)?.ms).toBe(500);
  upkeep.useInterval(5_000);
  await next();
  expect(waits.at(-1)?.ms).toBe(5_000);
});

test("while it serves them, and what it recorded verifies", async () => {
  await using daemon = await TestDaemon.start({ flags: { heads_interval: "1s" } });
  const { id: workspaceId, client } = await daemon.workspace("grows");
  const directory = dataDirectory(daemon.dataDir);
  const installation = daemon.installationId;
  const written = { agent_id: "a", key: "k", value: "v" };
  const config = await client.send({ path: "/v1/config/a", method: "PUT", body: { model: "any" } });
  const write = await client.post("/v1/data/write", written);
  expect([config.status, write.status]).toEqual([200, 200]);
  await eventually("the head is recorded", () => {
    using workspace = openLog(directory, workspaceId);
    using log = openLog(directory, installation);
    const size = log.value<number>("SELECT size FROM heads WHERE workspace_id = ?", [workspaceId]);
    return size === workspace.value<number>("SELECT max(seq) + 1 FROM events");
  });
  expect((await governd(["verify", daemon.dataDir])).code).toBe(0);
});
