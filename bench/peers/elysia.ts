/** Bare Elysia: what HTTP alone costs. */
import { join } from "node:path";
import { cpuSeconds } from "../processes.ts";
import { load } from "../wrk.ts";
import type { Peer } from "./peer.ts";

/** Starts it with the certificate in a data directory of governd. */
export async function startElysia(dataDir: string): Promise<Peer> {
  const server = Bun.spawn([process.execPath, join(import.meta.dir, "elysia-server.ts"), dataDir], { stdout: "pipe" });
  const { value } = await server.stdout.getReader().read();
  const url = new TextDecoder().decode(value).trim();
  return {
    name: "bare Elysia",
    does: "HTTPS; checks the shape of the body and responds. Nothing is stored.",
    cpuSeconds: () => cpuSeconds(server.pid),
    write: (clients, seconds) => load("write", url, { seconds, apiKey: "none", clients }),
    async [Symbol.asyncDispose]() {
      server.kill();
      await server.exited;
    },
  };
}
