/**
 * Beside a daemon, no command copies a write-ahead log back into its database, empties it, or lets SQLite do so when it
 * closes the file: two processes that do lose commits (src/store/log-right.ts). The daemon is stopped while a command
 * runs, so whatever changes in a database was changed by the command.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isLogEmpty } from "../../src/store/closing.ts";
import { governd, type MadeWorkspace } from "../cli/governd.ts";
import { GOVERND, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { ended } from "../ended.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(2 * PROCESS_TEST_MS);

/** The length of a log's header: its salts change when the log starts over. */
const HEADER_BYTES = 32;
/**
 * The words of a log's index with the number of its frames, and of those copied back (SQLite, "WAL-mode File Format",
 * section 2.2).
 */
const FRAMES = 4;
const COPIED = 24;
/** How long a command may wait for the stopped daemon. */
const WAITS_MS = 1_500;

/** Where the commands run: one workspace that the daemon has open, and one that only commands have used. */
interface Scene {
  data: string;
  open: MadeWorkspace;
  closed: MadeWorkspace;
  keyId: string;
  temporary(name: string): string;
}

type Words = (scene: Scene) => string[][];

/** It does its work while the daemon is stopped. */
const works = (words: Words) => ({ words, waits: false });
/** It waits for an answer of the daemon, and is killed. */
const waits = (words: Words) => ({ words, waits: true });
/** It refuses to work beside a daemon, or what it was told: it fails. */
const refuses = (words: Words) => ({ words, waits: null });

const both = ({ open, closed }: Scene, words: (workspace: string) => string[]) =>
  [open, closed].map(({ workspace_id }) => words(workspace_id));

const COMMANDS: Readonly<Record<string, { words: Words; waits: boolean | null }>> = {
  serve: refuses(() => [["--listen", "127.0.0.1:0"]]),
  health: waits(() => [[]]),
  verify: works(({ data }) => [[data]]),
  receipt: refuses(({ temporary }) => [[temporary("none"), "--data-dir", temporary("none")]]),
  scan: refuses(() => [["--no-such-option"]]),
  "workspace create": works(() => [["--name", "third"]]),
  "workspace delete": refuses(({ closed }) => [["--workspace", closed.workspace_id, "--yes"]]),
  "workspace list": works(() => [[]]),
  "key create": works((scene) => both(scene, (id) => ["--workspace", id])),
  "key list": works((scene) => both(scene, (id) => ["--workspace", id])),
  "key limit": works(({ keyId }) => [[keyId, "--network", "127.0.0.1"]]),
  "key rotate": works(({ keyId }) => [[keyId]]),
  "key revoke": works(({ keyId }) => [[keyId]]),
  "key-info": works(() => [[]]),
  "data export": refuses(({ temporary }) => [[temporary("x.jsonl"), "--agent", "a"]]),
  "data import": refuses(({ temporary }) => [[temporary("none.jsonl"), "--agent", "a"]]),
  erase: waits((scene) => both(scene, (id) => ["--workspace", id, "--agent", "a", "--key", "k"])),
  "account link": works(({ open }) => [["--workspace", open.workspace_id, "--role", "owner"]]),
  "account list": works(() => [[]]),
  "account operator": refuses(() => [["--email", "nobody@example.com"]]),
  "account erase": refuses(() => [["--email", "nobody@example.com", "--yes"]]),
  "account oidc": works(() => [["--only", "off"]]),
  audit: works(() => [["--installation"]]),
  "sink list": works(() => [[]]),
  "sink show": refuses(() => [["snk_none"]]),
  "sink create": works((scene) =>
    both(scene, (id) => [
      "--workspace",
      id,
      "--type",
      "webhook",
      "--url",
      "https://127.0.0.1",
      "--sink-allow",
      "127.0.0.1",
    ]),
  ),
  "sink update": refuses(() => [["snk_none", "--enabled", "off"]]),
  "sink delete": refuses(() => [["snk_none"]]),
  "sink test": refuses(() => [["snk_none"]]),
  "sink rotate": refuses(() => [["snk_none"]]),
  // There is no state root yet, which it records before it fails.
  prove: refuses((scene) =>
    both(scene, (id) => [
      ...["--workspace", id, "--agent", "a", "--at", "2026-01-01", "--complete"],
      ...["--output", scene.temporary("proof.json")],
    ]),
  ),
  prune: works((scene) => both(scene, (id) => ["--workspace", id, "--before", "2026-01-01"])),
  compact: waits(() => [[]]),
  rekey: refuses(() => [["--decrypt"]]),
  migrate: refuses(() => [["--to", "embedded"]]),
  backup: works(({ temporary }) => [[temporary("backups")]]),
  restore: refuses(({ temporary }) => [[temporary("none")]]),
  check: works(() => [[]]),
  version: works(() => [[]]),
  completions: works(() => [["bash"]]),
  man: works(() => [[]]),
  "rotate-seal-key": works(() => [[]]),
};

/** Those that do not open the data directory have no option for it. */
const WITHOUT_DIRECTORY = new Set(["verify", "scan", "receipt", "version", "completions", "man"]);

async function everyCommand(): Promise<string[]> {
  const { out } = await governd(["man"]);
  return Array.from(out.matchAll(/^\.SS "(.*)"$/gm), ([, name]) => (name as string).replaceAll("\\", ""));
}

/** Reports whether a log is completely copied back. The next commit of any process then starts the log over. */
function isCopiedBack(database: string): boolean {
  // The index is in the byte order of the machine.
  const index = new Uint32Array(new Uint8Array(readFileSync(`${database}-shm`)).buffer);
  return index[COPIED] === index[FRAMES];
}

/**
 * What a checkpoint changes, by file: the databases, and the beginnings of their logs. Leaves out a log that is completely
 * copied back: the daemon may have been stopped before it emptied the log.
 */
function states(data: string): Map<string, Buffer> {
  const files = readdirSync(join(data, "workspaces")).map((name) => join("workspaces", name));
  const databases = files.filter((name) => name.endsWith(".db"));
  return new Map(
    databases.flatMap((name) => {
      const path = join(data, name);
      const database: [string, Buffer][] = [[name, readFileSync(path)]];
      if (isLogEmpty(path) || isCopiedBack(path)) return database;
      return [...database, [`${name}-wal`, readFileSync(`${path}-wal`).subarray(0, HEADER_BYTES)]];
    }),
  );
}

/**
 * Returns the files of a directory that a process has locked for writing, besides those that a daemon keeps locked while
 * it runs. A daemon that is stopped with such a lock is in the middle of a transaction, so a command would wait for it.
 */
function lockedForWriting(pid: number, data: string): string[] {
  const files = readdirSync(data, { recursive: true, encoding: "utf8" }).filter(
    (name) => !/^(daemon|log)\.lock$/.test(name),
  );
  const names = new Map(files.map((name) => [statSync(join(data, name), { bigint: true }).ino.toString(), name]));
  // proc(5), /proc/locks: "1: POSIX ADVISORY WRITE <pid> <major>:<minor>:<inode> <first> <last>".
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , kind, owner]) => kind === "WRITE" && owner === String(pid))
    .flatMap((words) => names.get(words[5]?.split(":")[2] ?? "") ?? []);
}

/** Whether every thread of a process is stopped: a signal only asks for it. */
function isStopped(pid: number): boolean {
  const states = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .charAt(0),
  );
  return states.every((state) => state === "T");
}

/** Stops the daemon in a moment in which it holds no lock that a command needs. */
async function stopBetweenTransactions(daemon: RunningDaemon, data: string): Promise<void> {
  await eventually("the daemon is stopped between two transactions", async () => {
    daemon.signal("SIGSTOP");
    await eventually("the daemon is stopped", () => isStopped(daemon.pid));
    const isBetween = lockedForWriting(daemon.pid, data).length === 0;
    if (!isBetween) daemon.signal("SIGCONT");
    return isBetween;
  });
}

test("every command is in the table", async () => {
  expect(Object.keys(COMMANDS).sort()).toEqual((await everyCommand()).sort());
});

test("no command copies a log back while a daemon runs", async () => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  await using daemon = await startGovernd(data);
  const create = async (name: string) => {
    const child = spawn(["workspace", "create", "--name", name, "--json", "--data-dir", data]);
    return JSON.parse((await ended(child)).out) as MadeWorkspace & { key_id: string };
  };
  const [open, closed] = [await create("open"), await create("closed")];
  const write = (apiKey: string) =>
    daemon.ask("/v1/data/write", { apiKey, method: "POST", body: '{"agent_id":"a","key":"k","value":"v"}' });
  await daemon.ask("/v1/config/a", { apiKey: open.api_key, method: "PUT", body: "{}" });
  expect((await write(open.api_key)).status).toBe(200);
  const made = spawn(["key", "list", "--workspace", closed.workspace_id, "--json", "--data-dir", data]);
  const [keyId = ""] = /key_\w{26}/.exec((await ended(made)).out) ?? [];
  const scene: Scene = { data, open, closed, keyId, temporary: (name) => directory.join(name) };
  for (const { workspace_id } of [open, closed])
    expect(isLogEmpty(join(data, "workspaces", `${workspace_id}.db`))).toBe(false);

  for (const [name, { words, waits: isWaiting }] of Object.entries(COMMANDS)) {
    await stopBetweenTransactions(daemon, data);
    const before = states(data);
    // Both workspaces at once: some commands wait long for the daemon before they go on.
    const ends = words(scene).map((own) => {
      const child = spawn([...name.split(" "), ...own, ...(WITHOUT_DIRECTORY.has(name) ? [] : ["--data-dir", data])]);
      const late = isWaiting === true ? setTimeout(() => child.kill("SIGKILL"), WAITS_MS) : undefined;
      return ended(child).finally(() => clearTimeout(late));
    });
    const all = await Promise.all(ends);
    const after = states(data);
    daemon.signal("SIGCONT");
    for (const { code, err } of all) {
      if (isWaiting === null) expect([name, code, err]).toEqual([name, 2, expect.any(String)]);
      if (isWaiting === false) expect([name, code, err]).toEqual([name, 0, ""]);
    }
    const changed = [...before].filter(([path, state]) => !after.get(path)?.equals(state)).map(([path]) => path);
    expect([name, changed]).toEqual([name, []]);
  }
});

test("what was erased beside a daemon is not in a log", async () => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  await using daemon = await startGovernd(data);
  const { workspace_id: id, api_key: apiKey } = JSON.parse(
    (await ended(spawn(["workspace", "create", "--name", "W", "--json", "--data-dir", data]))).out,
  ) as MadeWorkspace;
  await daemon.ask("/v1/config/a", { apiKey, method: "PUT", body: "{}" });
  const secret = "a text that is erased";
  const body = JSON.stringify({ agent_id: "a", key: "k", value: secret });
  expect((await daemon.ask("/v1/data/write", { apiKey, method: "POST", body })).status).toBe(200);
  const erase = ["erase", "--workspace", id, "--agent", "a", "--key", "k", "--data-dir", data];
  expect((await ended(spawn(erase))).code).toBe(0);
  const file = join(data, "workspaces", `${id}.db`);
  expect(isLogEmpty(file)).toBe(true);
  expect(readFileSync(file).includes(secret)).toBe(false);
});

test("without a daemon, a command leaves whole files behind", async () => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  const { code } = await ended(spawn(["workspace", "create", "--name", "W", "--data-dir", data]));
  expect(code).toBe(0);
  expect([...states(data).keys()].filter((name) => name.endsWith("-wal"))).toEqual([]);
});

function spawn(words: string[]): Bun.Subprocess<"ignore", "pipe", "pipe"> {
  return Bun.spawn([...GOVERND, ...words], { env: {}, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
}
