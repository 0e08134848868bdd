/**
 * `bun bench/neighbours.ts [BINARY…]`: how long a small write of one workspace takes while another workspace disturbs
 * it. Prints p50, p99 and the longest for each abuse and each binary (default `dist/governd`), beside the quiet
 * figures of the same run. `--seconds N` of each abuse (default 5), `--only TEXT` for the abuses whose names have it.
 */
import { join } from "node:path";
import { ABUSES, type AbuseOrder } from "./abuses.ts";
import { type Ask, asking, type Daemon, startDaemon } from "./daemon.ts";
import { option, percentile, text } from "./figures.ts";
import { note, type Section } from "./results.ts";

/** What the abuses read: 20 MiB. */
const ENTRIES = 320;
const ENTRY_BYTES = 64 * 1024;
/** Between two writes of the neighbour, ms. */
const INTERVAL_MS = 5;

/** Sentences that differ from entry to entry, so that search has something to index. */
function prose(seed: number): string {
  const words = [
    "harbour",
    "ledger",
    "meeting",
    "invoice",
    "garden",
    "engine",
    "report",
    "window",
    "planning",
    "copper",
  ];
  let out = "";
  for (let i = seed; out.length < ENTRY_BYTES; i = (i * 7919 + 13) % 1_000_003)
    out += `${words[i % 10]} ${words[(i >> 3) % 10]}. `;
  return out.slice(0, ENTRY_BYTES);
}

/** Writes the entries that the abuses read, and makes a checkpoint. Returns its id. */
async function fill(ask: Ask): Promise<string> {
  const policies = { block_pii: true, block_secrets: true };
  for (const agent of ["a", "large"]) await (await ask("PUT", `/v1/config/${agent}`, { policies })).arrayBuffer();
  for (let i = 0; i < ENTRIES; i++) {
    const answer = await ask("POST", "/v1/data/write", { agent_id: "a", key: `entry/${i}`, value: prose(i) });
    if (!answer.ok) throw new Error(`filling: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  }
  const made = await ask("POST", "/v1/checkpoints", { agent_id: "a" });
  return ((await made.json()) as { id: string }).id;
}

/** Writes every {@link INTERVAL_MS}, however long the answers take. Returns the durations, ms, in ascending order. */
async function probe(ask: Ask, untilMs: number): Promise<number[]> {
  const durations: number[] = [];
  const pending = new Set<Promise<void>>();
  for (let i = 0; performance.now() < untilMs; i++) {
    const began = performance.now();
    const done = ask("POST", "/v1/data/write", { agent_id: "n", key: `k${i % 100}`, value: "A note." }).then(
      async (answer) => {
        await answer.arrayBuffer();
        if (!answer.ok) throw new Error(`the neighbour's write: ${answer.status}`);
        durations.push(performance.now() - began);
        pending.delete(done);
      },
    );
    pending.add(done);
    await Bun.sleep(INTERVAL_MS);
  }
  await Promise.all(pending);
  return durations.sort((a, b) => a - b);
}

/**
 * Runs the abuse in another process, so that its answers do not pass through the client that measures: the runtime has
 * one thread for all requests of a process. The process has a lower priority than that client, as if it were on another
 * machine. Returns how often the abuse was done.
 */
async function abuse(order: AbuseOrder): Promise<number> {
  const command = ["nice", "-n", "5", process.execPath, join(import.meta.dir, "abuses.ts"), JSON.stringify(order)];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const rounds = Number(await new Response(child.stdout).text());
  if ((await child.exited) !== 0) throw new Error(`the client of "${order.name}" failed`);
  return rounds;
}

/** The durations of the neighbour's writes in ascending order, ms, and how often the abuse was done. */
interface Seen {
  name: string;
  durations: number[];
  rounds: number;
}

/** Measures the neighbour's writes, quiet and then beside each abuse whose name contains `only`. Yields each result. */
async function* measureNeighbours(daemon: Daemon, seconds: number, only = ""): AsyncGenerator<Seen> {
  const neighbour = asking(daemon.server, daemon.createWorkspace("neighbour"));
  const checkpointId = await fill(daemon.call);
  await probe(neighbour, performance.now() + 1_000);
  yield { name: "quiet", durations: await probe(neighbour, performance.now() + seconds * 1_000), rounds: 0 };
  for (const { name } of ABUSES.filter((one) => one.name.includes(only))) {
    const order = { name, server: daemon.server, apiKey: daemon.apiKey, checkpointId, seconds };
    const [rounds, durations] = await Promise.all([
      abuse(order),
      probe(neighbour, performance.now() + seconds * 1_000),
    ]);
    yield { name, durations, rounds };
  }
}

/** Measures how abuses disturb a neighbour, for the report. */
export async function measureDisturbance(section: Section, binary: string, seconds: number): Promise<void> {
  section.notes.push("A workspace sends a small write every 5 ms while another one does what the row says.");
  await using daemon = await startDaemon(binary);
  for await (const { name, durations } of measureNeighbours(daemon, seconds)) {
    const [p50Ms, p99Ms] = [percentile(durations, 0.5), percentile(durations, 0.99)];
    note(section, name, "small write", { p50Ms, p99Ms, longestMs: durations.at(-1) ?? 0 });
  }
}

async function main(): Promise<void> {
  const binaries = process.argv
    .slice(2)
    .filter((word, at, words) => !word.startsWith("--") && !words[at - 1]?.startsWith("--"));
  if (binaries.length === 0) binaries.push(join(import.meta.dir, "..", "dist", "governd"));
  for (const binary of binaries) {
    console.log(`${binary}\n${"ms".padEnd(48)}${"p50".padStart(9)}${"p99".padStart(9)}${"longest".padStart(9)}`);
    await using daemon = await startDaemon(binary);
    for await (const { name, durations, rounds } of measureNeighbours(daemon, option("seconds", 5), text("only", ""))) {
      const figures = [percentile(durations, 0.5), percentile(durations, 0.99), durations.at(-1) ?? 0];
      const cells = figures.map((ms) => ms.toFixed(1).padStart(9)).join("");
      console.log(`${name.padEnd(48)}${cells}   ${rounds} rounds`);
    }
  }
}

if (import.meta.main) await main();
