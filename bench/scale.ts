/** Measures every kind of operation on logs of different sizes, in turns. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Daemon, startDaemon, succeed } from "./daemon.ts";
import { clientsOf, median, whole } from "./figures.ts";
import { attempt, note, type Section } from "./results.ts";
import { KEYS, makeSampleLog } from "./sample-log.ts";
import { type LoadOptions, load } from "./wrk.ts";

const AGENT = "bench-0";
const CHECKPOINTS = 20;
const PAGE = 100;
const CLIENTS = [1, 64];

/** A daemon that starts with a log of this many events. */
interface Scaled {
  name: string;
  events: number;
  entries: number;
  daemon: Daemon;
}

async function start(binary: string, events: number): Promise<Scaled> {
  const root = mkdtempSync(join(tmpdir(), "governd-bench-scale-"));
  try {
    const daemon = await startDaemon(binary, {
      fill: async ({ id, file, sealKey }) => {
        const { database } = await makeSampleLog(root, events, id, sealKey, []);
        for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
        copyFileSync(database, file);
      },
    });
    const policies = { block_pii: true, block_secrets: true };
    for (let agent = 0; agent < 8; agent++)
      await succeed(daemon.call("PUT", `/v1/config/bench-${agent}`, { policies }));
    // The first event is the workspace's own.
    return { name: `${whole(events)} events`, events, entries: Math.min(events - 1, KEYS), daemon };
  } finally {
    rmSync(root, { recursive: true });
  }
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Makes each request that reads or changes much, once. Yields its name, ms, and how many events it reads, if all. */
async function* durations({ daemon, events }: Scaled, binary: string): AsyncGenerator<[string, number, number?]> {
  const verified = await msOf(async () => {
    const report = await succeed(daemon.call("POST", "/v1/audit/verify", { scope: "workspace" }));
    // No event of the sample states the daemon's API key, so the report as a whole is not valid.
    if (JSON.parse(report).chain_intact !== true) throw new Error("the log does not verify");
  });
  yield ["verify (request)", verified, events];
  const offline = await msOf(async () => {
    const child = Bun.spawn([binary, "verify", "--quiet", daemon.workspaceFile], { stderr: "inherit" });
    if ((await child.exited) !== 0) throw new Error("governd verify found something");
  });
  yield ["verify (command, with its start)", offline, events];
  const exported = await msOf(async () => {
    const answer = await daemon.call("POST", "/v1/audit/export", { scope: "workspace", format: "ndjson" });
    if (!answer.ok || answer.body === null) throw new Error(`an export returned ${answer.status}`);
    // It is not kept, since an export of ten million events does not fit into memory.
    for await (const _ of answer.body);
  });
  yield ["export (NDJSON)", exported, events];
  const times: number[] = [];
  let id = "";
  for (let i = 0; i < CHECKPOINTS; i++) {
    const made = async () => {
      id = JSON.parse(await succeed(daemon.call("POST", "/v1/checkpoints", { agent_id: AGENT }))).id;
    };
    times.push(await msOf(made));
  }
  yield [`checkpoint of an agent`, median(times)];
  await succeed(daemon.call("DELETE", `/v1/data/prefix?agent_id=${AGENT}&prefix=note`));
  yield [
    "restore of all entries of an agent",
    await msOf(() => succeed(daemon.call("POST", `/v1/checkpoints/${id}/restore`, {}))),
  ];
  const search = (agent_id: string) =>
    succeed(daemon.call("POST", "/v1/data/search", { agent_id, query: "morning delivery", limit: 10 }));
  yield ["first search of an agent (builds its index)", await msOf(() => search(AGENT))];
  // The load searches all agents, and must not measure how long their indexes take to build.
  for (let agent = 1; agent < 8; agent++) await search(`bench-${agent}`);
}

/** Returns the path of a page in the middle of an agent's trail, by cursor. */
async function deepPage({ daemon, events }: Scaled): Promise<string> {
  const page = await succeed(
    daemon.call("GET", `/v1/audit?agent_id=${AGENT}&limit=1&offset=${Math.floor(events / 16)}`),
  );
  const { next_cursor } = JSON.parse(page) as { next_cursor: string };
  return `/v1/audit?agent_id=${AGENT}&limit=${PAGE}&cursor=${encodeURIComponent(next_cursor)}`;
}

/** The options by which the loads differ. */
type Parameters = Pick<LoadOptions, "path" | "entries">;

/** The loads: name, script of `load/`, and options. Most requests are recorded, so they come after `durations`. */
const LOADS: [string, string, (scaled: Scaled) => Parameters | Promise<Parameters>][] = [
  ["reads", "sample-read", ({ entries }) => ({ entries })],
  [
    `lists of ${PAGE} with values`,
    "get",
    () => ({ path: `/v1/data/list?agent_id=${AGENT}&include_values=true&limit=${PAGE}` }),
  ],
  ["searches", "search", () => ({})],
  [`newest audit pages of ${PAGE}`, "get", () => ({ path: `/v1/audit?agent_id=${AGENT}&limit=${PAGE}` })],
  [`audit pages of ${PAGE} half way down`, "get", async (scaled) => ({ path: await deepPage(scaled) })],
  ["governed writes", "write", () => ({})],
];

/** Measures logs of these sizes side by side. */
export async function measureScales(
  section: Section,
  binary: string,
  sizes: readonly number[],
  rounds: number,
  seconds: number,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const all: Scaled[] = [];
  for (const size of sizes) {
    const scaled = await start(binary, size);
    stack.use(scaled.daemon);
    all.push(scaled);
  }
  for (const scaled of all) {
    await attempt(section, `the rest of what is done once, ${scaled.name}`, async () => {
      for await (const [name, ms, events] of durations(scaled, binary)) {
        note(section, name, scaled.name, { ms, ...(events === undefined ? {} : { perSecond: events / (ms / 1_000) }) });
      }
    });
  }
  for (const [name, script, parametersOf] of LOADS) {
    for (const clients of CLIENTS) {
      const title = `${name}, ${clientsOf(clients)}`;
      await attempt(section, title, async () => {
        const parameters = new Map<Scaled, Parameters>();
        for (const scaled of all) parameters.set(scaled, await parametersOf(scaled));
        await inTurns(all, rounds, (one) =>
          measureLoad(section, [title, script], one, { seconds, clients, ...parameters.get(one) }),
        );
      });
    }
  }
  section.notes.push(
    "Sizes are those at the start: most requests are themselves recorded. Where there is a number of events, `per second` counts events.",
  );
  // The sizes of a case follow each other. A stable sort keeps the order of the cases and of the sizes.
  const cases = [...new Set(section.rows.map((row) => row.case))];
  section.rows.sort((a, b) => cases.indexOf(a.case) - cases.indexOf(b.case));
}

/** Measures each once in every round; every second round begins with the last. */
async function inTurns(all: readonly Scaled[], rounds: number, measure: (one: Scaled) => Promise<void>) {
  for (let round = 0; round < rounds; round++) {
    for (const one of round % 2 === 0 ? all : [...all].reverse()) await measure(one);
  }
}

async function measureLoad(
  section: Section,
  [name, script]: readonly [name: string, script: string],
  scaled: Scaled,
  options: Omit<LoadOptions, "apiKey">,
): Promise<void> {
  const { apiKey, url, cpuSeconds } = scaled.daemon;
  const before = cpuSeconds();
  const { requests, failed, requestsPerSecond, p50Ms, p99Ms, p999Ms } = await load(script, url, { ...options, apiKey });
  if (failed > 0) throw new Error(`${failed} requests failed at ${scaled.name}`);
  const cpuUs = ((cpuSeconds() - before) / requests) * 1_000_000;
  note(section, name, scaled.name, { perSecond: requestsPerSecond, p50Ms, p99Ms, p999Ms, cpuUs });
}
