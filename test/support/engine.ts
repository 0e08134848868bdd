/**
 * Which engine the daemons of tests have. With `TEST_ENGINE=libsql-server`, each has a libSQL server of its own;
 * a test of that engine asks for it.
 */
import type { SettingName } from "../../src/settings/definitions.ts";
import type { ServerOptions } from "../../src/settings/server-options.ts";

/** A libSQL server, as far as a daemon must know it. */
interface Server {
  url: string;
  /** Empty for a server that asks for none. */
  token: string;
  adminUrl: string;
  adminToken: string | null;
}

export type TestEngine = "embedded" | "libsql-server";

/** The engine of daemons that do not ask for one. */
export const TEST_ENGINE: TestEngine = process.env.TEST_ENGINE === "libsql-server" ? "libsql-server" : "embedded";

/** The server of each data directory that is on one. */
const servers = new Map<string, ServerOptions>();

/** The server that has the workspaces of a data directory; null for the embedded engine. */
export const serverOfDirectory = (dataDir: string): ServerOptions | null => servers.get(dataDir) ?? null;

/** Notes which server has the workspaces of a daemon. */
export function noteServer(dataDir: string, server: ServerOptions | null): void {
  if (server !== null) servers.set(dataDir, server);
}

/** What a daemon on a libSQL server is told of it. */
export function flagsFor(server: Server): Partial<Record<SettingName, string>> {
  const { url, token, adminUrl, adminToken } = server;
  return {
    engine: "libsql-server",
    engine_url: url,
    ...(token !== "" && { engine_auth_token: token }),
    ...(adminToken !== null && { engine_admin_url: adminUrl, engine_admin_token: adminToken }),
  };
}
