/**
 * Nodes are killed and frozen, the server is killed, and the network between them fails, while clients of every node use the
 * same workspaces. Every choice follows from a seed.
 */
import { Seeded } from "../seeded.ts";
import { randomFaults } from "../support/fault-proxy.ts";
import { Nodes } from "../support/nodes.ts";
import { violations } from "./check.ts";
import { Clients } from "./history.ts";
import { revocations } from "./keys.ts";
import { answerOf, trailOf } from "./trail.ts";

export interface ChaosOptions {
  seed: number;
  /** How long it goes on, ms. */
  ms: number;
  /** How long a node is frozen at most, ms: longer than a lease lasts. */
  freezeMs: number;
  workspaces: number;
  /** Clients of each workspace. */
  clients: number;
  say?(line: string): void;
}

/** What happened. */
export interface Chaos {
  calls: number;
  answered: number;
  refused: number;
  unknown: number;
  /** Keys that were revoked, after which every node was asked with them. */
  revoked: number;
  /** How often each disturbance happened. */
  disturbances: Record<string, number>;
  network: Record<string, number>;
  /** What does not hold, in words. */
  violations: string[];
}

/** The part of the requests between nodes and server that meet a fault, and how late they are at most, ms. */
const FAULTY = 0.03;
const LATE_MS = 1_500;

export async function chaos(options: ChaosOptions): Promise<Chaos> {
  const random = new Seeded(options.seed);
  await using nodes = await Nodes.start();
  const made = [];
  for (let at = 0; at < options.workspaces; at++) made.push(await nodes.workspace(`w${at}`));
  const histories = made.map(({ apiKey }) => new Clients(() => nodes.clients(apiKey), new Seeded(random.next())));
  for (const clients of histories) await clients.begin();

  nodes.network.faults = randomFaults(new Seeded(random.next()), FAULTY, LATE_MS);
  const end = performance.now() + options.ms;
  const isOver = () => performance.now() > end;
  const load = histories.flatMap((clients) => Array.from({ length: options.clients }, () => clients.run(isOver)));
  const keys = revocations(nodes, (made[0] as { id: string }).id, isOver);
  const disturbances = await disturb(nodes, random, options, isOver);
  await Promise.all(load);
  const { revoked, wrong: stillValid } = await keys;
  await calm(nodes);

  const wrong = [...stillValid];
  for (const [at, clients] of histories.entries()) {
    await clients.finish();
    const [client] = nodes.clients((made[at] as { apiKey: string }).apiKey);
    if (client === undefined) throw new Error("no node is left");
    wrong.push(...clients.violations, ...violations(clients.calls, await trailOf(client)));
    const verified = await answerOf(client, "/v1/audit/verify", { scope: "workspace" });
    if (verified.json?.valid !== true) wrong.push(`it does not verify: ${verified.text.slice(0, 500)}`);
  }
  const all = histories.flatMap(({ calls }) => calls);
  const count = (kind: string) => all.filter(({ outcome }) => outcome.kind === kind).length;
  return {
    ...{ calls: all.length, answered: count("answered"), refused: count("refused"), unknown: count("unknown") },
    ...{ revoked, disturbances, network: { ...nodes.network.counts }, violations: wrong },
  };
}

/** Disturbs one thing after another. */
async function disturb(
  { nodes, server, network }: Nodes,
  random: Seeded,
  { freezeMs, say = () => {} }: ChaosOptions,
  isOver: () => boolean,
): Promise<Record<string, number>> {
  const pause = (from: number, to: number) => Bun.sleep(random.between(from, to));
  const disturbances = {
    async "a node is killed"() {
      const node = random.pick(nodes);
      await node.kill();
      await pause(0, 2_000);
      await node.start();
    },
    async "a node is frozen"() {
      const node = random.pick(nodes);
      node.freeze();
      await pause(100, freezeMs);
      node.resume();
    },
    async "the server is killed"() {
      await server.kill();
      await pause(0, 3_500);
      await server.restart();
    },
    async "the network is cut"() {
      network.cut();
      await pause(50, 2_000);
      network.mend();
    },
  };
  const counts: Record<string, number> = Object.fromEntries(Object.keys(disturbances).map((name) => [name, 0]));
  while (!isOver()) {
    await pause(200, 1_500);
    const [name, act] = random.pick(Object.entries(disturbances));
    say(name);
    await act();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Everything works again. */
async function calm({ nodes, network }: Nodes): Promise<void> {
  network.faults = () => ({ kind: "pass", ms: 0 });
  network.mend();
  for (const node of nodes) {
    node.resume();
    await node.start();
  }
}
