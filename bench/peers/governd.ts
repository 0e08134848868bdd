/** The built binary. */
import { prepareAgents, startDaemon } from "../daemon.ts";
import { load } from "../wrk.ts";
import type { Peer } from "./peer.ts";

export async function startGovernd(binary: string): Promise<Peer & { dataDir: string }> {
  const daemon = await startDaemon(binary);
  await prepareAgents(daemon);
  const { url, apiKey } = daemon;
  return {
    dataDir: daemon.dataDir,
    name: "governd",
    does: "HTTPS; checks the API key and the body, screens for personal data and secrets, writes the entry and an event of the hash chain, and responds after the fsync.",
    cpuSeconds: daemon.cpuSeconds,
    write: (clients, seconds) => load("write", url, { seconds, apiKey, clients }),
    batch: (clients, seconds, entries) => load("batch", url, { seconds, apiKey, clients, entries }),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}
