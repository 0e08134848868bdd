/** Measures writes of the same payload to each peer, in turns. */
import { clientsOf } from "./figures.ts";
import { startElysia } from "./peers/elysia.ts";
import { startGovernd } from "./peers/governd.ts";
import { type Peer, Unavailable } from "./peers/peer.ts";
import { startPocketBase } from "./peers/pocketbase.ts";
import { startPostgres } from "./peers/postgres.ts";
import type { Chart } from "./plot.ts";
import { attempt, type Metric, middle, note, type Section } from "./results.ts";

const CLIENTS = [1, 16, 64, 256];
/** How long each peer is loaded before the first round, so that it has compiled its code and opened its files. */
const WARM_UP_SECONDS = 1;

export async function measureWrites(section: Section, binary: string, rounds: number, seconds: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const governd = stack.use(await startGovernd(binary));
  const peers: Peer[] = [governd];
  for (const start of [() => startElysia(governd.dataDir), startPocketBase, startPostgres]) {
    try {
      peers.push(stack.use(await start()));
    } catch (error) {
      section.notes.push(error instanceof Unavailable ? error.message : `A peer could not be started: ${error}.`);
    }
  }
  section.notes.push(peers.map(({ name, does }) => `- ${name}: ${does}`).join("\n"));
  // A peer that fails here fails again when it is measured, which notes it.
  for (const peer of peers) await peer.write(64, WARM_UP_SECONDS).catch(() => {});
  const failed = new Set<Peer>();
  for (const clients of CLIENTS) {
    for (let round = 0; round < rounds; round++) {
      // Each round begins with another peer.
      const turn = peers.map((_, at) => peers[(at + round) % peers.length] as Peer);
      for (const peer of turn.filter((one) => !failed.has(one))) {
        const isDone = await attempt(section, `${peer.name} at ${clients} clients and more`, () =>
          measure(section, peer, clients, seconds),
        );
        if (!isDone) failed.add(peer);
      }
    }
  }
  // Rows in the order of the peers, not of the turns.
  section.rows.sort(
    (a, b) =>
      Number.parseInt(a.case, 10) - Number.parseInt(b.case, 10) || place(peers, a.subject) - place(peers, b.subject),
  );
}

const place = (peers: readonly Peer[], name: string) => peers.findIndex((peer) => peer.name === name);

async function measure(section: Section, peer: Peer, clients: number, seconds: number): Promise<void> {
  const before = peer.cpuSeconds();
  const { requests, requestsPerSecond, failed, p50Ms, p99Ms, p999Ms } = await peer.write(clients, seconds);
  if (failed > 0) throw new Error(`${peer.name}: ${failed} writes failed at ${clients} clients`);
  const cpuUs = ((peer.cpuSeconds() - before) / requests) * 1_000_000;
  note(section, clientsOf(clients), peer.name, { perSecond: requestsPerSecond, p50Ms, p99Ms, p999Ms, cpuUs });
}

/** Returns the charts of a section of writes. */
export function chartsOf({ rows }: Section): Chart[] {
  const subjects = [...new Set(rows.map(({ subject }) => subject))];
  const chart = (title: string, metric: Metric): Chart => ({
    title,
    xLabel: "clients",
    lines: subjects.map((name) => ({
      name,
      points: rows
        .filter(({ subject }) => subject === name)
        .map((row) => ({ x: Number.parseInt(row.case, 10), y: middle(row, metric) as number })),
    })),
  });
  return [chart("writes per second", "perSecond"), chart("p99 of a write, ms", "p99Ms")];
}
