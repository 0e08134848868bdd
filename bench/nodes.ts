/**
 * Nodes on a libSQL server, in turns beside the embedded engine and beside packed batches of the same rows without governd:
 * what docs/scaling.md states.
 *
 * `bun bench/nodes.ts [--binary FILE] [--only writes|forwarding|spread] [--rounds N] [--seconds N] [--warm-up N]
 * [--clients N]`
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { LibsqlServer } from "../test/support/libsql-server.ts";
import { asking, type Daemon, startDaemon, succeed } from "./daemon.ts";
import { median, option, text } from "./figures.ts";
import { cpuSeconds } from "./processes.ts";
import { startHop } from "./server/hop.ts";
import { rowsOf, writePacked } from "./server/packed.ts";
import { ensureWrk, load } from "./wrk.ts";

const BINARY = text("binary", join(import.meta.dir, "..", "dist", "governd"));
const [rounds, seconds, clients] = [option("rounds", 3), option("seconds", 3), option("clients", 256)];
const [one, many] = [1, 16];
const AGENTS = 8;
/** Writes in a packed batch, and in a batch of writes by one client. */
const PACKED = 256;
const BATCH = 50;

/** The load before the first round, seconds, so that the processor time does not include the runtime's compilation. */
const WARM_UP_SECONDS = option("warm-up", 6);

/** Figures by name: one for each round. */
const figures = new Map<string, number[]>();

function note(name: string, value: number): void {
  figures.set(name, [...(figures.get(name) ?? []), value]);
}

/** Returns the settings of a node. */
const nodeSettings = ({ url, token, adminUrl, adminToken }: LibsqlServer): Record<string, string> => ({
  GOVERND_ENGINE: "libsql-server",
  GOVERND_ENGINE_URL: url,
  GOVERND_ENGINE_AUTH_TOKEN: token,
  GOVERND_ENGINE_ADMIN_URL: adminUrl,
  GOVERND_ENGINE_ADMIN_TOKEN: adminToken as string,
});

/** Gives a new node the keys of the first one. */
const sharingKeysOf = (first: Daemon) => (dataDir: string) => {
  for (const file of ["keys/seal.key", "keys/seal.pub", "tls/ca.crt", "tls/ca.key"]) {
    mkdirSync(dirname(join(dataDir, file)), { recursive: true, mode: 0o700 });
    copyFileSync(join(first.dataDir, file), join(dataDir, file));
  }
};

/** Makes workspaces whose agents are under both policies. Returns a key of each. */
async function makeWorkspaces(daemon: Daemon, count: number): Promise<string[]> {
  const keys = [daemon.apiKey];
  while (keys.length < count) keys.push(daemon.createWorkspace(`bench-${keys.length}`));
  const policies = { block_pii: true, block_secrets: true };
  for (const key of keys) {
    const ask = asking(daemon.server, key);
    for (let agent = 0; agent < AGENTS; agent++) await succeed(ask("PUT", `/v1/config/bench-${agent}`, { policies }));
  }
  return keys;
}

/** Writes, single or in batches, with keys of one or more workspaces. Returns writes per second, and their number. */
async function write(url: string, keys: readonly string[], size: number, amount = clients, lasting = seconds) {
  const script = size === 1 ? "write" : "batch";
  const done = await load(script, url, { seconds: lasting, apiKey: keys.join(","), clients: amount, entries: size });
  if (done.failed > 0) throw new Error(`${done.failed} requests failed`);
  return { ...done, perSecond: done.requestsPerSecond * size, writes: done.requests * size };
}

/** Returns the number of clients. Fewer clients send batches, since each has many writes in flight. */
const clientsOf = (size: number, keys: readonly string[]): number =>
  size === 1 ? clients : Math.max(16, keys.length * 4);

/** Measures governed writes on both engines, and packed batches, in turns, with one and with many workspaces. */
async function measureWrites(server: LibsqlServer): Promise<void> {
  await using embedded = await startDaemon(BINARY);
  await using node = await startDaemon(BINARY, { env: nodeSettings(server) });
  const [fileKeys, nodeKeys] = [await makeWorkspaces(embedded, many), await makeWorkspaces(node, many)];
  const governed = async (name: string, daemon: Daemon, keys: readonly string[], size: number) => {
    const [before, serverBefore] = [daemon.cpuSeconds(), cpuSeconds(server.pid)];
    const { perSecond, writes } = await write(daemon.url, keys, size, clientsOf(size, keys));
    note(`${name}: writes per second`, perSecond);
    note(`${name}: processor time of the daemon for each, us`, ((daemon.cpuSeconds() - before) / writes) * 1e6);
    if (daemon === node)
      note(
        `${name}: processor time of the server for each, us`,
        ((cpuSeconds(server.pid) - serverBefore) / writes) * 1e6,
      );
    return perSecond;
  };
  for (const size of [1, BATCH]) {
    await write(embedded.url, fileKeys, size, clientsOf(size, fileKeys), WARM_UP_SECONDS);
    await write(node.url, nodeKeys, size, clientsOf(size, nodeKeys), WARM_UP_SECONDS);
  }
  const rows = rowsOf(node.workspaceFile);
  for (let round = 0; round < rounds; round++) {
    for (const workspaces of [one, many]) {
      const at = `${workspaces} workspace${workspaces > 1 ? "s" : ""}`;
      const before = cpuSeconds(server.pid);
      const packed = await writePacked(server, rows, { workspaces, size: PACKED, seconds });
      note(`${at}, packed batches of ${PACKED}: writes per second`, packed.perSecond);
      note(`${at}, packed batches of ${PACKED}: processor time of the client for each, us`, packed.clientUs);
      note(
        `${at}, packed batches of ${PACKED}: processor time of the server for each, us`,
        ((cpuSeconds(server.pid) - before) / packed.writes) * 1e6,
      );
      for (const size of [1, BATCH]) {
        const kind = size === 1 ? "single writes" : `batches of ${size}`;
        const onServer = await governed(`${at}, node, ${kind}`, node, nodeKeys.slice(0, workspaces), size);
        await governed(`${at}, embedded, ${kind}`, embedded, fileKeys.slice(0, workspaces), size);
        note(`${at}, ${kind}: node / packed batches`, onServer / packed.perSecond);
        const cpu = (engine: string) =>
          figures.get(`${at}, ${engine}, ${kind}: processor time of the daemon for each, us`)?.at(-1) as number;
        note(`${at}, ${kind}: processor time, node / embedded`, cpu("node") / cpu("embedded"));
      }
    }
  }
}

/** Compares a request that another node forwards with a direct one, and with one through a bare proxy: one HTTP hop. */
async function measureForwarding(server: LibsqlServer): Promise<void> {
  const env = nodeSettings(server);
  await using owner = await startDaemon(BINARY, { env });
  await using other = await startDaemon(BINARY, { env, prepare: sharingKeysOf(owner) });
  await using hop = await startHop(owner);
  const keys = await makeWorkspaces(owner, one);
  const paths = { directly: owner.url, "through a node": other.url, "through a bare proxy": hop.url };
  const cpu = () => owner.cpuSeconds() + other.cpuSeconds() + cpuSeconds(hop.pid);
  for (const url of Object.values(paths)) await write(url, keys, 1, 64, WARM_UP_SECONDS);
  for (let round = 0; round < rounds; round++) {
    for (const amount of [1, 64]) {
      for (const [name, url] of Object.entries(paths)) {
        const before = cpu();
        const done = await write(url, keys, 1, amount);
        const of = `${name}, ${amount} client${amount > 1 ? "s" : ""}`;
        note(`${of}: p50, ms`, done.p50Ms);
        note(`${of}: processor time of each, us`, ((cpu() - before) / done.writes) * 1e6);
      }
    }
  }
}

/** Compares many workspaces on three nodes with one workspace on one node. */
async function measureSpread(server: LibsqlServer): Promise<void> {
  const env = nodeSettings(server);
  await using first = await startDaemon(BINARY, { env });
  await using second = await startDaemon(BINARY, { env, prepare: sharingKeysOf(first) });
  await using third = await startDaemon(BINARY, { env, prepare: sharingKeysOf(first) });
  const nodes = [first, second, third];
  const keys = [first.apiKey];
  while (keys.length < many) keys.push(first.createWorkspace(`bench-${keys.length}`));
  const policies = { block_pii: true, block_secrets: true };
  for (const [at, key] of keys.entries()) {
    // The node that gets the first request serves the workspace.
    const ask = asking((nodes[at % nodes.length] as Daemon).server, key);
    for (let agent = 0; agent < AGENTS; agent++) await succeed(ask("PUT", `/v1/config/bench-${agent}`, { policies }));
  }
  const keysOn = (at: number) => keys.filter((_, key) => key % nodes.length === at);
  const spread = (size: number, lasting?: number) =>
    Promise.all(
      nodes.map(({ url }, at) => {
        const amount = Math.ceil(clientsOf(size, keys) / nodes.length);
        return write(url, keysOn(at), size, amount, lasting);
      }),
    );
  for (const size of [1, BATCH]) await spread(size, WARM_UP_SECONDS);
  for (let round = 0; round < rounds; round++) {
    for (const size of [1, BATCH]) {
      const kind = size === 1 ? "single writes" : `batches of ${size}`;
      const alone = await write(first.url, [first.apiKey], size, clientsOf(size, [first.apiKey]));
      const together = (await spread(size)).reduce((sum, { perSecond }) => sum + perSecond, 0);
      note(`1 workspace on 1 node, ${kind}: writes per second`, alone.perSecond);
      note(`${many} workspaces on 3 nodes, ${kind}: writes per second`, together);
      note(`${many} workspaces on 3 nodes / 1 workspace on 1 node, ${kind}`, together / alone.perSecond);
    }
  }
}

const PARTS = { writes: measureWrites, forwarding: measureForwarding, spread: measureSpread };

await ensureWrk();
const only = text("only", "");
for (const [name, part] of Object.entries(PARTS)) {
  if (only !== "" && only !== name) continue;
  await using server = await LibsqlServer.start({ parent: tmpdir() });
  await part(server);
}
for (const [name, values] of figures) {
  const decimals = median(values) < 100 ? 2 : 0;
  console.log(
    `${name.padEnd(84)}${median(values).toFixed(decimals).padStart(10)}   ${values.map((value) => value.toFixed(decimals)).join(" ")}`,
  );
}
