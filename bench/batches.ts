/** Compares batches of writes with single writes and with the batches of a peer, from one client and from many, in turns. */
import { clientsOf } from "./figures.ts";
import { startGovernd } from "./peers/governd.ts";
import { type Peer, Unavailable } from "./peers/peer.ts";
import { startPocketBase } from "./peers/pocketbase.ts";
import { attempt, note, type Section } from "./results.ts";
import type { Load } from "./wrk.ts";

const CLIENTS = [1, 64];
/** Entries of a batch; 1 for requests that write a single entry. The most that PocketBase takes is 50. */
const SIZES = [1, 50, 100];
const MOST_OF_PEERS = 50;
const WARM_UP_SECONDS = 1;

interface Case {
  peer: Peer;
  clients: number;
  size: number;
}

const pairs = (sizes: readonly number[]) => CLIENTS.flatMap((clients) => sizes.map((size) => ({ clients, size })));

export async function measureBatches(section: Section, binary: string, rounds: number, seconds: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const governd = stack.use(await startGovernd(binary));
  const cases: Case[] = pairs(SIZES).map((one) => ({ peer: governd, ...one }));
  try {
    const peer = stack.use(await startPocketBase());
    cases.push(...pairs(SIZES.filter((size) => size <= MOST_OF_PEERS)).map((one) => ({ peer, ...one })));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    section.notes.push(error.message);
  }
  // A case that fails here fails again when it is measured, which notes it.
  for (const one of cases) await send(one, WARM_UP_SECONDS).catch(() => {});
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < cases.length; turn++) {
      const one = cases[(turn + round) % cases.length] as Case;
      await attempt(section, `${one.peer.name}, ${nameOf(one)}`, () => measure(section, one, seconds));
    }
  }
  const order = pairs(SIZES).map(nameOf);
  section.rows.sort((a, b) => order.indexOf(a.case) - order.indexOf(b.case));
  section.notes.push("Figures are of entries, percentiles of requests.");
}

const nameOf = ({ clients, size }: Omit<Case, "peer">): string =>
  `${clientsOf(clients)}, ${size === 1 ? "single writes" : `${size} in a batch`}`;

function send({ peer, clients, size }: Case, seconds: number): Promise<Load> {
  if (size === 1) return peer.write(clients, seconds);
  if (peer.batch === undefined) throw new Error(`${peer.name} has no batches`);
  return peer.batch(clients, seconds, size);
}

async function measure(section: Section, one: Case, seconds: number): Promise<void> {
  const { peer, size } = one;
  const before = peer.cpuSeconds();
  const { requests, requestsPerSecond, failed, p50Ms, p99Ms, p999Ms } = await send(one, seconds);
  if (failed > 0) throw new Error(`${peer.name}: ${failed} requests failed, ${nameOf(one)}`);
  const cpuUs = ((peer.cpuSeconds() - before) / (requests * size)) * 1_000_000;
  note(section, nameOf(one), peer.name, { perSecond: requestsPerSecond * size, p50Ms, p99Ms, p999Ms, cpuUs });
}
