/** `governd compact`: the space of deleted data goes back to the file system, beside a daemon and without one. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ScheduledCompaction } from "../../src/serve/daemon/compaction.ts";
import { openConnection } from "../../src/store/connection.ts";
import type { Timer } from "../../src/timer.ts";
import { governd, type MadeWorkspace, makeWorkspace } from "../cli/governd.ts";
import { governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { CAN_MOUNT, SmallDisk } from "../faults/small-disk.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const KEY = "ab".repeat(32);
const ENTRIES = 40;
const VALUE = "v".repeat(54_000);
/** Pause between two writes of a load, which would otherwise take a core. */
const WRITE_EVERY_MS = 5;

let directory: TemporaryDirectory;
let data: string;
beforeEach(() => {
  directory = temporaryDirectory();
  data = directory.join("data");
});
afterEach(() => directory[Symbol.dispose]());

interface Compacted {
  given_back: number;
  workspaces: {
    workspace_id: string;
    bytes_before: number;
    bytes_after: number;
    longest_pause_ms: number;
    reason: string | null;
  }[];
}

const fileOf = ({ workspace_id }: MadeWorkspace) => join(data, "workspaces", `${workspace_id}.db`);

function post(daemon: RunningDaemon, { api_key: apiKey }: MadeWorkspace, path: string, body: object) {
  return daemon.ask(path, { method: "POST", body: JSON.stringify(body), apiKey });
}

async function fill(daemon: RunningDaemon, made: MadeWorkspace, prefix: string): Promise<void> {
  const write = (i: number) =>
    post(daemon, made, "/v1/data/write", { agent_id: "a", key: `${prefix}${i}`, value: `${i} ${VALUE}` });
  const answers = await Promise.all(Array.from({ length: ENTRIES }, (_, i) => write(i)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
}

const erase = (made: MadeWorkspace, prefix: string, words: readonly string[] = []) =>
  governdProcess([
    "erase",
    "--workspace",
    made.workspace_id,
    "--agent",
    "a",
    "--prefix",
    prefix,
    "--data-dir",
    data,
    ...words,
  ]);

/** Writes until stopped; every write must succeed. */
class Load {
  readonly written: string[] = [];
  longestMs = 0;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(
    readonly daemon: RunningDaemon,
    readonly made: MadeWorkspace,
  ) {
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const key = `meanwhile-${crypto.randomUUID()}`;
      const beganMs = performance.now();
      const answer = await post(this.daemon, this.made, "/v1/data/write", { agent_id: "b", key, value: key });
      expect(answer.status).toBe(200);
      this.longestMs = Math.max(this.longestMs, performance.now() - beganMs);
      this.written.push(key);
      await Bun.sleep(WRITE_EVERY_MS);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
    for (const key of this.written) {
      const answer = await this.daemon.ask(`/v1/data/read?agent_id=b&key=${key}`, { apiKey: this.made.api_key });
      expect(await answer.json()).toMatchObject({ value: key });
    }
  }
}

function keyWords(encrypted: boolean): string[] {
  if (!encrypted) return [];
  const file = directory.join("key");
  writeFileSync(file, `${KEY}\n`, { mode: 0o600 });
  return ["--encryption-key-file", file];
}

const FORMS = [
  ["in plain", false],
  ["encrypted", true],
] as const;
/** In `npm test`, either a file in plain or an encrypted one. */
const FORM = SEED % FORMS.length;
const CHOSEN = [...FORMS, ...FORMS].slice(FORM, FORM + effort({ usual: 1, long: 2 }));

test.each(CHOSEN)("a file shrinks beside the daemon while writes go on, %s", async (_, encrypted) => {
  const words = keyWords(encrypted);
  const made = await makeWorkspace(data, "W", words);
  await using daemon = await startGovernd(data, words);
  await fill(daemon, made, "old-");
  await fill(daemon, made, "kept-");
  expect(await erase(made, "old-", words)).toMatchObject({ code: 0 });
  const load = new Load(daemon, made);
  const done = await governdProcess(["compact", "--data-dir", data, "--json", ...words]);
  await load.stop();
  expect(done).toMatchObject({ code: 0, err: "" });
  const [result] = done.json<Compacted>().workspaces;
  expect(result).toMatchObject({ workspace_id: made.workspace_id, reason: null });
  expect(result?.bytes_after).toBeLessThan(0.7 * (result?.bytes_before ?? 0));
  expect(statSync(fileOf(made)).size).toBeLessThan(0.75 * (result?.bytes_before ?? 0));
  expect(load.written.length).toBeGreaterThan(3);
  expect(await governd(["verify", data, ...words])).toMatchObject({ code: 0 });
  expect(existsSync(join(data, "compact.request"))).toBe(false);
});

/** Fills a workspace, erases half of it, and stops the daemon. */
async function erased(made: MadeWorkspace): Promise<void> {
  await using daemon = await startGovernd(data);
  await fill(daemon, made, "old-");
  await fill(daemon, made, "kept-");
  expect(await erase(made, "old-")).toMatchObject({ code: 0 });
  await daemon.stop();
}

test("without a daemon, the command does it; check says how much, and a little is left alone", async () => {
  const made = await makeWorkspace(data);
  await erased(made);
  const before = statSync(fileOf(made)).size;
  const { findings } = (await governd(["check", "--data-dir", data, "--json"])).json<{
    findings: { check: string; message: string }[];
  }>();
  expect(findings.find(({ check }) => check === "free_pages")?.message).toMatch(/ give back [1-9]\.\d MiB$/);
  const words = ["compact", "--data-dir", data, "--json"];
  expect((await governdProcess([...words, "--from", "90"])).json()).toMatchObject({ given_back: 0, workspaces: [] });
  const done = await governdProcess(words);
  expect([done.code, statSync(fileOf(made)).size]).toEqual([0, before - done.json<Compacted>().given_back]);
  expect(statSync(fileOf(made)).size).toBeLessThan(0.7 * before);
  expect(await governd(["verify", data])).toMatchObject({ code: 0 });
});

test("the daemon compacts on schedule", async () => {
  const made = await makeWorkspace(data);
  await erased(made);
  const before = statSync(fileOf(made)).size;
  const settings = { data_dir: data, encryption_key_file: null };
  const said: string[] = [];
  const log = (message: string) => void said.push(message);
  const waits: number[] = [];
  const timer: Timer = (ms, work) => {
    waits.push(ms);
    if (waits.length === 1) setTimeout(work, 0);
    return () => {};
  };
  await using _schedule = new ScheduledCompaction(settings, 3_600_000, { info: log, warn: log, error: log }, timer);
  await eventually("the second wait", () => waits.length === 2);
  expect([waits, said]).toEqual([[3_600_000, 3_600_000], ["disk space was given back"]]);
  expect(statSync(fileOf(made)).size).toBeLessThan(0.7 * before);
});

test.skipIf(!CAN_MOUNT)("without enough free space nothing is changed, and the command says so", async () => {
  using disk = new SmallDisk("64m");
  data = join(disk.path, "data");
  const made = await makeWorkspace(data);
  await erased(made);
  {
    using connection = openConnection(fileOf(made));
    connection.exec("CREATE TABLE filling (x); INSERT INTO filling VALUES (zeroblob(1000000)); DROP TABLE filling");
  }
  await filesReleased();
  const ballast = join(disk.path, "ballast");
  const { bavail, bsize } = statfsSync(disk.path);
  writeFileSync(ballast, new Uint8Array(bavail * bsize - 8 * 1024 * 1024));
  const before = statSync(fileOf(made)).size;
  const words = ["compact", "--data-dir", data, "--json"];
  const refused = await governdProcess(words);
  expect([refused.code, refused.json<Compacted>().workspaces[0]?.reason]).toEqual([
    1,
    "the disk has not enough free space for it",
  ]);
  expect([refused.json<Compacted>().given_back, statSync(fileOf(made)).size]).toEqual([0, before]);
  rmSync(ballast);
  const done = await governdProcess(words);
  expect([done.code, done.json<Compacted>().given_back > 500_000]).toEqual([0, true]);
  expect(await governd(["verify", data])).toMatchObject({ code: 0 });
});
