/** The libSQL server of a data directory that processes use, when that is the engine of the tests. */
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { isKnown, noteServer, TEST_ENGINE } from "./engine.ts";
import { LibsqlServer } from "./libsql-server.ts";

/** Has a data directory that nobody has used yet be on a server, if the tests' engine is one. */
export async function ensureServer(dataDir: string): Promise<void> {
  if (TEST_ENGINE === "embedded" || isKnown(dataDir)) return;
  const server = await LibsqlServer.start();
  const { url, token: authToken, adminUrl, adminToken } = server;
  noteServer(dataDir, { url, authToken, adminUrl, adminToken, replicaUrls: [] });
  // Processes that are killed and started again have it until the tests end.
  process.on("exit", () => {
    process.kill(server.pid, "SIGKILL");
    rmSync(dirname(server.dataDir), { recursive: true, force: true });
  });
}
