/** Damaged, lost and exchanged files: each affects only its own workspace, and is reported. */
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { governd, type MadeWorkspace, makeWorkspace } from "../cli/governd.ts";
import { governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { ended } from "../ended.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(2 * PROCESS_TEST_MS);

const SEEDS = effort({ usual: 2, long: 800 });
const CHILD = join(import.meta.dir, "damage-child.ts");

let directory: TemporaryDirectory;
let data: string;
beforeEach(() => {
  directory = temporaryDirectory();
  data = directory.join("data");
});
afterEach(() => directory[Symbol.dispose]());

const made = (name: string) => makeWorkspace(data, name);
const fileOf = ({ workspace_id: id }: MadeWorkspace) => join(data, "workspaces", `${id}.db`);
const write = (daemon: RunningDaemon, { api_key: apiKey }: MadeWorkspace, key = "k") =>
  daemon.ask("/v1/data/write", { method: "POST", body: JSON.stringify({ agent_id: "a", key, value: "v" }), apiKey });
const read = (daemon: RunningDaemon, { api_key: apiKey }: MadeWorkspace, key = "k") =>
  daemon.ask(`/v1/data/read?agent_id=a&key=${key}`, { apiKey });

/** A seed whose damage to the order of rows makes a walk return to an earlier row. */
const CIRCLES = [19];

/** A seed that puts bytes that are no text into the name of an index. */
const TEXTS = [111_402];

interface DamagedOutcome {
  seed: number;
  fails: boolean;
  isTampered: boolean;
}

/** Damages and uses a workspace for each seed, in a child process. */
async function useDamaged(seeds: readonly number[]): Promise<DamagedOutcome[]> {
  const child = Bun.spawn([process.execPath, CHILD, directory.path, ...seeds.map(String)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const { out, err, code } = await ended(child);
  // On failure the last line names the seed.
  const last = out.trimEnd().split("\n").at(-1);
  expect({ code, err, last }).toMatchObject({ code: 0, err: "" });
  return JSON.parse(last as string);
}

test("whatever bytes are changed, the process and the other workspaces keep working, and what makes a walk circular is damage", async () => {
  const from = SEED % 1_000_000;
  const random = Array.from({ length: SEEDS }, (_, i) => from + i);
  const known = [...CIRCLES, ...TEXTS];
  const outcomes = await useDamaged([...known, ...random]);
  expect(outcomes.slice(0, known.length)).toEqual(known.map((seed) => ({ seed, fails: true, isTampered: true })));
  expect(outcomes.map(({ seed }) => seed)).toEqual([...known, ...random]);
  // Four in five do, of very many; of few it can be none but the known ones.
  expect(outcomes.filter(({ fails }) => fails).length).toBeGreaterThanOrEqual(outcomes.length / 3);
  expect(outcomes.filter(({ isTampered }) => isTampered).length).toBeGreaterThanOrEqual(outcomes.length / 3);
});

/** What can happen to a workspace's file. */
const HARMS: Record<string, (path: string) => void> = {
  missing: (path) => rmSync(path),
  empty: (path) => truncateSync(path, 0),
  "cut off": (path) => truncateSync(path, 10_000),
  "no database": (path) => writeFileSync(path, "not a database, ".repeat(1_000)),
  "with a damaged beginning": (path) => writeFileSync(path, readFileSync(path).fill(0xff, 0, 64)),
  "another database": (path) => {
    rmSync(path);
    new Database(path, { create: true }).run("CREATE TABLE t (a)");
  },
};

test("files that are harmed take down their workspaces alone, are said, and are used again when they are put back", async () => {
  const healthy = await made("healthy");
  const harmed = new Map<string, MadeWorkspace>();
  for (const name of Object.keys(HARMS)) {
    const one = await made(name);
    harmed.set(name, one);
    using workspace = new OpenWorkspace(fileOf(one));
    bodyOf(await workspace.perform("data.write", { agentId: "a", key: "k", value: "v", metadata: {} }));
  }
  await filesReleased(data);
  const savedOf = ({ workspace_id: id }: MadeWorkspace) => directory.join(`${id}.saved`);
  for (const [name, one] of harmed) {
    renameSync(fileOf(one), savedOf(one));
    copyFileSync(savedOf(one), fileOf(one));
    HARMS[name]?.(fileOf(one));
  }
  const contents = () =>
    [...harmed].map(([name, one]) => [name, existsSync(fileOf(one)) ? readFileSync(fileOf(one)) : null]);
  const before = contents();

  await using daemon = await startGovernd(data);
  for (const [name, one] of harmed) {
    for (const answer of [await write(daemon, one), await read(daemon, one)]) {
      expect([name, answer.status]).toEqual([name, 503]);
      expect(await answer.json()).toMatchObject({ code: "unavailable", detail: expect.stringContaining("file") });
    }
  }
  expect((await write(daemon, healthy)).status).toBe(200);
  expect((await daemon.ask("/readyz")).status).toBe(200);
  expect(contents()).toEqual(before);
  const { sources } = (await governd(["verify", data, "--json"])).json<{ sources: { problems: unknown[] }[] }>();
  const said = sources.filter(({ problems }) => problems.length > 0).map((source) => JSON.stringify(source));
  for (const [name, { workspace_id: id }] of harmed)
    expect([name, said.some((source) => source.includes(id))]).toEqual([name, true]);
  expect(said.filter((source) => source.includes(healthy.workspace_id))).toEqual([]);

  for (const [name, one] of harmed) {
    rmSync(fileOf(one), { force: true });
    for (const suffix of ["-wal", "-shm"]) rmSync(`${fileOf(one)}${suffix}`, { force: true });
    // Renamed into place: the daemon reads it every second.
    copyFileSync(savedOf(one), `${savedOf(one)}.copy`);
    renameSync(`${savedOf(one)}.copy`, fileOf(one));
    expect([name, await (await read(daemon, one)).json()]).toMatchObject([name, { value: "v" }]);
    expect([name, (await write(daemon, one, "again")).status]).toEqual([name, 200]);
  }
  const { err } = await daemon.stop();
  for (const { workspace_id: id } of harmed.values()) expect(err).toContain(id);
  expect(await governd(["verify", data])).toMatchObject({ code: 0 });
});

test("a file that is taken away under the running daemon is not written any more", async () => {
  const one = await made("one");
  await using daemon = await startGovernd(data);
  expect((await write(daemon, one)).status).toBe(200);
  const moved = directory.join("moved");
  for (const suffix of ["", "-wal", "-shm"]) renameSync(`${fileOf(one)}${suffix}`, `${moved}${suffix}`);
  expect((await write(daemon, one)).status).toBe(503);
  for (const suffix of ["", "-wal", "-shm"]) {
    if (await Bun.file(`${moved}${suffix}`).exists()) renameSync(`${moved}${suffix}`, `${fileOf(one)}${suffix}`);
  }
  expect((await write(daemon, one, "later")).status).toBe(200);
  expect((await read(daemon, one)).status).toBe(200);
});

test("exchanged files are served to no one", async () => {
  const [one, two] = [await made("one"), await made("two")];
  {
    await using daemon = await startGovernd(data);
    await write(daemon, one, "secret");
    await daemon.stop();
  }
  renameSync(fileOf(one), `${fileOf(one)}.x`);
  renameSync(fileOf(two), fileOf(one));
  renameSync(`${fileOf(one)}.x`, fileOf(two));
  await using daemon = await startGovernd(data);
  const asked = [
    "/v1/data/read?agent_id=a&key=secret",
    "/v1/audit/key",
    "/v1/audit/seal",
    "/v1/audit?scope=workspace",
    "/v1/agents",
  ];
  for (const path of asked) {
    for (const { api_key: apiKey } of [one, two]) {
      const answer = await daemon.ask(path, { apiKey });
      expect([path, answer.status]).toEqual([path, 503]);
    }
  }
  expect((await governd(["verify", data])).code).toBe(1);
});

describe("the pointer to the log of the installation", () => {
  test.each([
    ["something else", (path: string) => writeFileSync(path, "hello ".repeat(1_000)), "is damaged"],
    ["missing", (path: string) => rmSync(path), "is missing, although there are workspaces"],
    ["empty", (path: string) => truncateSync(path, 0), "is damaged"],
  ])("%s: nothing runs, in one clear line", async (_, harm, message) => {
    await made("one");
    harm(join(data, "installation.json"));
    for (const words of [
      ["serve", "--listen", "127.0.0.1:0"],
      ["workspace", "create", "--name", "x"],
    ]) {
      // A daemon listens to signals, which a test must not.
      const run = words[0] === "serve" ? governdProcess : governd;
      const { code, out, err } = await run([...words, "--data-dir", data]);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toContain(message);
      expect(err.split("\n")).toHaveLength(2);
    }
  });
});
