/**
 * Replaces the files of the corpus with what a libSQL server gives back, when that is the engine of the tests. The
 * tests then verify files that were pulled.
 */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pushInto } from "../../src/engine-libsql/push.ts";
import { namespaceOf, ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import { openConnection } from "../../src/store/connection.ts";
import { markEmbedded } from "../../src/store/location.ts";
import { schemaVersion } from "../../src/store/migrate.ts";
import { removeDatabase } from "../../src/store/remove.ts";
import { TEST_ENGINE } from "../support/engine.ts";
import { LibsqlServer } from "../support/libsql-server.ts";

/** Pushes the workspaces in a folder to a server, and pulls them into the same files. */
export async function throughServer(folder: string): Promise<void> {
  if (TEST_ENGINE === "embedded") return;
  await using server = await LibsqlServer.start();
  const { url, token: authToken, adminUrl, adminToken } = server;
  const engine = new ServerEngine({ url, authToken, adminUrl, adminToken, replicaUrls: [] }, () => {});
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".db"))) {
    const path = join(folder, name);
    const workspaceId = basename(name, ".db");
    await engine.ensureNamespace(namespaceOf(workspaceId));
    {
      using connection = openConnection(path);
      await pushInto(engine.namespace(namespaceOf(workspaceId)), connection, { format: schemaVersion(connection) });
    }
    removeDatabase(path);
    await engine.pull(workspaceId, path, null);
    using pulled = openConnection(path);
    markEmbedded(pulled);
    pulled.truncateLog();
  }
}
