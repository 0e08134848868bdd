/**
 * A workspace's files are replaced by older ones, or others, while the daemon runs or between two runs: the workspace
 * goes down and says so, nothing is appended, no position is used twice, and a declared restore is the way back.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { readPointer } from "../../src/core/datadir/pointer.ts";
import { governd, type MadeWorkspace, makeWorkspace } from "../cli/governd.ts";
import { governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { filesReleased } from "../released.ts";
import { Seeded } from "../seeded.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const ALL = ["", "-wal", "-shm"] as const;

let directory: TemporaryDirectory;
let data: string;
beforeEach(() => {
  directory = temporaryDirectory();
  data = directory.join("data");
});
afterEach(() => directory[Symbol.dispose]());

const fileOf = ({ workspace_id: id }: MadeWorkspace) => join(data, "workspaces", `${id}.db`);

async function made(name: string): Promise<MadeWorkspace> {
  const workspace = await makeWorkspace(data, name);
  await filesReleased(data);
  return workspace;
}

const write = (daemon: RunningDaemon, { api_key: apiKey }: MadeWorkspace, key: string) =>
  daemon.ask("/v1/data/write", {
    method: "POST",
    body: JSON.stringify({ agent_id: "a", key, value: `value of ${key} `.repeat(50) }),
    apiKey,
  });

async function writeMany(daemon: RunningDaemon, workspace: MadeWorkspace, name: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) expect((await write(daemon, workspace, `${name}${i}`)).status).toBe(200);
}

/** Writes an entry and erases it, after which the write-ahead log is copied back. */
async function eraseOne(daemon: RunningDaemon, workspace: MadeWorkspace, name: string): Promise<void> {
  await writeMany(daemon, workspace, name, 1);
  const erase = `/v1/data?agent_id=a&key=${name}0&erase=true`;
  expect((await daemon.ask(erase, { method: "DELETE", apiKey: workspace.api_key })).status).toBe(200);
}

/** Returns the bytes of a workspace's files, null for one that is missing. */
const filesOf = (workspace: MadeWorkspace) =>
  ALL.map((suffix) => {
    const path = `${fileOf(workspace)}${suffix}`;
    return existsSync(path) ? readFileSync(path) : null;
  });

type Files = ReturnType<typeof filesOf>;

/** Writes files over those of a workspace, in place, as `cp` does. */
function copyOver(workspace: MadeWorkspace, files: Files): void {
  for (const [i, suffix] of ALL.entries()) {
    const content = files[i];
    if (content) writeFileSync(`${fileOf(workspace)}${suffix}`, content);
  }
}

/** Puts files in the place of those of a workspace, as `mv` does. Those that are null are removed. */
function moveInto(workspace: MadeWorkspace, files: Files): void {
  for (const [i, suffix] of ALL.entries()) {
    const path = `${fileOf(workspace)}${suffix}`;
    const content = files[i];
    rmSync(path, { force: true });
    if (!content) continue;
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
  }
}

const removed = (workspace: MadeWorkspace) => moveInto(workspace, [null, null, null]);

/** Everything that a client asks for is refused, and the operator is told. */
async function expectDown(daemon: RunningDaemon, workspace: MadeWorkspace, reason: RegExp): Promise<void> {
  const { api_key: apiKey, workspace_id: id } = workspace;
  for (let i = 0; i < 3; i++) {
    const refused = await write(daemon, workspace, "refused");
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: "unavailable", detail: expect.stringContaining("file") });
  }
  const asked = ["/v1/data/read?agent_id=a&key=old0", "/v1/audit?scope=workspace", "/v1/audit/key", "/v1/audit/seal"];
  for (const path of asked) {
    const answer = await daemon.ask(path, { apiKey });
    expect([path, answer.status]).toEqual([path, 503]);
    await answer.text();
  }
  expect(await (await daemon.ask("/readyz")).json()).toMatchObject({ workspaces_down: 1 });
  await eventually("the log says so", () =>
    daemon
      .said()
      .split("\n")
      .some((text) => text.includes("a workspace is down") && text.includes(id) && reason.test(text)),
  );
}

const REPLACED = /ReplacedWorkspace|MissingWorkspace|DamagedWorkspace/;

interface Replacement {
  /** What somebody does to the files of the running daemon. `older`: as they were before the last events. */
  harm(workspace: MadeWorkspace, older: Files): void;
  reason: RegExp;
  /** The copy has a log of its own, which SQLite copies back when the file is closed again. */
  hasLog?: boolean;
}

const REPLACEMENTS: Record<string, Replacement> = {
  "an older copy that is moved into place": {
    harm: (workspace, [database]) => moveInto(workspace, [database ?? null, null, null]),
    reason: /ReplacedWorkspace/,
  },
  "an older copy with its write-ahead log that is moved into place": {
    harm: moveInto,
    reason: /ReplacedWorkspace/,
    hasLog: true,
  },
  "an older copy that is copied over the file": {
    harm: (workspace, [database]) => copyOver(workspace, [database ?? null, null, null]),
    reason: /ReplacedWorkspace/,
  },
  "an older copy of all files that is copied over them": { harm: copyOver, reason: /ReplacedWorkspace/ },
  "an older write-ahead log that is copied over it": {
    harm: (workspace, [, log]) => copyOver(workspace, [null, log ?? null, null]),
    reason: /ReplacedWorkspace/,
  },
  "an older write-ahead log that is moved into place": {
    harm: (workspace, [, log]) => {
      writeFileSync(`${fileOf(workspace)}-wal.new`, log ?? "");
      renameSync(`${fileOf(workspace)}-wal.new`, `${fileOf(workspace)}-wal`);
    },
    reason: /ReplacedWorkspace/,
  },
  "a write-ahead log that vanished": {
    harm: (workspace) => rmSync(`${fileOf(workspace)}-wal`),
    reason: /ReplacedWorkspace/,
  },
  "a file that vanished": { harm: removed, reason: /MissingWorkspace/ },
};

describe("while one daemon runs", () => {
  let shared: TemporaryDirectory;
  let daemon: RunningDaemon;
  let two: MadeWorkspace;
  beforeAll(async () => {
    shared = temporaryDirectory();
    data = shared.join("data");
    two = await made("two");
    daemon = await startGovernd(data, ["--threads", "1", "--seal-interval", "1h"]);
    await writeMany(daemon, two, "old", 1);
  });
  beforeEach(() => {
    data = shared.join("data");
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    shared[Symbol.dispose]();
  });

  const seeds = effort({ usual: 1, long: 20 });
  const cases = Object.keys(REPLACEMENTS).flatMap((name) =>
    Array.from({ length: seeds }, (_, i) => [name, name.length * 1_000 + i] as const),
  );
  test.each(cases)(
    "%s takes the workspace down, appends nothing, and the newest files bring it back (seed %i)",
    async (name, seed) => {
      const { harm, reason, hasLog } = REPLACEMENTS[name] as Replacement;
      const random = new Seeded(seed);
      const one = await made("one");
      // Sometimes the log is copied back in between.
      const [first, second] = [random.between(1, random.pick([5, 150])), random.between(1, random.pick([5, 150]))];
      await writeMany(daemon, one, "old", first);
      // A workspace that was made beside a daemon is in its log alone until that is copied back, which this does.
      await eraseOne(daemon, one, "early");
      await writeMany(daemon, one, "kept", 1);
      const older = filesOf(one);
      // Now the database is another one than before.
      await eraseOne(daemon, one, "late");
      await writeMany(daemon, one, "new", second);
      const newest = filesOf(one);

      harm(one, older);
      const harmed = filesOf(one)[0];
      await expectDown(daemon, one, reason);
      expect((await write(daemon, two, "another")).status).toBe(200);
      expect((await daemon.ask("/readyz")).status).toBe(200);
      if (!hasLog) expect(filesOf(one)[0]?.equals(harmed ?? Buffer.alloc(0)) ?? null).toBe(harmed ? true : null);

      moveInto(one, [newest[0] ?? null, newest[1] ?? null, null]);
      await eventually("it is back", async () => (await write(daemon, one, "back")).status === 200);
      for (const key of ["old0", `new${second - 1}`]) {
        expect((await daemon.ask(`/v1/data/read?agent_id=a&key=${key}`, { apiKey: one.api_key })).status).toBe(200);
      }
    },
  );

  test("everything verifies in the end", async () => {
    await daemon.stop();
    expect(await governdProcess(["verify", data])).toMatchObject({ code: 0 });
  });
});

test("another workspace's file takes the workspace down", async () => {
  const [one, two] = [await made("one"), await made("two")];
  await using daemon = await startGovernd(data, ["--threads", "1"]);
  for (const each of [one, two]) await writeMany(daemon, each, "old", 3);
  moveInto(one, filesOf(two));
  await expectDown(daemon, one, REPLACED);
  expect((await write(daemon, two, "another")).status).toBe(200);
});

test("a touched file is the same file", async () => {
  const one = await made("one");
  await using daemon = await startGovernd(data, ["--threads", "1"]);
  await writeMany(daemon, one, "old", 3);
  for (const suffix of ["", "-wal"]) Bun.spawnSync(["touch", `${fileOf(one)}${suffix}`]);
  await writeMany(daemon, one, "new", 3);
  expect(daemon.said()).not.toContain("a workspace is down");
});

test("what commands write beside the daemon, and copy back, is no replacement", async () => {
  const one = await made("one");
  await using daemon = await startGovernd(data, ["--threads", "1"]);
  for (let i = 0; i < 3; i++) {
    await writeMany(daemon, one, `at ${i} `, 5);
    const words = ["key", "create", "--workspace", one.workspace_id, "--data-dir", data];
    expect(await governdProcess(words)).toMatchObject({ code: 0 });
  }
  await writeMany(daemon, one, "later", 3);
  expect(daemon.said()).not.toContain("a workspace is down");
});

/** Stops a daemon that has sealed everything, and returns the workspace's file as it was before the last events. */
async function sealedTwice(one: MadeWorkspace): Promise<Buffer<ArrayBuffer>> {
  const run = async (name: string) => {
    await using daemon = await startGovernd(data, ["--threads", "1"]);
    await writeMany(daemon, one, name, 4);
    await daemon.stop();
    return readFileSync(fileOf(one));
  };
  const older = await run("old");
  await run("new");
  return older;
}

test("an older copy is found by the seal file after a restart", async () => {
  const one = await made("one");
  const older = await sealedTwice(one);
  const newest = readFileSync(fileOf(one));
  moveInto(one, [older, null, null]);
  await using daemon = await startGovernd(data, ["--threads", "1"]);
  await expectDown(daemon, one, /ReplacedWorkspace/);
  expect(readFileSync(fileOf(one))).toEqual(older);
  moveInto(one, [newest, null, null]);
  await eventually("it is back", async () => (await write(daemon, one, "back")).status === 200);
});

/** A backup, restored into a directory of its own: the declared way back. */
async function restored(): Promise<{ make(): Promise<string> }> {
  const backups = directory.join("backups");
  const { out, code } = await governdProcess(["backup", backups, "--data-dir", data, "--json"]);
  expect(code).toBe(0);
  const { path: backup } = JSON.parse(out);
  let count = 0;
  return {
    async make() {
      const into = directory.join(`restored-${count++}`);
      expect(await governdProcess(["restore", "--keep-rights", backup, "--data-dir", into])).toMatchObject({ code: 0 });
      return into;
    },
  };
}

test.each([["while the daemon runs"], ["before it is started again"]])(
  "a declared restore brings a workspace back %s, and an older copy still does not",
  async (when) => {
    const one = await made("one");
    let daemon = await startGovernd(data, ["--threads", "1"]);
    try {
      await writeMany(daemon, one, "old", 3);
      const older = filesOf(one);
      const backup = await restored();
      await writeMany(daemon, one, "new", 5);
      removed(one);
      expect((await write(daemon, one, "refused")).status).toBe(503);
      const into = await backup.make();
      if (when !== "while the daemon runs") {
        await daemon.stop();
        daemon = await startGovernd(data, ["--threads", "1"]);
      }
      copyFileSync(join(into, "seals", `${one.workspace_id}.log`), join(data, "seals", `${one.workspace_id}.log`));
      moveInto(one, [readFileSync(join(into, "workspaces", `${one.workspace_id}.db`)), null, null]);
      await eventually("it is back", async () => (await write(daemon, one, "back")).status === 200);
      const gone = await daemon.ask("/v1/data/read?agent_id=a&key=new0", { apiKey: one.api_key });
      expect(gone.status).toBe(404);

      moveInto(one, older);
      await expectDown(daemon, one, /ReplacedWorkspace/);
    } finally {
      await daemon.stop("SIGKILL");
    }
  },
);

describe("the file of the installation while the daemon runs", () => {
  const signUp = (daemon: Awaited<ReturnType<typeof startGovernd>>) =>
    daemon.ask("/account/sign-up", {
      method: "POST",
      headers: { origin: new URL(daemon.url).origin },
      body: JSON.stringify({
        email: "ada@example.com",
        password: "a long enough password",
        token: daemon.ready.sign_up_url?.split("#token=")[1],
      }),
    });

  test("removed: it is not ready and changes no account, workspaces are served, and the file put back is used", async () => {
    const one = await made("one");
    await using daemon = await startGovernd(data, ["--threads", "1"]);
    await writeMany(daemon, one, "old", 1);
    const path = installationIn(data);
    const saved = directory.join("installation.saved");
    linkSync(path, saved);
    rmSync(path);
    await eventually("it is not ready", async () => (await daemon.ask("/readyz")).status === 503);
    const refused = await signUp(daemon);
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: "unavailable" }]);
    await writeMany(daemon, one, "new", 1);
    renameSync(saved, path);
    await eventually("it is ready", async () => (await daemon.ask("/readyz")).status === 200);
    expect((await signUp(daemon)).status).toBe(201);
    await daemon.stop();
    expect((await governd(["verify", data])).code).toBe(0);
  });

  test("replaced by a copy that continues its log: the copy is used", async () => {
    await made("one");
    await using daemon = await startGovernd(data, ["--threads", "1"]);
    moveCopyInto(installationIn(data));
    expect((await signUp(daemon)).status).toBe(201);
    await eventually("it is ready", async () => (await daemon.ask("/readyz")).status === 200);
    await daemon.stop();
    expect((await governd(["verify", data])).code).toBe(0);
  });

  test("replaced by an older one: it is not ready and changes no account", async () => {
    await made("one");
    const path = installationIn(data);
    const older = directory.join("installation.older");
    copyFileSync(path, older);
    await made("two");
    await using daemon = await startGovernd(data, ["--threads", "1"]);
    for (const end of ["-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    renameSync(older, path);
    expect((await signUp(daemon)).status).toBe(503);
    expect((await daemon.ask("/readyz")).status).toBe(503);
  });
});

/** Returns the path of the file of the installation. */
const installationIn = (root: string): string =>
  workspaceFile(dataDirectory(root), readPointer(dataDirectory(root))?.installation_id as string);

function moveCopyInto(path: string): void {
  copyFileSync(path, `${path}.new`);
  renameSync(`${path}.new`, path);
}
