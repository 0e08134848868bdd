/** The libSQL server of a data directory that other processes use, when that is the engine of the tests. */
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { isKnown, noteServer, TEST_ENGINE } from "./engine.ts";
import { LibsqlServer } from "./libsql-server.ts";

/** Starts a server for a data directory whose engine is not known yet, if that is the engine of the tests. */
export async function ensureServer(dataDir: string): Promise<void> {
  if (TEST_ENGINE === "embedded" || isKnown(dataDir)) return;
  const server = await LibsqlServer.start();
  const { url, token: authToken, adminUrl, adminToken } = server;
  noteServer(dataDir, { url, authToken, adminUrl, adminToken, replicaUrls: [] });
  // It runs until the tests end: the processes that use it may be killed and started again.
  process.on("exit", () => {
    process.kill(server.pid, "SIGKILL");
    rmSync(dirname(server.dataDir), { recursive: true, force: true });
  });
}
