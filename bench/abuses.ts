/**
 * What one workspace does to disturb another: each abuse, and the program that does it, which neighbours.ts starts with
 * an {@link AbuseOrder} as JSON.
 */
import { type Ask, asking, type Server } from "./daemon.ts";

const MIB = 1024 * 1024;

/** What an abuse does, over and over, in several clients. */
interface Abuse {
  name: string;
  clients: number;
  run(ask: Ask, round: number, checkpointId: string): Promise<Response>;
}

/** Values: four large ones, or a thousand of medium size, fill a request. */
const LARGE = "A note about the harbour. ".repeat(40_000);
const MEDIUM = "A note about the harbour. ".repeat(155);
const EXPENSIVE = "Authorization: Basic ".repeat(Math.floor(MIB / 21));

/** Writes `count` entries below a name in one batch. */
const writeMany = (ask: Ask, count: number, name: string, contentOf: (i: number) => string) =>
  ask("POST", "/v1/data/batch", {
    agent_id: "large",
    operations: Array.from({ length: count }, (_, i) => ({ op: "write", key: `${name}/${i}`, value: contentOf(i) })),
  });

export const ABUSES: readonly Abuse[] = [
  {
    name: "12 writes of 1 MiB that are costly to screen",
    clients: 12,
    run: (ask, round) => ask("POST", "/v1/data/write", { agent_id: "large", key: `k${round % 12}`, value: EXPENSIVE }),
  },
  {
    name: "4 batches of 1,000",
    clients: 4,
    run: (ask, round) =>
      writeMany(ask, 1_000, `b${round % 4}`, (i) => `A note about the harbour, number ${i} of ${round}. `.repeat(4)),
  },
  { name: "2 batches of 4 MiB", clients: 2, run: (ask, round) => writeMany(ask, 4, `l${round % 2}`, () => LARGE) },
  {
    name: "4 batches of 4 MiB in 1,000 entries",
    clients: 4,
    run: (ask, round) => writeMany(ask, 1_000, `m${round % 4}`, () => MEDIUM),
  },
  {
    name: "8 lists of 4 MiB",
    clients: 8,
    run: (ask) => ask("GET", "/v1/data/list?agent_id=a&include_values=true&limit=64"),
  },
  {
    name: "8 queries of 4 MiB",
    clients: 8,
    run: (ask) => ask("POST", "/v1/data/query", { agent_id: "a", include_values: true, limit: 64 }),
  },
  { name: "8 verifications", clients: 8, run: (ask) => ask("POST", "/v1/audit/verify", { scope: "workspace" }) },
  {
    name: "8 searches over 20 MiB",
    clients: 8,
    run: (ask) => ask("POST", "/v1/data/search", { agent_id: "a", query: "a note about the harbour" }),
  },
  {
    name: "8 reads of a checkpoint of 20 MiB",
    clients: 8,
    run: (ask, _round, checkpointId) => ask("GET", `/v1/checkpoints/${checkpointId}`),
  },
  { name: "4 exports", clients: 4, run: (ask) => ask("POST", "/v1/audit/export", { scope: "workspace" }) },
  {
    name: "restores of 20 MiB under policies",
    clients: 1,
    run: async (ask, _round, checkpointId) => {
      await (await ask("DELETE", "/v1/data/prefix?agent_id=a&prefix=entry")).arrayBuffer();
      return ask("POST", `/v1/checkpoints/${checkpointId}/restore`, {});
    },
  },
];

/** The input of the program, as JSON. */
export interface AbuseOrder {
  name: string;
  server: Server;
  apiKey: string;
  checkpointId: string;
  seconds: number;
}

/** Repeats an abuse until the time is up. Returns how often it was done. */
async function abuse({ name, server, apiKey, checkpointId, seconds }: AbuseOrder): Promise<number> {
  const { clients, run } = ABUSES.find((one) => one.name === name) as Abuse;
  const ask = asking(server, apiKey);
  const end = performance.now() + seconds * 1_000;
  let rounds = 0;
  const client = async () => {
    while (performance.now() < end) {
      const answer = await run(ask, rounds++, checkpointId);
      await answer.arrayBuffer();
      if (!answer.ok && answer.status !== 503) throw new Error(`${name}: ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return rounds;
}

if (import.meta.main) console.log(await abuse(JSON.parse(process.argv[2] as string) as AbuseOrder));
