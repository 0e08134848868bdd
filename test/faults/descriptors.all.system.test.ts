/**
 * Many workspaces are used and sealed in turn: few of them are open at once, and file descriptors do not run out, also
 * when the system allows few of them.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { residentMiB } from "../../bench/processes.ts";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { systemClock } from "../../src/ids.ts";
import { AMPLE, planDescriptors } from "../../src/serve/threads/descriptors.ts";
import { WorkspacePool } from "../../src/serve/threads/pool.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { GOVERND, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { ended } from "../ended.ts";
import { eventually } from "../eventually.ts";
import { type SlowClient, slowClient } from "../http/support/slow-client.ts";
import { filesReleased } from "../released.ts";
import { anybody, makeWorkspace } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

const WORKSPACES = effort({ usual: 90, long: 3_000 });
setDefaultTimeout(PROCESS_TEST_MS + 60 * WORKSPACES);

const OPEN_FILES = "/proc/self/fd";
/** What each of two threads may have open at once; there are several times as many. */
const MAX_OPEN = 12;
/** Open workspaces and closed ones that are not released yet, with three files each, and half as many again for what the
 * collector finds late. */
const MOST = 1.5 * 2 * 3 * (MAX_OPEN + MAX_OPEN);

test.skipIf(!existsSync(OPEN_FILES))(
  "writes in many workspaces in turn, then their seals, open few files",
  async () => {
    using directory = temporaryDirectory();
    const sealKey = { kind: "pem", pem: newSealKey() } as const;
    const { publicBytes } = readSealKey(sealKey);
    const ids: string[] = [];
    for (let i = 0; i < WORKSPACES; i++) {
      ids.push(await makeWorkspace(directory.path, systemClock, publicBytes));
      if (i % 50 === 49) await filesReleased();
    }
    await filesReleased();
    const failures: string[] = [];
    await using pool = new WorkspacePool(
      poolOptions(directory.path, sealKey, {
        sealIntervalMs: 2_000,
        threads: 2,
        open: { ...AMPLE, writers: MAX_OPEN, unreleased: MAX_OPEN },
        onFailure: ({ where, name }) => void failures.push(`${where}: ${name}`),
      }),
    );
    await pool.ready();
    const before = readdirSync(OPEN_FILES).length;
    let most = 0;
    const count = () => {
      most = Math.max(most, readdirSync(OPEN_FILES).length - before);
    };
    for (const id of [...ids, ...ids]) {
      const input = { agentId: "a", key: "k", value: "v", metadata: {} };
      const { answer } = await pool.perform({ name: "data.write", input, principal: anybody(id) });
      expect(answer.kind).toBe("json");
      count();
    }
    await eventually("everything is sealed", () => {
      count();
      return readdirSync(directory.path).filter((name) => name.endsWith(".log")).length === WORKSPACES;
    });
    expect({ failures, down: pool.down.size }).toEqual({ failures: [], down: 0 });
    expect(most).toBeLessThan(MOST);
  },
);

const LOW = effort({ usual: 500, long: 1_024 });

/** The program with a limit of open files. */
const limited = (files: number) => ["/bin/sh", "-c", `ulimit -n ${files}; exec "$@"`, "sh", ...GOVERND];

/** Looks often at how many files a process has open, and at its resident memory, until it is disposed of. */
function watchProcess(pid: number): Disposable & { mostFiles: number; mostMiB: number } {
  const watch = { mostFiles: 0, mostMiB: 0, [Symbol.dispose]: () => clearInterval(timer) };
  const look = () => {
    watch.mostFiles = Math.max(watch.mostFiles, readdirSync(`/proc/${pid}/fd`).length);
    watch.mostMiB = Math.max(watch.mostMiB, residentMiB(pid));
  };
  look();
  const timer = setInterval(look, 10);
  return watch;
}

/** Resident memory that a daemon stays below, however many workspaces are used and sealed in turn, MiB. */
const MOST_MIB = 400;

/** Requests of one workspace: it is written, and read by the thread that writes and by a reader thread. */
async function useWorkspace(daemon: RunningDaemon, apiKey: string): Promise<number[]> {
  const post = (body: object) => ({ method: "POST", body: JSON.stringify({ agent_id: "a", ...body }), apiKey });
  const requests: [string, Parameters<RunningDaemon["ask"]>[1]][] = [
    ["/v1/data/write", post({ key: "k", value: "v" })],
    ["/v1/data/read?agent_id=a&key=k", { apiKey }],
    ["/v1/audit?scope=workspace", { apiKey }],
    ["/v1/audit/verify", post({})],
  ];
  const statuses: number[] = [];
  for (const [path, init] of requests) {
    const response = await daemon.ask(path, init);
    await response.text();
    statuses.push(response.status);
  }
  return statuses;
}

/** Calls `work` for each item, by `clients` at once. */
async function byClients<T>(clients: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const client = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: clients }, client));
}

/** More than may be open at once; with more threads, each has fewer. */
const LOW_THREADS = ["2", "1"].slice(0, effort({ usual: 1, long: 2 }));

test.skipIf(!existsSync(OPEN_FILES)).each(LOW_THREADS)(
  `a daemon that may open ${LOW} files writes, reads, verifies and seals many workspaces (%s threads)`,
  async (threads) => {
    using from = await FilledDirectory.make(effort({ usual: 24, long: 3_000 }));
    await using daemon = await startGovernd(from.data.root, ["--seal-interval", "2s", "--threads", threads], {
      program: limited(LOW),
    });
    using watch = watchProcess(daemon.pid);
    const statuses = new Map<number, number>();
    for (let round = 0; round < 2; round++) {
      await byClients(16, from.keys, async (apiKey) => {
        for (const status of await useWorkspace(daemon, apiKey)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      });
    }
    for (const apiKey of from.keys.slice(0, 10)) {
      const body = JSON.stringify({ agent_id: "a", format: "ndjson" });
      const exported = await daemon.ask("/v1/audit/export", { method: "POST", body, apiKey });
      expect([exported.status, await exported.text()]).toEqual([200, expect.stringContaining("data.write")]);
    }
    await eventually("everything is sealed", () => readdirSync(from.data.seals).length >= from.ids.length);
    watch[Symbol.dispose](); // a process that has ended has no memory to look at
    await daemon.stop();
    expect([...statuses.keys()]).toEqual([200]);
    expect(daemon.said()).toContain("the limit of open files is low");
    expect(daemon.said()).not.toMatch(/is down|unexpected failure/);
    expect(watch.mostFiles).toBeLessThan(LOW);
    expect(watch.mostMiB).toBeLessThan(MOST_MIB);
  },
);

/** The fewest files with which a daemon starts that has one thread. */
const FEW = planDescriptors(0, { threads: 1, maxConnections: 10_000 }).least;
/** Connections at once, more than the daemon may have files. */
const BURST = 2 * FEW;

test.skipIf(!existsSync(OPEN_FILES))("a daemon that may open fewer files than it needs does not start", async () => {
  using directory = temporaryDirectory();
  for (const files of [64, FEW - 1]) {
    const command = [...limited(files), "serve", "--data-dir", directory.path, "--threads", "1", "--json"];
    const refused = await ended(
      Bun.spawn([...command, "--listen", "127.0.0.1:0"], { stdin: "ignore", stdout: "pipe", stderr: "pipe", env: {} }),
    );
    expect(refused.code).toBe(2);
    expect(refused.err).toContain(`The system allows ${files} open files, and the daemon needs at least ${FEW}`);
    expect(refused.err).toContain("ulimit -n");
  }
});

test.skipIf(!existsSync(OPEN_FILES))(
  "a burst of connections that takes every descriptor takes no workspace down, and is over when the connections are",
  async () => {
    using from = await FilledDirectory.make(6);
    await using daemon = await startGovernd(from.data.root, ["--threads", "1"], { program: limited(FEW) });
    const { hostname, port } = new URL(daemon.url);
    // Requests that have begun, in workspaces that are not open.
    const pending: SlowClient[] = [];
    for (const apiKey of from.keys) {
      const begin = `GET /v1/data/list?agent_id=a HTTP/1.1\r\nHost: localhost:${port}\r\nX-API-Key: ${apiKey}\r\n`;
      pending.push(await slowClient(Number(port), { begin }));
    }
    let isOver = false;
    const sockets: { end(): void }[] = [];
    const open = (opened: { end(): void }) => (isOver ? opened.end() : void sockets.push(opened));
    for (let i = 0; i < BURST; i++)
      Bun.connect({ hostname, port: Number(port), socket: { open, data() {}, error() {} } }).catch(() => {});
    const isFull = () => daemon.said().includes("too many connections");
    await eventually(
      "few descriptors are left",
      () => isFull() || readdirSync(`/proc/${daemon.pid}/fd`).length > FEW - 8,
    );
    for (const client of pending) client.send("\r\n");
    await eventually("each is answered", () => pending.every(({ received }) => received.startsWith("HTTP/1.1 200")));
    await eventually("the log says so", isFull);
    for (const client of pending) client[Symbol.dispose]();
    isOver = true;
    for (const opened of sockets) opened.end();
    await eventually("every workspace is served", async () => {
      const answers = from.keys.map((apiKey) => useWorkspace(daemon, apiKey).catch(() => []));
      return (await Promise.all(answers)).flat().filter((status) => status === 200).length === 4 * from.keys.length;
    });
    expect(await (await daemon.ask("/readyz")).json()).toEqual({ status: "ready" });
    expect(daemon.said()).toContain("new connections are accepted again");
    expect(daemon.said()).not.toMatch(/is down|unexpected failure/);
  },
);
